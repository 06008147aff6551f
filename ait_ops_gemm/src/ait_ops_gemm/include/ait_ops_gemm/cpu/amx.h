// SPDX-License-Identifier: Apache-2.0
// The AMX tile instructions the kernels use, behind one small class; -DAIT_AMX_EMULATE runs them in software instead.
//
// Source of the semantics: Intel 64 SDM vol. 2, LDTILECFG, TILELOADD, TILESTORED, TDPBF16PS.
#pragma once

#include <cstring>

#include "ait/cpu/prelude.h"

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__linux__) && !defined(AIT_AMX_EMULATE)
#define AIT_AMX_INSTRUCTIONS 1
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ait_ops_gemm {

/// Whether the kernels use tiles: the instructions, or their emulation when asked for.
#if defined(AIT_AMX_INSTRUCTIONS) || defined(AIT_AMX_EMULATE)
constexpr bool has_amx = true;
#else
constexpr bool has_amx = false;
#endif

namespace amx {

using ait::index_t;

/// Asks Linux for the tile registers, once per process before the first kernel. False if the kernel or CPU refuses;
/// true where no tile instruction is used.
inline bool request_permission() {
#if !defined(AIT_AMX_INSTRUCTIONS)
  return true;
#else
  constexpr long arch_req_xcomp_perm = 0x1023, xfeature_xtiledata = 18;
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_xtiledata) == 0;
#endif
}

/// LDTILECFG operand: palette 1, eight tiles.
struct alignas(64) Config {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

#if !defined(AIT_AMX_INSTRUCTIONS)
struct Machine {
  Config config;
  char tile[8][16][64];
};
inline Machine& machine() {
  static thread_local Machine state;
  return state;
}
inline void load_config(const Config& config) { machine().config = config; }
inline void release() { machine().config = Config{}; }
template <int Tile>
inline void zero() {
  std::memset(machine().tile[Tile], 0, sizeof machine().tile[Tile]);
}
template <int Tile>
inline void load(const void* base, index_t stride) {
  zero<Tile>();
  for (int r = 0; r < machine().config.rows[Tile]; ++r) {
    std::memcpy(machine().tile[Tile][r], static_cast<const char*>(base) + r * stride, machine().config.row_bytes[Tile]);
  }
}
template <int Tile>
inline void store(void* base, index_t stride) {
  for (int r = 0; r < machine().config.rows[Tile]; ++r) {
    std::memcpy(static_cast<char*>(base) + r * stride, machine().tile[Tile][r], machine().config.row_bytes[Tile]);
  }
}
template <int C, int A, int B>
inline void dot() {
  Machine& m = machine();
  const auto read = [](const char* row, int i) {
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * i, 2);
    return ait::bf16_bits_to_float((bits & 0x7f80) == 0 ? bits & 0x8000 : bits);  // subnormals count as zero
  };
  for (int r = 0; r < m.config.rows[C]; ++r) {
    for (int k = 0; k < m.config.row_bytes[A] / 4; ++k) {
      for (int n = 0; n < m.config.row_bytes[C] / 4; ++n) {
        float sum;
        std::memcpy(&sum, m.tile[C][r] + 4 * n, 4);
        sum += read(m.tile[A][r], 2 * k) * read(m.tile[B][k], 2 * n);
        sum += read(m.tile[A][r], 2 * k + 1) * read(m.tile[B][k], 2 * n + 1);
        std::memcpy(m.tile[C][r] + 4 * n, &sum, 4);
      }
    }
  }
}
#else
// Inline assembly, as GCC's intrinsics take tile numbers only as literal tokens.
inline void load_config(const Config& config) { __asm__ volatile("ldtilecfg %0" ::"m"(config)); }
inline void release() { __asm__ volatile("tilerelease"); }
template <int Tile>
AIT_INLINE void zero() {
  __asm__ volatile("{tilezero %%tmm%c0|tilezero tmm%c0}" ::"i"(Tile));
}
template <int Tile>
AIT_INLINE void load(const void* base, index_t stride) {
  __asm__ volatile("{tileloadd (%0,%1,1), %%tmm%c2|tileloadd tmm%c2, [%0+%1*1]}" ::"r"(base), "r"(stride), "i"(Tile)
                   : "memory");
}
template <int Tile>
AIT_INLINE void store(void* base, index_t stride) {
  __asm__ volatile("{tilestored %%tmm%c2, (%0,%1,1)|tilestored [%0+%1*1], tmm%c2}" ::"r"(base), "r"(stride), "i"(Tile)
                   : "memory");
}
template <int C, int A, int B>
AIT_INLINE void dot() {
  __asm__ volatile("{tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0|tdpbf16ps tmm%c0, tmm%c1, tmm%c2}" ::"i"(C), "i"(A),
                   "i"(B));
}
#endif

/// Shapes the tiles for products of up to 32 rows: C in tiles 0-3 (two by two), A in 4-5, B in 6-7. Cheap when
/// unchanged. `end` forgets the shape and frees the registers; a thread calls it after its last product.
class Shape {
 public:
  static void begin(int rows) {
    if (current() == rows) return;
    Config config;
    const int low = rows < 16 ? rows : 16, high = rows - low;
    const int tile_rows[8] = {low, low, high, high, low, high, 16, 16};
    for (int t = 0; t < 8; ++t) {
      config.rows[t] = std::uint8_t(tile_rows[t]);
      config.row_bytes[t] = tile_rows[t] > 0 ? 64 : 0;
    }
    load_config(config);
    current() = rows;
  }
  static void end() {
    if (current() == 0) return;
    release();
    current() = 0;
  }

 private:
  static int& current() {
    static thread_local int rows = 0;
    return rows;
  }
};

}  // namespace amx
}  // namespace ait_ops_gemm
