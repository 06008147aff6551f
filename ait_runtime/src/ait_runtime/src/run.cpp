// SPDX-License-Identifier: Apache-2.0
// The hot path: lease an arena, check the caller's memory, walk the steps.
#include <algorithm>

#include "model.h"
#include "tensor.h"

namespace ait::runtime {
namespace {

// Up to here an arena gets its upper bound at once, so that memory is constant after the first run; beyond, it grows
// with the sizes that are seen.
constexpr std::uint64_t kEagerArena = std::uint64_t{256} << 20;

}  // namespace

Arena::Arena(const Program& program) : io(program.n_inputs + program.n_outputs) {
  fault = new (device::alloc_shared(sizeof *fault)) std::atomic<std::uint64_t>(0);
  std::size_t slots = 0;
  for (std::uint32_t i = 0; i < program.n_load_steps; ++i)
    slots = std::max<std::size_t>(slots, program.load_steps[i].slots);
  for (std::uint32_t i = 0; i < program.n_run_steps; ++i)
    slots = std::max<std::size_t>(slots, program.run_steps[i].slots);
  operands.resize(slots);
}

Arena::~Arena() {
  device::free(memory);
  device::free_shared(fault);
}

// An arena of at least the plan's size, handed back at the end of the scope.
class Model::Lease {
 public:
  Lease(Model& model, const Plan& plan, device::Stream stream) : model_(model), stream_(stream) {
    {
      std::lock_guard<std::mutex> lock(model.mutex_);
      weights_ = model.current_;
      if (!model.idle_.empty()) {
        arena_ = std::move(model.idle_.back());
        model.idle_.pop_back();
      }
    }
    if (!arena_) arena_ = std::make_unique<Arena>(model.program);
    try {
      arena_->last_use.wait(stream);
      reserve(plan);
    } catch (...) {
      give_back();
      throw;
    }
  }
  Lease(const Lease&) = delete;
  ~Lease() {
    arena_->last_use.record(stream_);
    give_back();
  }
  Arena& arena() { return *arena_; }
  const WeightSet& weights() const { return *weights_; }

 private:
  void reserve(const Plan& plan) {
    if (arena_->memory && arena_->bytes >= plan.arena) return;
    const std::uint64_t most = model_.highest->arena;
    const std::uint64_t bytes = most <= kEagerArena ? std::max(most, plan.arena) : plan.arena;
    device::free(arena_->memory);
    model_.held_ -= arena_->bytes;
    arena_->memory = nullptr;
    arena_->bytes = 0;
    try {
      arena_->memory = device::alloc(bytes);
    } catch (const std::bad_alloc&) {
      fail(AIT_ERROR_MEMORY, "Out of memory: the run needs ", bytes,
           " bytes for activations. Use smaller inputs or fewer runs at a time.");
    }
    arena_->bytes = bytes;
    model_.held_ += bytes;
  }
  void give_back() {
    std::lock_guard<std::mutex> lock(model_.mutex_);
    model_.idle_.push_back(std::move(arena_));
  }

