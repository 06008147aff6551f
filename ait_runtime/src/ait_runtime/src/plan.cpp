// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <algorithm>
#include <atomic>

#include "tensor.h"

namespace ait::runtime {
namespace {

[[noreturn]] void broken(const std::string& what) {
  fail(AIT_ERROR_INTERNAL, "The model's tables are inconsistent: ", what, ".");
}

void check_steps(const Program& p, const Step* steps, std::size_t count, bool load) {
  const std::size_t limits[] = {p.n_inputs, p.n_outputs, p.n_constants, 1, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const Step& s = steps[i];
    const std::string where = text(load ? "load" : "run", " step ", i);
    if (!s.kernel || (s.group >= p.n_groups)) broken(where + " has no kernel or no group");
    for (std::uint32_t d = 0; d < s.dims; ++d)
      if (p.step_dims[s.first_dim + d] >= p.n_exprs) broken(where + " uses an unknown expression");
    for (std::uint32_t k = 0; k < s.slots; ++k) {
      const Slot& slot = p.slots[s.first_slot + k];
      const auto space = static_cast<std::uint32_t>(slot.space);
      if (space >= 5 || slot.index >= limits[space] || slot.offset >= p.n_exprs) broken(where + " has a bad slot");
      if (load && (slot.space == Space::input || slot.space == Space::output || slot.space == Space::arena))
        broken(where + " touches memory that only a run has");
    }
  }
}

template <class Last>
std::size_t extent(const Program& p, Last&& last) {
  std::size_t n = 0;
  for (std::uint32_t i = 0; i < p.n_load_steps; ++i) n = std::max<std::size_t>(n, last(p.load_steps[i]));
  for (std::uint32_t i = 0; i < p.n_run_steps; ++i) n = std::max<std::size_t>(n, last(p.run_steps[i]));
  return n;
}

// Evaluates all expressions of values (whose dims are set) into a plan.
std::shared_ptr<Plan> make_plan(const Program& p, int threads, std::vector<index_t>& values) {
  static std::atomic<std::uint64_t> serial{0};
  p.evaluate(threads, values.data());
  auto plan = std::make_shared<Plan>();
  plan->serial = ++serial;
  const auto sizes_of = [&](const TensorSpec* specs, std::uint32_t n, std::vector<index_t>& sizes,
                            std::vector<std::uint64_t>& bytes) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t first = sizes.size();
      for (std::uint32_t d = 0; d < specs[i].rank; ++d) sizes.push_back(values[specs[i].shape[d]]);
      bytes.push_back(0);
      // Too large to count is an error only when it is run, see Planner; bounds may well be that high.
      if (!tensor_bytes(sizes.data() + first, specs[i].rank, dtype_info(specs[i].dtype).bytes, bytes.back()))
        bytes.back() = UINT64_MAX;
    }
  };
  sizes_of(p.inputs, p.n_inputs, plan->input_sizes, plan->input_bytes);
  sizes_of(p.outputs, p.n_outputs, plan->output_sizes, plan->output_bytes);
  const std::size_t slots = extent(p, [](const Step& s) { return s.first_slot + s.slots; });
  const std::size_t dims = extent(p, [](const Step& s) { return s.first_dim + s.dims; });
  for (std::size_t i = 0; i < slots; ++i)
    plan->offsets.push_back(static_cast<std::uint64_t>(values[p.slots[i].offset]));
  for (std::size_t i = 0; i < dims; ++i) plan->dims.push_back(values[p.step_dims[i]]);
  plan->arena = static_cast<std::uint64_t>(values[p.arena_bytes]);
  return plan;
}

// Sets values[0 .. n_dims) from the first input that has each dim, and checks the others against it.
void bind_dims(const Program& p, const ait_tensor* inputs, std::vector<index_t>& values) {
  std::vector<std::uint32_t> source(p.n_dims, UINT32_MAX);
  for (std::uint32_t i = 0; i < p.n_inputs; ++i) {
    for (std::uint32_t d = 0; d < p.inputs[i].rank; ++d) {
      const std::uint32_t id = p.inputs[i].shape[d];
      if (id >= p.n_dims) continue;
      const Dim& dim = p.dims[id];
      const index_t size = inputs[i].shape[d];
      if (size < dim.lo || size > dim.hi)
        fail(AIT_ERROR_SHAPE, "Input '", p.inputs[i].name, "': dim ", d, " ('", dim.name, "') is ", size,
             "; the model was compiled for ", dim.lo, " to ", dim.hi, ".");
      if (source[id] == UINT32_MAX) {
        source[id] = i;
        values[id] = size;
      } else if (values[id] != size) {
        fail(AIT_ERROR_SHAPE, "Input '", p.inputs[i].name, "': dim ", d, " ('", dim.name, "') is ", size,
             ", but input '", p.inputs[source[id]].name, "' has ", values[id], " for '", dim.name,
             "'. Give them the same size.");
      }
    }
  }
}

bool same_sizes(const Program& p, const ait_tensor* inputs, const std::vector<index_t>& sizes) {
  const index_t* expected = sizes.data();
  for (std::uint32_t i = 0; i < p.n_inputs; ++i)
    for (std::uint32_t d = 0; d < p.inputs[i].rank; ++d)
      if (inputs[i].shape[d] != *expected++) return false;
  return true;
}

}  // namespace

