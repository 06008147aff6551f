// SPDX-License-Identifier: Apache-2.0
#include "producers.h"

namespace ait::binding {
namespace {

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

}  // namespace

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

py::object new_numpy(ait_dtype dtype, const std::int64_t* shape, std::int32_t rank, void** data) {
  static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));
  auto& api = npy_api::get();
  py::object array =
      checked(api.PyArray_NewFromDescr_(api.PyArray_Type_, numpy_dtype(dtype).release().ptr(), rank,
                                        reinterpret_cast<const Py_intptr_t*>(shape), nullptr, nullptr, 0, nullptr));
  *data = py::detail::array_proxy(array.ptr())->data;
  return array;
}

}  // namespace ait::binding
