// SPDX-License-Identifier: Apache-2.0
// The extension module ait_runtime._native: model libraries called with Python tensors.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "tensor.h"

namespace ait::binding {
namespace {

// glibc takes a path that is loaded already for the same library, without a look at the file. A model compiled again to
// the same path must not become its predecessor, so such a path gets a spelling of its own: "dir/./model.so".
std::string unused_spelling(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return path;  // dlopen will say so
  using Identity = std::pair<dev_t, ino_t>;
  static std::map<std::string, Identity> loaded;
  const Identity identity(status.st_dev, status.st_ino);
  const std::size_t name = path.rfind('/') + 1;
  std::string spelling = path.substr(0, name) + (name ? "" : "./") + path.substr(name);
  for (;;) {
    void* handle = dlopen(spelling.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle) dlclose(handle);
    const auto known = loaded.find(spelling);
    if (!handle || known == loaded.end() || known->second == identity) {
      loaded[spelling] = identity;
      return spelling;
    }
    spelling.insert(spelling.rfind('/') + 1, "./");
  }
}

std::shared_ptr<Library> open_library(const std::string& path) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  return std::make_shared<Library>(unused_spelling(path));
}

// Weights by name as the C interface takes them; holds the tensors.
struct NamedTensors {
  NamedTensors(std::vector<std::string> names_given, const py::sequence& tensors)
      : names(std::move(names_given)), views(names.size()) {
    texts.reserve(names.size() + 1);  // data() is null only where no weights are meant
    for (std::size_t i = 0; i < names.size(); ++i) {
      read_tensor(py::object(tensors[i]), "weight", names[i], views[i]);
      texts.push_back(names[i].c_str());
      given.push_back(views[i].tensor);
    }
  }

  std::vector<std::string> names;
  std::vector<View> views;
  std::vector<const char*> texts;
  std::vector<ait_tensor> given;
};

class PyModel {
 public:
  explicit PyModel(ait::Model&& model) : model_(std::move(model)) {
    for (std::size_t i = 0; i < model_.count(AIT_INPUTS); ++i) inputs_.push_back(model_.describe(AIT_INPUTS, i));
    for (std::size_t i = 0; i < model_.count(AIT_OUTPUTS); ++i) outputs_.push_back(model_.describe(AIT_OUTPUTS, i));
    for (const auto& info : inputs_) input_names_.emplace_back(info.name);
    for (const auto& info : outputs_) output_names_.emplace_back(info.name);
  }

  // Weights: a file where `weights` is not empty, else tensors by name where there are names, else the model's own.
  static std::unique_ptr<PyModel> load(const std::string& path, const std::string& weights,
                                       const std::optional<std::vector<std::string>>& names,
                                       const py::sequence& tensors, int threads, int device) {
    const NamedTensors named(names ? *names : std::vector<std::string>(), tensors);
    ait_options options = ait::Model::options(weights, threads, device);
    options.weights_names = names ? named.texts.data() : nullptr;
    options.weights_tensors = named.given.data();
    options.weights_count = named.given.size();
    const py::gil_scoped_release release;  // the load-time program may take long
    return std::make_unique<PyModel>(ait::Model(open_library(path), options));
  }

  py::object call(const py::tuple& args, const py::dict& kwargs, const py::object& out) {
    Call call(*this, args, kwargs, out);
    ait_status status;
    {
      py::gil_scoped_release release;
      status = library().run(model_.get(), nullptr, call.in.data(), call.in.size(), call.out.data(), call.out.size());
    }
    library().check(status);
    return call.results.size() == 1 ? py::object(call.results[0]) : py::object(call.results);
  }

  std::vector<double> profile(const py::tuple& args, const py::dict& kwargs, int runs) {
    Call call(*this, args, kwargs, py::none());
    std::vector<double> seconds(model_.count(AIT_GROUPS) + 1);
    py::gil_scoped_release release;
    library().check(library().profile(model_.get(), nullptr, call.in.data(), call.in.size(), call.out.data(),
                                      call.out.size(), runs, seconds.data()));
    seconds.pop_back();
    return seconds;
  }

  py::list infer(const std::vector<std::vector<std::int64_t>>& shapes) const {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back({nullptr, shapes[i], i < inputs_.size() ? inputs_[i].dtype : 0});
    py::list out;
    for (const auto& shape : model_.infer(inputs)) out.append(py::tuple(py::cast(shape)));
    return out;
  }

