// SPDX-License-Identifier: Apache-2.0
// A loaded model: weights, plans, arenas, and the walk through its steps.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "ait/device.h"
#include "plan.h"
#include "weights.h"

namespace ait::runtime {

// What one run needs for itself. Kept and reused, so that runs allocate nothing once their sizes have been seen.
struct Arena {
  explicit Arena(const Program& program);
  Arena(const Arena&) = delete;
  ~Arena();

  void* memory = nullptr;
  std::uint64_t bytes = 0;
  std::atomic<std::uint64_t>* fault;  // in memory that kernels reach
  std::vector<void*> io;              // data of inputs, then outputs
  std::vector<void*> operands;        // of the running step
  device::Event last_use;
  device::Replay replay;
};

class Model {
 public:
  // Throws Error: wrong ABI, processor, device, environment or weights.
  Model(const Program& program, const ait_options& options);

  std::shared_ptr<const Plan> plan(const ait_tensor* inputs, std::size_t n) { return planner_.plan(inputs, n); }
  // Runs once where `runs` is 0 and returns nothing; else `runs` times and once before, and returns the median seconds
  // of every group.
  std::vector<double> run(device::Stream stream, const ait_tensor* inputs, std::size_t n_inputs,
                          const ait_tensor* outputs, std::size_t n_outputs, int runs);
  void synchronize(device::Stream stream);
  ait_memory memory(const ait_tensor* inputs, std::size_t n);

  void stage(const char* const* names, const ait_tensor* tensors, std::size_t n, bool partial);
  void stage_file(const std::string& path, bool partial);
  void swap();
  void read_weights(void* const* destinations, std::size_t n);

  const Program& program;
  const int device, threads;
  const std::shared_ptr<const Plan> lowest, highest;  // every dim at its lower, its upper bound

 private:
  class Lease;
  struct Clock;
  std::shared_ptr<WeightSet> first_weights(const ait_options& options) const;
  void derive(WeightSet& set);
  void execute(const Step* steps, std::size_t n, const Plan& plan, Arena& arena, const WeightSet& weights,
               device::Stream stream, Clock* clock);
  void raise_fault(Arena& arena) const;
  void check_outputs(const Plan& plan, const ait_tensor* inputs, const ait_tensor* outputs,
                     std::size_t n_outputs) const;
  std::shared_ptr<const WeightSet> current();
  std::shared_ptr<const WeightSet> staging_base();

  const Weights weights_;
  Planner planner_;
  std::mutex mutex_;  // guards current_ and idle_; never held while kernels run
  std::shared_ptr<const WeightSet> current_;
  std::vector<std::unique_ptr<Arena>> idle_;
  std::atomic<std::uint64_t> held_{0};
  std::mutex staging_;  // one change of weights at a time; guards staged_
  std::shared_ptr<WeightSet> staged_;
};

}  // namespace ait::runtime
