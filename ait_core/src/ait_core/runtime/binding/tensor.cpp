// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include <pybind11/numpy.h>

#include <cstring>
#include <new>

#include "dlpack.h"

namespace ait::binding {
namespace {

using py::detail::npy_api;

struct DTypeRow {
  const char* name;
  int numpy;  // type number, -1: dynamic
  dlpack::DataType dlpack;
};
constexpr int kDTypes = 10;
constexpr DTypeRow kRows[kDTypes] = {{"float32", npy_api::NPY_FLOAT_, {dlpack::kFloat, 32, 1}},
                                     {"float16", 23, {dlpack::kFloat, 16, 1}},
                                     {"bfloat16", -1, {dlpack::kBfloat, 16, 1}},
                                     {"float64", npy_api::NPY_DOUBLE_, {dlpack::kFloat, 64, 1}},
                                     {"int64", npy_api::NPY_INT64_, {dlpack::kInt, 64, 1}},
                                     {"int32", npy_api::NPY_INT32_, {dlpack::kInt, 32, 1}},
                                     {"int16", npy_api::NPY_SHORT_, {dlpack::kInt, 16, 1}},
                                     {"int8", npy_api::NPY_BYTE_, {dlpack::kInt, 8, 1}},
                                     {"uint8", npy_api::NPY_UBYTE_, {dlpack::kUInt, 8, 1}},
                                     {"bool", npy_api::NPY_BOOL_, {dlpack::kBool, 8, 1}}};

// Python objects that live as long as the process; never destroyed, as the interpreter is gone by then.
py::dtype numpy_dtype(ait_dtype dtype) {
  static auto* cache = new py::object[kDTypes];
  py::object& found = cache[dtype - 1];
  if (!found)
    found = dtype == AIT_BF16 ? py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"))
                              : py::dtype(kRows[dtype - 1].numpy);
  return py::reinterpret_borrow<py::dtype>(found);
}

ait_dtype from_numpy(int number) {
  for (int i = 0; i < kDTypes; ++i)
    if (kRows[i].numpy == number) return i + 1;
  if (number == npy_api::NPY_LONGLONG_) return AIT_I64;                          // a second type of 64 bits
  return number >= 256 && numpy_dtype(AIT_BF16).num() == number ? AIT_BF16 : 0;  // registered by extensions from 256 on
}

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
  AIT_NAME(__dlpack__);
#undef AIT_NAME
};
const Names& names() {
  static const Names* instance = new Names;
  return *instance;
}

py::object checked(PyObject* result) {
  if (!result) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
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

bool is_torch(py::handle object, const Torch* torch) {
  return torch && PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(torch->tensor.ptr()));
}
// Subclasses may keep their data elsewhere, so that only DLPack can tell.
bool is_plain_torch(py::handle object, const Torch* torch) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()));
  return torch && (type == torch->tensor.ptr() || type == torch->parameter.ptr());
}