  Model& model_;
  const device::Stream stream_;
  std::shared_ptr<const WeightSet> weights_;
  std::unique_ptr<Arena> arena_;
};

struct Model::Clock {
  device::Timer timer;
  std::vector<double> groups;  // seconds
};

void Model::execute(const Step* steps, std::size_t n, const Plan& plan, Arena& arena, const WeightSet& weights,
                    device::Stream stream, Clock* clock) {
  KernelContext context{threads, stream, arena.fault, 0};
  void* derived = weights.derived.get();
  // Where each Space begins, in the order of the enumeration.
  void* const* const bases[] = {arena.io.data(), arena.io.data() + program.n_inputs, weights.data.data(), &derived,
                                &arena.memory};
  for (const Step* step = steps; step != steps + n; ++step) {
    const Slot* slots = program.slots + step->first_slot;
    const std::uint64_t* offsets = plan.offsets.data() + step->first_slot;
    for (std::uint32_t k = 0; k < step->slots; ++k)
      arena.operands[k] =
          static_cast<char*>(bases[static_cast<std::uint32_t>(slots[k].space)][slots[k].index]) + offsets[k];
    context.group = step->group;
    if (clock) clock->timer.start(stream);
    step->kernel(context, arena.operands.data(), plan.dims.data() + step->first_dim);
    if (clock) clock->groups[step->group] += clock->timer.stop(stream);
  }
}

void Model::raise_fault(Arena& arena) const {
  const std::uint64_t fault = arena.fault->exchange(0);
  if (!fault) return;
  const bool known = fault <= program.n_groups;
  fail(AIT_ERROR_FAULT, "The group '", known ? program.groups[fault - 1].name : "?", "' (",
       known ? program.groups[fault - 1].kernel : "?",
       ") met an index that is out of range. The outputs of this run are not valid; check the values of the index "
       "inputs.");
}

void Model::check_outputs(const Plan& plan, const ait_tensor* inputs, const ait_tensor* outputs,
                          std::size_t n_outputs) const {
  check_count("output", program.outputs, program.n_outputs, n_outputs);
  const index_t* expected = plan.output_sizes.data();
  for (std::uint32_t i = 0; i < program.n_outputs; expected += program.outputs[i++].rank) {
    const TensorSpec& spec = program.outputs[i];
    check_signature("output", spec, outputs[i]);
    if (!std::equal(expected, expected + spec.rank, outputs[i].shape))
      fail(AIT_ERROR_SHAPE, "The output '", spec.name, "' has shape ", shape_text(outputs[i].shape, spec.rank),
           "; these inputs give ", shape_text(expected, spec.rank), ".");
  }
  struct Range {
    const char *role, *name;
    std::uintptr_t begin, end;
  };
  const auto range = [](const char* role, const TensorSpec& spec, const ait_tensor& t, std::uint64_t bytes) -> Range {
    const auto begin = reinterpret_cast<std::uintptr_t>(t.data);
    if (bytes && !begin)
      fail(AIT_ERROR_INPUT, "The ", role, " '", spec.name, "' has no memory: its pointer is null, but it has ", bytes,
           " bytes.");
    if (bytes && begin % dtype_info(spec.dtype).bytes)
      fail(AIT_ERROR_INPUT, "The memory of ", role, " '", spec.name, "' is not aligned to its dtype, ",
           dtype_info(spec.dtype).name, ".");
    return {role, spec.name, begin, begin + bytes};
  };
  const auto refuse_overlap = [](const Range& a, const Range& b) {
    if (a.begin < b.end && b.begin < a.end && a.begin != a.end && b.begin != b.end)
      fail(AIT_ERROR_INPUT, "The ", a.role, " '", a.name, "' overlaps the ", b.role, " '", b.name,
           "' in memory. Give each output memory of its own.");
  };
  for (std::uint32_t i = 0; i < program.n_inputs; ++i)
    range("input", program.inputs[i], inputs[i], plan.input_bytes[i]);
  for (std::uint32_t o = 0; o < program.n_outputs; ++o) {
    const Range out = range("output", program.outputs[o], outputs[o], plan.output_bytes[o]);
    for (std::uint32_t i = 0; i < program.n_inputs; ++i)
      refuse_overlap(out, range("input", program.inputs[i], inputs[i], plan.input_bytes[i]));
    for (std::uint32_t i = 0; i < o; ++i)
      refuse_overlap(out, range("output", program.outputs[i], outputs[i], plan.output_bytes[i]));
  }
}

std::vector<double> Model::run(device::Stream stream, const ait_tensor* inputs, std::size_t n_inputs,
                               const ait_tensor* outputs, std::size_t n_outputs, int runs) {
  device::select(device);
  const std::shared_ptr<const Plan> plan = this->plan(inputs, n_inputs);
  check_outputs(*plan, inputs, outputs, n_outputs);
  Lease lease(*this, *plan, stream);
  Arena& arena = lease.arena();
  const auto data = [](const ait_tensor& t) { return t.data; };
  std::transform(outputs, outputs + n_outputs, std::transform(inputs, inputs + n_inputs, arena.io.begin(), data), data);
  const auto enqueue = [&](Clock* clock) {
    execute(program.run_steps, program.n_run_steps, *plan, arena, lease.weights(), stream, clock);
  };
  if (runs == 0) {
    arena.replay.run(stream, plan->serial, lease.weights().serial, arena.io.data(), arena.io.size(),
                     [&] { enqueue(nullptr); });
    if (!device::kAsync) raise_fault(arena);
    return {};
  }
  enqueue(nullptr);
  std::vector<Clock> clocks(runs, Clock{{}, std::vector<double>(program.n_groups)});
  for (Clock& clock : clocks) enqueue(&clock);
  device::synchronize(stream);
  raise_fault(arena);
  std::vector<double> medians;
  for (std::uint32_t g = 0; g < program.n_groups; ++g) {
    const auto middle = clocks.begin() + runs / 2;
    std::nth_element(clocks.begin(), middle, clocks.end(),
                     [g](const Clock& a, const Clock& b) { return a.groups[g] < b.groups[g]; });
    medians.push_back(middle->groups[g]);
  }
  return medians;
}

void Model::synchronize(device::Stream stream) {
  device::select(device);
  device::synchronize(stream);
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::unique_ptr<Arena>& arena : idle_) raise_fault(*arena);
}

}  // namespace ait::runtime
