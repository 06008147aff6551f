// SPDX-License-Identifier: Apache-2.0
// Attention on guarded buffers behind one C function per element type.
#include "ait_ops_attention/cpu/attention.h"
#include "guarded.h"

using namespace ait_ops_attention;

struct Case {
  index_t batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim;
  index_t q_strides[4], k_strides[4], v_strides[4];  // batch, head, position, feature
  index_t q_extent, k_extent, v_extent;
  index_t causal, causal_offset, zero_if_masked, threads;
  double scale;
};

struct Mask {  // added to the scores, dense [batch, head, q, k]
  static constexpr bool identity = false;
  const float* mask;
  index_t heads, q_len, kv_len;
  struct Row {
    const float* mask;
    AIT_INLINE float operator()(index_t k, float s) const { return s + mask[k]; }
  };
  AIT_INLINE Row row(index_t b, index_t h, index_t q) const { return {mask + ((b * heads + h) * q_len + q) * kv_len}; }
};

template <class Acc>
struct Store {
  Acc* out;
  std::uint8_t* visits;
  index_t heads, q_len, dim;
  struct Row {
    Acc* out;
    std::uint8_t* visits;
    AIT_INLINE void operator()(index_t d, Acc value) const {
      out[d] = value;
      ++visits[d];
    }
  };
  AIT_INLINE Row row(index_t b, index_t h, index_t q) const {
    const index_t at = ((b * heads + h) * q_len + q) * dim;
    return {out + at, visits + at};
  }
};

template <class T, bool Zero, class Score>
void run(const Case& c, const T* q, const T* k, const T* v, const Score& score, ait::compute_t<T>* out,
         std::uint8_t* visits) {
  Guarded<T> qc(q, c.q_extent), kc(k, c.k_extent), vc(v, c.v_extent);
  const auto view = [](const T* data, const index_t* s) { return Tensor4<T>{data, s[0], s[1], s[2], s[3]}; };
  Guarded<char> workspace(nullptr, workspace_bytes<T>(c.qk_dim, c.v_dim, int(c.threads)));
  attention<T, Zero>({c.batch, c.heads, c.kv_heads, c.q_len, c.kv_len, c.qk_dim, c.v_dim},
                     {float(c.scale), c.causal != 0, c.causal_offset}, view(qc.data, c.q_strides),
                     view(kc.data, c.k_strides), view(vc.data, c.v_strides), score,
                     Store<ait::compute_t<T>>{out, visits, c.heads, c.q_len, c.v_dim}, workspace.data, int(c.threads));
}

#define ATTENTION(name, T)                                                                               \
  extern "C" void attention_##name(const Case* c, const T* q, const T* k, const T* v, const float* mask, \
                                   ait::compute_t<T>* out, std::uint8_t* visits) {                       \
    if (mask && c->zero_if_masked) {                                                                     \
      run<T, true>(*c, q, k, v, Mask{mask, c->heads, c->q_len, c->kv_len}, out, visits);                 \
    } else if (mask) {                                                                                   \
      run<T, false>(*c, q, k, v, Mask{mask, c->heads, c->q_len, c->kv_len}, out, visits);                \
    } else {                                                                                             \
      run<T, true>(*c, q, k, v, IdentityScore{}, out, visits);                                           \
    }                                                                                                    \
  }

ATTENTION(f32, float)
ATTENTION(bf16, ait::bf16)
ATTENTION(f16, ait::f16)
#ifdef ALL_TYPES
ATTENTION(f64, double)
#endif
