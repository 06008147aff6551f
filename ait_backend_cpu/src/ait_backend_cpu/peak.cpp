// SPDX-License-Identifier: Apache-2.0
// Two micro-benchmarks for `ait bench`: what the machine can do at most.
#include <omp.h>

#include <cstdint>
#include <vector>

#include "include/ait/cpu/simd.h"

extern "C" __attribute__((visibility("default"))) double ait_peak_flops(int threads) {
  constexpr int chains = 10, rounds = 1 << 18;  // enough independent chains to hide the latency of one FMA
  volatile float factor = 0.999f, term = 1e-3f;  // read anew each time: or the compiler does the work once, or never
  double total = 0;
  float sink = 0;
#pragma omp parallel num_threads(threads) reduction(+ : total, sink)
  {
    double best = 0;  // of this thread: waiting for the others is no arithmetic
    for (int repeat = 0; repeat < 40; ++repeat) {
      const double start = omp_get_wtime();
      ait::Vec<float> acc[chains];
      const ait::Vec<float> a = ait::splat<float>(factor), b = ait::splat<float>(term);
      for (int c = 0; c < chains; ++c) acc[c] = ait::splat(float(c) + factor);
      for (int i = 0; i < rounds; ++i)
        for (int c = 0; c < chains; ++c) acc[c] = acc[c] * a + b;
      for (const auto& x : acc)
        for (int i = 0; i < ait::lanes<float>; ++i) sink += x[i];
      const double rate = 2.0 * chains * rounds * ait::lanes<float> / (omp_get_wtime() - start);
      if (rate > best) best = rate;
    }
    total += best;
  }
  return sink != 0 ? total : 0;
}

extern "C" __attribute__((visibility("default"))) double ait_peak_bytes(int threads) {
  const std::int64_t n = 1 << 24;
  std::vector<float> a(n, 1.0f), b(n, 2.0f), c(n);
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double start = omp_get_wtime();
#pragma omp parallel for simd num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + 0.5f * b[i];
    const double rate = 3.0 * n * sizeof(float) / (omp_get_wtime() - start);
    if (c[n / 2] == 2.0f && rate > best) best = rate;
  }
  return best;
}
