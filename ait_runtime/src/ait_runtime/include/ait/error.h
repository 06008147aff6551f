// SPDX-License-Identifier: Apache-2.0
// How the runtime and its device layer report what went wrong; turned into a status and a text at the C interface.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "ait/ait.h"

namespace ait {

namespace detail {
// Messages quote names from files: no null may end them early, no control sequence may reach a terminal.
inline std::string printable(std::string text) {
  for (char& c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f) c = '?';
  return text;
}
}  // namespace detail

struct Error : std::runtime_error {
  Error(ait_status status, const std::string& text) : std::runtime_error(detail::printable(text)), status(status) {}
  ait_status status;
};

namespace detail {
inline void append(std::string& out, std::string_view text) { out += text; }
template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
void append(std::string& out, Integer number) {
  out += std::to_string(number);
}
}  // namespace detail

// Strings and integers, one after another.
template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn]] void fail(ait_status status, const Parts&... parts) {
  throw Error(status, text(parts...));
}

}  // namespace ait
