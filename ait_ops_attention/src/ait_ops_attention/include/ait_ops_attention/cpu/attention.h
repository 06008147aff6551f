// SPDX-License-Identifier: Apache-2.0
// Fused attention: out[b, h, q, :] = softmax_s(score(scale * q . k_s)) . v_s, tile by tile with a running softmax in
// fp32 (Milakov and Gimelshein 2018; Dao et al. 2022).
//
// Score functor:   static constexpr bool identity;  auto row = score.row(b, h, q); float s2 = row(k, s);
//                  s is already scaled; -inf excludes a key. Called in a SIMD loop over k, only if not identity.
// Output functor:  auto row = out.row(b, h, q); row(d, value);   value is float (double for T = double)
#pragma once

#include "ait_ops_attention/cpu/decode.h"
#include "ait_ops_attention/cpu/softmax.h"
#include "ait_ops_gemm/cpu/pack.h"

namespace ait_ops_attention {

using ait::index_t;

/// Sizes of one call. Query head h reads key/value head h / (heads / kv_heads).
struct Shape {
  index_t batch, heads, kv_heads, q_len, kv_len, qk_dim, v_dim;
};

/// [batch, head, position, feature] by pointer and element strides.
template <class T>
struct Tensor4 {
  const T* data;
  index_t batch_stride, head_stride, seq_stride, dim_stride;
};

/// With `causal`, query q sees keys k <= q + causal_offset (kv_len - q_len aligns the last query with the last key).
struct Options {
  float scale = 1.0f;
  bool causal = false;
  index_t causal_offset = 0;
};

/// Scores as they are.
struct IdentityScore {
  static constexpr bool identity = true;
  struct Row {
    AIT_INLINE float operator()(index_t, float s) const { return s; }
  };
  AIT_INLINE Row row(index_t, index_t, index_t) const { return {}; }
};

constexpr index_t max_query_rows = 256;  // queries that share one packing of K and V
constexpr index_t key_block = 192;       // keys of one softmax step
constexpr index_t row_block = 32;        // queries whose scores are in flight

/// Workspace of one call in bytes, the same on every ISA: with e = max(4, sizeof(T)), d = round_up(qk_dim, 32) and
/// v = round_up(v_dim, 16),
///   threads * (e * (192 * d + 192 * v + 256 * (d + 32) + 2 * 32 * 192 + 256 * v + 2 * 256) + 1024) + 64
template <class T>
constexpr index_t workspace_bytes(index_t qk_dim, index_t v_dim, int threads) {
  const index_t e = sizeof(T) > 4 ? sizeof(T) : 4, d = ait::round_up(qk_dim, 32), v = ait::round_up(v_dim, 16);
  return threads * (e * (key_block * (d + v) + max_query_rows * (d + 32) + 2 * row_block * key_block +
                         max_query_rows * (v + 2)) +
                    1024) +
         64;
}

namespace detail {

/// T of the tile kernels: halves without their own dot product are widened once, when K and V are packed.
template <class T>
using Operand = std::conditional_t<ait_ops_gemm::uses_pairs<T>, T, ait::compute_t<T>>;

/// One thread's buffers.
template <class T>
struct Buffers {
  using Acc = ait::compute_t<T>;
  Operand<T>* keys;     // packed K^T: panels of [qk_dim][width]
  Operand<T>* values;   // packed V: panels of [keys][width]
  Operand<T>* queries;  // [rows][ldq]
  Acc* scores;          // [row_block][key_block]
  Operand<T>* weights;  // [row_block][key_block]; the scores themselves unless the tile kernels want halves
  Acc* output;          // [rows][ldo]
  Acc* row_max;
  Acc* row_sum;
  index_t ldq, ldo;

  Buffers(char* base, const Shape& shape) {
    ldq = ait::round_up(shape.qk_dim, 32) + 32;
    ldo = ait::round_up(shape.v_dim, 16);
    keys = take<Operand<T>>(base, key_block * ait::round_up(shape.qk_dim, 32));
    values = take<Operand<T>>(base, key_block * ldo);
    queries = take<Operand<T>>(base, max_query_rows * ldq);
    scores = take<Acc>(base, row_block * key_block);
    if constexpr (std::is_same<Operand<T>, Acc>::value) {
      weights = scores;
    } else {
      weights = take<Operand<T>>(base, row_block * key_block);
    }
    output = take<Acc>(base, max_query_rows * ldo);
    row_max = take<Acc>(base, max_query_rows);
    row_sum = take<Acc>(base, max_query_rows);
  }

  template <class U>
  static U* take(char*& base, index_t count) {
    U* here = reinterpret_cast<U*>(base);
    base += ait::round_up(count * index_t(sizeof(U)), 64);
    return here;
  }
};

template <class T, bool ZeroIfMasked, class Score, class Out>
struct Driver {
  using Acc = ait::compute_t<T>;
  using Op = Operand<T>;
  using Tile = ait_ops_gemm::Tile<Op>;
  const Shape& shape;
  const Options& options;
  const Tensor4<T>&q, &k, &v;
  const Score& score;
  const Out& out;
  index_t chunk;  // rows of one task

