// SPDX-License-Identifier: Apache-2.0
// Exponentials, logarithms, tanh and erf. Polynomials for float are those of Cephes (S. Moshier, expf and logf) and,
// for erf, of N. Juffa's erff; errors stay within a few ulp over the whole range.
#pragma once

#include <cmath>

#include "ait/cpu/types.h"

namespace ait {
namespace detail {

/// 2^n for -126 <= n <= 127.
AIT_INLINE float pow2i(std::int32_t n) { return bit_cast<float>((n + 127) << 23); }

struct ExpParts {
  std::int32_t n;  // x = n ln 2 + r
  float r;         // |r| <= ln 2 / 2
  float q;         // exp(r) = 1 + r + r^2 q
};

AIT_INLINE ExpParts exp_parts(float x) {
  // Adding 1.5 * 2^23 leaves the nearest integer in the low bits of the significand.
  const float shifted = x * 1.44269504088896341f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  float q = 1.9875691500e-4f;
  q = q * r + 1.3981999507e-3f;
  q = q * r + 8.3334519073e-3f;
  q = q * r + 4.1665795894e-2f;
  q = q * r + 1.6666665459e-1f;
  q = q * r + 5.0000001201e-1f;
  return {bit_cast<std::int32_t>(shifted) - 0x4b400000, r, q};
}

struct LogParts {
  float e;  // x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)
  float f;
  float y;  // log(1 + f) = f + y
};

AIT_INLINE LogParts log_parts(float x) {
  const bool tiny = x < 1.17549435e-38f;  // subnormals: scale by 2^23 first
  const std::int32_t bits = bit_cast<std::int32_t>(tiny ? x * 8388608.0f : x);
  // Subtracting the bits of sqrt(1/2) makes the exponent field count from there.
  const std::int32_t shifted = bits - 0x3f3504f3;
  const float e = float(shifted >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = bit_cast<float>((shifted & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  return {e, f, p * f * z - 0.5f * z};
}

/// Replaces `value` where a logarithm's argument is 0, negative, inf or NaN.
AIT_INLINE float log_special(float x, float value) {
  value = x == __builtin_inff() ? x : value;
  value = x == 0.0f ? -__builtin_inff() : value;
  return x >= 0.0f ? value : __builtin_nanf("");
}

}  // namespace detail

/// e^x; overflow gives inf, underflow is gradual.
AIT_INLINE float exp(float x) {
  float c = x < -104.0f ? -104.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const detail::ExpParts p = detail::exp_parts(c);
  const float y = p.q * (p.r * p.r) + p.r + 1.0f;
  // Two factors, as 2^n alone may over- or underflow where the product does not.
  const std::int32_t half = p.n >> 1;
  return y * detail::pow2i(half) * detail::pow2i(p.n - half);
}

/// e^x - 1, accurate near 0.
AIT_INLINE float expm1(float x) {
  float c = x < -40.0f ? -40.0f : x;
  c = c > 89.0f ? 89.0f : c;
  const detail::ExpParts p = detail::exp_parts(c);
  const float t = detail::pow2i(p.n - 1);
  const float y = 2.0f * (t * (p.q * (p.r * p.r) + p.r) + (t - 0.5f));
  return x == 0.0f ? x : y;
}

AIT_INLINE float log(float x) {
  const detail::LogParts p = detail::log_parts(x);
  const float value = (p.y - 2.12194440e-4f * p.e + p.f) + 0.693359375f * p.e;
  return detail::log_special(x, value);
}

AIT_INLINE float log2(float x) {
  const detail::LogParts p = detail::log_parts(x);
  // log2(e) = 1 + 0.4427: the part with factor one adds exactly.
  const float value = 0.44269504088896341f * p.y + 0.44269504088896341f * p.f + p.y + p.f + p.e;
  return detail::log_special(x, value);
}

AIT_INLINE float log10(float x) {
  const detail::LogParts p = detail::log_parts(x);
  const float value = 0.4342944819f * (p.f + p.y) + 4.605038981e-6f * p.e + 0.30102539062f * p.e;
  return detail::log_special(x, value);
}

/// log(1 + x), accurate near 0.
AIT_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const float lost = x - (u - 1.0f);  // what rounding took from u
  const float value = log(u) + lost / u;
  // Where u is 1 the logarithm is x; where u is 0 or inf, `lost / u` is not a number.
  const bool plain = u == 0.0f || u == __builtin_inff();
  return x == 0.0f ? x : plain ? log(u) : value;
}

/// tanh(x) = E / (E + 2) with E = expm1(2|x|); exactly +-1 from |x| of about 9 on.
AIT_INLINE float tanh(float x) {
  float t = __builtin_fabsf(x);
  t = t > 10.0f ? 10.0f : t;
  const float e = expm1(t + t);
  return __builtin_copysignf(e / (e + 2.0f), x);
}

AIT_INLINE float erf(float x) {
  float t = __builtin_fabsf(x);
  t = t > 4.0f ? 4.0f : t;  // erf(4) rounds to 1
  const float s = t * t;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  const float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * s + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  const float large = 1.0f - exp(r);
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  const float small = p * t + t;
  return __builtin_copysignf(t > 0.927734375f ? large : small, x);
}

inline double exp(double x) { return std::exp(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log(double x) { return std::log(x); }
inline double log2(double x) { return std::log2(x); }
inline double log10(double x) { return std::log10(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double tanh(double x) { return std::tanh(x); }
inline double erf(double x) { return std::erf(x); }

}  // namespace ait
