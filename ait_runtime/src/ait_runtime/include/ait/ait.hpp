// SPDX-License-Identifier: Apache-2.0
// Compiled models for C++17: loads a model library by path, so that a program can use any number of them.
// Link with -ldl where the C library is older than glibc 2.34.
#pragma once
#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ait/ait.h"

namespace ait {

struct Error : std::runtime_error {
  Error(ait_status status, const std::string& text) : std::runtime_error(text), status(status) {}
  ait_status status;
};

// A model library in this process, closed with its last owner.
class Library {
 public:
  // Throws Error(AIT_ERROR_ABI) for a file that is no model library, or one of another ABI.
  explicit Library(const std::string& path) : path_(path), handle_(open(path), &dlclose) {
    bind(abi_version, "ait_abi_version");
    if (abi_version() != AIT_ABI_VERSION)
      throw Error(AIT_ERROR_ABI, path + " has ABI version " + std::to_string(abi_version()) +
                                     ", this program has version " + std::to_string(AIT_ABI_VERSION) +
                                     ". Compile the model again, or use the AIT it was made with.");
    bind(manifest, "ait_manifest");
    bind(device_type, "ait_device_type");
    bind(weights_embedded, "ait_weights_embedded");
    bind(last_error, "ait_last_error");
    bind(create, "ait_create");
    bind(destroy, "ait_destroy");
    bind(threads, "ait_threads");
    bind(count, "ait_count");
    bind(describe, "ait_describe");
    bind(describe_dim, "ait_describe_dim");
    bind(describe_group, "ait_describe_group");
    bind(infer, "ait_infer");
    bind(memory_use, "ait_memory_use");
    bind(run, "ait_run");
    bind(synchronize, "ait_synchronize");
    bind(profile, "ait_profile");
    bind(stage_weights, "ait_stage_weights");
    bind(stage_weights_file, "ait_stage_weights_file");
    bind(swap_weights, "ait_swap_weights");
    bind(read_weights, "ait_read_weights");
  }

  void check(ait_status status) const {
    if (status != AIT_OK) throw Error(status, last_error());
  }

  decltype(&ait_abi_version) abi_version;
  decltype(&ait_manifest) manifest;
  decltype(&ait_device_type) device_type;
  decltype(&ait_weights_embedded) weights_embedded;
  decltype(&ait_last_error) last_error;
  decltype(&ait_create) create;
  decltype(&ait_destroy) destroy;
  decltype(&ait_threads) threads;
  decltype(&ait_count) count;
  decltype(&ait_describe) describe;
  decltype(&ait_describe_dim) describe_dim;
  decltype(&ait_describe_group) describe_group;
  decltype(&ait_infer) infer;
  decltype(&ait_memory_use) memory_use;
  decltype(&ait_run) run;
  decltype(&ait_synchronize) synchronize;
  decltype(&ait_profile) profile;
  decltype(&ait_stage_weights) stage_weights;
  decltype(&ait_stage_weights_file) stage_weights_file;
  decltype(&ait_swap_weights) swap_weights;
  decltype(&ait_read_weights) read_weights;

 private:
  static void* open(const std::string& path) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* why = dlerror();
    throw Error(AIT_ERROR_ABI, "The dynamic loader refuses " + path + ": " + (why ? why : "no reason given"));
  }
  template <class Function>
  void bind(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(handle_.get(), name));
    if (!function) throw Error(AIT_ERROR_ABI, path_ + " is not a model library: it lacks the function " + name + ".");
  }

  std::string path_;
  std::unique_ptr<void, int (*)(void*)> handle_;
};

// A tensor of the caller's, with its own copy of the shape. Contiguous, row major.
struct Tensor {
  void* data;
  std::vector<std::int64_t> shape;
  ait_dtype dtype;
};

// Thread safe: run() may be called from many threads. Every member throws Error.
class Model {
 public:
  explicit Model(const std::string& path, const std::string& weights = "", int threads = 0, int device = 0)
      : Model(std::make_shared<Library>(path), options(weights, threads, device)) {}
  // A further model (weights, arenas) of a library. `options` are only read during the call.
  Model(std::shared_ptr<Library> library, const ait_options& options)
      : library_(std::move(library)), model_(create(*library_, options), library_->destroy) {}

  static ait_options options(const std::string& weights = "", int threads = 0, int device = 0) {
    ait_options options{};
    options.abi = AIT_ABI_VERSION;
    options.threads = threads;
    options.device = device;
    options.weights_path = weights.empty() ? nullptr : weights.c_str();
    return options;
  }

  const Library& library() const { return *library_; }
  ait_model* get() const { return model_.get(); }
  std::string manifest() const { return library_->manifest(); }
  std::size_t count(ait_kind kind) const { return library_->count(get(), kind); }
  ait_tensor_info describe(ait_kind kind, std::size_t index) const {
    ait_tensor_info info;
    library_->check(library_->describe(get(), kind, index, &info));
    return info;
  }

  // The shapes of the outputs for inputs whose data is not looked at.
  std::vector<std::vector<std::int64_t>> infer(const std::vector<Tensor>& inputs) const {
    std::vector<std::vector<std::int64_t>> shapes(count(AIT_OUTPUTS));
    std::vector<std::int64_t*> places;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      shapes[i].resize(static_cast<std::size_t>(describe(AIT_OUTPUTS, i).rank));
      places.push_back(shapes[i].data());
    }
    const std::vector<ait_tensor> in = views(inputs);
    library_->check(library_->infer(get(), in.data(), in.size(), places.data()));
    return shapes;
  }

  void run(const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs, void* stream = nullptr) const {
    const std::vector<ait_tensor> in = views(inputs), out = views(outputs);
    library_->check(library_->run(get(), stream, in.data(), in.size(), out.data(), out.size()));
  }

  void synchronize(void* stream = nullptr) const { library_->check(library_->synchronize(get(), stream)); }

  // Takes over all weights of a safetensors file; runs under way finish on the old ones.
  void set_weights(const std::string& path, bool partial = false) const {
    library_->check(library_->stage_weights_file(get(), path.c_str(), partial));
    library_->check(library_->swap_weights(get()));
  }

  // Takes over copies of named tensors.
  void set_weights(const std::vector<std::pair<std::string, Tensor>>& weights, bool partial = false) const {
    std::vector<const char*> names;
    std::vector<ait_tensor> tensors;
    for (const auto& [name, tensor] : weights) {
      names.push_back(name.c_str());
      tensors.push_back(view(tensor));
    }
    library_->check(library_->stage_weights(get(), names.data(), tensors.data(), names.size(), partial));
    library_->check(library_->swap_weights(get()));
  }

 private:
  static ait_tensor view(const Tensor& t) {
    return {t.data, t.shape.data(), static_cast<std::int32_t>(t.shape.size()), t.dtype};
  }
  static std::vector<ait_tensor> views(const std::vector<Tensor>& tensors) {
    std::vector<ait_tensor> out;
    for (const Tensor& t : tensors) out.push_back(view(t));
    return out;
  }
  static ait_model* create(const Library& library, const ait_options& options) {
    ait_model* model = nullptr;
    library.check(library.create(&options, &model));
    return model;
  }

  std::shared_ptr<Library> library_;
  std::unique_ptr<ait_model, decltype(&ait_destroy)> model_;
};

}  // namespace ait
