// SPDX-License-Identifier: Apache-2.0
// A copy of an array that ends at an unmapped page, so that reading or writing past it faults.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "ait/cpu/types.h"

template <class T>
struct Guarded {
  char* map;
  std::size_t bytes;
  T* data;

  Guarded(const T* source, ait::index_t count) {
    const std::size_t page = sysconf(_SC_PAGESIZE), size = count * sizeof(T);
    bytes = (size + page - 1) / page * page + page;
    map = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map + bytes - page, page, PROT_NONE);
    data = reinterpret_cast<T*>(map + bytes - page - size);
    if (source && size > 0) std::memcpy(data, source, size);
    if (!source) std::memset(map, 0xff, bytes - page);  // NaN for every float type
  }
  ~Guarded() { munmap(map, bytes); }
  Guarded(const Guarded&) = delete;
};
