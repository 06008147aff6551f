// SPDX-License-Identifier: Apache-2.0
#include "safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "ait/error.h"

namespace ait::runtime {
namespace {

constexpr std::uint64_t kMaxHeader = 100'000'000;  // the reference implementation's limit

// The subset of JSON that the format uses: objects, arrays of unsigned integers, strings.
class Header {
 public:
  Header(const char* begin, const char* end, const std::string& origin)
      : begin_(begin), p_(begin), end_(end), origin_(origin) {}

  [[noreturn]] void bad(std::string_view what) const {
    fail(AIT_ERROR_WEIGHTS, origin_, " is not a valid safetensors file: ", what, " (byte ", p_ - begin_ + 8,
         "). Write it again.");
  }

  template <class OnKey>
  void object(OnKey&& on_key) {
    expect('{');
    if (accept('}')) return;
    do {
      std::string key = string();
      expect(':');
      on_key(std::move(key));
    } while (accept(','));
    expect('}');
  }

  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> out;
    expect('[');
    if (accept(']')) return out;
    do {
      if (out.size() == 64) bad("an array of more than 64 numbers");
      out.push_back(number());
    } while (accept(','));
    expect(']');
    return out;
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      const unsigned char c = next();
      if (c == '"') return out;
      if (c < 0x20) bad("a control character in a string");
      if (c == '\\')
        escape(out);
      else
        out += static_cast<char>(c);
    }
  }

  void finish() {
    space();
    if (p_ != end_) bad("text after the header");
  }

 private:
  void space() {
    while (p_ != end_ && std::strchr(" \t\r\n", *p_) && *p_) ++p_;
  }
  char next() {
    if (p_ == end_) bad("the header ends too early");
    return *p_++;
  }
  bool accept(char c) {
    space();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad(text("expected '", std::string_view(&c, 1), "'"));
  }

  std::uint64_t number() {
    space();
    if (p_ == end_ || *p_ < '0' || *p_ > '9') bad("expected a whole number, 0 or more");
    std::uint64_t value = 0;
    for (; p_ != end_ && *p_ >= '0' && *p_ <= '9'; ++p_)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *p_ - '0', &value))
        bad("a number that is too large");
    if (value > INT64_MAX) bad("a number that is too large");
    return value;
  }

  unsigned hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = next();
      const char* digits = "0123456789abcdef";
      const char* at = c ? std::strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : nullptr;
      if (!at) bad("a bad \\u escape");
      value = value << 4 | static_cast<unsigned>(at - digits);
    }
    return value;
  }

  void escape(std::string& out) {
    const char c = next();
    if (c != 'u') {
      const char* from = "\"\\/bfnrt";
      const char* at = c ? std::strchr(from, c) : nullptr;
      if (!at) bad("an unknown escape");
      out += "\"\\/\b\f\n\r\t"[at - from];
      return;
    }
    unsigned code = hex4();
    if (code >= 0xd800 && code < 0xdc00) {  // a surrogate pair
      if (next() != '\\' || next() != 'u') bad("half a surrogate pair");
      const unsigned low = hex4();
      if (low < 0xdc00 || low > 0xdfff) bad("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      bad("half a surrogate pair");
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
      return;
    }
    const int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    out += static_cast<char>(lead[tail] | code >> (6 * tail));
    for (int i = tail - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
  }

  const char *begin_, *p_, *end_;
  const std::string& origin_;
};

// Bits of an element, 0 for a dtype we do not know: its tensor cannot match a constant and is reported by name then.
std::uint64_t bits_of(const std::string& dtype) {
  static constexpr struct {
    const char* name;
    unsigned bits;
  } known[] = {{"BOOL", 8}, {"U8", 8},    {"I8", 8},   {"I16", 16},    {"U16", 16},
               {"F16", 16}, {"BF16", 16}, {"I32", 32}, {"U32", 32},    {"F32", 32},
               {"I64", 64}, {"U64", 64},  {"F64", 64}, {"F8_E4M3", 8}, {"F8_E5M2", 8}};
  for (const auto& k : known)
    if (dtype == k.name) return k.bits;
  return 0;
}

}  // namespace

