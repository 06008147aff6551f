// SPDX-License-Identifier: Apache-2.0
// Fixed-width vectors through the compilers' vector extensions: one spelling for SSE, AVX, AVX-512 and NEON.
#pragma once

#include <cstring>
#include <utility>

#include "ait/cpu/types.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define AIT_AVX512 1
#define AIT_VECTOR_BYTES 64
#elif defined(__AVX2__) && defined(__FMA__)
#define AIT_VECTOR_BYTES 32
#else
#define AIT_VECTOR_BYTES 16
#endif

// Vector registers the ISA names: they bound the size of register tiles.
#if defined(AIT_AVX512) || defined(__aarch64__)
#define AIT_VECTOR_REGISTERS 32
#else
#define AIT_VECTOR_REGISTERS 16
#endif

namespace ait {

template <class T, int Lanes>
struct VecOf {
  typedef T type __attribute__((vector_size(sizeof(T) * Lanes)));
};

/// Lanes of T in one full vector register.
template <class T>
constexpr int lanes = AIT_VECTOR_BYTES / int(sizeof(T));

/// One full vector register of T.
template <class T>
using Vec = typename VecOf<T, lanes<T>>::type;

template <class V, class T>
AIT_INLINE V load_unaligned(const T* source) {
  V v;
  std::memcpy(&v, source, sizeof(V));
  return v;
}

template <class V, class T>
AIT_INLINE void store_unaligned(T* target, V v) {
  std::memcpy(target, &v, sizeof(V));
}

/// All lanes equal to `value` (x - 0 is x for every x, signed zeros and NaN included).
template <class T>
AIT_INLINE Vec<T> splat(T value) {
  return value - Vec<T>{};
}

namespace detail {

template <int Half, class V, std::size_t... I>
AIT_INLINE V interleave(V a, V b, std::index_sequence<I...>) {
  constexpr int n = int(sizeof...(I));
#if defined(__clang__)
  return __builtin_shufflevector(a, b, int((I & 1) * n + I / 2 + Half * n / 2)...);
#else
  using Index = typename VecOf<std::int32_t, n>::type;
  return __builtin_shuffle(a, b, Index{std::int32_t((I & 1) * n + I / 2 + Half * n / 2)...});
#endif
}

}  // namespace detail

/// Transposes a square of lanes<T> x lanes<T> 4-byte elements held in registers: log2 rounds of interleaving.
template <class T>
AIT_INLINE void transpose(Vec<T> (&rows)[lanes<T>]) {
  static_assert(sizeof(T) == 4, "transpose works on 4-byte lanes");
  constexpr int n = lanes<T>;
  AIT_UNROLL
  for (int step = 1; step < n; step *= 2) {
    Vec<T> next[n];
    AIT_UNROLL
    for (int i = 0; i < n / 2; ++i) {
      next[2 * i] = detail::interleave<0>(rows[i], rows[i + n / 2], std::make_index_sequence<n>{});
      next[2 * i + 1] = detail::interleave<1>(rows[i], rows[i + n / 2], std::make_index_sequence<n>{});
    }
    AIT_UNROLL
    for (int i = 0; i < n; ++i) rows[i] = next[i];
  }
}

/// Loads lanes<Compute> stored elements of type T and widens them to Compute.
template <class Compute, class T>
AIT_INLINE Vec<Compute> load_widen(const T* source) {
  constexpr int n = lanes<Compute>;
  if constexpr (std::is_same<T, Compute>::value) {
    return load_unaligned<Vec<Compute>>(source);
  } else if constexpr (std::is_same<T, bf16>::value) {
    using U16 = typename VecOf<std::uint16_t, n>::type;
    using U32 = typename VecOf<std::uint32_t, n>::type;
    return (Vec<float>)(__builtin_convertvector(load_unaligned<U16>(source), U32) << 16);
  } else if constexpr (std::is_same<T, f16>::value) {
#if defined(AIT_AVX512)
    return (Vec<float>)_mm512_maskz_cvtph_ps(__mmask16(-1), load_unaligned<__m256i>(source));
#elif defined(__F16C__) && AIT_VECTOR_BYTES == 32
    return (Vec<float>)_mm256_cvtph_ps(load_unaligned<__m128i>(source));
#else
    Vec<float> v;
    for (int i = 0; i < n; ++i) v[i] = float(source[i]);
    return v;
#endif
  } else {
    using Narrow = typename VecOf<T, n>::type;
    return __builtin_convertvector(load_unaligned<Narrow>(source), Vec<Compute>);
  }
}

/// Converts n contiguous elements; uses the ISA's own half conversions where it has them.
template <class To, class From>
inline void convert_row(To* AIT_RESTRICT target, const From* AIT_RESTRICT source, index_t n) {
  index_t i = 0;
  if constexpr (std::is_same<To, float>::value && is_half<From>) {
    for (; i + lanes<float> <= n; i += lanes<float>) store_unaligned(target + i, load_widen<float>(source + i));
  }
#if defined(__F16C__)
  if constexpr (std::is_same<To, f16>::value && std::is_same<From, float>::value) {
#if defined(AIT_AVX512)
    for (; i + 16 <= n; i += 16)
      store_unaligned(target + i, _mm512_maskz_cvtps_ph(__mmask16(-1), _mm512_loadu_ps(source + i), 0));
#else
    for (; i + 8 <= n; i += 8) store_unaligned(target + i, _mm256_cvtps_ph(_mm256_loadu_ps(source + i), 0));
#endif
  }
#endif
  AIT_SIMD
  for (index_t j = i; j < n; ++j) target[j] = cast<To>(source[j]);
}

}  // namespace ait
