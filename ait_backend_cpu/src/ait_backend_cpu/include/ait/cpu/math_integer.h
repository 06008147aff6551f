// SPDX-License-Identifier: Apache-2.0
// Integer math with defined results for every input: division by zero gives 0, overflow wraps.
#pragma once

#include "ait/cpu/types.h"

namespace ait {

template <class T>
using if_integer = std::enable_if_t<std::is_integral<T>::value, int>;

/// |x|; the most negative value maps to itself.
template <class T, if_integer<T> = 0>
AIT_INLINE T abs(T x) {
  if constexpr (std::is_signed<T>::value) {
    using U = std::make_unsigned_t<T>;
    return x < 0 ? T(U(0) - U(x)) : x;
  } else {
    return x;
  }
}

/// Truncated division.
template <class T, if_integer<T> = 0>
AIT_INLINE T div_trunc(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed<T>::value) {
    using U = std::make_unsigned_t<T>;
    if (b == T(-1)) return T(U(0) - U(a));
  }
  return T(a / b);
}

/// Remainder of truncated division: the sign of a.
template <class T, if_integer<T> = 0>
AIT_INLINE T fmod(T a, T b) {
  return b == 0 || b == T(-1) ? T(0) : T(a % b);
}

/// Python's %: the sign of b.
template <class T, if_integer<T> = 0>
AIT_INLINE T remainder(T a, T b) {
  const T r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? T(r + b) : r;
}

/// Python's //: rounds toward minus infinity.
template <class T, if_integer<T> = 0>
AIT_INLINE T floor_div(T a, T b) {
  const T r = fmod(a, b);
  return T(div_trunc(a, b) - T(r != 0 && (r < 0) != (b < 0)));
}

/// base ** exponent, wrapping; a negative exponent gives the truncated reciprocal (0, 1 or -1).
template <class T, if_integer<T> = 0>
inline T pow(T base, T exponent) {
  using U = std::uint64_t;
  if (exponent < 0) return base == T(1) ? T(1) : base == T(-1) ? (exponent & 1 ? T(-1) : T(1)) : T(0);
  U result = 1, factor = U(base);
  for (U e = U(exponent); e != 0; e >>= 1, factor *= factor) {
    if (e & 1) result *= factor;
  }
  return T(result);
}

template <class T, if_integer<T> = 0>
AIT_INLINE T bit_and(T a, T b) {
  return T(a & b);
}
template <class T, if_integer<T> = 0>
AIT_INLINE T bit_or(T a, T b) {
  return T(a | b);
}
template <class T, if_integer<T> = 0>
AIT_INLINE T bit_xor(T a, T b) {
  return T(a ^ b);
}
template <class T, if_integer<T> = 0>
AIT_INLINE T bit_not(T a) {
  if constexpr (std::is_same<T, bool>::value) {
    return !a;
  } else {
    return T(~a);
  }
}

/// a << n; all bits leave for n outside 0 .. the bits of T - 1.
template <class T, if_integer<T> = 0>
AIT_INLINE T shift_left(T a, T n) {
  using U = std::make_unsigned_t<T>;
  return U(n) < 8 * sizeof(T) ? T(U(a) << (U(n) & (8 * sizeof(T) - 1))) : T(0);
}

/// a >> n, filled with the sign; for n outside 0 .. the bits of T - 1 nothing but the sign is left.
template <class T, if_integer<T> = 0>
AIT_INLINE T shift_right(T a, T n) {
  constexpr T last = 8 * sizeof(T) - 1;
  return T(a >> (std::make_unsigned_t<T>(n) <= std::make_unsigned_t<T>(last) ? n : last));
}

}  // namespace ait
