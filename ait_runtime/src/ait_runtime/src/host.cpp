// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "ait/error.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#define AIT_X86 1
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ait::runtime {
namespace {

#ifdef AIT_X86
// Not __builtin_cpu_supports: which names it knows differs between compilers and their versions.
struct Feature {
  const char* name;
  unsigned leaf, subleaf, reg, bit;  // reg: 0 eax, 1 ebx, 2 ecx, 3 edx
  std::uint64_t state;               // XCR0 bits that the operating system must have set
};
constexpr std::uint64_t kSse = 0, kAvx = 0x6, kAvx512 = 0xe6, kAmx = 0x60000;
constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, 2, 0, kSse},           {"ssse3", 1, 0, 2, 9, kSse},
    {"sse4.1", 1, 0, 2, 19, kSse},        {"sse4.2", 1, 0, 2, 20, kSse},
    {"popcnt", 1, 0, 2, 23, kSse},        {"avx", 1, 0, 2, 28, kAvx},
    {"f16c", 1, 0, 2, 29, kAvx},          {"fma", 1, 0, 2, 12, kAvx},
    {"avx2", 7, 0, 1, 5, kAvx},           {"bmi", 7, 0, 1, 3, kSse},
    {"bmi2", 7, 0, 1, 8, kSse},           {"avxvnni", 7, 1, 0, 4, kAvx},
    {"avx512f", 7, 0, 1, 16, kAvx512},    {"avx512dq", 7, 0, 1, 17, kAvx512},
    {"avx512cd", 7, 0, 1, 28, kAvx512},   {"avx512bw", 7, 0, 1, 30, kAvx512},
    {"avx512vl", 7, 0, 1, 31, kAvx512},   {"avx512vbmi", 7, 0, 2, 1, kAvx512},
    {"avx512vnni", 7, 0, 2, 11, kAvx512}, {"avx512fp16", 7, 0, 3, 23, kAvx512},
    {"avx512bf16", 7, 1, 0, 5, kAvx512},  {"amx-bf16", 7, 0, 3, 22, kAmx},
    {"amx-tile", 7, 0, 3, 24, kAmx},      {"amx-int8", 7, 0, 3, 25, kAmx},
};

bool supported(const Feature& f) {
  unsigned r[4];
  if (f.state) {
    if (!__get_cpuid_count(1, 0, &r[0], &r[1], &r[2], &r[3]) || !(r[2] >> 27 & 1)) return false;  // OSXSAVE
    unsigned lo, hi;
    __asm__("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    if (((std::uint64_t{hi} << 32 | lo) & f.state) != f.state) return false;
  }
  return __get_cpuid_count(f.leaf, f.subleaf, &r[0], &r[1], &r[2], &r[3]) && (r[f.reg] >> f.bit & 1);
}

std::string machine_features() {
  std::string out;
  for (const Feature& f : kFeatures)
    if (supported(f)) out += text(out.empty() ? "" : " ", f.name);
  return "x86 with " + out;
}

bool supported(std::string_view name) {
  for (const Feature& f : kFeatures)
    if (name == f.name) return supported(f);
  return false;
}
#else
std::string machine_features() { return "not x86"; }
bool supported(std::string_view) { return false; }
#endif

void request_amx_tiles() {
#if defined(AIT_X86) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, asm/prctl.h
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0)
    fail(AIT_ERROR_ISA, "The model needs AMX, but the operating system refuses its tile state: ", std::strerror(errno),
         ". Use Linux 5.16 or newer, or compile the model for an instruction set without AMX.");
#endif
}

// The first number of "8" or "8,4"; 0 where the variable is not set.
int threads_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value || !*value) return 0;
  char* end = nullptr;
  const long n = std::strtol(value, &end, 10);
  if (end == value || (*end && *end != ',' && *end != ' ') || n < 1 || n > 65536)
    fail(AIT_ERROR_INPUT, "The environment variable ", variable, " is \"", value,
         "\"; expected a number of threads, 1 or more.");
  return static_cast<int>(n);
}

// Cores granted by the scheduler's affinity mask, cut to a container's CPU quota: spinning on more would only cost
// time.
int usable_cores() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long quota = 0, period = 0;  // microseconds; "max" instead of a quota where there is none
    if (std::fscanf(file, "%ld %ld", &quota, &period) == 2 && quota > 0 && period > 0)
      cores = static_cast<int>(std::min<long>(cores, (quota + period - 1) / period));
    std::fclose(file);
  }
#endif
  return std::max(cores, 1);
}

}  // namespace

void require_isa(const char* isa) {
  std::string missing;
  bool amx = false;
  for (const char* p = isa ? isa : ""; *p;) {
    const std::size_t length = std::strcspn(p, " ");
    const std::string_view name(p, length);
    if (length && !supported(name)) missing += text(missing.empty() ? "" : " ", name);
    amx = amx || name.substr(0, 4) == "amx-";
    p += length + (p[length] == ' ');
  }
  if (!missing.empty())
    fail(AIT_ERROR_ISA, "This machine cannot run the model: it lacks ", missing, ". The model needs \"", isa,
         "\"; the machine is ", machine_features(), ". Compile the model for this machine's instruction set.");
  if (amx) request_amx_tiles();
}

int choose_threads(int asked) {
  if (asked < 0) fail(AIT_ERROR_INPUT, "threads is ", asked, "; expected 1 or more, or 0 for the default.");
  if (asked == 0) asked = threads_from("AIT_NUM_THREADS");
  if (asked == 0) asked = threads_from("OMP_NUM_THREADS");
  return asked ? asked : usable_cores();
}

}  // namespace ait::runtime
