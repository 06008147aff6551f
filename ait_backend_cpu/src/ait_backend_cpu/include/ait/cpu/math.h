// SPDX-License-Identifier: Apache-2.0
// Scalar math of generated code. Float versions of the hot functions are branch-free polynomials that inline and
// vectorise; double versions are libm's.
#pragma once

#include <cmath>

#include "ait/cpu/math_exp.h"
#include "ait/cpu/math_integer.h"
#include "ait/cpu/math_pow.h"
#include "ait/cpu/math_trig.h"
#include "ait/cpu/types.h"

namespace ait {

// -fno-math-errno turns these builtins into single instructions where the ISA has them.
AIT_INLINE float sqrt(float x) { return __builtin_sqrtf(x); }
AIT_INLINE double sqrt(double x) { return __builtin_sqrt(x); }
AIT_INLINE float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
AIT_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
AIT_INLINE float floor(float x) { return __builtin_floorf(x); }
AIT_INLINE double floor(double x) { return __builtin_floor(x); }
AIT_INLINE float ceil(float x) { return __builtin_ceilf(x); }
AIT_INLINE double ceil(double x) { return __builtin_ceil(x); }
AIT_INLINE float trunc(float x) { return __builtin_truncf(x); }
AIT_INLINE double trunc(double x) { return __builtin_trunc(x); }
/// Nearest integer, halves to even.
AIT_INLINE float round(float x) { return __builtin_rintf(x); }
AIT_INLINE double round(double x) { return __builtin_rint(x); }

AIT_INLINE float abs(float x) { return __builtin_fabsf(x); }
AIT_INLINE double abs(double x) { return __builtin_fabs(x); }

template <class T>
AIT_INLINE bool isnan(T x) {
  return x != x;
}
AIT_INLINE bool isinf(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
AIT_INLINE bool isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
template <class T, std::enable_if_t<std::is_integral<T>::value, int> = 0>
AIT_INLINE bool isinf(T) {
  return false;
}

/// Smaller and larger of two values; NaN if either is NaN.
template <class T>
AIT_INLINE T min(T a, T b) {
  return (a < b || a != a) ? a : b;
}
template <class T>
AIT_INLINE T max(T a, T b) {
  return (a > b || a != a) ? a : b;
}

template <class A, class B>
AIT_INLINE auto where(bool condition, A a, B b) -> std::common_type_t<A, B> {
  using T = std::common_type_t<A, B>;
  return condition ? T(a) : T(b);
}

/// -1, 0 or 1 in the type of x; NaN stays NaN.
template <class T>
AIT_INLINE T sign(T x) {
  const T s = T(x > T(0)) - T(x < T(0));
  return x != x ? x : s;
}

// Rare functions go to libm.
#define AIT_LIBM_UNARY(name)                          \
  inline float name(float x) { return std::name(x); } \
  inline double name(double x) { return std::name(x); }
AIT_LIBM_UNARY(asin)
AIT_LIBM_UNARY(acos)
AIT_LIBM_UNARY(atan)
AIT_LIBM_UNARY(sinh)
AIT_LIBM_UNARY(cosh)
AIT_LIBM_UNARY(asinh)
AIT_LIBM_UNARY(acosh)
AIT_LIBM_UNARY(atanh)
AIT_LIBM_UNARY(lgamma)
AIT_LIBM_UNARY(erfc)
#undef AIT_LIBM_UNARY
inline float atan2(float y, float x) { return std::atan2(y, x); }
inline double atan2(double y, double x) { return std::atan2(y, x); }

/// Remainder of truncated division: the sign of a.
inline float fmod(float a, float b) { return std::fmod(a, b); }
inline double fmod(double a, double b) { return std::fmod(a, b); }

/// Python's %: the sign of b.
template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
inline T remainder(T a, T b) {
  const T r = std::fmod(a, b);
  if (r == T(0)) return std::copysign(T(0), b);
  return (r < T(0)) != (b < T(0)) ? r + b : r;
}

/// Python's //, consistent with `remainder`; division by zero gives a / b.
template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
inline T floor_div(T a, T b) {
  if (b == T(0)) return a / b;
  const T r = std::fmod(a, b);
  T quotient = (a - r) / b;
  if (r != T(0) && (r < T(0)) != (b < T(0))) quotient -= T(1);
  if (quotient == T(0)) return std::copysign(T(0), a / b);
  const T below = std::floor(quotient);
  return quotient - below > T(0.5) ? below + T(1) : below;
}

}  // namespace ait
