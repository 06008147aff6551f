// SPDX-License-Identifier: Apache-2.0
// The C interface: arguments in, exceptions out.
#include <algorithm>
#include <cstring>
#include <new>

#include "model.h"
#include "tensor.h"

namespace ait::runtime {
namespace {

// Not a std::string: its destructor would pin the library in the process for as long as the thread lives.
thread_local char last_error[8192];

ait_status remember(ait_status status, std::string_view what) noexcept {
  constexpr std::string_view cut = " ...";
  const std::size_t room = sizeof last_error - 1, length = std::min(what.size(), room);
  std::memcpy(last_error, what.data(), length);
  if (what.size() > room) std::memcpy(last_error + room - cut.size(), cut.data(), cut.size());
  last_error[length] = '\0';
  return status;
}

// Runs an entry's body; what it throws becomes a status and the thread's last error.
template <class Body>
ait_status guarded(Body&& body) noexcept {
  try {
    body();
    return AIT_OK;
  } catch (const Error& e) {
    return remember(e.status, e.what());
  } catch (const std::bad_alloc&) {
    return remember(AIT_ERROR_MEMORY, "Out of memory.");
  } catch (const std::exception& e) {
    return remember(AIT_ERROR_INTERNAL, e.what());
  } catch (...) {
    return remember(AIT_ERROR_INTERNAL, "An unknown exception.");
  }
}

template <class... Pointers>
void require(const Pointers*... pointers) {
  if (!(pointers && ...)) fail(AIT_ERROR_INPUT, "A required pointer argument is null.");
}
template <class T>
void require_array(const T* array, std::size_t n) {
  if (n && !array) fail(AIT_ERROR_INPUT, "A required array argument is null.");
}
void require_index(std::size_t index, std::size_t count) {
  if (index >= count) fail(AIT_ERROR_INPUT, "There is no number ", index, "; the model has ", count, ".");
}

}  // namespace
}  // namespace ait::runtime

using namespace ait::runtime;  // NOLINT: the definitions below are global

// What ait_describe points at, beside the model itself.
struct ait_model : ait::runtime::Model {
  ait_model(const ait::Program& p, const ait_options& options) : Model(p, options) {
    add(p.inputs, p.n_inputs, lowest->input_sizes, highest->input_sizes, inputs);
    add(p.outputs, p.n_outputs, lowest->output_sizes, highest->output_sizes, outputs);
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < p.n_constants; ++i) most = std::max(most, p.constants[i].rank);
    no_dim.assign(most, -1);
  }

  void add(const ait::TensorSpec* specs, std::uint32_t n, const std::vector<ait::index_t>& lo,
           const std::vector<ait::index_t>& hi, std::vector<ait_tensor_info>& out) {
    std::size_t first = 0;
    for (std::uint32_t i = 0; i < n; first += specs[i++].rank) {
      std::vector<std::int32_t>& dims = dim_of.emplace_back();
      for (std::uint32_t d = 0; d < specs[i].rank; ++d)
        dims.push_back(specs[i].shape[d] < program.n_dims ? static_cast<std::int32_t>(specs[i].shape[d]) : -1);
      out.push_back({specs[i].name, static_cast<ait_dtype>(specs[i].dtype), static_cast<std::int32_t>(specs[i].rank),
                     lo.data() + first, hi.data() + first, dims.data()});
    }
  }

  std::vector<ait_tensor_info> inputs, outputs;
  std::vector<std::vector<std::int32_t>> dim_of;
  std::vector<std::int32_t> no_dim;
};

uint32_t ait_abi_version(void) noexcept { return AIT_ABI_VERSION; }
const char* ait_manifest(void) noexcept { return ait::program.manifest; }
int32_t ait_device_type(void) noexcept { return ait::device::kType; }
int32_t ait_weights_embedded(void) noexcept { return ait::program.weights != nullptr; }
const char* ait_last_error(void) noexcept { return last_error; }

ait_status ait_create(const ait_options* options, ait_model** model) noexcept {
  return guarded([&] {
    require(model);
    *model = nullptr;
    ait_options defaults{};
    defaults.abi = AIT_ABI_VERSION;
    *model = new ait_model(ait::program, options ? *options : defaults);
  });
}

void ait_destroy(ait_model* model) noexcept { delete model; }

int32_t ait_threads(const ait_model* model) noexcept { return model ? model->threads : 0; }

size_t ait_count(const ait_model* model, ait_kind kind) noexcept {
  if (!model || kind < 0 || kind > AIT_GROUPS) return 0;
  const ait::Program& p = model->program;
  const std::uint32_t counts[] = {p.n_inputs, p.n_outputs, p.n_constants, p.n_dims, p.n_groups};
  return counts[kind];
}

