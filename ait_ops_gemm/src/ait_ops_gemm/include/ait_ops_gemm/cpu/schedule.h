// SPDX-License-Identifier: Apache-2.0
// How a GEMM is divided among threads, and where each thread's buffers lie in the workspace.
#pragma once

#include "ait_ops_gemm/cpu/pack.h"

namespace ait_ops_gemm {

struct Shape {
  index_t batch, m, n, k;
};

/// Rows of A that share one pass over B: their packed copy and their accumulators stay in L2.
constexpr index_t block_rows = 128;

/// Workspace of one call in bytes, the same on every ISA:
///   e = max(4, sizeof(T)), threads * (128 * (round_up(K, 32) + 32) * e + 128 * 48 * e
///     + (strided_b + is_f16) * 48 * round_up(K, 32) * e + rowwise * (128 * round_up(N, 16) * e + 4 * scratch_floats) +
///     256) + 64
/// strided_b: B is not packed beforehand; rowwise, scratch_floats: see the epilogue concepts in gemm.h.
template <class T>
constexpr index_t workspace_bytes(index_t N, index_t K, int threads, bool strided_b, bool rowwise,
                                  index_t scratch_floats) {
  const index_t e = sizeof(T) > 4 ? sizeof(T) : 4;
  return threads * (block_rows * (ait::round_up(K, 32) + 32) * e + block_rows * 48 * e +
                    (strided_b + std::is_same<T, ait::f16>::value) * 48 * ait::round_up(K, 32) * e +
                    rowwise * (block_rows * ait::round_up(N, 16) * e + 4 * scratch_floats) + 256) +
         64;
}

namespace detail {

/// Byte offsets inside one thread's part of the workspace; the threads' row accumulators follow all of them.
struct Layout {
  index_t lda, ldn, k_block;
  index_t tile_offset, panel_offset, split_offset, scratch_offset, thread_bytes, acc_bytes;
};

template <class T>
inline Layout make_layout(const Shape& shape, bool rowwise, bool strided_b, index_t scratch_floats) {
  const index_t acc = sizeof(acc_t<T>), k_padded = ait::round_up(shape.k, 32);
  Layout layout{};
  layout.lda = k_padded + 32;  // + 32 keeps rows off one cache set
  layout.ldn = ait::round_up(shape.n, 16);
  // Accumulators stay in registers over a whole k block; equal blocks of at most 1 Ki elements.
  layout.k_block = ait::round_up(ait::ceil_div(shape.k, ait::ceil_div(shape.k > 0 ? shape.k : 1, 1024)), 32);
  layout.tile_offset = ait::round_up(block_rows * layout.lda * index_t(sizeof(typename Tile<T>::A)), 64);
  layout.panel_offset = layout.tile_offset + block_rows * Tile<T>::panel * acc;
  const index_t panel_elements = Tile<T>::panel * k_padded;
  layout.split_offset = layout.panel_offset + (strided_b ? ait::round_up(panel_elements * index_t(sizeof(T)), 64) : 0);
  layout.scratch_offset = layout.split_offset + (Tile<T>::split ? ait::round_up(panel_elements * 4, 64) : 0);
  layout.thread_bytes = layout.scratch_offset + ait::round_up(4 * scratch_floats, 64);
  layout.acc_bytes = rowwise ? block_rows * layout.ldn * acc : 0;
  return layout;
}

/// Each batch item is cut into rows x cols tasks.
struct Split {
  index_t rows, cols;
  int threads;
};

/// Picks the cut with the smallest estimated time of the slowest thread: FMAs plus the bytes of A and B it must stream.
template <class T>
inline Split choose_split(const Shape& shape, bool rowwise, int threads) {
  const index_t tiles = ait::ceil_div(shape.m, Tile<T>::step), panels = ait::ceil_div(shape.n, Tile<T>::panel);
  // A parallel region costs about a microsecond; below this much work one thread is faster.
  const index_t useful = 1 + shape.batch * shape.m * shape.n * (shape.k + 8) / 32768;
  const int team = int(useful < threads ? useful : threads);
  const bool may_share_rows = shape.batch * shape.m <= team * block_rows;
  Split best{1, 1, team > 0 ? team : 1};
  double best_cost = -1;
  for (index_t rows = 1; rows <= team && rows <= tiles; ++rows) {
    const index_t options[] = {1, ait::ceil_div(team, rows * shape.batch), ait::ceil_div(team, rows)};
    for (index_t cols : options) {
      if (cols > panels || (rowwise && cols > 1 && !may_share_rows)) continue;
      const double m = double(ait::ceil_div(tiles, rows) * Tile<T>::step);
      const double n = double(ait::ceil_div(panels, cols) * Tile<T>::panel), k = double(shape.k + 16);
      const double macs = m * n * k * sizeof(T) / 128;  // 128 bytes of operand products a cycle
      const double bytes = k * sizeof(T) * (n * ait::ceil_div(index_t(m), block_rows) + m) / 16;  // 16 bytes a cycle
      const double cost =
          ait::ceil_div(shape.batch * rows * cols, team) * (macs + bytes) + (rowwise && cols > 1 ? 2000 : 0);
      if (best_cost < 0 || cost < best_cost) best_cost = cost, best = {rows, cols, best.threads};
    }
  }
  return best;
}

}  // namespace detail
}  // namespace ait_ops_gemm
