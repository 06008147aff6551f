// SPDX-License-Identifier: Apache-2.0
// Python tensors as the C interface sees them, and new ones of the caller's kind. Nothing here imports torch.
#pragma once
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>

#include "ait/ait.hpp"

namespace ait::binding {

namespace py = pybind11;

constexpr int kMaxRank = 64;  // NumPy's limit
const char* dtype_name(ait_dtype dtype);

// A tensor argument; `keep` owns its memory for as long as the view is used. Not to be moved: tensor.shape is `sizes`.
struct View {
  View() {}  // leaves `sizes` as it is
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  ait_tensor tensor;
  std::int64_t sizes[kMaxRank];
  py::object keep;
};

// Where outputs of a call come from: the kind of the first tensor argument.
class Maker {
 public:
  enum class Kind { unset, numpy, torch, other };

  // The kind of `like`, unless one is chosen already.
  void choose(py::handle like);
  // A new tensor of shape view.sizes[0 .. rank), with view set to it.
  py::object make(View& view, ait_dtype dtype, std::int32_t rank) const;

 private:
  Kind kind_ = Kind::unset;
  py::object namespace_;  // of another kind, where from_dlpack makes its tensors
};

// Fills `view` from a NumPy array or scalar, a torch tensor or a DLPack producer in host memory. `role` and `name` are
// for errors ("input", "x"). Without zero copy where the memory is not contiguous, not aligned or of another byte
// order.
void read_tensor(py::handle object, const char* role, const std::string& name, View& view);
// The same for memory to write to: a contiguous, writable NumPy array or torch tensor.
void read_output(py::handle object, const std::string& name, View& view);

// A tensor of our own, which any DLPack consumer can take over.
class OwnedTensor {
 public:
  OwnedTensor(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank);
  void* data() const { return memory_.get(); }
  py::capsule capsule() const;

 private:
  ait_dtype dtype_;
  std::vector<std::int64_t> shape_;
  std::shared_ptr<void> memory_;
};

py::object new_numpy(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank, void** data);

}  // namespace ait::binding
