// SPDX-License-Identifier: Apache-2.0
// Running sums along the middle axis of x[outer, n, inner].
#pragma once

#include "ait/cpu/prelude.h"

namespace ait_ops_tensor {

using ait::index_t;

/// out[o, j, i] = x[o, 0, i] + ... + x[o, j, i], added up in Acc. `x` is a reader and `out` a writer of functors.h.
template <class Acc, class X, class Out>
inline void cumsum(index_t outer, index_t n, index_t inner, const X& x, const Out& out, int threads) {
  constexpr index_t lanes = 64;  // neighbours that are added up side by side
  const index_t blocks = ait::ceil_div(inner, lanes);
  ait::parallel_for(outer * blocks, 1 + 8192 / (n * lanes + 1), threads, [&](index_t begin, index_t end, int) {
    for (index_t task = begin; task < end; ++task) {
      const index_t o = task / blocks, first = task % blocks * lanes;
      const index_t count = inner - first < lanes ? inner - first : lanes;
      Acc sums[lanes] = {};
      for (index_t j = 0; j < n; ++j) {
        auto source = x.row(o, j);
        auto target = out.row(o, j);
        for (index_t i = 0; i < count; ++i) {
          sums[i] += Acc(source(first + i));
          target(first + i, sums[i]);
        }
      }
    }
  });
}

}  // namespace ait_ops_tensor
