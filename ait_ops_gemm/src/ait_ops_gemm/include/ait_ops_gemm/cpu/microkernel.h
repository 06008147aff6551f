// SPDX-License-Identifier: Apache-2.0
// Register-tile kernels: C[rows, width] (+)= A[rows, K] B[K, width] for up to 8 (4 with 16 registers) rows and 3
// vectors.
#pragma once

#include "ait_ops_gemm/cpu/amx_kernel.h"

namespace ait_ops_gemm {

using ait::index_t;

/// Accumulator of a product of two T: float for halves, int32 for 8- and 16-bit integers, T itself otherwise.
template <class T>
using acc_t = std::conditional_t<std::is_integral<T>::value && sizeof(T) < 4, std::int32_t, ait::compute_t<T>>;

#if defined(__AVX512BF16__) && defined(AIT_AVX512)
template <class T>
constexpr bool uses_pairs = std::is_same<T, ait::bf16>::value;
#else
template <class T>
constexpr bool uses_pairs = false;
#endif

/// Shapes and storage of the register tile for element type T on the ISA of this translation unit.
///
/// Packed B is a sequence of panels of `panel` columns (the last one narrower, rounded up to whole vectors); a panel is
/// row-major [K][width]. With `pairs` two consecutive k lie side by side, [ceil(K/2)][width][2], as vdpbf16ps and AMX
/// want, and K is padded with zeros to k_pad.
template <class T>
struct Tile {
  using Acc = acc_t<T>;
  static constexpr bool pairs = uses_pairs<T>;
  using A = std::conditional_t<pairs, T, Acc>;  // element of A as the kernel reads it
  static constexpr int lanes = ait::lanes<Acc>;
  static constexpr int rows = AIT_VECTOR_REGISTERS == 32 ? 8 : 4;
  static constexpr int vectors = 3;
  static constexpr int panel = lanes * vectors;
  static constexpr int k_unit = pairs ? 2 : 1;
  static constexpr bool amx = pairs && has_amx;
  static constexpr bool split = std::is_same<T, ait::f16>::value && has_amx;  // AMX on f16 = bf16 + bf16
  static constexpr int k_pad = amx ? 32 : k_unit;
  static constexpr int step = amx ? 32 : rows;  // rows of one multiply_tile call
};

/// a: rows at stride lda, K contiguous. b: k-rows (pairs of k-rows) at stride ldb elements, whole vectors readable.
template <class T, int Rows, int Vectors>
AIT_NOINLINE void micro_kernel(index_t K, const typename Tile<T>::A* AIT_RESTRICT a, index_t lda,
                               const T* AIT_RESTRICT b, index_t ldb, acc_t<T>* AIT_RESTRICT c, index_t ldc,
                               bool accumulate) {
  using Acc = acc_t<T>;
  using V = ait::Vec<Acc>;
  constexpr int L = Tile<T>::lanes;
  // A tile of one or two rows has too few independent chains to hide the latency of an FMA: split K among several.
  constexpr int Chains = Rows == 1 ? 4 : Rows == 2 ? 2 : 1;
  V acc[Chains][Rows][Vectors] = {};
  if (accumulate) {
    AIT_UNROLL
    for (int i = 0; i < Rows; ++i) {
      AIT_UNROLL
      for (int j = 0; j < Vectors; ++j) acc[0][i][j] = ait::load_unaligned<V>(c + i * ldc + j * L);
    }
  }
  const auto step = [&](int chain, index_t k, auto read_a) AIT_LAMBDA_INLINE {
    V bv[Vectors];
    AIT_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      if constexpr (Tile<T>::pairs) {
        bv[j] = ait::load_unaligned<V>(b + k * ldb + j * L * 2);
      } else {
        bv[j] = ait::load_widen<Acc>(b + k * ldb + j * L);
      }
    }
    AIT_UNROLL
    for (int i = 0; i < Rows; ++i) {
      const auto av = read_a(a + i * lda, k);
      AIT_UNROLL
      for (int j = 0; j < Vectors; ++j) {
#if defined(__AVX512BF16__) && defined(AIT_AVX512)
        if constexpr (Tile<T>::pairs) {
          acc[chain][i][j] = (V)_mm512_dpbf16_ps((__m512)acc[chain][i][j], (__m512bh)av, (__m512bh)bv[j]);
          continue;
        }
#endif
        if constexpr (!Tile<T>::pairs) acc[chain][i][j] += av * bv[j];
      }
    }
  };
  const auto read = [](const typename Tile<T>::A* row, index_t k) AIT_LAMBDA_INLINE {
    if constexpr (Tile<T>::pairs) {
      return ait::splat(ait::load_unaligned<std::int32_t>(row + 2 * k));
    } else {
      return row[k];
    }
  };
  const index_t steps = K / Tile<T>::k_unit;
  index_t k = 0;
  for (; k + Chains <= steps; k += Chains) {
    AIT_UNROLL
    for (int s = 0; s < Chains; ++s) step(s, k + s, read);
  }
  for (; k < steps; ++k) step(0, k, read);
  if constexpr (Tile<T>::pairs) {
    if (K % 2 != 0) {
      step(0, k, [](const typename Tile<T>::A* row, index_t k) AIT_LAMBDA_INLINE {
        return ait::splat(std::int32_t(row[2 * k].bits));
      });
    }
  }
  AIT_UNROLL
  for (int i = 0; i < Rows; ++i) {
    AIT_UNROLL
    for (int j = 0; j < Vectors; ++j) {
      V sum = acc[0][i][j];
      AIT_UNROLL
      for (int s = 1; s < Chains; ++s) sum += acc[s][i][j];
      ait::store_unaligned(c + i * ldc + j * L, sum);
    }
  }
}

namespace detail {

template <class T>
using MicroFn = void (*)(index_t, const typename Tile<T>::A*, index_t, const T*, index_t, acc_t<T>*, index_t, bool);

template <class T, std::size_t... I>
constexpr MicroFn<T> micro_entry(int rows, int vectors, std::index_sequence<I...>) {
  constexpr int V = Tile<T>::vectors;
  constexpr MicroFn<T> table[] = {&micro_kernel<T, int(I) / V + 1, int(I) % V + 1>...};
  return table[(rows - 1) * V + vectors - 1];
}

}  // namespace detail

/// C[rows, vectors of columns] (+)= A B for 1 <= rows <= Tile<T>::step and 1 <= vectors <= Tile<T>::vectors. With
/// Tile<T>::amx, A must be readable and zero, and B packed, up to round_up(K, 32).
template <class T>
inline void multiply_tile(int rows, int vectors, index_t K, const typename Tile<T>::A* a, index_t lda, const T* b,
                          index_t ldb, acc_t<T>* c, index_t ldc, bool accumulate) {
  if constexpr (Tile<T>::amx) {
    if (rows > Tile<T>::rows / 2) return amx::multiply<1>(rows, vectors, K, {{a, b}}, lda, ldb, c, ldc, accumulate);
  }
  detail::micro_entry<T>(rows, vectors, std::make_index_sequence<Tile<T>::rows * Tile<T>::vectors>{})(
      K, a, lda, b, ldb, c, ldc, accumulate);
}

/// Frees what multiply_tile holds on this thread; to be called after a thread's last product.
inline void end_multiply() {
  if constexpr (has_amx) amx::Shape::end();
}

}  // namespace ait_ops_gemm
