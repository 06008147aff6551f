// SPDX-License-Identifier: Apache-2.0
// sin, cos and tan of float, branch-free and accurate for every finite argument.
#pragma once

#include <cmath>

#include "ait/cpu/types.h"

namespace ait {
namespace detail {

// Argument reduction after Payne and Hanek: x = m 2^e with a 24-bit m, so x 2/pi modulo 4 is m times (2^e 2/pi modulo
// 4), and that second factor comes from a table over e. It is kept as a 28-bit head, whose product with m is exact in
// double, and a 53-bit tail.
struct PiTable {
  static constexpr int first = -46, count = 151;  // e of 2^-23 up to that of the largest float
  double head[count];
  double tail[count];
};

/// Bit i after the binary point of 2/pi (i >= 1); 0 before it.
constexpr unsigned two_over_pi_bit(int i) {
  constexpr std::uint32_t words[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                     0xdb629599, 0x3c439041, 0xfe5163ab};
  return i < 1 || i > 224 ? 0u : (words[(i - 1) / 32] >> (31 - (i - 1) % 32)) & 1u;
}

constexpr PiTable make_pi_table() {
  PiTable table{};
  for (int j = 0; j < PiTable::count; ++j) {
    const int e = PiTable::first + j;
    // Weights 2^1, 2^0, ... for e >= 0; a negative e only scales, so start at the leading one of 2/pi.
    double weight = 2.0, head = 0.0, tail = 0.0;
    const int start = e >= 0 ? e - 1 : 1;
    if (e < 0) {
      weight = 0.5;
      for (int i = 0; i < -e; ++i) weight *= 0.5;
    }
    for (int i = 0; i < 81; ++i, weight *= 0.5) {
      (i < 28 ? head : tail) += two_over_pi_bit(start + i) ? weight : 0.0;
    }
    table.head[j] = head;
    table.tail[j] = tail;
  }
  return table;
}

inline constexpr PiTable pi_table = make_pi_table();

struct Quadrant {
  std::int32_t n;  // |x| = n pi/2 + r, n modulo 4
  float r;         // |r| <= pi/4
};

AIT_INLINE Quadrant reduce_pi(float x) {
  const std::uint32_t bits = bit_cast<std::uint32_t>(x) & 0x7fffffffu;
  const std::int32_t e = std::int32_t(bits >> 23) - 150;
  std::int32_t j = e - PiTable::first;
  const bool small = j < 0;  // |x| < 2^-23: x is its own remainder
  j = small ? 0 : j;
  j = j > PiTable::count - 1 ? PiTable::count - 1 : j;
  const double m = double(std::int32_t((bits & 0x007fffffu) | 0x00800000u));
  const double product = m * pi_table.head[j], small_product = m * pi_table.tail[j];
  const double shifted = (product + small_product) + 6755399441055744.0;  // 1.5 * 2^52
  const double n = shifted - 6755399441055744.0;
  const double r = ((product - n) + small_product) * 1.57079632679489661923;
  return {std::int32_t(bit_cast<std::int64_t>(shifted)), small ? bit_cast<float>(bits) : float(r)};
}

AIT_INLINE float sin_poly(float r) {
  const float z = r * r;
  return ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * r + r;
}

AIT_INLINE float cos_poly(float r) {
  const float z = r * r;
  return ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * (z * z) - 0.5f * z + 1.0f;
}

/// sin of |x| + quadrant pi/2; NaN for inf and NaN.
AIT_INLINE float sin_shifted(float x, std::int32_t quadrant) {
  const Quadrant q = reduce_pi(x);
  const std::int32_t n = q.n + quadrant;
  const float value = (n & 1) ? cos_poly(q.r) : sin_poly(q.r);
  const std::uint32_t sign = (std::uint32_t(n) & 2u) << 30;
  const float signed_value = bit_cast<float>(bit_cast<std::uint32_t>(value) ^ sign);
  return __builtin_fabsf(x) < __builtin_inff() ? signed_value : __builtin_nanf("");
}

}  // namespace detail

AIT_INLINE float sin(float x) {
  const std::uint32_t sign = bit_cast<std::uint32_t>(x) & 0x80000000u;
  return bit_cast<float>(bit_cast<std::uint32_t>(detail::sin_shifted(x, 0)) ^ sign);
}

AIT_INLINE float cos(float x) { return detail::sin_shifted(x, 1); }

AIT_INLINE float tan(float x) { return sin(x) / cos(x); }

inline double sin(double x) { return std::sin(x); }
inline double cos(double x) { return std::cos(x); }
inline double tan(double x) { return std::tan(x); }

}  // namespace ait
