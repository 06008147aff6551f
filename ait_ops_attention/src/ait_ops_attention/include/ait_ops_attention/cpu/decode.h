// SPDX-License-Identifier: Apache-2.0
// Products of a few query rows with K and V where they lie: with so few rows, packing would cost more than the
// products.
#pragma once

#include "ait/cpu/prelude.h"

namespace ait_ops_attention {
namespace detail {

using ait::index_t;

constexpr index_t few_rows = 4;

/// scores[i, j] = q_i . k_j for keys k_j of `dim` contiguous elements, key_stride apart. Writes whole vectors: the row
/// stride of scores must hold round_up(keys, lanes<float>).
template <class Q, class T>
inline void dot_scores(const Q* q, index_t ldq, index_t rows, const T* k, index_t key_stride, index_t keys, index_t dim,
                       float* scores, index_t lds) {
  using V = ait::Vec<float>;
  constexpr int L = ait::lanes<float>;
  const index_t whole = dim / L * L;
  for (index_t j0 = 0; j0 < keys; j0 += L) {
    const index_t count = keys - j0 < L ? keys - j0 : L;
    const T* block = k + j0 * key_stride;
    for (index_t i = 0; i < rows; ++i) {
      V partial[L] = {};
      for (index_t d = 0; d < whole; d += L) {
        const V qv = ait::load_widen<float>(q + i * ldq + d);
        AIT_UNROLL
        for (int j = 0; j < L; ++j) {
          // Past the last key the last one is read again; its sum is never used.
          const T* key = block + (j < count ? j : count - 1) * key_stride;
          partial[j] += qv * ait::load_widen<float>(key + d);
        }
      }
      ait::transpose<float>(partial);
      AIT_UNROLL
      for (int step = L / 2; step > 0; step /= 2) {
        AIT_UNROLL
        for (int j = 0; j < step; ++j) partial[j] += partial[j + step];
      }
      float* out = scores + i * lds + j0;
      ait::store_unaligned(out, partial[0]);
      for (index_t d = whole; d < dim; ++d) {
        for (index_t j = 0; j < count; ++j)
          out[j] += ait::load(q + i * ldq + d) * ait::load(block + j * key_stride + d);
      }
    }
  }
}

template <int Vectors, class T>
AIT_INLINE void weighted_columns(const float* weights, const T* v, index_t key_stride, index_t keys, float* out) {
  using V = ait::Vec<float>;
  constexpr int L = ait::lanes<float>;
  V sum[Vectors];
  AIT_UNROLL
  for (int n = 0; n < Vectors; ++n) sum[n] = ait::load_unaligned<V>(out + n * L);
  for (index_t j = 0; j < keys; ++j) {
    AIT_UNROLL
    for (int n = 0; n < Vectors; ++n) sum[n] += weights[j] * ait::load_widen<float>(v + j * key_stride + n * L);
  }
  AIT_UNROLL
  for (int n = 0; n < Vectors; ++n) ait::store_unaligned(out + n * L, sum[n]);
}

/// out[i, d] += sum_j weights[i, j] v[j, d], with `dim` contiguous elements of each v_j.
template <class T>
inline void weighted_sum(const float* weights, index_t ldw, index_t rows, const T* v, index_t key_stride, index_t keys,
                         index_t dim, float* out, index_t ldo) {
  constexpr int L = ait::lanes<float>;
  index_t d = 0;
  for (; d + 4 * L <= dim; d += 4 * L) {
    for (index_t i = 0; i < rows; ++i)
      weighted_columns<4>(weights + i * ldw, v + d, key_stride, keys, out + i * ldo + d);
  }
  for (; d + L <= dim; d += L) {
    for (index_t i = 0; i < rows; ++i)
      weighted_columns<1>(weights + i * ldw, v + d, key_stride, keys, out + i * ldo + d);
  }
  for (; d < dim; ++d) {
    for (index_t i = 0; i < rows; ++i) {
      float sum = out[i * ldo + d];
      for (index_t j = 0; j < keys; ++j) sum += weights[i * ldw + j] * ait::load(v + j * key_stride + d);
      out[i * ldo + d] = sum;
    }
  }
}

}  // namespace detail
}  // namespace ait_ops_attention
