// SPDX-License-Identifier: Apache-2.0
// Score functors from mask readers: row(b, h, q) then (k, score).
#pragma once

#include <limits>

#include "ait/cpu/prelude.h"

namespace ait_ops_attention {

/// score + mask[b, h, q, k]
template <class Reader>
struct AdditiveMask {
  static constexpr bool identity = false;
  Reader mask;
  template <class Row>
  struct RowOf {
    Row row;
    template <class S>
    AIT_INLINE S operator()(ait::index_t k, S score) const {
      return score + S(row(k));
    }
  };
  AIT_INLINE auto row(ait::index_t b, ait::index_t h, ait::index_t q) const {
    return RowOf<decltype(mask.row(b, h, q))>{mask.row(b, h, q)};
  }
};
template <class Reader>
AdditiveMask(Reader) -> AdditiveMask<Reader>;

/// score where mask[b, h, q, k], else -inf
template <class Reader>
struct BooleanMask {
  static constexpr bool identity = false;
  Reader mask;
  template <class Row>
  struct RowOf {
    Row row;
    template <class S>
    AIT_INLINE S operator()(ait::index_t k, S score) const {
      return row(k) ? score : -std::numeric_limits<S>::infinity();
    }
  };
  AIT_INLINE auto row(ait::index_t b, ait::index_t h, ait::index_t q) const {
    return RowOf<decltype(mask.row(b, h, q))>{mask.row(b, h, q)};
  }
};
template <class Reader>
BooleanMask(Reader) -> BooleanMask<Reader>;

}  // namespace ait_ops_attention