  // The query heads that share a key/value head form one tall matrix: row r is query r % q_len of head r / q_len among
  // them.
  index_t group() const { return shape.heads / shape.kv_heads; }
  index_t head(index_t kv_head, index_t r) const { return kv_head * group() + r / shape.q_len; }
  index_t query(index_t r) const { return r % shape.q_len; }

  /// Keys that a query may see, at most kv_len.
  index_t visible(index_t query) const {
    if (!options.causal) return shape.kv_len;
    const index_t end = query + options.causal_offset + 1;
    return end < 0 ? 0 : end < shape.kv_len ? end : shape.kv_len;
  }

  /// Keys that any of the rows [r0, r1) may see.
  index_t visible_to(index_t r0, index_t r1) const {
    return visible(r0 / shape.q_len == (r1 - 1) / shape.q_len ? query(r1 - 1) : shape.q_len - 1);
  }

  /// C[rows, N] (+)= A[rows, K] B for the first N columns and K rows of packed B[packed_K, packed_N].
  static void multiply(index_t rows, index_t N, index_t K, const Op* a, index_t lda, const Op* b, index_t packed_K,
                       index_t packed_N, Acc* c, index_t ldc, bool accumulate) {
    for (index_t p = 0; p * Tile::panel < N; ++p) {
      const index_t width = ait_ops_gemm::panel_width<Op>(p, packed_N);
      const Op* panel = b + ait_ops_gemm::panel_offset<Op>(p, packed_K);
      for (index_t i = 0; i < rows; i += Tile::step) {
        const int count = int(rows - i < Tile::step ? rows - i : Tile::step);
        ait_ops_gemm::multiply_tile<Op>(count, int(width / Tile::lanes), K, a + i * lda, lda, panel,
                                        width * Tile::k_unit, c + i * ldc + p * Tile::panel, ldc, accumulate);
      }
    }
  }

  /// Packs src[K, N] (strides sk, sn), widening elements on the way if the tile kernels need it.
  static void pack(Op* dst, const T* src, index_t sk, index_t sn, index_t K, index_t N) {
    for (index_t p = 0; p * Tile::panel < N; ++p) {
      const index_t n0 = p * Tile::panel, cols = N - n0 < Tile::panel ? N - n0 : Tile::panel;
      ait_ops_gemm::pack_panel(dst + ait_ops_gemm::panel_offset<Op>(p, K), src + n0 * sn, sk, sn, K, cols,
                               ait_ops_gemm::panel_width<Op>(p, N));
    }
  }

  /// Rows [begin, end) of one batch item and key/value head.
  void run_task(index_t b, index_t kv_head, index_t begin, index_t end, const Buffers<T>& buf) const {
    const index_t rows = end - begin, limit = visible_to(begin, end);
    const T* k_source = k.data + b * k.batch_stride + kv_head * k.head_stride;
    const T* v_source = v.data + b * v.batch_stride + kv_head * v.head_stride;
    for (index_t r = begin; r < end;) {  // one stretch of queries per head
      const index_t left = shape.q_len - query(r), count = left < end - r ? left : end - r;
      const T* source = q.data + b * q.batch_stride + head(kv_head, r) * q.head_stride + query(r) * q.seq_stride;
      ait_ops_gemm::pack_rows(buf.queries + (r - begin) * buf.ldq, buf.ldq, source, q.seq_stride, q.dim_stride, count,
                              shape.qk_dim, ait::round_up(shape.qk_dim, Tile::k_pad));
      r += count;
    }
    for (index_t i = 0; i < rows; ++i) {
      buf.row_max[i] = -std::numeric_limits<Acc>::infinity();
      buf.row_sum[i] = 0;
    }
    for (index_t i = 0; i < rows * buf.ldo; ++i) buf.output[i] = 0;
    const bool few = rows <= few_rows && k.dim_stride == 1 && v.dim_stride == 1;
    for (index_t s0 = 0; s0 < limit; s0 += key_block) {
      const index_t keys = limit - s0 < key_block ? limit - s0 : key_block;
      const T *k_block = k_source + s0 * k.seq_stride, *v_block = v_source + s0 * v.seq_stride;
      if constexpr (std::is_same<Acc, float>::value) {
        if (few) {
          dot_scores(buf.queries, buf.ldq, rows, k_block, k.seq_stride, keys, shape.qk_dim, buf.scores, key_block);
          softmax_rows(b, kv_head, begin, 0, rows, s0, keys, buf.scores, buf);
          weighted_sum(buf.scores, key_block, rows, v_block, v.seq_stride, keys, shape.v_dim, buf.output, buf.ldo);
          continue;
        }
      }
      pack(buf.keys, k_block, k.dim_stride, k.seq_stride, shape.qk_dim, keys);
      pack(buf.values, v_block, v.seq_stride, v.dim_stride, keys, shape.v_dim);
      for (index_t i0 = 0; i0 < rows; i0 += row_block) {
        const index_t i1 = i0 + row_block < rows ? i0 + row_block : rows;
        const index_t last = visible_to(begin + i0, begin + i1) - s0, used = last < keys ? last : keys;
        if (used <= 0) continue;
        multiply(i1 - i0, used, shape.qk_dim, buf.queries + i0 * buf.ldq, buf.ldq, buf.keys, shape.qk_dim, keys,
                 buf.scores, key_block, false);
        softmax_rows(b, kv_head, begin, i0, i1, s0, used, buf.weights, buf);
        multiply(i1 - i0, shape.v_dim, used, buf.weights, key_block, buf.values, keys, shape.v_dim,
                 buf.output + i0 * buf.ldo, buf.ldo, true);
      }
    }
    for (index_t i = 0; i < rows; ++i) {
      const Acc sum = buf.row_sum[i];
      const Acc inverse = ZeroIfMasked && sum == 0 ? Acc(0) : Acc(1) / sum;
      auto row = out.row(b, head(kv_head, begin + i), query(begin + i));
      const Acc* AIT_RESTRICT source = buf.output + i * buf.ldo;
      AIT_SIMD
      for (index_t d = 0; d < shape.v_dim; ++d) row(d, source[d] * inverse);
    }
  }

