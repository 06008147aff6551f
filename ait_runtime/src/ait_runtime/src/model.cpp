// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <dlfcn.h>

#include <algorithm>

#include "host.h"
#include "tensor.h"

namespace ait::runtime {
namespace {

const Program& checked(const Program& program, const ait_options& options) {
  if (options.abi != AIT_ABI_VERSION)
    fail(AIT_ERROR_ABI, "The caller was built for version ", options.abi, " of ait.h, the model has version ",
         AIT_ABI_VERSION, ". Build both with the same version of AIT.");
  if (options.reserved) fail(AIT_ERROR_INPUT, "ait_options.reserved is ", options.reserved, "; set it to 0.");
  require_isa(program.isa);
  device::select(options.device);
  check_program(program);
  return program;
}

std::string beside_library(const Program& program) {
  Dl_info info;
  if (!dladdr(&program, &info) || !info.dli_fname)
    fail(AIT_ERROR_INTERNAL, "The dynamic loader does not know where the model's library lies.");
  std::string path = info.dli_fname;
  if (path.size() > 3 && path.compare(path.size() - 3, 3, ".so") == 0) path.resize(path.size() - 3);
  return path + ".safetensors";
}

}  // namespace

Model::Model(const Program& p, const ait_options& options)
    : program(checked(p, options)),
      device(options.device),
      threads(choose_threads(options.threads)),
      lowest(make_plan_at_bound(p, threads, false)),
      highest(make_plan_at_bound(p, threads, true)),
      weights_(p),
      planner_(p, threads) {
  std::shared_ptr<WeightSet> set = first_weights(options);
  derive(*set);
  current_ = std::move(set);
}

std::shared_ptr<WeightSet> Model::first_weights(const ait_options& options) const {
  if (!!options.weights_path + !!options.weights_data + !!options.weights_names > 1)
    fail(AIT_ERROR_INPUT,
         "Weights are given in several forms; give one of weights_path, weights_data and weights_names.");
  const std::shared_ptr<WeightSet> inside =
      program.weights || program.n_constants == 0 ? weights_.embedded() : nullptr;
  const WeightSet* base = inside.get();
  if (options.weights_path) return weights_.from_file(options.weights_path, base, false);
  if (options.weights_data) return weights_.from_bytes(options.weights_data, options.weights_bytes, base);
  if (options.weights_names)
    return weights_.from_tensors(options.weights_names, options.weights_tensors, options.weights_count, base, false);
  return inside ? inside : weights_.from_file(beside_library(program), nullptr, false);
}

void Model::derive(WeightSet& set) {
  if (program.derived_bytes) set.derived.reset(device::alloc(program.derived_bytes), device::free);
  Arena arena(program);
  execute(program.load_steps, program.n_load_steps, *lowest, arena, set, nullptr, nullptr);
  device::synchronize(nullptr);
  raise_fault(arena);
}

ait_memory Model::memory(const ait_tensor* inputs, std::size_t n) {
  const std::shared_ptr<const Plan> plan = inputs || n ? this->plan(inputs, n) : highest;
  ait_memory memory{};
  for (std::uint32_t i = 0; i < program.n_constants; ++i) memory.weights += program.constants[i].bytes;
  memory.derived = program.derived_bytes;
  const auto sum = [](const std::vector<std::uint64_t>& bytes) {
    std::uint64_t total = 0;
    for (const std::uint64_t b : bytes)
      if (b > INT64_MAX || __builtin_add_overflow(total, b, &total))
        fail(AIT_ERROR_SHAPE, "At these sizes a tensor has more bytes than can be addressed.");
    return total;
  };
  memory.inputs = sum(plan->input_bytes);
  memory.outputs = sum(plan->output_bytes);
  memory.arena = plan->arena;
  memory.arena_held = held_;
  return memory;
}

void Model::stage(const char* const* names, const ait_tensor* tensors, std::size_t n, bool partial) {
  device::select(device);
  std::lock_guard<std::mutex> lock(staging_);
  staged_ = weights_.from_tensors(names, tensors, n, staging_base().get(), partial);
}

void Model::stage_file(const std::string& path, bool partial) {
  device::select(device);
  std::lock_guard<std::mutex> lock(staging_);
  staged_ = weights_.from_file(path, staging_base().get(), partial);
}

std::shared_ptr<const WeightSet> Model::staging_base() { return staged_ ? staged_ : current(); }

std::shared_ptr<const WeightSet> Model::current() {
  std::lock_guard<std::mutex> lock(mutex_);
  return current_;
}

void Model::swap() {
  device::select(device);
  std::lock_guard<std::mutex> staging(staging_);
  if (!staged_) fail(AIT_ERROR_WEIGHTS, "No weights are staged. Stage them with ait_stage_weights before the swap.");
  const std::shared_ptr<WeightSet> next = std::move(staged_);
  derive(*next);
  std::shared_ptr<const WeightSet> last = next;  // freed after the lock is gone
  std::lock_guard<std::mutex> lock(mutex_);
  current_.swap(last);
}

void Model::read_weights(void* const* destinations, std::size_t n) {
  device::select(device);
  if (n != program.n_constants)
    fail(AIT_ERROR_INPUT, "The model has ", program.n_constants, " constants, but ", n, " destinations were given.");
  const std::shared_ptr<const WeightSet> set = current();
  for (std::size_t i = 0; i < n; ++i)
    if (destinations[i]) device::to_host(destinations[i], set->data[i], program.constants[i].bytes);
}

}  // namespace ait::runtime
