// SPDX-License-Identifier: Apache-2.0
// One complete, immutable set of a model's constants. Runs share it; it is freed when the last of them lets go.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ait/ait.h"
#include "ait/program.h"

namespace ait::runtime {

using Owner = std::shared_ptr<const void>;

struct WeightSet {
  std::uint64_t serial = 0;       // never used twice
  std::vector<void*> data;        // of every constant, aligned to 64 bytes, where kernels can read it; never written
  std::vector<Owner> owners;      // what keeps data[i] alive
  std::shared_ptr<void> derived;  // constants that the load-time program computes
};

class Weights {
 public:
  explicit Weights(const Program& program);

  // A new set without its derived block. Sources are copied, or used in place where they are aligned and `keep` owns
  // them (map_file). What is not given is taken from `base`: anything if `partial`, else only fixed data of the model,
  // whose names start with '$'. Without a base each constant must be given.
  // All throw Error(AIT_ERROR_WEIGHTS) that lists every tensor that does not fit.
  std::shared_ptr<WeightSet> from_tensors(const char* const* names, const ait_tensor* tensors, std::size_t n,
                                          const WeightSet* base, bool partial) const;
  std::shared_ptr<WeightSet> from_file(const std::string& path, const WeightSet* base, bool partial) const;
  std::shared_ptr<WeightSet> from_bytes(const void* data, std::uint64_t size, const WeightSet* base) const;
  std::shared_ptr<WeightSet> embedded() const;

 private:
  struct Source {
    std::string_view name;
    std::string dtype;  // as DTypeInfo::name where we know it
    const std::int64_t* shape;
    std::size_t rank;
    const void* data;
  };
  std::shared_ptr<WeightSet> build(const std::vector<Source>& sources, const Owner& keep, const WeightSet* base,
                                   bool partial, const std::string& origin) const;
  std::shared_ptr<WeightSet> from_safetensors(const unsigned char* file, std::uint64_t size, const Owner& keep,
                                              const WeightSet* base, bool partial, const std::string& origin) const;

  const Program& program_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
};

}  // namespace ait::runtime
