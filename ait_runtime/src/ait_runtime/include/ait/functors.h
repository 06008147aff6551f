// SPDX-License-Identifier: Apache-2.0
// How generated code hands operands, epilogues and results to kernel templates. Include after the backend's prelude.
//
// A reader is used as  auto row = x.row(i, j); value = row(k);
// A writer is used as  auto row = out.row(i, j); row(k, value);
// where the last coordinate runs inside a row, so what depends on the row alone is computed once.
#pragma once

#include <limits>

namespace ait {

// Wraps a lambda that makes the functor of one row.
template <class MakeRow>
struct Rows {
  static constexpr bool rowwise = false;
  static constexpr bool identity = false;
  MakeRow make;
  template <class... Index>
  AIT_INLINE auto row(Index... i) const {
    return make(static_cast<index_t>(i)...);
  }
};
template <class MakeRow>
Rows(MakeRow) -> Rows<MakeRow>;

// Wraps a lambda that is called once per complete row of results: finish(i..., accumulators, scratch).
template <class Finish>
struct FinishRows {
  static constexpr bool rowwise = true;
  index_t floats;
  Finish call;
  AIT_INLINE index_t scratch_floats(index_t) const { return floats; }
  template <class... Args>
  AIT_INLINE void finish(Args... args) const {
    call(args...);
  }
};
template <class Finish>
FinishRows(index_t, Finish) -> FinishRows<Finish>;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T nan = std::numeric_limits<T>::quiet_NaN();

// Identity elements of reductions.
template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

AIT_INLINE constexpr index_t imin(index_t a, index_t b) { return a < b ? a : b; }
AIT_INLINE constexpr index_t imax(index_t a, index_t b) { return a > b ? a : b; }
// Quotient rounded down, and what it leaves, for n > 0.
AIT_INLINE constexpr index_t floor_index(index_t i, index_t n) { return i / n - (i % n < 0); }
AIT_INLINE constexpr index_t mod_index(index_t i, index_t n) { return i - floor_index(i, n) * n; }
AIT_INLINE constexpr index_t clamp_index(index_t i, index_t n) { return i < 0 || n <= 0 ? 0 : i < n ? i : n - 1; }

// A looked-up index: outside [0, n) the run is marked as failed and the index moved inside.
template <class Context>
AIT_INLINE index_t check_index(index_t i, index_t n, const Context& ctx) {
  if (__builtin_expect(static_cast<std::uint64_t>(i) >= static_cast<std::uint64_t>(n), 0)) {
    ctx.fault->store(ctx.group + 1, std::memory_order_relaxed);
    return clamp_index(i, n);
  }
  return i;
}

// Whether `value` replaces the best so far in an argmax or argmin; NaN counts as extreme, the first of equals stays.
template <bool Max, class T>
AIT_INLINE bool better(T value, T best, bool first) {
  if (first) return true;
  if (best != best) return false;
  return value != value || (Max ? value > best : value < best);
}

}  // namespace ait
