// SPDX-License-Identifier: Apache-2.0
// GEMM on guarded buffers with both kinds of B and both kinds of epilogue, behind one C function per element type.
#include "ait_ops_gemm/cpu/gemm.h"
#include "guarded.h"

using namespace ait_ops_gemm;

struct Case {
  index_t batch, m, n, k;
  index_t a_strides[3], b_strides[3];  // batch, row, column
  index_t a_extent, b_extent;          // elements the strides reach
  index_t packed, rowwise, threads;
};

template <class Acc>
struct Store {
  Acc* out;
  std::uint8_t* visits;
  index_t m, n;
  struct Row {
    Acc* out;
    std::uint8_t* visits;
    AIT_INLINE void operator()(index_t n, Acc acc) const {
      out[n] = acc;
      ++visits[n];
    }
  };
  AIT_INLINE Row row(index_t b, index_t i) const { return {out + (b * m + i) * n, visits + (b * m + i) * n}; }
};

// Writes acc minus the row's mean, by way of scratch: needs the complete row and private scratch.
template <class Acc>
struct CentreRows {
  static constexpr bool rowwise = true;
  Acc* out;
  std::uint8_t* visits;
  index_t m, n;
  index_t scratch_floats(index_t N) const { return N + 1; }
  void finish(index_t b, index_t i, const Acc* acc, float* scratch) const {
    double sum = 0;
    for (index_t j = 0; j < n; ++j) {
      scratch[j] = float(acc[j]);
      sum += acc[j];
    }
    scratch[n] = float(sum / double(n));
    for (index_t j = 0; j < n; ++j) {
      out[(b * m + i) * n + j] = Acc(scratch[j] - scratch[n]);
      ++visits[(b * m + i) * n + j];
    }
  }
};

template <class T, class Epi>
void run(const Case& c, const T* a, const T* b, const Epi& epi, index_t scratch) {
  const Shape shape{c.batch, c.m, c.n, c.k};
  Guarded<T> a_copy(a, c.a_extent), b_copy(b, c.b_extent);
  const Matrix<T> A{a_copy.data, c.a_strides[0], c.a_strides[1], c.a_strides[2]};
  const Matrix<T> B{b_copy.data, c.b_strides[0], c.b_strides[1], c.b_strides[2]};
  const int threads = int(c.threads);
  Guarded<char> workspace(nullptr, workspace_bytes<T>(c.n, c.k, threads, !c.packed, c.rowwise, scratch));
  if (!c.packed) return gemm<T>(shape, A, B, epi, workspace.data, threads);
  const index_t bytes = packed_b_bytes<T>(c.k, c.n);
  const index_t items = B.batch_stride == 0 && c.batch > 0 ? 1 : c.batch;
  Guarded<char> packed(nullptr, items * bytes);
  for (index_t i = 0; i < items; ++i) {
    pack_b<T>(packed.data + i * bytes, B.data + i * B.batch_stride, B.row_stride, B.col_stride, c.k, c.n, threads);
  }
  gemm<T>(shape, A, PackedMatrix{packed.data, B.batch_stride == 0 ? 0 : bytes}, epi, workspace.data, threads);
}

#define GEMM(name, T)                                                                                       \
  extern "C" void gemm_##name(const Case* c, const T* a, const T* b, acc_t<T>* out, std::uint8_t* visits) { \
    using Acc = acc_t<T>;                                                                                   \
    if (c->rowwise) {                                                                                       \
      run(*c, a, b, CentreRows<Acc>{out, visits, c->m, c->n}, c->n + 1);                                    \
    } else {                                                                                                \
      run(*c, a, b, Store<Acc>{out, visits, c->m, c->n}, 0);                                                \
    }                                                                                                       \
  }

GEMM(bf16, ait::bf16)
GEMM(f16, ait::f16)
GEMM(f32, float)
#ifdef ALL_TYPES
GEMM(f64, double)
GEMM(i32, std::int32_t)
GEMM(i64, std::int64_t)
GEMM(i8, std::int8_t)
GEMM(u8, std::uint8_t)
#endif