  py::dict memory(const std::optional<std::vector<std::vector<std::int64_t>>>& shapes) const {
    std::vector<ait_tensor> inputs;
    for (std::size_t i = 0; shapes && i < shapes->size(); ++i)
      inputs.push_back({nullptr, (*shapes)[i].data(), static_cast<std::int32_t>((*shapes)[i].size()),
                        i < inputs_.size() ? inputs_[i].dtype : 0});
    ait_memory m;
    library().check(library().memory_use(model_.get(), inputs.empty() ? nullptr : inputs.data(), inputs.size(), &m));
    return py::dict(py::arg("weights") = m.weights, py::arg("derived") = m.derived, py::arg("inputs") = m.inputs,
                    py::arg("outputs") = m.outputs, py::arg("arena") = m.arena, py::arg("arena_held") = m.arena_held);
  }

  void set_weights(const std::vector<std::string>& names, const py::sequence& tensors, bool partial) {
    const NamedTensors named(names, tensors);
    py::gil_scoped_release release;
    library().check(
        library().stage_weights(model_.get(), named.texts.data(), named.given.data(), named.given.size(), partial));
    library().check(library().swap_weights(model_.get()));
  }

  void set_weights_file(const std::string& path, bool partial) {
    py::gil_scoped_release release;
    model_.set_weights(path, partial);
  }

  py::dict weights() const {
    py::dict out;
    std::vector<void*> places;
    for (std::size_t i = 0; i < model_.count(AIT_CONSTANTS); ++i) {
      const ait_tensor_info info = model_.describe(AIT_CONSTANTS, i);
      out[info.name] = new_numpy(info.dtype, info.lo, info.rank, &places.emplace_back());
    }
    py::gil_scoped_release release;
    library().check(library().read_weights(model_.get(), places.data(), places.size()));
    return out;
  }

  // (name, dtype, lower sizes, upper sizes, dim of each size or -1)
  py::list describe(ait_kind kind) const {
    py::list out;
    for (std::size_t i = 0; i < model_.count(kind); ++i) {
      const ait_tensor_info t = model_.describe(kind, i);
      const auto sizes = [&](const auto* values) {
        return py::tuple(py::cast(std::vector<std::int64_t>(values, values + t.rank)));
      };
      out.append(py::make_tuple(t.name, dtype_name(t.dtype), sizes(t.lo), sizes(t.hi), sizes(t.dim)));
    }
    return out;
  }
  py::list dims() const {
    py::list out;
    for (std::size_t i = 0; i < model_.count(AIT_DIMS); ++i) {
      ait_dim_info d;
      library().check(library().describe_dim(model_.get(), i, &d));
      out.append(py::make_tuple(d.name, d.lo, d.hi));
    }
    return out;
  }
  py::list groups() const {
    py::list out;
    for (std::size_t i = 0; i < model_.count(AIT_GROUPS); ++i) {
      ait_group_info g;
      library().check(library().describe_group(model_.get(), i, &g));
      out.append(py::make_tuple(g.name, g.kernel));
    }
    return out;
  }
  std::string manifest() const { return model_.manifest(); }
  bool embedded() const { return library().weights_embedded() != 0; }
  int threads() const { return library().threads(model_.get()); }

 private:
  // The arguments of one call as the C interface wants them, and the tensors that it returns.
  struct Call {
    Call(const PyModel& m, const py::tuple& args, const py::dict& kwargs, const py::object& given_out)
        : in(m.inputs_.size()), out(m.outputs_.size()), results(m.outputs_.size()), views(in.size() + out.size()) {
      const std::vector<py::handle> given = m.arrange(args, kwargs);
      Maker maker;
      for (std::size_t i = 0; i < in.size(); ++i) {
        read_tensor(given[i], "input", m.input_names_[i], views[i]);
        maker.choose(given[i]);
        in[i] = views[i].tensor;
      }
      std::vector<std::int64_t*> shapes(out.size());
      for (std::size_t i = 0; i < out.size(); ++i) shapes[i] = views[in.size() + i].sizes;
      m.library().check(m.library().infer(m.model_.get(), in.data(), in.size(), shapes.data()));
      const bool several = py::isinstance<py::tuple>(given_out) || py::isinstance<py::list>(given_out);
      if (!given_out.is_none() && (several ? py::len(given_out) : 1) != out.size())
        throw Error(AIT_ERROR_INPUT, "The model has " + std::to_string(out.size()) + " outputs, but out= has " +
                                         std::to_string(several ? py::len(given_out) : 1) + ".");
      for (std::size_t i = 0; i < out.size(); ++i) {
        View& view = views[in.size() + i];
        py::object result;
        if (given_out.is_none()) {
          result = maker.make(view, m.outputs_[i].dtype, m.outputs_[i].rank);
        } else {
          result = several ? py::object(given_out[py::int_(i)]) : given_out;
          read_output(result, m.output_names_[i], view);
        }
        out[i] = view.tensor;
        results[i] = std::move(result);
      }
    }

