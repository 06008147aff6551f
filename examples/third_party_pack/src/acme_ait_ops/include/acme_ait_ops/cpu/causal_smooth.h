// SPDX-License-Identifier: Apache-2.0
// Exponential moving averages along the middle axis of x[batch, length, channels].
#pragma once

#include "ait/cpu/prelude.h"

namespace acme_ait_ops {

using ait::index_t;

/// out[b, t, c] = decay * out[b, t - 1, c] + (1 - decay) * x[b, t, c] with out[b, -1, c] = 0, averaged in T.
/// `x` is read as x.row(b, t)(c) and `out` written as out.row(b, t)(c, value), each element once.
template <class T, class X, class Out>
inline void causal_smooth(index_t batch, index_t length, index_t channels, double decay, const X& x, const Out& out,
                          int threads) {
  constexpr index_t width = 4 * ait::lanes<T>;  // four averages at once hide how long one step takes
  const T keep = T(decay), take = T(1 - decay);
  const index_t blocks = ait::ceil_div(channels, width);
  const index_t grain = 1 + 8192 / (length * width + 1);  // blocks that are worth a thread
  ait::parallel_for(batch * blocks, grain, threads, [&](index_t begin, index_t end, int) {
    for (index_t task = begin; task < end; ++task) {
      const index_t b = task / blocks, first = task % blocks * width;
      const index_t count = channels - first < width ? channels - first : width;
      T state[width] = {};
      for (index_t t = 0; t < length; ++t) {
        auto source = x.row(b, t);
        auto target = out.row(b, t);
        AIT_SIMD
        for (index_t i = 0; i < count; ++i) {
          state[i] = keep * state[i] + take * T(source(first + i));
          target(first + i, state[i]);
        }
      }
    }
  });
}

}  // namespace acme_ait_ops
