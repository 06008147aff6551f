// SPDX-License-Identifier: Apache-2.0
// A copy that is wrong where a vector is not full.
#pragma once

#include "ait/cpu/prelude.h"

namespace broken {

template <class X, class Out>
void copy(ait::index_t n, const X& x, const Out& out) {
  auto source = x.row();
  auto target = out.row();
  for (ait::index_t i = 0; i < n; ++i) target(i, i < n / 4 * 4 ? source(i) : 0.0f);
}

}  // namespace broken
