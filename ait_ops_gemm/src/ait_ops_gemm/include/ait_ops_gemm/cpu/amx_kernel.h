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
inline void multiply_columns(index_t K, const Factors (&terms)[Terms], index_t lda, index_t ldb, index_t column,
                             float* c, index_t ldc, bool accumulate) {
  start_tiles<TwoRows, TwoCols>(c, ldc, accumulate);
  for (const Factors& term : terms) accumulate_tiles<TwoRows, TwoCols>(K, term.a, lda, term.b + 2 * column, ldb);
  finish_tiles<TwoRows, TwoCols>(c, ldc);
}

/// C[rows <= 32, 16 * vectors] (+)= the sum over terms of A B; b in pairs of k-rows at stride ldb.
template <int Terms>
inline void multiply(int rows, int vectors, index_t K, const Factors (&terms)[Terms], index_t lda, index_t ldb,
                     float* c, index_t ldc, bool accumulate) {
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

using Words = ait::Vec<std::uint32_t>;

/// f16 values as high + low, exact if finite, both bf16 in the upper halves of words; low is 0 beside inf.
AIT_INLINE void split(ait::Vec<float> values, Words& high, Words& low) {
  high = ((Words)values + 0x8000u) & 0xffff0000u;  // a NaN that this carry destroys comes back in low
  const Words special = (Words)((high & 0x7f800000u) == 0x7f800000u);
  low = (Words)(values - (ait::Vec<float>)high) & ~special;
}

/// Splits src[rows, K] into row-major halves at stride ldd >= round_up(K, 32), zero up to round_up(K, 32).
inline void split_rows(ait::bf16* high, ait::bf16* low, index_t ldd, const ait::f16* src, index_t sm, index_t sk,
                       index_t rows, index_t K) {
  constexpr index_t L = ait::lanes<float>;
  using Halves = typename ait::VecOf<std::uint16_t, L>::type;
  for (index_t i = 0; i < rows; ++i) {
    for (index_t k = 0; k < ait::round_up(K, 32); k += L) {
      const ait::f16* source = src + i * sm + k * sk;
      ait::f16 gathered[L] = {};
      if (sk != 1 || K - k < L) {
        for (index_t j = 0; j < L && k + j < K; ++j) gathered[j] = source[j * sk];
        source = gathered;
      }
      Words h, l;
      split(ait::load_widen<float>(source), h, l);
      ait::store_unaligned(high + i * ldd + k, __builtin_convertvector(h >> 16, Halves));
      ait::store_unaligned(low + i * ldd + k, __builtin_convertvector(l >> 16, Halves));
    }
  }
}

/// Splits a panel [K][width] into two panels of pairs of k-rows, zero up to round_up(K, 32).
inline void split_panel(ait::bf16* high, ait::bf16* low, const ait::f16* panel, index_t ldb, index_t width, index_t K) {
  constexpr index_t L = ait::lanes<float>;
  const ait::f16 zeros[L] = {};
  for (index_t k = 0; k < ait::round_up(K, 32); k += 2) {
    for (index_t n = 0; n < width; n += L) {
      Words high_even, low_even, high_odd, low_odd;
      split(ait::load_widen<float>(k < K ? panel + k * ldb + n : zeros), high_even, low_even);
      split(ait::load_widen<float>(k + 1 < K ? panel + (k + 1) * ldb + n : zeros), high_odd, low_odd);
      ait::store_unaligned(high + k * width + 2 * n, high_even >> 16 | high_odd);
      ait::store_unaligned(low + k * width + 2 * n, low_even >> 16 | low_odd);
    }
  }
}

/// C (+)= (Ah + Al)(Bh + Bl) without the product of the low halves, which is below 2^-16 of the whole.
inline void multiply_split(int rows, int vectors, index_t K, const ait::bf16* ah, const ait::bf16* al, index_t lda,
                           const ait::bf16* bh, const ait::bf16* bl, index_t ldb, float* c, index_t ldc,
                           bool accumulate) {
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
