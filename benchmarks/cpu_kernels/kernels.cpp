// SPDX-License-Identifier: Apache-2.0
// What the benchmark calls: GEMM with bias and optional GELU, attention, and the FMA peak of one core.
#include <chrono>

#include "ait_ops_attention/cpu/attention.h"
#include "ait_ops_gemm/cpu/gemm.h"

using ait::index_t;

template <class T, bool Gelu>
struct Linear {
  T* out;
  const T* bias;
  index_t n;
  struct Row {
    T* out;
    const T* bias;
    AIT_INLINE void operator()(index_t j, float acc) const {
      float x = acc + ait::load(bias + j);
      if constexpr (Gelu) x = 0.5f * x * (1.0f + ait::erf(x * 0.70710678f));
      ait::store(out + j, x);
    }
  };
  AIT_INLINE Row row(index_t, index_t m) const { return {out + m * n, bias}; }
};

template <class T>
struct Store {
  T* out;
  index_t heads, q_len, dim;
  struct Row {
    T* out;
    AIT_INLINE void operator()(index_t d, float value) const { ait::store(out + d, value); }
  };
  AIT_INLINE Row row(index_t b, index_t h, index_t q) const { return {out + ((b * heads + h) * q_len + q) * dim}; }
};

#define KERNELS(name, T)                                                                                               \
  extern "C" index_t packed_bytes_##name(index_t k, index_t n) { return ait_ops_gemm::packed_b_bytes<T>(k, n); }       \
  extern "C" index_t linear_workspace_##name(index_t n, index_t k, int threads) {                                      \
    return ait_ops_gemm::workspace_bytes<T>(n, k, threads, false, false, 0);                                           \
  }                                                                                                                    \
  extern "C" void pack_##name(void* dst, const T* weight, index_t k, index_t n, int threads) {                         \
    ait_ops_gemm::pack_b<T>(dst, weight, 1, k, k, n, threads);                                                         \
  }                                                                                                                    \
  extern "C" void linear_##name(index_t m, index_t n, index_t k, const T* x, const void* packed, const T* bias,        \
                                T* out, int gelu, void* workspace, int threads) {                                      \
    const ait_ops_gemm::Shape shape{1, m, n, k};                                                                       \
    const ait_ops_gemm::Matrix<T> a{x, 0, k, 1};                                                                       \
    const ait_ops_gemm::PackedMatrix b{packed, 0};                                                                     \
    if (gelu) {                                                                                                        \
      ait_ops_gemm::gemm<T>(shape, a, b, Linear<T, true>{out, bias, n}, workspace, threads);                           \
    } else {                                                                                                           \
      ait_ops_gemm::gemm<T>(shape, a, b, Linear<T, false>{out, bias, n}, workspace, threads);                          \
    }                                                                                                                  \
  }                                                                                                                    \
  extern "C" index_t attention_workspace_##name(index_t d, int threads) {                                              \
    return ait_ops_attention::workspace_bytes<T>(d, d, threads);                                                       \
  }                                                                                                                    \
  extern "C" void attention_##name(index_t b, index_t h, index_t kv_h, index_t q_len, index_t kv_len, index_t d,       \
                                   float scale, int causal, const T* q, const T* k, const T* v, T* out,                \
                                   void* workspace, int threads) {                                                     \
    using namespace ait_ops_attention;                                                                                 \
    const auto view = [=](const T* data, index_t heads, index_t len) {                                                 \
      return Tensor4<T>{data, heads * len * d, len * d, d, 1};                                                         \
    };                                                                                                                 \
    attention<T>({b, h, kv_h, q_len, kv_len, d, d}, {scale, causal != 0, kv_len - q_len}, view(q, h, q_len),           \
                 view(k, kv_h, kv_len), view(v, kv_h, kv_len), IdentityScore{}, Store<T>{out, h, q_len, d}, workspace, \
                 threads);                                                                                             \
  }

KERNELS(float32, float)
KERNELS(bfloat16, ait::bf16)
KERNELS(float16, ait::f16)

/// GFLOP/s of one core: 12 independent chains of fused multiply-adds that never leave the registers, best of short runs.
extern "C" double peak_gflops() {
  using V = ait::Vec<float>;
  V sum[12] = {}, x = ait::splat(0.999f), y = ait::splat(0.5f);
  const index_t rounds = 200'000;
  double best = 0;
  for (int repeat = 0; repeat < 300; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    // Ties the work to this place: the compiler may move arithmetic across a call, but not across these.
    AIT_UNROLL
    for (int j = 0; j < 12; ++j) __asm__ volatile("" : "+x"(sum[j])::"memory");
    for (index_t i = 0; i < rounds; ++i) {
      AIT_UNROLL
      for (int j = 0; j < 12; ++j) sum[j] = sum[j] * x + y;
    }
    AIT_UNROLL
    for (int j = 0; j < 12; ++j) __asm__ volatile("" : "+x"(sum[j])::"memory");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double gflops = 24.0 * double(ait::lanes<float>) * double(rounds) / seconds / 1e9;
    best = gflops > best ? gflops : best;
  }
  return best;
}
