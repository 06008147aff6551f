// SPDX-License-Identifier: Apache-2.0
// One f32[n] in, the same out, by way of one step: the least a call can cost. And without constants or derived block.
#include <cstring>

#include "ait/program.h"

#ifndef IDENTITY_DTYPE
#define IDENTITY_DTYPE DType::f32
#define IDENTITY_BYTES 4
#endif

namespace ait {
namespace {

void copy(const KernelContext&, void* const* p, const index_t* d) {
  if (d[0]) std::memcpy(p[1], p[0], static_cast<std::size_t>(d[0] * IDENTITY_BYTES));
}

void evaluate(index_t, index_t* v) { v[1] = 0; }

constexpr Dim dims[] = {{"n", 0, INT64_C(1) << 40}};
constexpr std::uint32_t shape[] = {0};
constexpr TensorSpec inputs[] = {{"x", IDENTITY_DTYPE, 1, shape}};
constexpr TensorSpec outputs[] = {{"y", IDENTITY_DTYPE, 1, shape}};
constexpr Group groups[] = {{"copy", "tensor.copy"}};
constexpr Slot slots[] = {{Space::input, 0, 1}, {Space::output, 0, 1}};
constexpr std::uint32_t step_dims[] = {0};
constexpr Step run_steps[] = {{copy, 0, 0, 2, 0, 1}};

}  // namespace

extern const Program program = {"{}", 1,       dims,      2,       evaluate, 1,     1,         0,
                                1,    inputs,  outputs,   nullptr, groups,   slots, step_dims, 0,
                                1,    nullptr, run_steps, 1,       0,        "",    nullptr,   0};

}  // namespace ait
