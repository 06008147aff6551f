// SPDX-License-Identifier: Apache-2.0
// pow of float: exp2(y log2 |x|) carried in double, branch-free, with the special cases of IEEE 754 pow as selects.
#pragma once

#include <cmath>

#include "ait/cpu/types.h"

namespace ait {
namespace detail {

/// log2 of a positive finite float, absolute error below 2^-34.
AIT_INLINE double log2_double(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const std::int32_t bits = bit_cast<std::int32_t>(tiny ? x * 8388608.0f : x);
  const std::int32_t shifted = bits - 0x3f3504f3;
  const double e = double((shifted >> 23) - (tiny ? 23 : 0));
  const double m = double(bit_cast<float>((shifted & 0x007fffff) + 0x3f3504f3));
  // log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716: the series up to s^13.
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 13.0;
  p = p * z + 1.0 / 11.0;
  p = p * z + 1.0 / 9.0;
  p = p * z + 1.0 / 7.0;
  p = p * z + 1.0 / 5.0;
  p = p * z + 1.0 / 3.0;
  p = p * z + 1.0;
  return e + 2.0 * 1.44269504088896340736 * s * p;
}

/// 2^x rounded to float, -1100 < x < 1000.
AIT_INLINE float exp2_double(double x) {
  const double shifted = x + 6755399441055744.0;  // 1.5 * 2^52: the integer part in the low bits
  const double r = (x - (shifted - 6755399441055744.0)) * 0.693147180559945309417;
  double p = 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const std::int64_t n = bit_cast<std::int64_t>(shifted) - 0x4338000000000000;
  return float(p * bit_cast<double>((n + 1023) << 52));
}

}  // namespace detail

AIT_INLINE float pow(float x, float y) {
  const float inf = __builtin_inff();
  const float magnitude = __builtin_fabsf(x);
  const float safe = magnitude > 0.0f && magnitude < inf ? magnitude : 1.0f;
  double t = double(y) * detail::log2_double(safe);
  t = t < -300.0 ? -300.0 : t;
  t = t > 300.0 ? 300.0 : t;
  float value = detail::exp2_double(t);
  // |x| of 0 or inf: 0 or inf by the sign of y. |y| of inf with |x| of 1 is 1, and 0 * inf would have been NaN.
  const bool grows = (magnitude == inf) == (y > 0.0f);
  value = magnitude == 0.0f || magnitude == inf ? (grows ? inf : 0.0f) : value;
  value = magnitude == 1.0f ? 1.0f : value;
  // From 2^24 on every float is an even integer. y - 2 floor(y / 2) is exact, 1 for odd integers.
  const float odd_part = y - 2.0f * __builtin_floorf(0.5f * y);
  const bool odd = __builtin_fabsf(y) < 16777216.0f && odd_part == 1.0f;
  const bool integer = __builtin_floorf(y) == y;
  value = odd && std::signbit(x) ? -value : value;
  value = x < 0.0f && magnitude < inf && !integer ? __builtin_nanf("") : value;
  value = x != x || y != y ? x + y : value;
  return x == 1.0f || y == 0.0f ? 1.0f : value;
}

inline double pow(double x, double y) { return std::pow(x, y); }

}  // namespace ait