struct Subject {  // for errors
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

void check_rank(Py_ssize_t rank, const Subject& subject) {
  if (rank > kMaxRank) subject.refuse(AIT_ERROR_SHAPE, "has ", std::to_string(rank), " dims.");
}

// False if the array's memory cannot be used as it is.
bool view_numpy(py::handle array, const Subject& subject, View& view) {
  const auto* proxy = py::detail::array_proxy(array.ptr());
  const auto dtype = py::reinterpret_borrow<py::dtype>(proxy->descr);
  constexpr int needed = npy_api::NPY_ARRAY_C_CONTIGUOUS_ | npy_api::NPY_ARRAY_ALIGNED_;
  if ((proxy->flags & needed) != needed || dtype.byteorder() == '>') return false;
  view.tensor.dtype = from_numpy(dtype.num());
  if (!view.tensor.dtype) subject.refuse_dtype(dtype);
  check_rank(proxy->nd, subject);
  view.tensor.data = proxy->data;
  view.tensor.rank = proxy->nd;
  for (int i = 0; i < proxy->nd; ++i) view.sizes[i] = proxy->dimensions[i];
  return true;
}

bool view_torch(py::handle tensor, const Torch& torch, const Subject& subject, View& view) {
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

// A row-major copy, as bytes of a NumPy array.
py::object copy_strided(const dlpack::Tensor& t, std::int64_t elements) {
  const std::size_t item = t.dtype.bits / 8;
  py::array_t<std::uint8_t> copy(static_cast<py::ssize_t>(elements * static_cast<std::int64_t>(item)));
  std::uint8_t* target = copy.mutable_data();
  const char* source = static_cast<const char*>(t.data) + t.byte_offset;
  std::vector<std::int64_t> index(static_cast<std::size_t>(t.ndim));
  for (std::int64_t n = 0; n < elements; ++n, target += item) {
    std::memcpy(target, source, item);
    for (int d = t.ndim - 1; d >= 0; --d) {
      const std::int64_t stride = t.strides[d] * static_cast<std::int64_t>(item);
      source += stride;
      if (++index[static_cast<std::size_t>(d)] < t.shape[d]) break;
      source -= stride * t.shape[d];
      index[static_cast<std::size_t>(d)] = 0;
    }
  }
  return copy;
}

void view_dlpack(py::handle object, const Subject& subject, View& view) {
  py::object capsule;
  try {
    const auto [type, id] = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
    if (type != 1)
      subject.refuse(AIT_ERROR_DEVICE, "is on a device of DLPack type ", std::to_string(type),
                     ", but the model runs on the CPU. Copy it to the host.");
    try {
      capsule = object.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(1, 0));
    } catch (py::error_already_set& error) {  // producers older than DLPack 1.0 do not know max_version
      if (!error.matches(PyExc_TypeError)) throw;
      capsule = object.attr("__dlpack__")();
    }
  } catch (py::error_already_set& error) {
    subject.refuse(AIT_ERROR_INPUT, "does not give its memory away: ", std::string(py::str(error.value())));
  }
  // The capsule is kept, not consumed: its own destructor gives the memory back to the producer.
  const dlpack::Tensor* t = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")) {
    const auto* managed =
        static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (managed->major != 1)
      subject.refuse(AIT_ERROR_INPUT, "uses DLPack ", std::to_string(managed->major), ".x; this ait-core knows 1.x.");
    t = &managed->tensor;
  } else if (PyCapsule_IsValid(capsule.ptr(), "dltensor")) {
    t = &static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"))->tensor;
  } else {
    subject.refuse(AIT_ERROR_INPUT, "returned no DLPack capsule from __dlpack__().");
  }
  view.tensor.dtype = 0;
  for (int i = 0; i < kDTypes; ++i)
    if (std::memcmp(&t->dtype, &kRows[i].dlpack, sizeof t->dtype) == 0) view.tensor.dtype = i + 1;
  if (!view.tensor.dtype) subject.refuse_dtype(object.attr("dtype"));
  check_rank(t->ndim, subject);
  view.tensor.rank = t->ndim;
  std::int64_t elements = 1;
  for (int i = t->ndim - 1; i >= 0; --i) elements *= view.sizes[i] = t->shape[i];
  bool contiguous = true;
  std::int64_t stride = 1;
  for (int i = t->ndim - 1; t->strides && i >= 0; stride *= t->shape[i--])
    contiguous = contiguous && (t->shape[i] == 1 || t->strides[i] == stride);
  const auto address = reinterpret_cast<std::uintptr_t>(t->data) + t->byte_offset;
  view.keep = capsule;
  view.tensor.data = reinterpret_cast<void*>(address);
  if (elements && !contiguous) {
    view.keep = copy_strided(*t, elements);
    view.tensor.data = py::reinterpret_borrow<py::array>(view.keep).mutable_data();
  }
}

}  // namespace

const char* dtype_name(ait_dtype dtype) { return kRows[dtype - 1].name; }