void check_program(const Program& p) {
  if (!p.evaluate || p.n_exprs < p.n_dims || p.arena_bytes >= p.n_exprs) broken("it lacks expressions");
  std::vector<bool> bound(p.n_dims);
  const auto check_specs = [&](const TensorSpec* specs, std::uint32_t n, bool input) {
    for (std::uint32_t i = 0; i < n; ++i) {
      if (!dtype_info(static_cast<std::int32_t>(specs[i].dtype)))
        broken(text("tensor '", specs[i].name, "' has no dtype"));
      for (std::uint32_t d = 0; d < specs[i].rank; ++d) {
        if (specs[i].shape[d] >= p.n_exprs) broken(text("tensor '", specs[i].name, "' has an unknown size"));
        if (input && specs[i].shape[d] < p.n_dims) bound[specs[i].shape[d]] = true;
      }
    }
  };
  check_specs(p.inputs, p.n_inputs, true);
  check_specs(p.outputs, p.n_outputs, false);
  for (std::uint32_t i = 0; i < p.n_dims; ++i)
    if (!bound[i] || p.dims[i].lo < 0 || p.dims[i].hi < p.dims[i].lo)
      broken(text("dim '", p.dims[i].name, "' is in no input, or has no range"));
  if (reinterpret_cast<std::uintptr_t>(p.weights) % 64) broken("its weights are not aligned to 64 bytes");
  for (std::uint32_t i = 0; i < p.n_constants; ++i) {
    const ConstantSpec& c = p.constants[i];
    std::uint64_t bytes = 0;
    if (!dtype_info(static_cast<std::int32_t>(c.dtype)) ||
        !tensor_bytes(c.shape, c.rank, dtype_info(c.dtype).bytes, bytes) || bytes != c.bytes || c.offset % 64 ||
        (p.weights && (c.offset > p.weights_bytes || c.bytes > p.weights_bytes - c.offset)))
      broken(text("constant '", c.name, "' has a bad dtype, size or place"));
  }
  check_steps(p, p.load_steps, p.n_load_steps, true);
  check_steps(p, p.run_steps, p.n_run_steps, false);
}

std::shared_ptr<const Plan> make_plan_at_bound(const Program& p, int threads, bool upper) {
  std::vector<index_t> values(p.n_exprs);
  for (std::uint32_t i = 0; i < p.n_dims; ++i) values[i] = upper ? p.dims[i].hi : p.dims[i].lo;
  return make_plan(p, threads, values);
}

void check_count(const char* role, const TensorSpec* specs, std::size_t expected, std::size_t given) {
  if (given == expected) return;
  std::string names;
  for (std::size_t i = 0; i < expected; ++i) names += text(i ? ", " : "", specs[i].name);
  fail(AIT_ERROR_INPUT, "The model has ", expected, " ", role, expected == 1 ? "" : "s",
       expected ? " (" + names + ")" : "", ", but ", given, given == 1 ? " was" : " were", " given.");
}

void check_signature(const char* role, const TensorSpec& spec, const ait_tensor& tensor) {
  if (tensor.dtype != static_cast<std::int32_t>(spec.dtype))
    fail(AIT_ERROR_DTYPE, "The ", role, " '", spec.name, "' has dtype ", dtype_name(tensor.dtype), "; expected ",
         dtype_info(spec.dtype).name, ". Convert it before the call.");
  if (tensor.rank != static_cast<std::int32_t>(spec.rank))
    fail(AIT_ERROR_SHAPE, "The ", role, " '", spec.name, "' has ", tensor.rank, " dims; expected ", spec.rank, ".");
  if (tensor.rank && !tensor.shape) fail(AIT_ERROR_INPUT, "The shape of ", role, " '", spec.name, "' is null.");
}

std::shared_ptr<const Plan> Planner::plan(const ait_tensor* inputs, std::size_t count) {
  check_count("input", program_.inputs, program_.n_inputs, count);
  for (std::uint32_t i = 0; i < program_.n_inputs; ++i) check_signature("input", program_.inputs[i], inputs[i]);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto it = plans_.begin(); it != plans_.end(); ++it) {
      if (!same_sizes(program_, inputs, (*it)->input_sizes)) continue;
      plans_.splice(plans_.begin(), plans_, it);
      return plans_.front();
    }
  }
  std::vector<index_t> values(program_.n_exprs);
  bind_dims(program_, inputs, values);
  std::shared_ptr<const Plan> plan = make_plan(program_, threads_, values);
  const index_t* expected = plan->input_sizes.data();
  for (std::uint32_t i = 0; i < program_.n_inputs; ++i) {
    for (std::uint32_t d = 0; d < program_.inputs[i].rank; ++d, ++expected)
      if (inputs[i].shape[d] != *expected)
        fail(AIT_ERROR_SHAPE, "Input '", program_.inputs[i].name, "': dim ", d, " is ", inputs[i].shape[d],
             "; expected ", *expected, program_.n_dims ? " for the sizes of the other dims." : ".");
  }
  for (const auto* bytes : {&plan->input_bytes, &plan->output_bytes})
    for (const std::uint64_t n : *bytes)
      if (n == UINT64_MAX) fail(AIT_ERROR_SHAPE, "At these sizes a tensor has more bytes than can be addressed.");
  std::lock_guard<std::mutex> lock(mutex_);
  plans_.push_front(plan);
  if (plans_.size() > kKept) plans_.pop_back();
  return plan;
}

}  // namespace ait::runtime
