// SPDX-License-Identifier: Apache-2.0
// One step of the running softmax over a row of scores.
#pragma once

#include <limits>

#include "ait/cpu/prelude.h"

namespace ait_ops_attention {
namespace detail {

using ait::index_t;

constexpr index_t row_granule = 8;

/// Turns scores[0, count) into weights exp(s - max) and zeros weights[count, used), where max covers this and all
/// earlier blocks; updates row_max and row_sum. Returns the factor that earlier results of the row must be multiplied
/// with. `scores` and `weights` may be one buffer.
template <bool Identity, class Acc, class Weight, class Row>
inline Acc softmax_step(Acc* scores, Weight* weights, index_t count, index_t used, Acc scale, index_t first_key,
                        Row row, Acc& row_max, Acc& row_sum) {
  const Acc lowest = -std::numeric_limits<Acc>::infinity();
  Acc top = lowest;
  // A NaN score loses every comparison, but its weight below is NaN and so is the row.
#pragma omp simd reduction(max : top)
  for (index_t j = 0; j < count; ++j) {
    Acc s = scores[j] * scale;
    if constexpr (!Identity) s = row(first_key + j, s);
    scores[j] = s;
    top = s > top ? s : top;
  }
  const Acc new_max = top > row_max ? top : row_max;
  const Acc shift = new_max == lowest ? Acc(0) : new_max;  // nothing seen yet: exp(-inf - 0) is the wanted 0
  Acc sum = 0;
#pragma omp simd reduction(+ : sum)
  for (index_t j = 0; j < count; ++j) {
    const Acc w = ait::exp(scores[j] - shift);
    sum += w;
    weights[j] = ait::cast<Weight>(w);
  }
  for (index_t j = count; j < used; ++j) weights[j] = ait::cast<Weight>(Acc(0));
  const Acc factor = ait::exp(row_max - shift);
  row_sum = row_sum * factor + sum;
  row_max = new_max;
  return factor;
}

}  // namespace detail
}  // namespace ait_ops_attention
