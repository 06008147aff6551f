// SPDX-License-Identifier: Apache-2.0
// Index and storage types, and conversions between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#define AIT_INLINE inline __attribute__((always_inline))
#define AIT_NOINLINE __attribute__((noinline))
#define AIT_LAMBDA_INLINE __attribute__((always_inline))
#define AIT_RESTRICT __restrict__
#define AIT_PRAGMA(text) _Pragma(#text)
#define AIT_SIMD AIT_PRAGMA(omp simd)
#if defined(__clang__)
#define AIT_UNROLL AIT_PRAGMA(clang loop unroll(full))
#else
#define AIT_UNROLL AIT_PRAGMA(GCC unroll 32)
#endif

namespace ait {

using index_t = std::int64_t;

template <class To, class From>
AIT_INLINE To bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast needs types of one size");
  return __builtin_bit_cast(To, value);
}

/// Smallest multiple of `unit` that is >= n (n >= 0, unit > 0).
constexpr index_t round_up(index_t n, index_t unit) { return (n + unit - 1) / unit * unit; }
constexpr index_t ceil_div(index_t n, index_t unit) { return (n + unit - 1) / unit; }

/// condition ? a : b on bits. Written as arithmetic because optimisers turn chained ?: into jumps when it sits in a
/// large loop body, and jumps keep the loop from becoming vector code.
AIT_INLINE std::uint32_t select_bits(bool condition, std::uint32_t a, std::uint32_t b) {
  return b ^ ((a ^ b) & (0u - std::uint32_t(condition)));
}

// The conversions below are branch-free, so that `omp simd` loops over them become vector code on every target:
// compilers only vectorise _Float16 conversions where the ISA has half arithmetic. Method: M. Dukhan's FP16 library.

/// binary16 bits -> float, exact, including subnormals, inf and NaN.
AIT_INLINE float f16_bits_to_float(std::uint16_t half) {
  const std::uint32_t word = std::uint32_t(half) << 16, doubled = word + word;
  // Exponent and significand in place and rebiased; the scale maps exponent 31 to inf and NaN.
  const float normal = bit_cast<float>((doubled >> 4) + (0xe0u << 23)) * bit_cast<float>((127u - 112u) << 23);
  // A subnormal is m * 2^-24: put m under a one of weight 2^-1, then take that one away.
  const float subnormal = bit_cast<float>((doubled >> 17) | (126u << 23)) - 0.5f;
  const std::uint32_t bits =
      select_bits(doubled < (1u << 27), bit_cast<std::uint32_t>(subnormal), bit_cast<std::uint32_t>(normal));
  return bit_cast<float>(bits | (word & 0x80000000u));
}

/// float -> binary16 bits, round to nearest even; overflow gives inf, NaN stays NaN (quiet, payload dropped).
AIT_INLINE std::uint16_t float_to_f16_bits(float value) {
  const std::uint32_t raw = bit_cast<std::uint32_t>(value), doubled = raw + raw;
  // Scaling up and down turns what overflows binary16 into inf.
  const float scaled =
      bit_cast<float>(raw & 0x7fffffffu) * bit_cast<float>((127u + 112u) << 23) * bit_cast<float>((127u - 110u) << 23);
  // Adding a power of two that leaves 10 bits of significand (fewer for subnormals) makes the FPU round.
  const std::uint32_t exponent = doubled & 0xff000000u, bias = exponent < 0x71000000u ? 0x71000000u : exponent;
  const std::uint32_t sum = bit_cast<std::uint32_t>(bit_cast<float>((bias >> 1) + 0x07800000u) + scaled);
  const std::uint32_t magnitude = ((sum >> 13) & 0x7c00u) + (sum & 0x0fffu);
  return std::uint16_t(((raw >> 16) & 0x8000u) | select_bits(doubled > 0xff000000u, 0x7e00u, magnitude));
}

AIT_INLINE float bf16_bits_to_float(std::uint16_t bits) { return bit_cast<float>(std::uint32_t(bits) << 16); }

/// float -> bfloat16 bits, round to nearest even; NaN stays NaN (quiet).
AIT_INLINE std::uint16_t float_to_bf16_bits(float value) {
  const std::uint32_t raw = bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (raw + 0x7fffu + ((raw >> 16) & 1u)) >> 16;
  return std::uint16_t(select_bits((raw & 0x7fffffffu) > 0x7f800000u, (raw >> 16) | 0x40u, rounded));
}

/// IEEE binary16 storage; arithmetic happens in float.
struct f16 {
  std::uint16_t bits;
  f16() = default;
  AIT_INLINE explicit f16(float value) : bits(float_to_f16_bits(value)) {}
  AIT_INLINE operator float() const { return f16_bits_to_float(bits); }
};

/// bfloat16 storage; arithmetic happens in float.
struct bf16 {
  std::uint16_t bits;
  bf16() = default;
  AIT_INLINE explicit bf16(float value) : bits(float_to_bf16_bits(value)) {}
  AIT_INLINE operator float() const { return bf16_bits_to_float(bits); }
};

template <class T>
constexpr bool is_half = std::is_same<T, f16>::value || std::is_same<T, bf16>::value;

/// The type a stored T is computed in: float for f16 and bf16, T itself otherwise.
template <class T>
using compute_t = std::conditional_t<is_half<T>, float, T>;

/// Value conversion: float to integer truncates toward zero, anything to bool is `!= 0` (NaN is true), to f16 and bf16
/// rounds to nearest even through float.
template <class To, class From>
AIT_INLINE To cast(From from) {
  if constexpr (std::is_same<To, From>::value) {
    return from;
  } else if constexpr (is_half<From>) {
    return cast<To>(float(from));
  } else if constexpr (std::is_same<To, bool>::value) {
    return from != From(0);
  } else if constexpr (is_half<To>) {
    return To(float(from));
  } else {
    return static_cast<To>(from);
  }
}

/// Reads one element in its compute type.
template <class T>
AIT_INLINE compute_t<T> load(const T* source) {
  return static_cast<compute_t<T>>(*source);
}

/// Writes one element, converted by `cast`.
template <class T, class V>
AIT_INLINE void store(T* target, V value) {
  *target = cast<T>(value);
}

}  // namespace ait
