// SPDX-License-Identifier: Apache-2.0
// D[b, m, n] = sum_k A[b, m, k] B[b, k, n], handed element by element or row by row to an epilogue functor.
//
// Elementwise epilogue:  auto row = epi.row(b, m); row(n, acc);      every element exactly once, in a SIMD loop over n
// Rowwise epilogue:      static constexpr bool rowwise = true;
//                        epi.finish(b, m, const Acc* acc, float* scratch);   acc[0, N) of one complete row
//                        epi.scratch_floats(N)                               size of scratch
// Both are called from several threads at once on a const object. Acc is acc_t<T>. For vector code, mark row() and the
// row's operator() AIT_INLINE, and let finish() copy the members it loops with into local variables first: a store in the
// loop could change what `this` points to, so the compiler would read them again for every element.
#pragma once

#include "ait_ops_gemm/cpu/pack.h"
#include "ait_ops_gemm/cpu/schedule.h"

namespace ait_ops_gemm {

/// A batch of matrices by pointer and element strides; stride 0 broadcasts.
template <class T>
struct Matrix {
  const T* data;
  index_t batch_stride, row_stride, col_stride;
};

/// B packed by pack_b, one block of packed_b_bytes for each batch item; batch_stride_bytes 0 shares one block.
struct PackedMatrix {
  const void* data;
  index_t batch_stride_bytes;
};

namespace detail {

template <class Epi, class = void>
struct IsRowwise : std::false_type {};
template <class Epi>
struct IsRowwise<Epi, std::enable_if_t<Epi::rowwise>> : std::true_type {};

template <class T>
struct Panel {
  const T* data;
  index_t stride;
};

template <class T>
inline Panel<T> read_panel(const PackedMatrix& b, const Shape& shape, index_t item, index_t p, index_t, T*) {
  const T* data = reinterpret_cast<const T*>(static_cast<const char*>(b.data) + item * b.batch_stride_bytes);
  return {data + panel_offset<T>(p, shape.k), panel_width<T>(p, shape.n) * Tile<T>::k_unit};
}

/// Packs the panel into `buffer`, unless its rows can be read where they are and few rows of A would share the packing.
template <class T>
inline Panel<T> read_panel(const Matrix<T>& b, const Shape& shape, index_t item, index_t p, index_t rows, T* buffer) {
  const index_t n0 = p * Tile<T>::panel, left = shape.n - n0, width = panel_width<T>(p, shape.n);
  const index_t cols = left < width ? left : width;
  const T* source = b.data + item * b.batch_stride + n0 * b.col_stride;
  if (!Tile<T>::pairs && b.col_stride == 1 && cols == width && rows <= 4 * Tile<T>::rows) return {source, b.row_stride};
  pack_panel(buffer, source, b.row_stride, b.col_stride, shape.k, cols, width);
  return {buffer, width * Tile<T>::k_unit};
}

template <class T, class B, class Epi>
struct Driver {
  using Acc = acc_t<T>;
  using AElem = typename Tile<T>::A;
  static constexpr bool rowwise = IsRowwise<Epi>::value;

  const Shape& shape;
  const Matrix<T>& a;
  const B& b;
  const Epi& epi;
  const Layout layout;
  const Split split;
  char* workspace;

  bool a_is_direct(index_t panels) const {
    if (!std::is_same<T, AElem>::value || (a.col_stride != 1 && shape.k > 1)) return false;
    if (Tile<T>::amx && shape.k % Tile<T>::k_pad != 0) return false;
    // Rows a multiple of 4 KiB apart fall into one cache set; with many panels a copy costs less than the conflicts.
    return shape.m <= 4 || panels < 4 || a.row_stride * index_t(sizeof(T)) % 4096 != 0;
  }

  Acc* accumulators(int thread) const {
    return reinterpret_cast<Acc*>(workspace + split.threads * layout.thread_bytes + thread * layout.acc_bytes);
  }

