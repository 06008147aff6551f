// SPDX-License-Identifier: Apache-2.0
// The tables that a generated model.cpp fills and the runtime walks. Internal to one shared library: a model is data
// (steps, slots, expressions) plus its kernels, so compile time does not grow with the number of layers.
#pragma once
#include <atomic>
#include <cstdint>

namespace ait {

using index_t = std::int64_t;

// Same numbers as ait_dtype in ait.h.
enum class DType : std::int32_t { f32 = 1, f16 = 2, bf16 = 3, f64 = 4, i64 = 5, i32 = 6, i16 = 7, i8 = 8, u8 = 9, boolean = 10 };

// What every kernel is told besides its operands.
struct KernelContext {
  int threads;                     // OpenMP threads this run may use (>= 1)
  void* stream;                    // the caller's device stream; null on the CPU
  std::atomic<std::uint64_t>* fault;  // 0, or (group index + 1) of a kernel that met an out-of-range index
  std::uint32_t group;             // index of the running group, for `fault`
};

// p: one pointer a slot of the step, offsets applied. d: the values of the step's dimension expressions.
using Kernel = void (*)(const KernelContext& ctx, void* const* p, const index_t* d);

// Where a kernel operand lives. `arena` is the activation arena of one run, `derived` the block of constants that the
// load-time program computes (packed, concatenated or cast weights).
enum class Space : std::uint32_t { input, output, constant, derived, arena };

struct Slot {
  Space space;
  std::uint32_t index;   // which input, output or constant; 0 for derived and arena
  std::uint32_t offset;  // expression id: offset in bytes
};

struct Step {
  Kernel kernel;
  std::uint32_t group;       // index into Program::groups
  std::uint32_t first_slot, slots;
  std::uint32_t first_dim, dims;  // range of Program::step_dims, each an expression id
};

struct Group {
  const char* name;   // unique, from the graph: "encoder_layer_0_query"
  const char* kernel; // "gemm.matmul + tensor.add + tensor.gelu"
};

struct TensorSpec {
  const char* name;
  DType dtype;
  std::uint32_t rank;
  const std::uint32_t* shape;  // expression ids
};

struct Dim {             // a symbolic dimension with its inclusive bounds; bound from input shapes at run time
  const char* name;
  index_t lo, hi;
};

struct ConstantSpec {    // a named, replaceable weight; always static and contiguous
  const char* name;
  DType dtype;
  std::uint32_t rank;
  const index_t* shape;
  std::uint64_t offset;  // into the weights block, 64-byte aligned
  std::uint64_t bytes;
};

struct Program {
  const char* manifest;    // JSON text
  std::uint32_t n_dims;
  const Dim* dims;
  // Expressions: the first n_dims are the dims themselves; evaluate() fills all n_exprs values from the dims.
  // values has room for n_exprs; `threads` is the thread count of the run (workspaces may depend on it).
  std::uint32_t n_exprs;
  void (*evaluate)(index_t threads, index_t* values);
  std::uint32_t n_inputs, n_outputs, n_constants, n_groups;
  const TensorSpec* inputs;
  const TensorSpec* outputs;
  const ConstantSpec* constants;
  const Group* groups;
  const Slot* slots;
  const std::uint32_t* step_dims;
  // The load-time program runs once after the weights are set (and again after a swap); the run program on every call.
  std::uint32_t n_load_steps, n_run_steps;
  const Step* load_steps;
  const Step* run_steps;
  std::uint32_t arena_bytes;    // expression id
  std::uint64_t derived_bytes;  // size of the derived block
  const char* isa;              // space separated CPU features the kernels need, e.g. "avx2 fma f16c"
  const unsigned char* weights; // embedded weights, or null when they lie beside the library
  std::uint64_t weights_bytes;
};

// Defined by the generated model.cpp.
extern const Program program;

}  // namespace ait
