// SPDX-License-Identifier: Apache-2.0
// Packing of B into panels (see Tile) and of A into rows the register-tile kernels can read.
#pragma once

#include "ait_ops_gemm/cpu/microkernel.h"

namespace ait_ops_gemm {

/// Width in columns of panel p of an N-column matrix, rounded up to whole vectors.
template <class T>
inline index_t panel_width(index_t p, index_t N) {
  const index_t left = N - p * Tile<T>::panel;
  return left >= Tile<T>::panel ? Tile<T>::panel : ait::round_up(left, Tile<T>::lanes);
}

/// Bytes of packed B[K, N]: round_up(K, 32) * round_up(N, 16) * sizeof(T) + 64, on every ISA.
template <class T>
constexpr index_t packed_b_bytes(index_t K, index_t N) {
  return ait::round_up(K, 32) * ait::round_up(N, 16) * index_t(sizeof(T)) + 64;
}

/// Where panel p starts in packed B[K, N], in elements.
template <class T>
inline index_t panel_offset(index_t p, index_t K) {
  return p * Tile<T>::panel * ait::round_up(K, Tile<T>::k_pad);
}

namespace detail {

/// dst[i, j] = read(j, i) for 4-byte units: `read_vector(j, i)` gives units i.. of column j, `read_unit` a single one.
template <class U, class ReadVector, class ReadUnit>
inline void transpose_units(U* dst, index_t dst_stride, index_t rows, index_t cols, ReadVector read_vector,
                            ReadUnit read_unit) {
  constexpr int L = ait::lanes<U>;
  index_t i = 0;
  for (; i + L <= rows; i += L) {
    index_t j = 0;
    for (; j + L <= cols; j += L) {
      ait::Vec<U> block[L];
      AIT_UNROLL
      for (int r = 0; r < L; ++r) block[r] = read_vector(j + r, i);
      ait::transpose<U>(block);
      AIT_UNROLL
      for (int r = 0; r < L; ++r) ait::store_unaligned(dst + (i + r) * dst_stride + j, block[r]);
    }
    for (; j < cols; ++j) {
      for (index_t r = i; r < i + L; ++r) dst[r * dst_stride + j] = read_unit(j, r);
    }
  }
  for (; i < rows; ++i) {
    for (index_t j = 0; j < cols; ++j) dst[i * dst_stride + j] = read_unit(j, i);
  }
}

}  // namespace detail

/// Packs src[K, cols] (element strides sk, sn) into one panel of `width` >= cols columns, zero-padded in both
/// directions. Elements of another type S are widened on the way.
template <class T, class S>
inline void pack_panel(T* AIT_RESTRICT dst, const S* AIT_RESTRICT src, index_t sk, index_t sn, index_t K, index_t cols,
                       index_t width) {
  constexpr int unit = Tile<T>::k_unit;
  const index_t whole = K / unit;
  for (index_t k = 0; k < ait::ceil_div(K, unit) && cols < width; ++k) {
    for (index_t j = cols * unit; j < width * unit; ++j) dst[k * width * unit + j] = T{};
  }
  if (sizeof(T) * unit == 4 && sk == 1) {  // a k-unit of one column is a 4-byte word: transpose in registers
    if constexpr (std::is_same<T, S>::value) {
      using Word = std::uint32_t;
      detail::transpose_units(
          reinterpret_cast<Word*>(dst), width, whole, cols,
          [=](index_t j, index_t k) { return ait::load_unaligned<ait::Vec<Word>>(src + j * sn + k * unit); },
          [=](index_t j, index_t k) { return ait::load_unaligned<Word>(src + j * sn + k * unit); });
    } else {
      detail::transpose_units(
          dst, width, whole, cols, [=](index_t j, index_t k) { return ait::load_widen<T>(src + j * sn + k); },
          [=](index_t j, index_t k) { return ait::cast<T>(src[j * sn + k]); });
    }
  } else if (sn == 1 && unit == 1) {
    for (index_t k = 0; k < K; ++k) ait::convert_row(dst + k * width, src + k * sk, cols);
  } else if (sn == 1) {
    for (index_t k = 0; k < whole; ++k) {
      T* AIT_RESTRICT out = dst + k * width * unit;
      const S* AIT_RESTRICT in = src + k * unit * sk;
      AIT_SIMD
      for (index_t j = 0; j < cols; ++j) {
        for (int u = 0; u < unit; ++u) out[j * unit + u] = ait::cast<T>(in[u * sk + j]);
      }
    }
  } else {
    for (index_t j = 0; j < cols; ++j) {
      for (index_t k = 0; k < whole; ++k) {
        for (int u = 0; u < unit; ++u)
          dst[(k * width + j) * unit + u] = ait::cast<T>(src[(k * unit + u) * sk + j * sn]);
      }
    }
  }
  if (whole * unit < K) {
    for (index_t j = 0; j < cols; ++j) {
      dst[(whole * width + j) * unit] = ait::cast<T>(src[whole * unit * sk + j * sn]);
      dst[(whole * width + j) * unit + 1] = T{};
    }
  }
  const index_t end = ait::round_up(K, Tile<T>::k_pad) * width;
  for (index_t i = ait::round_up(K, unit) * width; i < end; ++i) dst[i] = T{};
}

/// Packs B[K, N] with element strides (stride_k, stride_n) into dst (packed_b_bytes<T>(K, N) bytes, any alignment).
template <class T>
inline void pack_b(void* dst, const T* src, index_t stride_k, index_t stride_n, index_t K, index_t N, int threads) {
  const index_t panels = ait::ceil_div(N, Tile<T>::panel);
  ait::parallel_for(panels, 1, K * N < 65536 ? 1 : threads, [&](index_t begin, index_t end, int) {
    for (index_t p = begin; p < end; ++p) {
      const index_t n0 = p * Tile<T>::panel, left = N - n0;
      pack_panel(static_cast<T*>(dst) + panel_offset<T>(p, K), src + n0 * stride_n, stride_k, stride_n, K,
                 left < Tile<T>::panel ? left : Tile<T>::panel, panel_width<T>(p, N));
    }
  });
}

/// Copies src[rows, K] (element strides sm, sk) to row-major dst with row stride ldd, converted to A and zero-padded to
/// K_pad.
template <class A, class S>
inline void pack_rows(A* AIT_RESTRICT dst, index_t ldd, const S* AIT_RESTRICT src, index_t sm, index_t sk, index_t rows,
                      index_t K, index_t K_pad) {
  for (index_t i = 0; i < rows; ++i) {
    for (index_t k = K; k < K_pad; ++k) dst[i * ldd + k] = A{};
  }
  if (sk == 1) {
    for (index_t i = 0; i < rows; ++i) ait::convert_row(dst + i * ldd, src + i * sm, K);
    return;
  }
  // Blocks of 16 k keep the destination lines in L1 while a column-major source is read along its columns.
  for (index_t k0 = 0; k0 < K; k0 += 16) {
    const index_t k1 = k0 + 16 < K ? k0 + 16 : K;
    for (index_t i = 0; i < rows; ++i) {
      for (index_t k = k0; k < k1; ++k) dst[i * ldd + k] = ait::cast<A>(src[i * sm + k * sk]);
    }
  }
}

}  // namespace ait_ops_gemm
