// SPDX-License-Identifier: Apache-2.0
// Products of up to 32 rows by one packed panel on AMX: bf16 directly, f16 as the sum of two bf16.
#pragma once

#include "ait_ops_gemm/cpu/amx.h"

namespace ait_ops_gemm {
namespace amx {

/// Adds A[rows, K] B[K, 16 or 32 columns] to the C tiles. K is rounded up to 32: A and B must be zero there.
template <bool TwoRows, bool TwoCols>
inline void accumulate_tiles(index_t K, const ait::bf16* a, index_t lda, const ait::bf16* b, index_t ldb) {
  for (index_t k = 0; k < K; k += 32) {
    const ait::bf16* panel = b + k / 2 * ldb;
    load<6>(panel, ldb * 2);
    load<4>(a + k, lda * 2);
    dot<0, 4, 6>();
    if constexpr (TwoCols) {
      load<7>(panel + 32, ldb * 2);
      dot<1, 4, 7>();
    }
    if constexpr (TwoRows) {
      load<5>(a + 16 * lda + k, lda * 2);
      dot<2, 5, 6>();
      if constexpr (TwoCols) dot<3, 5, 7>();
    }
  }
}

template <bool TwoRows, bool TwoCols>
inline void start_tiles(const float* c, index_t ldc, bool accumulate) {
  if (!accumulate) {
    zero<0>();
    if constexpr (TwoCols) zero<1>();
    if constexpr (TwoRows) zero<2>();
    if constexpr (TwoRows && TwoCols) zero<3>();
    return;
  }
  load<0>(c, ldc * 4);
  if constexpr (TwoCols) load<1>(c + 16, ldc * 4);
  if constexpr (TwoRows) load<2>(c + 16 * ldc, ldc * 4);
  if constexpr (TwoRows && TwoCols) load<3>(c + 16 * ldc + 16, ldc * 4);
}

template <bool TwoRows, bool TwoCols>
inline void finish_tiles(float* c, index_t ldc) {
  store<0>(c, ldc * 4);
  if constexpr (TwoCols) store<1>(c + 16, ldc * 4);
  if constexpr (TwoRows) store<2>(c + 16 * ldc, ldc * 4);
  if constexpr (TwoRows && TwoCols) store<3>(c + 16 * ldc + 16, ldc * 4);
}

/// One pair of operands of a sum of products.
struct Factors {
  const ait::bf16 *a, *b;
};

template <bool TwoRows, bool TwoCols, int Terms>
inline void multiply_columns(index_t K, const Factors (&terms)[Terms], index_t lda, index_t ldb, index_t column, float* c,
                             index_t ldc, bool accumulate) {
  start_tiles<TwoRows, TwoCols>(c, ldc, accumulate);
  for (const Factors& term : terms) accumulate_tiles<TwoRows, TwoCols>(K, term.a, lda, term.b + 2 * column, ldb);
  finish_tiles<TwoRows, TwoCols>(c, ldc);
}

/// C[rows <= 32, 16 * vectors] (+)= the sum over terms of A B; b in pairs of k-rows at stride ldb.
template <int Terms>
inline void multiply(int rows, int vectors, index_t K, const Factors (&terms)[Terms], index_t lda, index_t ldb, float* c,
                     index_t ldc, bool accumulate) {
  Shape::begin(rows);
  for (int v = 0; v < vectors; v += 2) {
    float* out = c + 16 * v;
    if (rows > 16) {
      v + 1 < vectors ? multiply_columns<true, true>(K, terms, lda, ldb, 16 * v, out, ldc, accumulate)
                      : multiply_columns<true, false>(K, terms, lda, ldb, 16 * v, out, ldc, accumulate);
    } else {
      v + 1 < vectors ? multiply_columns<false, true>(K, terms, lda, ldb, 16 * v, out, ldc, accumulate)
                      : multiply_columns<false, false>(K, terms, lda, ldb, 16 * v, out, ldc, accumulate);
    }
  }
}

/// value = high + low exactly, for every finite f16; low is 0 for inf and NaN. Both as bf16 bits.
AIT_INLINE void split(ait::f16 value, std::uint32_t& high, std::uint32_t& low) {
  const float v = value;
  high = ait::float_to_bf16_bits(v);
  const std::uint32_t rest = ait::bit_cast<std::uint32_t>(v - ait::bit_cast<float>(high << 16));
  low = ait::select_bits((value.bits & 0x7c00u) == 0x7c00u, 0u, rest >> 16);
}

/// Splits src[rows, K] into row-major halves at stride ldd, zero up to round_up(K, 32).
inline void split_rows(ait::bf16* high, ait::bf16* low, index_t ldd, const ait::f16* src, index_t sm, index_t sk, index_t rows,
                       index_t K) {
  for (index_t i = 0; i < rows; ++i) {
    ait::bf16 *AIT_RESTRICT h = high + i * ldd, *AIT_RESTRICT l = low + i * ldd;
    const ait::f16* AIT_RESTRICT s = src + i * sm;
    const auto one = [=](index_t k, index_t at) AIT_LAMBDA_INLINE {
      std::uint32_t hi, lo;
      split(s[at], hi, lo);
      h[k].bits = std::uint16_t(hi);
      l[k].bits = std::uint16_t(lo);
    };
    if (sk == 1) {
      AIT_SIMD
      for (index_t k = 0; k < K; ++k) one(k, k);
    } else {
      for (index_t k = 0; k < K; ++k) one(k, k * sk);
    }
    for (index_t k = K; k < ait::round_up(K, 32); ++k) h[k].bits = l[k].bits = 0;
  }
}

/// Two bf16 side by side, written at once.
typedef std::uint32_t Pair __attribute__((may_alias, aligned(2)));

/// Splits a panel [K][width] into two panels of pairs of k-rows, zero up to round_up(K, 32).
inline void split_panel(ait::bf16* high, ait::bf16* low, const ait::f16* panel, index_t ldb, index_t width, index_t K) {
  for (index_t k = 0; k < ait::round_up(K, 32); k += 2) {
    const ait::f16 *AIT_RESTRICT even = panel + k * ldb, *AIT_RESTRICT odd = even + ldb;
    Pair *AIT_RESTRICT h = reinterpret_cast<Pair*>(high + k * width), *AIT_RESTRICT l = reinterpret_cast<Pair*>(low + k * width);
    const auto pair = [=](index_t n, ait::f16 first, ait::f16 second) AIT_LAMBDA_INLINE {
      std::uint32_t h0, l0, h1, l1;
      split(first, h0, l0);
      split(second, h1, l1);
      h[n] = h0 | h1 << 16;
      l[n] = l0 | l1 << 16;
    };
    if (k + 1 < K) {
      AIT_SIMD
      for (index_t n = 0; n < width; ++n) pair(n, even[n], odd[n]);
    } else if (k < K) {
      for (index_t n = 0; n < width; ++n) pair(n, even[n], ait::f16{});
    } else {
      std::memset(h, 0, 4 * width);
      std::memset(l, 0, 4 * width);
    }
  }
}

/// C (+)= (Ah + Al)(Bh + Bl) without the product of the low halves, which is below 2^-16 of the whole.
inline void multiply_split(int rows, int vectors, index_t K, const ait::bf16* ah, const ait::bf16* al, index_t lda,
                           const ait::bf16* bh, const ait::bf16* bl, index_t ldb, float* c, index_t ldc, bool accumulate) {
  float sum[32][48];
  multiply<3>(rows, vectors, K, {{ah, bh}, {ah, bl}, {al, bh}}, lda, ldb, &sum[0][0], 48, false);
  const int columns = 16 * vectors;
  for (int i = 0; i < rows; ++i) {
    float* AIT_RESTRICT row = sum[i];
    float* AIT_RESTRICT out = c + i * ldc;
    int nans = 0;
#pragma omp simd reduction(+ : nans)
    for (int n = 0; n < columns; ++n) nans += row[n] != row[n];
    // inf times a low half of 0 makes a NaN that the true product may not have.
    for (int n = 0; nans > 0 && n < columns; ++n) {
      if (row[n] == row[n]) continue;
      row[n] = 0;
      for (index_t k = 0; k < K; ++k) {
        const index_t at = k / 2 * ldb + 2 * n + k % 2;
        row[n] += (float(ah[i * lda + k]) + float(al[i * lda + k])) * (float(bh[at]) + float(bl[at]));
      }
    }
    AIT_SIMD
    for (int n = 0; n < columns; ++n) out[n] = accumulate ? out[n] + row[n] : row[n];
  }
}

}  // namespace amx
}  // namespace ait_ops_gemm
