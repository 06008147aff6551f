// SPDX-License-Identifier: Apache-2.0
// Every scalar function of the prelude as a C function over arrays, in the loop form that generated code has.
#include "ait/cpu/prelude.h"

using ait::index_t;

#define UNARY_T(name, suffix, T)                                   \
  extern "C" void name##_##suffix(const T* x, T* out, index_t n) { \
    AIT_SIMD                                                       \
    for (index_t i = 0; i < n; ++i) out[i] = ait::name(x[i]);      \
  }
#define BINARY_T(name, suffix, T)                                              \
  extern "C" void name##_##suffix(const T* x, const T* y, T* out, index_t n) { \
    AIT_SIMD                                                                   \
    for (index_t i = 0; i < n; ++i) out[i] = ait::name(x[i], y[i]);            \
  }
#define UNARY(name)         \
  UNARY_T(name, f32, float) \
  UNARY_T(name, f64, double)
#define BINARY(name)         \
  BINARY_T(name, f32, float) \
  BINARY_T(name, f64, double)
#define BINARY_INT(name)            \
  BINARY_T(name, i32, std::int32_t) \
  BINARY_T(name, i64, std::int64_t) \
  BINARY_T(name, i8, std::int8_t)

UNARY(exp)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
UNARY(tanh)
UNARY(erf)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(floor)
UNARY(ceil)
UNARY(trunc)
UNARY(round)
UNARY(abs)
UNARY(sign)
UNARY(asin)
UNARY(acos)
UNARY(atan)
UNARY(sinh)
UNARY(cosh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(lgamma)
BINARY(pow)
BINARY(min)
BINARY(max)
BINARY(fmod)
BINARY(remainder)
BINARY(floor_div)
BINARY(atan2)
BINARY_INT(min)
BINARY_INT(max)
BINARY_INT(fmod)
BINARY_INT(remainder)
BINARY_INT(floor_div)
BINARY_INT(pow)
UNARY_T(abs, i32, std::int32_t)
UNARY_T(sign, i32, std::int32_t)

#define CAST(suffix, From, To)                                             \
  extern "C" void cast_##suffix(const From* x, To* out, index_t n) {       \
    AIT_SIMD                                                               \
    for (index_t i = 0; i < n; ++i) ait::store(out + i, ait::load(x + i)); \
  }                                                                        \
  extern "C" void row_##suffix(const From* x, To* out, index_t n) { ait::convert_row(out, x, n); }
CAST(f16_f32, ait::f16, float)
CAST(f32_f16, float, ait::f16)
CAST(bf16_f32, ait::bf16, float)
CAST(f32_bf16, float, ait::bf16)
CAST(f32_i32, float, std::int32_t)
CAST(f32_bool, float, bool)
CAST(f16_bf16, ait::f16, ait::bf16)
CAST(u8_f32, std::uint8_t, float)

extern "C" void classify(const float* x, std::uint8_t* nan, std::uint8_t* inf, float* larger, index_t n) {
  for (index_t i = 0; i < n; ++i) {
    nan[i] = ait::isnan(x[i]);
    inf[i] = ait::isinf(x[i]);
    larger[i] = ait::where(x[i] > 0.0f, x[i], 0);
  }
}

// Counts how often parallel_for visits each index and returns the largest thread id it reported.
extern "C" int visit(index_t n, index_t grain, int threads, std::int32_t* visits) {
  int largest = 0;
  ait::parallel_for(n, grain, threads, [&](index_t begin, index_t end, int id) {
    for (index_t i = begin; i < end; ++i) ++visits[i];
#pragma omp critical
    largest = id > largest ? id : largest;
  });
  return largest;
}
