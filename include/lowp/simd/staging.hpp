// SPDX-License-Identifier: Apache-2.0
// Memory of an accessor beside it, and the random bits of its operand.
#pragma once

#include <lowp/simd/operand.hpp>
#include <lowp/simd/random.hpp>
#include <lowp/simd/streaming.hpp>

namespace lowp::simd {

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