  // Halves of f16 operands (Tile<T>::split): of A in place of its packed rows, of B behind the panel buffer.
  ait::bf16* a_high(char* own) const { return reinterpret_cast<ait::bf16*>(own); }
  ait::bf16* a_low(char* own) const { return a_high(own) + block_rows * layout.lda; }
  ait::bf16* b_high(char* own) const { return reinterpret_cast<ait::bf16*>(own + layout.split_offset); }
  ait::bf16* b_low(char* own) const { return b_high(own) + Tile<T>::panel * ait::round_up(shape.k, 32); }

  // flatten: the loop only becomes vector code if the functor is inlined, however large it is.
  __attribute__((flatten)) void emit(index_t item, index_t m, index_t rows, index_t n0, index_t cols,
                                     const Acc* tile) const {
    for (index_t i = 0; i < rows; ++i) {
      auto row = epi.row(item, m + i);
      const Acc* AIT_RESTRICT source = tile + i * Tile<T>::panel;
      AIT_SIMD
      for (index_t j = 0; j < cols; ++j) row(n0 + j, source[j]);
    }
  }

  /// Rows [m0, m1) by panels [p0, p1) of one batch item. `rows_out` receives whole rows when the epilogue is rowwise.
  void run_block(index_t item, index_t m0, index_t m1, index_t p0, index_t p1, char* own, Acc* rows_out) const {
    const index_t rows = m1 - m0;
    const T* a_source = a.data + item * a.batch_stride + m0 * a.row_stride;
    const bool split_halves = Tile<T>::split && rows >= 64;  // fewer rows do not repay splitting B
    const index_t step = split_halves ? 32 : Tile<T>::step;
    AElem* packed = reinterpret_cast<AElem*>(own);
    const AElem* a_rows = packed;
    index_t lda = layout.lda;
    if (split_halves) {
      if constexpr (Tile<T>::split) {
        amx::split_rows(a_high(own), a_low(own), lda, a_source, a.row_stride, a.col_stride, rows, shape.k);
      }
    } else if (a_is_direct(p1 - p0)) {
      a_rows = reinterpret_cast<const AElem*>(a_source);
      lda = a.row_stride;
    } else {
      pack_rows(packed, lda, a_source, a.row_stride, a.col_stride, rows, shape.k,
                ait::round_up(shape.k, Tile<T>::k_pad));
    }
    Acc* tile = reinterpret_cast<Acc*>(own + layout.tile_offset);
    T* panel_buffer = reinterpret_cast<T*>(own + layout.panel_offset);
    const index_t k_block = layout.k_block;
    for (index_t p = p0; p < p1; ++p) {
      const index_t n0 = p * Tile<T>::panel, width = panel_width<T>(p, shape.n);
      const index_t cols = shape.n - n0 < width ? shape.n - n0 : width;
      const int vectors = int(width / Tile<T>::lanes);
      const Panel<T> panel = read_panel(b, shape, item, p, rows, panel_buffer);
      if constexpr (Tile<T>::split) {
        if (split_halves) amx::split_panel(b_high(own), b_low(own), panel.data, panel.stride, width, shape.k);
      }
      index_t k0 = 0;
      do {  // once even for K = 0, which gives zeros
        const index_t k = shape.k - k0 < k_block ? shape.k - k0 : k_block;
        const bool last = k0 + k >= shape.k, single = k == shape.k;
        for (index_t i = 0; i < rows; i += step) {
          const int count = int(rows - i < step ? rows - i : step);
          Acc* c = rowwise ? rows_out + i * layout.ldn + n0 : tile + (single ? 0 : i * Tile<T>::panel);
          const index_t ldc = rowwise ? layout.ldn : Tile<T>::panel;
          if (split_halves) {
            if constexpr (Tile<T>::split) {
              const index_t at = i * lda + k0;
              amx::multiply_split(count, vectors, k, a_high(own) + at, a_low(own) + at, lda, b_high(own) + k0 * width,
                                  b_low(own) + k0 * width, 2 * width, c, ldc, k0 > 0);
            }
          } else {
            multiply_tile<T>(count, vectors, k, a_rows + i * lda + k0, lda,
                             panel.data + k0 / Tile<T>::k_unit * panel.stride, panel.stride, c, ldc, k0 > 0);
          }
          if constexpr (!rowwise) {
            if (last) emit(item, m0 + i, count, n0, cols, c);
          }
        }
        k0 += k;
      } while (k0 < shape.k);
    }
  }

