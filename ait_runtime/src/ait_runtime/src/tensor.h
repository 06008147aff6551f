// SPDX-License-Identifier: Apache-2.0
// Small helpers about dtypes and shapes.
#pragma once
#include <cstdint>
#include <string>

#include "ait/error.h"
#include "ait/program.h"

namespace ait::runtime {

struct DTypeInfo {
  const char* name;
  const char* safetensors;  // its spelling in a safetensors file
  unsigned bytes;
};

// Null for a number that is no dtype.
inline const DTypeInfo* dtype_info(std::int32_t dtype) {
  static constexpr DTypeInfo table[] = {{"float32", "F32", 4}, {"float16", "F16", 2}, {"bfloat16", "BF16", 2},
                                        {"float64", "F64", 8}, {"int64", "I64", 8},   {"int32", "I32", 4},
                                        {"int16", "I16", 2},   {"int8", "I8", 1},     {"uint8", "U8", 1},
                                        {"bool", "BOOL", 1}};
  return dtype >= 1 && dtype <= 10 ? &table[dtype - 1] : nullptr;
}
inline const DTypeInfo& dtype_info(DType dtype) { return *dtype_info(static_cast<std::int32_t>(dtype)); }

inline std::string dtype_name(std::int32_t dtype) {
  const DTypeInfo* info = dtype_info(dtype);
  return info ? info->name : text("number ", dtype);
}

// "[2, 3]"
inline std::string shape_text(const index_t* shape, std::size_t rank) {
  std::string out = "[";
  for (std::size_t i = 0; i < rank; ++i) out += text(i ? ", " : "", shape[i]);
  return out + "]";
}

// Bytes of a tensor whose sizes are >= 0; false if they do not fit.
inline bool tensor_bytes(const index_t* shape, std::size_t rank, unsigned item, std::uint64_t& bytes) {
  bytes = item;
  bool fits = true;
  for (std::size_t i = 0; i < rank; ++i) {
    if (shape[i] == 0) {
      bytes = 0;
      return true;
    }
    fits = !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(shape[i]), &bytes) && fits;
  }
  return fits && bytes <= INT64_MAX;
}

inline std::uint64_t align_up(std::uint64_t n) { return (n + 63) / 64 * 64; }

}  // namespace ait::runtime
