// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <new>

#include "producers.h"

namespace ait::binding {
namespace {

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

}  // namespace

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
