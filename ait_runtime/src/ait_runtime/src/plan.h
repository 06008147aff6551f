// SPDX-License-Identifier: Apache-2.0
// From input shapes to everything a run needs to know about sizes: output shapes, operand offsets, kernel dims, memory.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "ait/ait.h"
#include "ait/program.h"

namespace ait::runtime {

struct Plan {
  std::uint64_t serial;              // never used twice
  std::vector<index_t> input_sizes;  // of all inputs, one after another
  std::vector<index_t> output_sizes;
  std::vector<std::uint64_t> input_bytes, output_bytes;
  std::vector<std::uint64_t> offsets;  // of every slot, in bytes
  std::vector<index_t> dims;           // of every entry of step_dims
  std::uint64_t arena;                 // bytes
};

// Counts and cross references of the tables. Throws Error(AIT_ERROR_INTERNAL): the code generator is at fault.
void check_program(const Program& program);

// All dims at their lower (or upper) bound: for descriptions, for memory bounds, and for the load-time program, whose
// offsets and sizes depend on no dim.
std::shared_ptr<const Plan> make_plan_at_bound(const Program& program, int threads, bool upper);

// Plans of the shapes used last. Thread safe.
class Planner {
 public:
  Planner(const Program& program, int threads) : program_(program), threads_(threads) {}

  // Throws Error with AIT_ERROR_INPUT, _DTYPE or _SHAPE.
  std::shared_ptr<const Plan> plan(const ait_tensor* inputs, std::size_t count);

 private:
  static constexpr std::size_t kKept = 32;
  const Program& program_;
  const int threads_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const Plan>> plans_;  // last used first
};

// Throws unless tensor has the rank and dtype of spec; `role` is "input" or "output".
void check_signature(const char* role, const TensorSpec& spec, const ait_tensor& tensor);
void check_count(const char* role, const TensorSpec* specs, std::size_t expected, std::size_t given);

}  // namespace ait::runtime
