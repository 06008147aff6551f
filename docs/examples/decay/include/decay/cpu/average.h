// SPDX-License-Identifier: Apache-2.0
// The exponentially decaying average of each row of x[rows, n].
#pragma once

#include "ait/cpu/prelude.h"

namespace decay {

// `x` is a reader and `out` a writer of ait/functors.h: whatever was fused into them comes along.
template <class X, class Out>
void average(ait::index_t rows, ait::index_t n, double keep, const X& x, const Out& out, int threads) {
  ait::parallel_for(rows, 1 + 4096 / (n + 1), threads, [&](ait::index_t begin, ait::index_t end, int) {
    for (ait::index_t i = begin; i < end; ++i) {
      auto source = x.row(i);
      auto target = out.row(i);
      double y = 0;
      for (ait::index_t j = 0; j < n; ++j) {
        y = j == 0 ? double(source(j)) : keep * y + (1 - keep) * double(source(j));
        target(j, y);
      }
    }
  });
}

}  // namespace decay
