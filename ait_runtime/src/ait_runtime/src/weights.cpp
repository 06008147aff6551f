// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <algorithm>
#include <atomic>

#include "ait/device.h"
#include "safetensors.h"
#include "tensor.h"

namespace ait::runtime {
namespace {

constexpr std::size_t kListed = 32;  // problems spelt out in one message

std::string dtype_of_file(const std::string& spelling) {
  for (std::int32_t i = 1; const DTypeInfo* info = dtype_info(i); ++i)
    if (spelling == info->safetensors) return info->name;
  return spelling;
}

std::string describe(std::string_view dtype, const index_t* shape, std::size_t rank) {
  return text(dtype, shape_text(shape, rank));
}

}  // namespace

Weights::Weights(const Program& program) : program_(program) {
  for (std::uint32_t i = 0; i < program.n_constants; ++i) index_.emplace(program.constants[i].name, i);
  if (index_.size() != program.n_constants)
    fail(AIT_ERROR_INTERNAL, "The model's tables are inconsistent: two constants share a name.");
}

std::shared_ptr<WeightSet> Weights::build(const std::vector<Source>& sources, const Owner& keep, const WeightSet* base,
                                          bool partial, const std::string& origin) const {
  const std::uint32_t n = program_.n_constants;
  std::vector<std::string> problems;
  std::vector<const Source*> chosen(n);
  for (const Source& s : sources) {
    const auto found = index_.find(s.name);
    if (found == index_.end()) {
      problems.push_back(text("'", s.name, "' is not a constant of the model"));
      continue;
    }
    const ConstantSpec& c = program_.constants[found->second];
    const std::string given = describe(s.dtype, s.shape, s.rank),
                      expected = describe(dtype_info(c.dtype).name, c.shape, c.rank);
    if (chosen[found->second])
      problems.push_back(text("'", s.name, "' is given twice"));
    else if (given != expected)
      problems.push_back(text("'", s.name, "' is ", given, ", expected ", expected));
    else if (c.bytes && !s.data)
      problems.push_back(text("'", s.name, "' has no data"));
    chosen[found->second] = &s;
  }
  for (std::uint32_t i = 0; i < n; ++i)
    if (const ConstantSpec& c = program_.constants[i]; !chosen[i] && !(base && (partial || c.name[0] == '$')))
      problems.push_back(text("'", c.name, "' (", describe(dtype_info(c.dtype).name, c.shape, c.rank), ") is missing"));
  if (!problems.empty()) {
    std::string list;
    for (std::size_t i = 0; i < std::min(problems.size(), kListed); ++i) list += text("\n  ", problems[i]);
    if (problems.size() > kListed) list += text("\n  and ", problems.size() - kListed, " more");
    fail(AIT_ERROR_WEIGHTS, "The weights from ", origin, " do not fit the model and were not used:", list);
  }

  static std::atomic<std::uint64_t> serial{0};
  auto set = std::make_shared<WeightSet>();
  set->serial = ++serial;
  if (base) set->data = base->data, set->owners = base->owners;
  set->data.resize(n);
  set->owners.resize(n);
  const auto in_place = [&](const Source& s) {
    return device::kHostMemory && keep && reinterpret_cast<std::uintptr_t>(s.data) % device::kAlignment == 0;
  };
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < n; ++i)
    if (chosen[i] && !in_place(*chosen[i])) bytes += align_up(program_.constants[i].bytes);
  std::shared_ptr<void> block;
  if (bytes) block.reset(device::alloc(bytes), device::free);
  char* free_place = static_cast<char*>(block.get());
  for (std::uint32_t i = 0; i < n; ++i) {
    if (!chosen[i]) continue;
    const std::uint64_t size = program_.constants[i].bytes;
    if (in_place(*chosen[i])) {
      set->data[i] = const_cast<void*>(chosen[i]->data);
      set->owners[i] = keep;
      continue;
    }
    device::to_device(free_place, chosen[i]->data, size);
    set->data[i] = free_place;
    set->owners[i] = block;
    free_place += align_up(size);
  }
  return set;
}

std::shared_ptr<WeightSet> Weights::from_tensors(const char* const* names, const ait_tensor* tensors, std::size_t n,
                                                 const WeightSet* base, bool partial) const {
  if (n && (!names || !tensors)) fail(AIT_ERROR_INPUT, "The names or the tensors of the weights are null.");
  std::vector<Source> sources;
  for (std::size_t i = 0; i < n; ++i) {
    const ait_tensor& t = tensors[i];
    if (!names[i] || t.rank < 0 || (t.rank && !t.shape))
      fail(AIT_ERROR_INPUT, "Weight ", i, " has no name or no shape.");
    sources.push_back({names[i], dtype_name(t.dtype), t.shape, static_cast<std::size_t>(t.rank), t.data});
  }
  return build(sources, nullptr, base, partial, "memory");
}

std::shared_ptr<WeightSet> Weights::from_safetensors(const unsigned char* file, std::uint64_t size, const Owner& keep,
                                                     const WeightSet* base, bool partial,
                                                     const std::string& origin) const {
  const std::vector<FileTensor> tensors = parse_safetensors(file, size, origin);
  std::vector<Source> sources;
  for (const FileTensor& t : tensors)
    sources.push_back({t.name, dtype_of_file(t.dtype), t.shape.data(), t.shape.size(), t.data});
  return build(sources, keep, base, partial, origin);
}

std::shared_ptr<WeightSet> Weights::from_file(const std::string& path, const WeightSet* base, bool partial) const {
  std::uint64_t size = 0;
  const std::shared_ptr<const unsigned char> file = map_file(path, size);
  return from_safetensors(file.get(), size, file, base, partial, "the file " + path);
}

std::shared_ptr<WeightSet> Weights::from_bytes(const void* data, std::uint64_t size, const WeightSet* base) const {
  return from_safetensors(static_cast<const unsigned char*>(data), size, nullptr, base, false, "weights_data");
}

std::shared_ptr<WeightSet> Weights::embedded() const {
  std::vector<Source> sources;
  for (std::uint32_t i = 0; i < program_.n_constants; ++i) {
    const ConstantSpec& c = program_.constants[i];
    sources.push_back({c.name, dtype_info(c.dtype).name, c.shape, c.rank, program_.weights + c.offset});
  }
  // The library itself owns them; the library outlives its models.
  const Owner library(program_.weights, [](const void*) {});
  return build(sources, library, nullptr, false, "the library");
}

}  // namespace ait::runtime
