// SPDX-License-Identifier: Apache-2.0
// A model written by hand, with one of everything that the runtime knows:
//   h = x * (weight * scale)                weight * scale: derived at load time; h: in the arena
//   y = h + table[index] + flat[:, None]    table: lookup that may fault; flat: its size is an expression, batch * seq
//   copy = y;  total = sum(y)               an output read by later steps; a 0-d output
// x: f32[batch, seq, 4], index: i64[batch], flat: f32[batch * seq], weight: f32[4], scale: f32[], table: f32[5, 4]
#include <cstring>

#include "ait/program.h"

#ifndef TOY_ISA
#define TOY_ISA ""
#endif
#ifndef TOY_MAX_BATCH
#define TOY_MAX_BATCH 64
#endif

#ifdef TOY_EMBEDDED
extern "C" const unsigned char toy_weights[];
#define TOY_WEIGHTS toy_weights
#else
#define TOY_WEIGHTS nullptr
#endif

namespace ait {
namespace {

void scale_weight(const KernelContext&, void* const* p, const index_t*) {
  for (int i = 0; i < 4; ++i)
    static_cast<float*>(p[2])[i] = static_cast<const float*>(p[0])[i] * *static_cast<const float*>(p[1]);
}

void multiply(const KernelContext&, void* const* p, const index_t* d) {
  for (index_t i = 0; i < d[0] * d[1] * 4; ++i)
    static_cast<float*>(p[2])[i] = static_cast<const float*>(p[0])[i] * static_cast<const float*>(p[1])[i % 4];
}

// p: h, index, flat, table, y
void lookup_add(const KernelContext& ctx, void* const* p, const index_t* d) {
  for (index_t b = 0; b < d[0]; ++b) {
    index_t row = static_cast<const std::int64_t*>(p[1])[b];
    if (row < 0 || row >= 5) {
      ctx.fault->store(ctx.group + 1);
      row = 0;
    }
    for (index_t s = 0; s < d[1]; ++s)
      for (index_t c = 0; c < 4; ++c) {
        const index_t i = (b * d[1] + s) * 4 + c;
        static_cast<float*>(p[4])[i] = static_cast<const float*>(p[0])[i] +
                                       static_cast<const float*>(p[3])[row * 4 + c] +
                                       static_cast<const float*>(p[2])[b * d[1] + s];
      }
  }
}

void copy(const KernelContext&, void* const* p, const index_t* d) {
  if (d[0]) std::memcpy(p[1], p[0], static_cast<std::size_t>(d[0]));
}

void sum(const KernelContext&, void* const* p, const index_t* d) {
  float total = 0;
  for (index_t i = 0; i < d[0] * d[1] * 4; ++i) total += static_cast<const float*>(p[0])[i];
  *static_cast<float*>(p[1]) = total;
}

// Expressions: 0 batch, 1 seq, 2 four, 3 batch * seq, 4 bytes of y, 5 zero, 6 arena bytes, 7 padding before h
void evaluate(index_t threads, index_t* v) {
  v[2] = 4;
  v[3] = v[0] * v[1];
  v[4] = v[3] * 16;
  v[5] = 0;
  v[7] = 64 * threads;  // a workspace that depends on the thread count
  v[6] = v[7] + v[4];
}

constexpr Dim dims[] = {{"batch", 0, TOY_MAX_BATCH}, {"seq", 1, 16}};
constexpr std::uint32_t x_shape[] = {0, 1, 2}, index_shape[] = {0}, flat_shape[] = {3};
constexpr TensorSpec inputs[] = {
    {"x", DType::f32, 3, x_shape}, {"index", DType::i64, 1, index_shape}, {"flat", DType::f32, 1, flat_shape}};
constexpr TensorSpec outputs[] = {
    {"y", DType::f32, 3, x_shape}, {"copy", DType::f32, 3, x_shape}, {"total", DType::f32, 0, nullptr}};
constexpr index_t weight_shape[] = {4}, table_shape[] = {5, 4};
constexpr ConstantSpec constants[] = {{"weight", DType::f32, 1, weight_shape, 0, 16},
                                      {"scale", DType::f32, 0, nullptr, 64, 4},
                                      {"table.rows", DType::f32, 2, table_shape, 128, 80}};
constexpr Group groups[] = {{"scaled_weight", "tensor.mul"},
                            {"hidden", "tensor.mul"},
                            {"lookup", "tensor.gather + tensor.add"},
                            {"copies", "tensor.copy"},
                            {"total", "tensor.sum"}};
constexpr Slot slots[] = {{Space::constant, 0, 5}, {Space::constant, 1, 5}, {Space::derived, 0, 5},  // 0
                          {Space::input, 0, 5},    {Space::derived, 0, 5},  {Space::arena, 0, 7},    // 3
                          {Space::arena, 0, 7},    {Space::input, 1, 5},    {Space::input, 2, 5},
                          {Space::constant, 2, 5}, {Space::output, 0, 5},   // 6
                          {Space::output, 0, 5},   {Space::output, 1, 5},   // 11
                          {Space::output, 0, 5},   {Space::output, 2, 5}};  // 13
constexpr std::uint32_t step_dims[] = {0, 1, 4};
constexpr Step load_steps[] = {{scale_weight, 0, 0, 3, 0, 0}};
constexpr Step run_steps[] = {
    {multiply, 1, 3, 3, 0, 2}, {lookup_add, 2, 6, 5, 0, 2}, {copy, 3, 11, 2, 2, 1}, {sum, 4, 13, 2, 0, 2}};

}  // namespace

extern const Program program = {TOY_MANIFEST,
                                2,
                                dims,
                                8,
                                evaluate,
                                3,
                                3,
                                3,
                                5,
                                inputs,
                                outputs,
                                constants,
                                groups,
                                slots,
                                step_dims,
                                1,
                                4,
                                load_steps,
                                run_steps,
                                6,
                                16,
                                TOY_ISA,
                                TOY_WEIGHTS,
                                TOY_WEIGHTS ? 256u : 0u};

}  // namespace ait