ait_status ait_describe(const ait_model* model, ait_kind kind, size_t index, ait_tensor_info* info) noexcept {
  return guarded([&] {
    require(model, info);
    if (kind != AIT_INPUTS && kind != AIT_OUTPUTS && kind != AIT_CONSTANTS)
      ait::fail(AIT_ERROR_INPUT, "Kind ", kind,
                " is no kind of tensor; expected AIT_INPUTS, AIT_OUTPUTS or AIT_CONSTANTS.");
    require_index(index, ait_count(model, kind));
    if (kind != AIT_CONSTANTS) {
      *info = (kind == AIT_INPUTS ? model->inputs : model->outputs)[index];
      return;
    }
    const ait::ConstantSpec& c = model->program.constants[index];
    *info = {c.name,
             static_cast<ait_dtype>(c.dtype),
             static_cast<std::int32_t>(c.rank),
             c.shape,
             c.shape,
             model->no_dim.data()};
  });
}

ait_status ait_describe_dim(const ait_model* model, size_t index, ait_dim_info* info) noexcept {
  return guarded([&] {
    require(model, info);
    require_index(index, model->program.n_dims);
    const ait::Dim& d = model->program.dims[index];
    *info = {d.name, d.lo, d.hi};
  });
}

ait_status ait_describe_group(const ait_model* model, size_t index, ait_group_info* info) noexcept {
  return guarded([&] {
    require(model, info);
    require_index(index, model->program.n_groups);
    *info = {model->program.groups[index].name, model->program.groups[index].kernel};
  });
}

ait_status ait_infer(ait_model* model, const ait_tensor* inputs, size_t n_inputs,
                     int64_t* const* output_shapes) noexcept {
  return guarded([&] {
    require(model);
    require_array(inputs, n_inputs);
    require_array(output_shapes, model->program.n_outputs);
    const std::shared_ptr<const Plan> plan = model->plan(inputs, n_inputs);
    const ait::index_t* size = plan->output_sizes.data();
    for (std::uint32_t i = 0; i < model->program.n_outputs; size += model->program.outputs[i++].rank) {
      require_array(output_shapes[i], model->program.outputs[i].rank);
      std::copy_n(size, model->program.outputs[i].rank, output_shapes[i]);
    }
  });
}

ait_status ait_memory_use(ait_model* model, const ait_tensor* inputs, size_t n_inputs, ait_memory* memory) noexcept {
  return guarded([&] {
    require(model, memory);
    *memory = model->memory(inputs, n_inputs);
  });
}

ait_status ait_run(ait_model* model, void* stream, const ait_tensor* inputs, size_t n_inputs, const ait_tensor* outputs,
                   size_t n_outputs) noexcept {
  return guarded([&] {
    require(model);
    require_array(inputs, n_inputs);
    require_array(outputs, n_outputs);
    model->run(static_cast<ait::device::Stream>(stream), inputs, n_inputs, outputs, n_outputs, 0);
  });
}

ait_status ait_synchronize(ait_model* model, void* stream) noexcept {
  return guarded([&] {
    require(model);
    model->synchronize(static_cast<ait::device::Stream>(stream));
  });
}

ait_status ait_profile(ait_model* model, void* stream, const ait_tensor* inputs, size_t n_inputs,
                       const ait_tensor* outputs, size_t n_outputs, int32_t runs, double* group_seconds) noexcept {
  return guarded([&] {
    require(model, group_seconds);
    require_array(inputs, n_inputs);
    require_array(outputs, n_outputs);
    if (runs < 1) ait::fail(AIT_ERROR_INPUT, "runs is ", runs, "; expected 1 or more.");
    const std::vector<double> seconds =
        model->run(static_cast<ait::device::Stream>(stream), inputs, n_inputs, outputs, n_outputs, runs);
    std::copy(seconds.begin(), seconds.end(), group_seconds);
  });
}

ait_status ait_stage_weights(ait_model* model, const char* const* names, const ait_tensor* tensors, size_t n,
                             int32_t partial) noexcept {
  return guarded([&] {
    require(model);
    model->stage(names, tensors, n, partial != 0);
  });
}

ait_status ait_stage_weights_file(ait_model* model, const char* path, int32_t partial) noexcept {
  return guarded([&] {
    require(model, path);
    model->stage_file(path, partial != 0);
  });
}

ait_status ait_swap_weights(ait_model* model) noexcept {
  return guarded([&] {
    require(model);
    model->swap();
  });
}

ait_status ait_read_weights(ait_model* model, void* const* destinations, size_t n) noexcept {
  return guarded([&] {
    require(model);
    require_array(destinations, n);
    model->read_weights(destinations, n);
  });
}
