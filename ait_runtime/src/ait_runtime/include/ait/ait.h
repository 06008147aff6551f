// SPDX-License-Identifier: Apache-2.0
// The C interface of a compiled model (C99). Every model library exports these functions and nothing else.
//
// Thread safety: a model may be used from any number of threads at once, except that ait_destroy must be the last call.
// Memory: tensors are contiguous (row major) and belong to the caller; the library keeps no pointer after a call
// returns (on an asynchronous device: after the stream has passed the run). Text returned lives as long as the library,
// or the model it describes; ait_last_error() until the calling thread's next failing call.
#ifndef AIT_AIT_H
#define AIT_AIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define AIT_NOEXCEPT noexcept
extern "C" {
#else
#define AIT_NOEXCEPT
#endif

#if defined(_WIN32)
#define AIT_API __declspec(dllexport)
#else
#define AIT_API __attribute__((visibility("default")))
#endif

// Grows when a signature or a struct below changes in a way that an older caller would notice.
#define AIT_ABI_VERSION 1

typedef int32_t ait_status;
enum {
  AIT_OK = 0,
  AIT_ERROR_INPUT = 1,     // wrong number of tensors, null or overlapping memory, a bad option
  AIT_ERROR_SHAPE = 2,     // a size out of its range, sizes that contradict each other, a wrong rank
  AIT_ERROR_DTYPE = 3,     // another dtype than the model's
  AIT_ERROR_WEIGHTS = 4,   // missing, extra, wrongly shaped or typed weights; a damaged weights file
  AIT_ERROR_ISA = 5,       // the processor lacks instructions that the model needs
  AIT_ERROR_ABI = 6,       // caller and library disagree about this header
  AIT_ERROR_FAULT = 7,     // a kernel met data it cannot serve, such as an index outside its table
  AIT_ERROR_MEMORY = 8,    // out of memory
  AIT_ERROR_DEVICE = 9,    // the accelerator is missing, of another architecture, or failed
  AIT_ERROR_INTERNAL = 10  // a broken invariant of the compiler
};

typedef int32_t ait_dtype;
enum {
  AIT_F32 = 1,
  AIT_F16 = 2,
  AIT_BF16 = 3,
  AIT_F64 = 4,
  AIT_I64 = 5,
  AIT_I32 = 6,
  AIT_I16 = 7,
  AIT_I8 = 8,
  AIT_U8 = 9,
  AIT_BOOL = 10  // AIT_BOOL: one byte, 0 or 1
};

typedef int32_t ait_kind;
enum { AIT_INPUTS = 0, AIT_OUTPUTS = 1, AIT_CONSTANTS = 2, AIT_DIMS = 3, AIT_GROUPS = 4 };

typedef struct ait_model ait_model;

typedef struct ait_tensor {
  void* data;            // never written through for an input; may be null when a size is 0
  const int64_t* shape;  // rank sizes; may be null for rank 0
  int32_t rank;
  ait_dtype dtype;
} ait_tensor;

typedef struct ait_options {
  uint32_t abi;      // AIT_ABI_VERSION
  int32_t threads;   // 0: AIT_NUM_THREADS, else OMP_NUM_THREADS, else the cores this process may use
  int32_t device;    // ordinal of the accelerator; 0 on the CPU
  int32_t reserved;  // 0
  // Weights in at most one of three forms; in none: see ait_create.
  const char* weights_path;  // a safetensors file, mapped, not to be changed in place while in use
  const void* weights_data;  // the bytes of such a file, copied
  uint64_t weights_bytes;
  const char* const* weights_names;  // tensors by name, copied
  const ait_tensor* weights_tensors;
  uint64_t weights_count;
} ait_options;

typedef struct ait_tensor_info {
  const char* name;
  ait_dtype dtype;
  int32_t rank;
  const int64_t* lo;   // sizes with every dim at its lower bound, and
  const int64_t* hi;   // at its upper bound; equal where the size is fixed
  const int32_t* dim;  // index of the dim that this size is, -1 where it is fixed or an expression of dims
} ait_tensor_info;

typedef struct ait_dim_info {
  const char* name;
  int64_t lo, hi;  // inclusive
} ait_dim_info;

typedef struct ait_group_info {  // a group: one anchor op with what was fused into it
  const char* name;
  const char* kernel;
} ait_group_info;

typedef struct ait_memory {  // bytes
  uint64_t weights;          // constants as given
  uint64_t derived;          // constants computed from them at load time
  uint64_t inputs, outputs;  // the caller's tensors
  uint64_t arena;            // activations and workspaces of one run at the given sizes
  uint64_t arena_held;       // what this model holds for its runs at present
} ait_memory;

AIT_API uint32_t ait_abi_version(void) AIT_NOEXCEPT;
AIT_API const char* ait_manifest(void) AIT_NOEXCEPT;  // JSON
AIT_API int32_t ait_device_type(void)
    AIT_NOEXCEPT;  // where tensors live, as DLPack numbers devices: 1 = CPU, 2 = CUDA, 10 = ROCm
AIT_API int32_t ait_weights_embedded(void)
    AIT_NOEXCEPT;  // 1: weights lie inside the library, 0: beside it, or there are none
AIT_API const char* ait_last_error(void) AIT_NOEXCEPT;  // of the calling thread; "" when none

// Weights come from the options, else from inside the library, else from the file beside it that has its name with the
// ending .safetensors. `options` may be null.
AIT_API ait_status ait_create(const ait_options* options, ait_model** model) AIT_NOEXCEPT;
AIT_API void ait_destroy(ait_model* model) AIT_NOEXCEPT;  // null is allowed

AIT_API int32_t ait_threads(const ait_model* model) AIT_NOEXCEPT;
AIT_API size_t ait_count(const ait_model* model, ait_kind kind) AIT_NOEXCEPT;  // 0 for an unknown kind
AIT_API ait_status ait_describe(const ait_model* model, ait_kind kind, size_t index,
                                ait_tensor_info* info) AIT_NOEXCEPT;
AIT_API ait_status ait_describe_dim(const ait_model* model, size_t index, ait_dim_info* info) AIT_NOEXCEPT;
AIT_API ait_status ait_describe_group(const ait_model* model, size_t index, ait_group_info* info) AIT_NOEXCEPT;

// Output shapes for input shapes (data is not looked at): output_shapes[i] has room for the rank of output i.
AIT_API ait_status ait_infer(ait_model* model, const ait_tensor* inputs, size_t n_inputs,
                             int64_t* const* output_shapes) AIT_NOEXCEPT;
// Memory for input shapes; with inputs null, for every dim at its upper bound.
AIT_API ait_status ait_memory_use(ait_model* model, const ait_tensor* inputs, size_t n_inputs,
                                  ait_memory* memory) AIT_NOEXCEPT;

// Outputs have the shapes of ait_infer and overlap neither each other nor an input.
AIT_API ait_status ait_run(ait_model* model, void* stream, const ait_tensor* inputs, size_t n_inputs,
                           const ait_tensor* outputs, size_t n_outputs) AIT_NOEXCEPT;
// Waits for the stream and reports the faults of runs on it. ait_run itself reports them where runs are synchronous
// (CPU).
AIT_API ait_status ait_synchronize(ait_model* model, void* stream) AIT_NOEXCEPT;
// Runs `runs` times (after one run that is not counted): group_seconds[g] is the median time of group g.
AIT_API ait_status ait_profile(ait_model* model, void* stream, const ait_tensor* inputs, size_t n_inputs,
                               const ait_tensor* outputs, size_t n_outputs, int32_t runs,
                               double* group_seconds) AIT_NOEXCEPT;

// New weights are staged beside the current ones (data is copied, a file is mapped), then swapped in. Unless `partial`,
// every constant must be given; else those not given keep their staged or current value. What does not fit is refused
// as a whole. Runs under way finish on the weights they began with, which are freed when the last of them ends.
AIT_API ait_status ait_stage_weights(ait_model* model, const char* const* names, const ait_tensor* tensors, size_t n,
                                     int32_t partial) AIT_NOEXCEPT;
AIT_API ait_status ait_stage_weights_file(ait_model* model, const char* path, int32_t partial) AIT_NOEXCEPT;
AIT_API ait_status ait_swap_weights(ait_model* model) AIT_NOEXCEPT;
// Copies the current constants, in the order of ait_describe, to host memory of their size; null skips one.
AIT_API ait_status ait_read_weights(ait_model* model, void* const* destinations, size_t n) AIT_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