    std::vector<ait_tensor> in, out;
    py::tuple results;
    std::vector<View> views;
  };

  // Arguments in the order of the inputs.
  std::vector<py::handle> arrange(const py::tuple& args, const py::dict& kwargs) const {
    std::vector<py::handle> given(inputs_.size());
    if (args.size() > given.size()) refuse_arguments(std::to_string(args.size()) + " were given by position");
    for (std::size_t i = 0; i < args.size(); ++i) given[i] = args[i];
    for (const auto& [key, value] : kwargs) {
      const auto name = key.cast<std::string>();
      const std::size_t i =
          static_cast<std::size_t>(std::find(input_names_.begin(), input_names_.end(), name) - input_names_.begin());
      if (i == given.size()) refuse_arguments("'" + name + "' is none of them");
      if (given[i]) refuse_arguments("'" + name + "' is given twice");
      given[i] = value;
    }
    std::string missing;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (!given[i]) missing += (missing.empty() ? "'" : ", '") + input_names_[i] + "'";
    if (!missing.empty())
      refuse_arguments(missing + (missing.find(',') == std::string::npos ? " is" : " are") + " missing");
    return given;
  }
  [[noreturn]] void refuse_arguments(const std::string& what) const {
    std::string names;
    for (const std::string& name : input_names_) names += (names.empty() ? "" : ", ") + name;
    throw Error(AIT_ERROR_INPUT, "The model has " + std::to_string(inputs_.size()) +
                                     (inputs_.size() == 1 ? " input" : " inputs") +
                                     (names.empty() ? "" : " (" + names + ")") + ", but " + what + ".");
  }

  const Library& library() const { return model_.library(); }

  ait::Model model_;
  std::vector<ait_tensor_info> inputs_, outputs_;
  std::vector<std::string> input_names_, output_names_;
};

const char* class_of(ait_status status) {
  switch (status) {
    case AIT_ERROR_INPUT:
      return "InputError";
    case AIT_ERROR_SHAPE:
      return "ShapeError";
    case AIT_ERROR_DTYPE:
      return "DTypeError";
    case AIT_ERROR_WEIGHTS:
      return "WeightsError";
    case AIT_ERROR_ISA:
      return "ArtifactError";
    case AIT_ERROR_ABI:
      return "ArtifactError";
    case AIT_ERROR_FAULT:
      return "FaultError";
    case AIT_ERROR_MEMORY:
      return "OutOfMemoryError";
    case AIT_ERROR_DEVICE:
      return "DeviceError";
    default:
      return "InternalError";
  }
}

void raise_python(std::exception_ptr pointer) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const std::string text = error.what();  // may quote names and paths that are not UTF-8
    const auto message = py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    py::set_error(py::module_::import("ait_runtime.errors").attr(class_of(error.status)), message);
  }
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Model libraries called with Python tensors; used through ait_runtime.model.";
  m.attr("ABI_VERSION") = AIT_ABI_VERSION;
  py::register_local_exception_translator(raise_python);
  py::class_<OwnedTensor, std::shared_ptr<OwnedTensor>>(m, "Tensor", "Memory that a DLPack consumer takes over.")
      .def("__dlpack__", [](const OwnedTensor& t, const py::kwargs&) { return t.capsule(); })
      .def("__dlpack_device__", [](const OwnedTensor&) { return py::make_tuple(1, 0); });
  py::class_<PyModel>(m, "Model")
      .def(py::init(&PyModel::load), py::arg("path"), py::arg("weights"), py::arg("names"), py::arg("tensors"),
           py::arg("threads"), py::arg("device"))
      .def("call", &PyModel::call)
      .def("profile", &PyModel::profile)
      .def("infer", &PyModel::infer)
      .def("memory", &PyModel::memory)
      .def("set_weights", &PyModel::set_weights)
      .def("set_weights_file", &PyModel::set_weights_file)
      .def("weights", &PyModel::weights)
      .def("inputs", [](const PyModel& self) { return self.describe(AIT_INPUTS); })
      .def("outputs", [](const PyModel& self) { return self.describe(AIT_OUTPUTS); })
      .def("constants", [](const PyModel& self) { return self.describe(AIT_CONSTANTS); })
      .def("dims", &PyModel::dims)
      .def("groups", &PyModel::groups)
      .def("manifest", &PyModel::manifest)
      .def("embedded", &PyModel::embedded)
      .def("threads", &PyModel::threads);
}

}  // namespace ait::binding
