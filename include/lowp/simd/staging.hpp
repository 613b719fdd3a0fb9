// SPDX-License-Identifier: Apache-2.0
// Batches on their way between memory and an accessor: prefetches, stores around the caches for
// large spans that are only written, memory beside the accessor. And random bits of its operand.
#pragma once

#include <lowp/simd/operand.hpp>
#include <lowp/simd/random.hpp>

namespace lowp::simd {

/// The elements of a loop, and of the whole range if a thread has a part of it.
struct loop_size {
  std::size_t count, whole;

  LOWP_HOST_FN loop_size(std::size_t elements) : loop_size(elements, elements) {}
  LOWP_HOST_FN loop_size(std::size_t part, std::size_t all) : count(part), whole(all) {}
};

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

/// Makes streamed stores visible to other threads before later stores.
LOWP_HOST_FN void finish_streaming() {
#if defined(__SSE2__)
  __builtin_ia32_sfence();
#endif
}

template <class Isa, class Operand>
using random_batches_of = random_batches<typename Isa::registers, rounding_type<Operand>>;

/// Memory for a zero-padded last batch, for a batch that bypasses the caches, and for random bits.
/// A store to a member of the accessor could change it, so its constants would be loaded for every
/// pack.
template <class Isa, class Operand>
struct staging {
  alignas(64) typename storage_of<typename Operand::type>::type elements[batch<Isa>];
  struct nothing {};
  [[no_unique_address]] std::conditional_t<Operand::is_random, random_batches_of<Isa, Operand>,
                                           nothing> random;

  LOWP_HOST_FN staging() {}  // a short call does not pay for clear memory
};

/// Hides a size: g++ would write out a copy of each size up to it. Or hides the place to which a
/// loop copies: g++ would make it `rep movs`, which takes long to begin.
LOWP_HOST_FN auto opaque(auto x) {
  asm("" : "+r"(x));
  return x;
}

/// Copies the bytes of a last batch to the staging, with zeros up to the end of its last pack. A
/// backend does so with masks: a pack that is loaded would wait for stores of its parts.
template <class Isa>
LOWP_HOST_FN void copy_in(void* to, void const* from, std::size_t bytes, std::size_t whole) {
  if constexpr (requires { Isa::copy_in(to, from, bytes, whole); }) {
    Isa::copy_in(to, from, bytes, whole);
  } else {
    __builtin_memset(to, 0, opaque(whole));
    __builtin_memcpy(to, from, opaque(bytes));
  }
}
template <class Isa>
LOWP_HOST_FN void copy_out(void* to, void const* from, std::size_t bytes) {
  if constexpr (requires { Isa::copy_out(to, from, bytes); })
    Isa::copy_out(to, from, bytes);
  else
    __builtin_memcpy(to, from, opaque(bytes));
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

/// Copies whole packs of a batch. Kernels call it: in each, it would take as long to compile as
/// what they compute.
struct copy_call {
  void* to;
  void const* from;
  std::size_t bytes;
  bool streams;
  template <class Isa>
  LOWP_HOST_FN void body() const {
    if (streams)
      stream<Isa>(to, from, bytes);
    else
      __builtin_memcpy(to, from, bytes);
  }
};

/// The random bits of an operand, if its mode draws any.
template <class Isa, class Operand>
class random_bits {
  using start_type = batch_start<typename Isa::registers>;

 public:
  LOWP_HOST_FN random_bits(detail::random_origin const& origin,
                           random_batches_of<Isa, Operand>& batches)
      : is_on_(origin.is_on), batches_(batches) {
    batches_.start(origin.source, origin.offset);
  }
  LOWP_HOST_FN bool is_on() const { return detail::draws_bits<rounding_type<Operand>> || is_on_; }
  LOWP_HOST_FN void next(start_type&& start, std::uint16_t* to) {
    bits_ = batches_.next(static_cast<start_type&&>(start), to);
  }
  LOWP_HOST_FN std::uint16_t const* at(int k) const { return bits_ + k; }

 private:
  bool is_on_;
  random_batches_of<Isa, Operand>& batches_;
  std::uint16_t const* bits_ = nullptr;
};
struct no_random_bits {
  LOWP_HOST_FN no_random_bits(detail::random_origin const&, auto const&) {}
  LOWP_HOST_FN std::uint16_t const* at(int) const { return nullptr; }
};
template <class Isa, class Operand>
using random_of = std::conditional_t<Operand::is_random, random_bits<Isa, Operand>, no_random_bits>;

/// A whole batch of operands that are only read, so that totals may read it more than once.
/// `result_at(place)` gives the element function's result for the pack at a place.
template <class Isa, class ResultAt>
struct read_batch {
  ResultAt const& result_at;

  using observed = decltype(result_at(0));
  LOWP_HOST_FN void add_to(auto& sums) const {
    for (int k = 0; k < batch<Isa>; k += 2 * Isa::lanes) {
      auto const first = result_at(k);
      sums.add(first, result_at(k + Isa::lanes));
    }
  }
};

}  // namespace lowp::simd
