// SPDX-License-Identifier: Apache-2.0
// The first k elements in order along the middle axis of x[outer, n, inner], and where they were.
#pragma once

#include <algorithm>

#include "ait/cpu/prelude.h"

namespace ait_ops_tensor {

using ait::index_t;

template <class T>
struct Entry {
  T value;
  index_t at;
};

/// Whether a comes before b: NaN counts as larger than everything, equal elements keep their order.
template <bool Descending, class T>
inline bool before(const Entry<T>& a, const Entry<T>& b) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  const bool less = a.value < b.value || (b_nan && !a_nan), greater = b.value < a.value || (a_nan && !b_nan);
  return less != greater ? less != Descending : a.at < b.at;
}

/// values[o, j, i] and places[o, j, i] for j < k. `workspace`: 16 * n * threads bytes.
template <bool Descending, class T, class X, class Values, class Places>
inline void order(index_t outer, index_t n, index_t inner, index_t k, const X& x, const Values& values,
                  const Places& places, void* workspace, int threads) {
  static_assert(sizeof(Entry<T>) <= 16, "the workspace has 16 bytes an element");
  ait::parallel_for(outer * inner, 1 + 2048 / (n + 1), threads, [&](index_t begin, index_t end, int thread) {
    Entry<T>* const entries = reinterpret_cast<Entry<T>*>(static_cast<char*>(workspace) + 16 * n * thread);
    for (index_t lane = begin; lane < end; ++lane) {
      const index_t o = lane / inner, i = lane % inner;
      for (index_t j = 0; j < n; ++j) entries[j] = {x.row(o, j)(i), j};
      if (k < n) {
        std::partial_sort(entries, entries + k, entries + n, before<Descending, T>);
      } else {
        std::sort(entries, entries + n, before<Descending, T>);
      }
      for (index_t j = 0; j < k; ++j) {
        values.row(o, j)(i, entries[j].value);
        places.row(o, j)(i, entries[j].at);
      }
    }
  });
}

}  // namespace ait_ops_tensor