  void finish_rows(index_t item, index_t m0, index_t m1, const Acc* rows, char* own) const {
    if constexpr (rowwise) {
      float* scratch = reinterpret_cast<float*>(own + layout.scratch_offset);
      for (index_t m = m0; m < m1; ++m) epi.finish(item, m, rows + (m - m0) * layout.ldn, scratch);
    }
  }

  void run(int thread, int team) const {
    char* own = workspace + thread * layout.thread_bytes;
    const index_t panels = ait::ceil_div(shape.n, Tile<T>::panel), tiles = ait::ceil_div(shape.m, Tile<T>::step);
    const bool shared_rows = rowwise && split.cols > 1;
    const index_t tasks = shape.batch * split.rows * split.cols;
    for (index_t task = tasks * thread / team; task < tasks * (thread + 1) / team; ++task) {
      const index_t col = task % split.cols, row = task / split.cols % split.rows,
                    item = task / (split.cols * split.rows);
      const index_t m_begin = tiles * row / split.rows * Tile<T>::step;
      const index_t m_stop = tiles * (row + 1) / split.rows * Tile<T>::step,
                    m_end = m_stop < shape.m ? m_stop : shape.m;
      const index_t blocks = ait::ceil_div(m_end - m_begin, block_rows);
      const index_t block = blocks > 0 ? ait::round_up(ait::ceil_div(m_end - m_begin, blocks), Tile<T>::step) : 1;
      for (index_t m = m_begin; m < m_end; m += block) {
        const index_t m1 = m + block < m_end ? m + block : m_end;
        Acc* out = shared_rows ? accumulators(0) + (item * shape.m + m) * layout.ldn : accumulators(thread);
        run_block(item, m, m1, panels * col / split.cols, panels * (col + 1) / split.cols, own, out);
        if (!shared_rows) finish_rows(item, m, m1, out, own);
      }
    }
    end_multiply();
    if (shared_rows) {
      ait::team_barrier();
      const index_t rows = shape.batch * shape.m;
      for (index_t r = rows * thread / team; r < rows * (thread + 1) / team; ++r) {
        finish_rows(r / shape.m, r % shape.m, r % shape.m + 1, accumulators(0) + r * layout.ldn, own);
      }
    }
  }
};

template <class T, class B, class Epi>
inline void run_gemm(const Shape& shape, const Matrix<T>& a, const B& b, const Epi& epi, void* workspace, int threads) {
  if (shape.batch <= 0 || shape.m <= 0 || shape.n <= 0) return;
  constexpr bool rowwise = IsRowwise<Epi>::value, strided = !std::is_same<B, PackedMatrix>::value;
  index_t scratch = 0;
  if constexpr (rowwise) scratch = epi.scratch_floats(shape.n);
  const Split split = choose_split<T>(shape, rowwise, threads);
  char* base = reinterpret_cast<char*>(ait::round_up(reinterpret_cast<index_t>(workspace), 64));
  const Driver<T, B, Epi> driver{shape, a, b, epi, make_layout<T>(shape, rowwise, strided, scratch), split, base};
  ait::parallel_team(split.threads, [&](int thread, int team) { driver.run(thread, team); });
}

}  // namespace detail

/// GEMM with B packed beforehand (constant weights). `workspace`: workspace_bytes<T>(N, K, threads, ..., false) bytes.
template <class T, class Epi>
inline void gemm(const Shape& shape, const Matrix<T>& a, const PackedMatrix& b, const Epi& epi, void* workspace,
                 int threads) {
  detail::run_gemm<T>(shape, a, b, epi, workspace, threads);
}

/// GEMM with B[b, k, n] read through its strides (row = k, column = n) and packed panel by panel inside the workspace.
template <class T, class Epi>
inline void gemm(const Shape& shape, const Matrix<T>& a, const Matrix<T>& b, const Epi& epi, void* workspace,
                 int threads) {
  detail::run_gemm<T>(shape, a, b, epi, workspace, threads);
}

}  // namespace ait_ops_gemm
