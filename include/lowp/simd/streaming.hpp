// SPDX-License-Identifier: Apache-2.0
// Prefetches, and stores around the caches for large spans that are only written.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp::simd {

/// Says that the processor gains by streamed stores and loses by prefetches, as Zen 4 and Zen 5 do
/// (bench/README.md). With Cascade Lake it is the reverse. Emerald Rapids, which has AVX512_BF16,
/// gains by both if whole lines are stored. STNP of AArch64 was measured on none.
LOWP_HOST_FN bool is_amd() {
#if defined(__SSE2__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

inline namespace LOWP_UNIT {

/// Returns true if a span of `bytes` bytes at `to` should be written around the caches. This saves
/// reading what is then overwritten: a quarter of the traffic of a cast from float to bfloat16.
inline bool is_streamed(void const* to, std::size_t bytes) {
  constexpr std::size_t shared_cache = std::size_t{16} << 20;
  auto const place = reinterpret_cast<std::uintptr_t>(to);
  bool has_lines = false;
#if defined(__SSE2__)
  has_lines = place % 64 == 0 && __builtin_cpu_supports("avx512bf16") != 0;
#endif
  return bytes >= shared_cache && place % 16 == 0 && (has_lines || is_amd());
}

/// Arrays that a loop passes at once. A core of AMD knows a line by its set and by eight sums of
/// bits of its address; the first cache holds one of these (M. Lipp et al., "Take A Way", AsiaCCS
/// 2020; the same on Zen 4). Arrays of 2^n bytes often meet there: malloc puts a page between.
class arrays_at_once {
 public:
  /// Returns true if lines here and in an earlier array, of elements of this size, meet.
  LOWP_NOINLINE bool meets([[maybe_unused]] void const* array, [[maybe_unused]] std::size_t size) {
    bool found = false;
#if defined(__x86_64__)
    auto const a = reinterpret_cast<std::uintptr_t>(array);
    std::uintptr_t const place = ((a ^ a >> 5) & 0xf8000) | ((a ^ a >> 11) & 0x4000) |
                                 ((a ^ a >> 13) & 0x2000) | ((a ^ a >> 15) & 0x1000) | (a & 0xfc0) |
                                 size;
    LOWP_UNROLL
    for (int i = 0; i < count_; ++i) found |= place_[i] == place && array_[i] != a;
    if (count_ == most || !is_amd()) return false;
    place_[count_] = place;
    array_[count_++] = a;
#endif
    return found;
  }

 private:
  static constexpr int most = 8;
  std::uintptr_t place_[most], array_[most];
  int count_ = 0;
};

}  // namespace LOWP_UNIT

/// The elements after which a loop asks again whether arrays meet: a page of floats.
inline constexpr std::size_t meeting = 1024;

/// Elements of a range that no cache holds.
inline constexpr std::size_t beyond_caches = std::size_t{4} << 20;

/// Prefetches `Bytes` bytes about 2 KB ahead, the best distance where the hardware's prefetcher
/// fails. Zen 4's does not: a step of AdamW on bfloat16 with float moments is faster without.
template <int Bytes>
LOWP_HOST_FN void prefetch_ahead(void const* at) {
  if (is_amd()) return;
  constexpr int line = 64, distance = 2048;
  auto const* ahead = static_cast<char const*>(at) + distance;
  LOWP_UNROLL
  for (int i = 0; i < Bytes; i += line) __builtin_prefetch(ahead + i);
}
/// Prefetches bytes for later, by default into a cache that has room.
template <int Locality = 2>
LOWP_HOST_FN void fetch(void const* at, std::size_t bytes) {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < bytes; i += line)
    __builtin_prefetch(static_cast<char const*>(at) + i, 0, Locality);
}

/// Copies a multiple of 16 bytes to a span for which `is_streamed` returned true. Wide stores take
/// fewer places in the queue of stores that wait for memory.
template <class Isa>
LOWP_HOST_FN void stream(void* to, void const* from, std::size_t bytes) {
  if constexpr (requires { Isa::stream(to, from); }) {
    constexpr std::size_t width = sizeof(float) * Isa::lanes;
    if ((reinterpret_cast<std::uintptr_t>(to) | bytes) % width == 0) {
      for (std::size_t i = 0; i < bytes; i += width)
        Isa::stream(static_cast<char*>(to) + i, static_cast<char const*>(from) + i);
      return;
    }
  }
#if defined(__SSE2__)  // elsewhere no span is streamed
  typedef long long block __attribute__((vector_size(16)));
  for (std::size_t i = 0; i < bytes; i += sizeof(block)) {
    block b;
    __builtin_memcpy(&b, static_cast<char const*>(from) + i, sizeof(b));
    auto* const there = reinterpret_cast<block*>(static_cast<char*>(to) + i);
#if defined(__clang__)
    __builtin_nontemporal_store(b, there);
#else
    __builtin_ia32_movntdq(there, b);
#endif
  }
#endif
}

/// Makes streamed stores visible to other threads before later stores.
LOWP_HOST_FN void finish_streaming() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace lowp::simd
