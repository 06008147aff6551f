// SPDX-License-Identifier: Apache-2.0
// The memory layout of DLPack, versions 0.8 and 1.x (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once
#include <cstdint>

namespace dlpack {

struct Device {
  std::int32_t type, id;
};
struct DataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
enum Code : std::uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: contiguous
  std::uint64_t byte_offset;
};

struct Managed {  // capsule "dltensor"
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct ManagedVersioned {  // capsule "dltensor_versioned"
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

}  // namespace dlpack