py::object new_numpy(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank, void** data) {
  static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));
  auto& api = npy_api::get();
  py::object array =
      checked(api.PyArray_NewFromDescr_(api.PyArray_Type_, numpy_dtype(dtype).release().ptr(), rank,
                                        reinterpret_cast<const Py_intptr_t*>(shape), nullptr, nullptr, 0, nullptr));
  *data = py::detail::array_proxy(array.ptr())->data;
  return array;
}

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
  const Torch* torch = Torch::loaded();
  if (is_plain_torch(object, torch)) {
    if (view_torch(object, *torch, subject, view)) return;
    view.keep = method(method(object, names().resolve_neg), names().contiguous);
    if (!view_torch(view.keep, *torch, subject, view)) subject.refuse(AIT_ERROR_INPUT, "cannot be made contiguous.");
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
  const Torch* torch = Torch::loaded();
  bool usable = false;
  if (py::isinstance<py::array>(object))
    usable = view_numpy(object, subject, view) &&
             py::detail::array_proxy(object.ptr())->flags & npy_api::NPY_ARRAY_WRITEABLE_;
  else if (is_plain_torch(object, torch))
    usable = view_torch(object, *torch, subject, view);
  else
    subject.refuse(AIT_ERROR_INPUT, "is of type ", Py_TYPE(object.ptr())->tp_name,
                   "; expected a NumPy array or a torch tensor to write to.");
  if (!usable) subject.refuse(AIT_ERROR_INPUT, "cannot be written to: expected contiguous, writable memory.");
}

void Maker::choose(py::handle like) {
  if (kind_ != Kind::unset) return;
  kind_ = Kind::numpy;
  if (py::isinstance<py::array>(like)) return;
  if (is_torch(like, Torch::loaded())) {
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
  if (kind_ == Kind::torch) {
    const Torch& torch = *Torch::loaded();
    const py::object shape = checked(PyTuple_New(rank));
    for (std::int32_t i = 0; i < rank; ++i)
      PyTuple_SET_ITEM(shape.ptr(), i, checked(PyLong_FromLongLong(view.sizes[i])).release().ptr());
    PyObject* arguments[] = {shape.ptr(), torch.dtypes[dtype - 1].ptr(), torch.cpu.ptr()};
    view.keep = checked(PyObject_Vectorcall(torch.empty.ptr(), arguments, 1, torch.keywords.ptr()));
    view.tensor.data = PyLong_AsVoidPtr(method(view.keep, names().data_ptr).ptr());
    return view.keep;
  }
  if (kind_ == Kind::other) {
    const auto owned = std::make_shared<OwnedTensor>(dtype, view.sizes, rank);
    view.tensor.data = owned->data();
    view.keep = py::cast(owned);
    return namespace_.attr("from_dlpack")(view.keep);
  }
  return view.keep = new_numpy(dtype, view.sizes, rank, &view.tensor.data);
}

OwnedTensor::OwnedTensor(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank)
    : dtype_(dtype), shape_(shape, shape + rank) {
  std::size_t bytes = kRows[dtype - 1].dlpack.bits / 8;
  for (const std::int64_t n : shape_) bytes *= static_cast<std::size_t>(n);
  constexpr std::align_val_t alignment{64};
  memory_.reset(::operator new(bytes, alignment), [alignment](void* p) { ::operator delete(p, alignment); });
}

py::capsule OwnedTensor::capsule() const {
  struct Context {
    dlpack::Managed managed;
    OwnedTensor tensor;
  };
  auto* context = new Context{{}, *this};
  dlpack::Managed& m = context->managed;
  m.tensor = {data(),
              {1, 0},
              static_cast<std::int32_t>(shape_.size()),
              kRows[dtype_ - 1].dlpack,
              context->tensor.shape_.data(),
              nullptr,
              0};
  m.context = context;
  m.deleter = [](dlpack::Managed* self) { delete static_cast<Context*>(self->context); };
  PyObject* capsule = PyCapsule_New(&m, "dltensor", [](PyObject* self) {
    if (!PyCapsule_IsValid(self, "dltensor")) return;  // taken over by a consumer
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(self, "dltensor"));
    managed->deleter(managed);
  });
  if (!capsule) {
    delete context;
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::capsule>(capsule);
}

}  // namespace ait::binding
