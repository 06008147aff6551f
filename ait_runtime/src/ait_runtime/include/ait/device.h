// SPDX-License-Identifier: Apache-2.0
// What the runtime asks of a device, here for the CPU. A backend for another device brings a header of this name with
// the same declarations in its own include directory, which comes first on the command line.
#pragma once
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include "ait/error.h"

namespace ait::device {

using Stream = void*;
inline constexpr int kType = 1;  // DLPack's number of the device type
inline constexpr bool kHostMemory =
    true;                              // kernels read host memory, so embedded and mapped weights stay where they are
inline constexpr bool kAsync = false;  // a kernel call may return before the kernel has finished
inline constexpr std::size_t kAlignment = 64;

// Selects an accelerator for the calling thread; called at the start of every entry that touches the device.
inline void select(int ordinal) {
  if (ordinal != 0)
    fail(AIT_ERROR_DEVICE, "device ", ordinal,
         " was asked for, but this model runs on the CPU. Leave the device at 0.");
}

// Memory for kernels, aligned to kAlignment, not null even for 0 bytes. Throws std::bad_alloc.
inline void* alloc(std::size_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  const bool big = bytes >= 2 * huge;
  const std::size_t alignment = big ? huge : kAlignment;
  if (bytes > SIZE_MAX - huge) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!block) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  if (big) madvise(block, rounded, MADV_HUGEPAGE);  // fewer TLB misses when packed weights are streamed; a hint only
#endif
  return block;
}
inline void free(void* block) noexcept { std::free(block); }  // after all work that was enqueued with the block

// Host memory that kernels can write to as well (fault flags).
inline void* alloc_shared(std::size_t bytes) { return alloc(bytes); }
inline void free_shared(void* block) noexcept { device::free(block); }

// Both have finished when they return.
inline void to_device(void* target, const void* host, std::size_t bytes) {
  if (bytes) std::memcpy(target, host, bytes);
}
inline void to_host(void* host, const void* source, std::size_t bytes) {
  if (bytes) std::memcpy(host, source, bytes);
}
inline void synchronize(Stream) {}

// Orders the next user of a block, on any stream, after its last one.
class Event {
 public:
  void record(Stream) {}
  void wait(Stream) {}
};

class Timer {
 public:
  void start(Stream) { begin_ = std::chrono::steady_clock::now(); }
  double stop(Stream) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }  // seconds

 private:
  std::chrono::steady_clock::time_point begin_;
};

// Owned by an arena. Where launches can be recorded (CUDA and HIP graphs) it replays those of an earlier run with the
// same plan, weights and pointers `io`; `enqueue` issues them otherwise. Serial numbers are never used twice.
class Replay {
 public:
  template <class Enqueue>
  void run(Stream, std::uint64_t /*plan*/, std::uint64_t /*weights*/, void* const* /*io*/, std::size_t,
           Enqueue&& enqueue) {
    enqueue();
  }
};

}  // namespace ait::device
