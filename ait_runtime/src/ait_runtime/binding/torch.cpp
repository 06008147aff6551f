// SPDX-License-Identifier: Apache-2.0
#include "producers.h"

namespace ait::binding {
namespace {

struct Names {
#define AIT_NAME(name) PyObject* name = PyUnicode_InternFromString(#name)
  AIT_NAME(is_cpu);
  AIT_NAME(requires_grad);
  AIT_NAME(is_contiguous);
  AIT_NAME(contiguous);
  AIT_NAME(is_neg);
  AIT_NAME(resolve_neg);
  AIT_NAME(layout);
  AIT_NAME(dtype);
  AIT_NAME(shape);
  AIT_NAME(data_ptr);
#undef AIT_NAME
};
const Names& names() {
  static const Names* instance = new Names;
  return *instance;
}

py::object attribute(py::handle object, PyObject* name) { return checked(PyObject_GetAttr(object.ptr(), name)); }
py::object method(py::handle object, PyObject* name) { return checked(PyObject_CallMethodNoArgs(object.ptr(), name)); }

// What we use of torch, taken from the module that the caller has imported.
struct Torch {
  py::object tensor, parameter, empty, cpu, strided, is_grad_enabled, dtypes[kDTypes], keywords;

  static const Torch* loaded() {
    static const Torch* instance = nullptr;
    if (!instance) {
      PyObject* module = PyImport_GetModule(py::str("torch").ptr());
      if (!module) {
        PyErr_Clear();
        return nullptr;
      }
      instance = new Torch(py::reinterpret_steal<py::object>(module));
    }
    return instance;
  }

  ait_dtype from(py::handle dtype) const {
    for (int i = 0; i < kDTypes; ++i)
      if (dtypes[i].is(dtype)) return i + 1;
    return 0;
  }

 private:
  explicit Torch(const py::object& torch)
      : tensor(torch.attr("Tensor")),
        parameter(torch.attr("nn").attr("Parameter")),
        empty(torch.attr("empty")),
        cpu(torch.attr("device")("cpu")),
        strided(torch.attr("strided")),
        is_grad_enabled(torch.attr("is_grad_enabled")),
        keywords(py::make_tuple("dtype", "device")) {
    for (int i = 0; i < kDTypes; ++i) dtypes[i] = torch.attr(kRows[i].name);
  }
};

}  // namespace

bool is_torch(py::handle object) {
  const Torch* torch = Torch::loaded();
  return torch && PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(torch->tensor.ptr()));
}

bool is_plain_torch(py::handle object) {
  const Torch* torch = Torch::loaded();
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  return torch && (type == torch->tensor.ptr() || type == torch->parameter.ptr());
}

bool view_torch(py::handle tensor, const Subject& subject, View& view) {
  const Torch& torch = *Torch::loaded();
  if (attribute(tensor, names().is_cpu).ptr() != Py_True)
    subject.refuse(AIT_ERROR_DEVICE, "is on device ", std::string(py::str(tensor.attr("device"))),
                   ", but the model runs on the CPU. Call .cpu() on it.");
  if (!attribute(tensor, names().layout).is(torch.strided))
    subject.refuse(AIT_ERROR_INPUT, "has layout ", std::string(py::str(tensor.attr("layout"))),
                   ". Call .to_dense() on it.");
  if (attribute(tensor, names().requires_grad).ptr() == Py_True && torch.is_grad_enabled().ptr() == Py_True)
    subject.refuse(AIT_ERROR_INPUT,
                   "requires grad, but a compiled model has no backward pass. Call .detach() on it, or the model under "
                   "torch.no_grad().");
  const py::object dtype = attribute(tensor, names().dtype);
  view.tensor.dtype = torch.from(dtype);
  if (!view.tensor.dtype) subject.refuse_dtype(dtype);
  if (method(tensor, names().is_contiguous).ptr() != Py_True || method(tensor, names().is_neg).ptr() == Py_True)
    return false;
  const py::object shape = attribute(tensor, names().shape);
  const Py_ssize_t rank = PyTuple_GET_SIZE(shape.ptr());
  check_rank(rank, subject);
  view.tensor.rank = static_cast<std::int32_t>(rank);
  for (Py_ssize_t i = 0; i < rank; ++i) view.sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), i));
  view.tensor.data = PyLong_AsVoidPtr(method(tensor, names().data_ptr).ptr());
  if (PyErr_Occurred()) throw py::error_already_set();
  return true;
}

py::object contiguous_torch(py::handle tensor) {
  return method(method(tensor, names().resolve_neg), names().contiguous);
}

py::object new_torch(ait_dtype dtype, const std::int64_t* sizes, std::int32_t rank, void** data) {
  const Torch& torch = *Torch::loaded();
  const py::object shape = checked(PyTuple_New(rank));
  for (std::int32_t i = 0; i < rank; ++i)
    PyTuple_SET_ITEM(shape.ptr(), i, checked(PyLong_FromLongLong(sizes[i])).release().ptr());
  PyObject* arguments[] = {shape.ptr(), torch.dtypes[dtype - 1].ptr(), torch.cpu.ptr()};
  py::object tensor = checked(PyObject_Vectorcall(torch.empty.ptr(), arguments, 1, torch.keywords.ptr()));
  *data = PyLong_AsVoidPtr(method(tensor, names().data_ptr).ptr());
  return tensor;
}

}  // namespace ait::binding
