// SPDX-License-Identifier: Apache-2.0
// OpenMP threads behind two small functions.
#pragma once

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "ait/cpu/types.h"

namespace ait {

/// Per-call execution parameters that the runtime hands to every kernel.
struct Context {
  int threads = 1;
};

/// Threads a parallel region would get by default (>= 1).
inline int num_threads() {
#if defined(_OPENMP)
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Runs body(thread_id, team_size) once on every thread of a team of at most `threads`; inline when that is one.
/// The team may be smaller than asked for, so the body must divide its work by team_size, never by `threads`.
template <class Body>
inline void parallel_team(int threads, Body&& body) {
#if defined(_OPENMP)
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    body(omp_get_thread_num(), omp_get_num_threads());
    return;
  }
#else
  (void)threads;
#endif
  body(0, 1);
}

/// Waits for all threads of the innermost team; every one of them must call it.
inline void team_barrier() {
#if defined(_OPENMP)
#pragma omp barrier
#endif
}

/// Calls f(begin, end, thread_id) on disjoint ranges that cover [0, n): at least `grain` items each, at most one range
/// a thread. Opens no parallel region when n <= grain or threads <= 1. thread_id < threads.
template <class F>
inline void parallel_for(index_t n, index_t grain, int threads, F&& f) {
  if (n <= 0) return;
  const index_t limit = grain > 0 ? ceil_div(n, grain) : n;
  const int team = int(limit < threads ? limit : threads);
  parallel_team(team, [&](int id, int size) {
    const index_t begin = n * id / size, end = n * (id + 1) / size;
    if (begin < end) f(begin, end, id);
  });
}

template <class F>
inline void parallel_for(index_t n, index_t grain, F&& f) {
  parallel_for(n, grain, num_threads(), f);
}

}  // namespace ait