  /// Scores of rows [i0, i1) of a task over keys s0.. become weights; what the rows gathered before is rescaled.
  template <class Weight>
  void softmax_rows(index_t b, index_t kv_head, index_t begin, index_t i0, index_t i1, index_t s0, index_t used,
                    Weight* weights, const Buffers<T>& buf) const {
    for (index_t i = i0; i < i1; ++i) {
      const index_t r = begin + i, seen = visible(query(r)) - s0, count = seen < 0 ? 0 : seen < used ? seen : used;
      const Acc factor = softmax_step<Score::identity>(
          buf.scores + (i - i0) * key_block, weights + (i - i0) * key_block, count, ait::round_up(used, Tile::k_pad),
          Acc(options.scale), s0, score.row(b, head(kv_head, r), query(r)), buf.row_max[i], buf.row_sum[i]);
      Acc* AIT_RESTRICT target = buf.output + i * buf.ldo;
      if (s0 > 0 && factor != Acc(1)) {
        AIT_SIMD
        for (index_t d = 0; d < buf.ldo; ++d) target[d] *= factor;
      }
    }
  }

  void run(int thread, int team, char* own) const {
    const Buffers<T> buf(own, shape);
    const index_t rows = group() * shape.q_len, chunks = ait::ceil_div(rows, chunk);
    const index_t tasks = shape.batch * shape.kv_heads * chunks;
    for (index_t t = tasks * thread / team; t < tasks * (thread + 1) / team; ++t) {
      const index_t begin = t % chunks * chunk, block = t / chunks;
      run_task(block / shape.kv_heads, block % shape.kv_heads, begin, begin + chunk < rows ? begin + chunk : rows, buf);
    }
    ait_ops_gemm::end_multiply();
  }
};

}  // namespace detail

/// Attention over q[b, h, q_len, qk_dim], k[b, kv_h, kv_len, qk_dim], v[b, kv_h, kv_len, v_dim], any strides.
///
/// A query row without any key (all -inf, or kv_len 0) gives 0 with ZeroIfMasked, as
/// torch.nn.functional.scaled_dot_product_attention does, and NaN without it, as a plain softmax does.
/// `workspace`: workspace_bytes<T>(qk_dim, v_dim, threads) bytes.
template <class T, bool ZeroIfMasked = true, class Score, class Out>
inline void attention(const Shape& shape, const Options& options, const Tensor4<T>& q, const Tensor4<T>& k,
                      const Tensor4<T>& v, const Score& score, const Out& out, void* workspace, int threads) {
  if (shape.batch <= 0 || shape.heads <= 0 || shape.q_len <= 0 || shape.v_dim <= 0) return;
  // Fewer, larger tasks share more packing; below two tasks a thread the last one would leave threads idle.
  const index_t pairs = shape.batch * shape.kv_heads, rows = shape.heads / shape.kv_heads * shape.q_len;
  index_t chunk = ait::round_up(ait::ceil_div(rows, ait::ceil_div(2 * index_t(threads), pairs)), detail::row_granule);
  chunk = chunk > max_query_rows ? max_query_rows : chunk;
  const index_t work = pairs * rows * shape.kv_len * (shape.qk_dim + shape.v_dim + 16), useful = 1 + work / 65536;
  const index_t tasks = pairs * ait::ceil_div(rows, chunk), most = tasks < useful ? tasks : useful;
  const int team = int(most < threads ? most : threads);
  char* base = reinterpret_cast<char*>(ait::round_up(reinterpret_cast<index_t>(workspace), 64));
  const index_t stride = (workspace_bytes<T>(shape.qk_dim, shape.v_dim, 1) - 64) / 64 * 64;
  const detail::Driver<T, ZeroIfMasked, Score, Out> driver{shape, options, q, k, v, score, out, chunk};
  ait::parallel_team(team, [&](int thread, int size) { driver.run(thread, size, base + thread * stride); });
}

}  // namespace ait_ops_attention