std::vector<FileTensor> parse_safetensors(const unsigned char* file, std::uint64_t size, const std::string& origin) {
  std::uint64_t length = 0;
  for (int i = 7; size >= 8 && i >= 0; --i) length = length << 8 | file[i];  // little endian
  if (size < 8 || length > size - 8 || length > kMaxHeader)
    fail(AIT_ERROR_WEIGHTS, origin, " is not a safetensors file, or was cut short: ", size, " bytes, with a header of ",
         length, ". Write it again.");
  const char* text_begin = reinterpret_cast<const char*>(file) + 8;
  const unsigned char* data = file + 8 + length;
  const std::uint64_t data_size = size - 8 - length;

  Header header(text_begin, text_begin + length, origin);
  std::vector<FileTensor> tensors;
  std::unordered_set<std::string> seen;
  header.object([&](std::string name) {
    if (!seen.insert(name).second) header.bad(text("'", name, "' occurs twice"));
    if (name == "__metadata__") return header.object([&](std::string) { header.string(); });
    FileTensor t{std::move(name), "", {}, data, 0};
    std::vector<std::uint64_t> offsets;
    unsigned fields = 0;
    header.object([&](const std::string& key) {
      const unsigned field = key == "dtype" ? 1 : key == "shape" ? 2 : key == "data_offsets" ? 4 : 0;
      if (!field || fields & field) header.bad(text("unexpected field '", key, "' of tensor '", t.name, "'"));
      fields |= field;
      if (field == 1) t.dtype = header.string();
      if (field == 4) offsets = header.numbers();
      if (field == 2)
        for (const std::uint64_t n : header.numbers()) t.shape.push_back(static_cast<std::int64_t>(n));
    });
    if (fields != 7 || offsets.size() != 2)
      header.bad(text("tensor '", t.name, "' needs dtype, shape and two data_offsets"));
    if (offsets[0] > offsets[1] || offsets[1] > data_size)
      header.bad(
          text("tensor '", t.name, "' lies at ", offsets[0], "..", offsets[1], " of ", data_size, " bytes of data"));
    t.data += offsets[0];
    t.bytes = offsets[1] - offsets[0];
    std::uint64_t bits = bits_of(t.dtype);
    const bool known = bits != 0;
    for (const std::int64_t n : t.shape)
      if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(n), &bits))
        header.bad(text("tensor '", t.name, "' is too large"));
    if (known && bits / 8 != t.bytes)
      header.bad(text("tensor '", t.name, "' has ", t.bytes, " bytes, but its shape and dtype need ", bits / 8));
    tensors.push_back(std::move(t));
  });
  header.finish();

  std::vector<const FileTensor*> order;
  for (const FileTensor& t : tensors) order.push_back(&t);
  std::sort(order.begin(), order.end(),
            [](auto* a, auto* b) { return a->data != b->data ? a->data < b->data : a->bytes < b->bytes; });
  const unsigned char* reached = data;
  for (const FileTensor* t : order) {
    if (t->data != reached) header.bad(text("a gap or an overlap in the data before tensor '", t->name, "'"));
    reached += t->bytes;
  }
  if (reached != data + data_size) header.bad("data that belongs to no tensor");
  return tensors;
}

std::shared_ptr<const unsigned char> map_file(const std::string& path, std::uint64_t& size) {
  const auto refuse = [&](int code) {
    fail(AIT_ERROR_WEIGHTS, "The weights file ", path, " cannot be read: ", std::strerror(code), ".");
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) refuse(errno);
  struct stat status;
  void* data = MAP_FAILED;
  int code = 0;
  if (fstat(fd, &status) != 0)
    code = errno;
  else if (!S_ISREG(status.st_mode))
    code = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  else if (status.st_size == 0)
    code = ENODATA;
  else if ((data = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0)) ==
           MAP_FAILED)
    code = errno;
  close(fd);
  if (code) refuse(code);
  size = static_cast<std::uint64_t>(status.st_size);
  return {static_cast<const unsigned char*>(data),
          [size](const unsigned char* p) { munmap(const_cast<unsigned char*>(p), static_cast<std::size_t>(size)); }};
}

}  // namespace ait::runtime
