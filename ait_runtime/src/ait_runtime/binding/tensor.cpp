// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include "producers.h"

namespace ait::binding {

const char* dtype_name(ait_dtype dtype) { return kRows[dtype - 1].name; }

void read_tensor(py::handle object, const char* role, const std::string& name, View& view) {
  const Subject subject{role, name};
  view.tensor.shape = view.sizes;
  view.keep = py::reinterpret_borrow<py::object>(object);
  if (py::isinstance<py::array>(object)) {
    if (view_numpy(object, subject, view)) return;
    const py::object native = object.attr("dtype").attr("newbyteorder")("=");
    view.keep = py::module_::import("numpy").attr("array")(object, native, py::arg("order") = "C");
    if (!view_numpy(view.keep, subject, view)) subject.refuse(AIT_ERROR_INPUT, "cannot be made contiguous.");
    return;
  }
  if (is_plain_torch(object)) {
    if (view_torch(object, subject, view)) return;
    view.keep = contiguous_torch(object);
    if (!view_torch(view.keep, subject, view)) subject.refuse(AIT_ERROR_INPUT, "cannot be made contiguous.");
    return;
  }
  if (py::hasattr(object, "__dlpack__")) return view_dlpack(object, subject, view);
  if (py::isinstance(object, py::module_::import("numpy").attr("generic"))) {  // a scalar, such as numpy.float32(1)
    view.keep = py::module_::import("numpy").attr("asarray")(object);
    if (view_numpy(view.keep, subject, view)) return;
  }
  subject.refuse(AIT_ERROR_INPUT, "is of type ", Py_TYPE(object.ptr())->tp_name,
                 "; expected a NumPy array, a torch tensor or another tensor with __dlpack__.");
}

void read_output(py::handle object, const std::string& name, View& view) {
  const Subject subject{"output", name};
  view.tensor.shape = view.sizes;
  view.keep = py::reinterpret_borrow<py::object>(object);
  bool usable = false;
  if (py::isinstance<py::array>(object))
    usable = view_numpy(object, subject, view) &&
             py::detail::array_proxy(object.ptr())->flags & npy_api::NPY_ARRAY_WRITEABLE_;
  else if (is_plain_torch(object))
    usable = view_torch(object, subject, view);
  else
    subject.refuse(AIT_ERROR_INPUT, "is of type ", Py_TYPE(object.ptr())->tp_name,
                   "; expected a NumPy array or a torch tensor to write to.");
  if (!usable) subject.refuse(AIT_ERROR_INPUT, "cannot be written to: expected contiguous, writable memory.");
}

void Maker::choose(py::handle like) {
  if (kind_ != Kind::unset) return;
  kind_ = Kind::numpy;
  if (py::isinstance<py::array>(like)) return;
  if (is_torch(like)) {
    kind_ = Kind::torch;
  } else if (py::hasattr(like, "__dlpack__")) {
    // The array API's namespace, else the package that defines the type.
    py::object space = py::none();
    if (py::hasattr(like, "__array_namespace__")) {
      space = like.attr("__array_namespace__")();
    } else {
      const auto module = py::str(py::type::handle_of(like).attr("__module__")).cast<std::string>();
      space = py::module_::import("sys").attr("modules").attr("get")(module.substr(0, module.find('.')));
    }
    if (!py::hasattr(space, "from_dlpack")) return;
    kind_ = Kind::other;
    namespace_ = space;
  }
}

py::object Maker::make(View& view, ait_dtype dtype, std::int32_t rank) const {
  view.tensor = {nullptr, view.sizes, rank, dtype};
  if (kind_ == Kind::torch) return view.keep = new_torch(dtype, view.sizes, rank, &view.tensor.data);
  if (kind_ == Kind::other) {
    const auto owned = std::make_shared<OwnedTensor>(dtype, view.sizes, rank);
    view.tensor.data = owned->data();
    view.keep = py::cast(owned);
    return namespace_.attr("from_dlpack")(view.keep);
  }
  return view.keep = new_numpy(dtype, view.sizes, rank, &view.tensor.data);
}

}  // namespace ait::binding
