// SPDX-License-Identifier: Apache-2.0
// The kinds of tensors that the binding reads, each in a file of its own: numpy.cpp, torch.cpp, dlpack.cpp.
#pragma once
#include <pybind11/numpy.h>

#include "dlpack.h"
#include "tensor.h"

namespace ait::binding {

using py::detail::npy_api;

// One row for each ait_dtype, from 1 on.
struct DTypeRow {
  const char* name;
  int numpy;  // type number, -1: dynamic
  dlpack::DataType dlpack;
};
inline constexpr int kDTypes = 10;
inline constexpr DTypeRow kRows[kDTypes] = {{"float32", npy_api::NPY_FLOAT_, {dlpack::kFloat, 32, 1}},
                                            {"float16", 23, {dlpack::kFloat, 16, 1}},
                                            {"bfloat16", -1, {dlpack::kBfloat, 16, 1}},
                                            {"float64", npy_api::NPY_DOUBLE_, {dlpack::kFloat, 64, 1}},
                                            {"int64", npy_api::NPY_INT64_, {dlpack::kInt, 64, 1}},
                                            {"int32", npy_api::NPY_INT32_, {dlpack::kInt, 32, 1}},
                                            {"int16", npy_api::NPY_SHORT_, {dlpack::kInt, 16, 1}},
                                            {"int8", npy_api::NPY_BYTE_, {dlpack::kInt, 8, 1}},
                                            {"uint8", npy_api::NPY_UBYTE_, {dlpack::kUInt, 8, 1}},
                                            {"bool", npy_api::NPY_BOOL_, {dlpack::kBool, 8, 1}}};

// Takes over a new reference; throws the error that null stands for.
inline py::object checked(PyObject* result) {
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

// An argument as errors name it.
struct Subject {
  const char* role;
  const std::string& name;

  template <class... Parts>
  [[noreturn]] void refuse(ait_status status, const Parts&... parts) const {
    std::string text = std::string("The ") + role + " '" + name + "' ";
    ((text += parts), ...);
    throw Error(status, text);
  }
  [[noreturn]] void refuse_dtype(py::handle dtype) const {
    refuse(AIT_ERROR_DTYPE, "has dtype ", std::string(py::str(dtype)),
           ", which no model has. Convert it before the call.");
  }
};

inline void check_rank(Py_ssize_t rank, const Subject& subject) {
  if (rank > kMaxRank) subject.refuse(AIT_ERROR_SHAPE, "has ", std::to_string(rank), " dims.");
}

// Each sets view.tensor and view.sizes. The first two return false if the memory cannot be used as it is.
bool view_numpy(py::handle array, const Subject& subject, View& view);
bool view_torch(py::handle tensor, const Subject& subject, View& view);
void view_dlpack(py::handle object, const Subject& subject, View& view);

bool is_torch(py::handle object);
// Of the class itself: a subclass may keep its data elsewhere, so that only DLPack can tell.
bool is_plain_torch(py::handle object);
py::object contiguous_torch(py::handle tensor);
py::object new_torch(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank, void** data);

}  // namespace ait::binding
