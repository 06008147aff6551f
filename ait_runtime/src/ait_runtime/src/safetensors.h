// SPDX-License-Identifier: Apache-2.0
// Reads the header of a safetensors file (https://github.com/huggingface/safetensors#format). Trusts nothing in it.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ait::runtime {

struct FileTensor {
  std::string name, dtype;  // dtype as the file spells it: "F32"
  std::vector<std::int64_t> shape;
  const unsigned char* data;
  std::uint64_t bytes;
};

// The tensors of `size` bytes at `file`, which `origin` names in errors. Throws Error(AIT_ERROR_WEIGHTS) for a file
// that is cut short, is not well formed, or whose tensors do not tile its data exactly; data is not copied.
std::vector<FileTensor> parse_safetensors(const unsigned char* file, std::uint64_t size, const std::string& origin);

// A file's bytes, mapped read only until the last owner is gone. Throws Error(AIT_ERROR_WEIGHTS).
std::shared_ptr<const unsigned char> map_file(const std::string& path, std::uint64_t& size);

}  // namespace ait::runtime
