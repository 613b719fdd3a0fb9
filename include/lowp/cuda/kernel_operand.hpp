// SPDX-License-Identifier: Apache-2.0
// A kernel operand: all that its elements have in common.
#pragma once

#include <lowp/cuda/group_keys.hpp>
#include <lowp/format/codec.hpp>
#include <lowp/simd/operand.hpp>

namespace lowp::cuda {

/// Blocks of eight draws: Philox's, or those of a group whose key the thread makes.
struct own_blocks {
  random_source const& source;
  philox_keys const& keys;

  LOWP_FN void find(std::uint32_t (&word)[4], std::uint64_t index) const {
    source.block(word, index, keys);
    if (source.is_keyed)
      group_key::of(word).draw(
          word, static_cast<std::uint32_t>(index) % detail::group_size / chunk_size * chunk_size);
  }
};

/// The bits of eight elements at any index: from one block, or from two.
class chunk_bits {
 public:
  chunk_bits() = default;
  LOWP_FN chunk_bits(shared_blocks const& blocks, std::uint64_t first)
      : chunk_bits(blocks, static_cast<std::uint32_t>(first - blocks.begin) + blocks.place) {}
  template <class Index>
  LOWP_FN chunk_bits(auto const& blocks, Index index) {
    blocks.find(word_, index);
    int const shift = static_cast<int>(index % chunk_size);
    if (shift == 0) return;

    // A word holds elements k and k + 4, low half first. Twelve words in sequence hold any eight
    // successive elements of two blocks as four successive words.
    std::uint32_t pass[12], next[4] = {};
    blocks.find(next, index + chunk_size);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 4; ++k) {
      pass[k] = word_[k];
      pass[k + 4] = word_[k] >> 16 | next[k] << 16;
      pass[k + 8] = next[k];
    }
    skip<4>(pass, shift);
    skip<2>(pass, shift);
    skip<1>(pass, shift);
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 4; ++k) word_[k] = pass[k];
  }

  LOWP_FN std::uint32_t operator()(int k) const {
    return k < 4 ? word_[k] & 0xffff : word_[k - 4] >> 16;
  }
  /// Returns (*this)(k) times 256, by one instruction that only a GPU's words have.
  template <class U = std::uint32_t>
  LOWP_FN U times_256(int k) const {
    return lane<U>::half_times_256(word_[k % 4], k / 4);
  }

 private:
  // A variable cannot index registers, so each bit of the shift decides one of three moves.
  template <int Step>
  LOWP_FN static void skip(std::uint32_t (&pass)[12], int shift) {
    bool const moves = (shift & Step) != 0;
    LOWP_UNROLL_ON_GPU
    for (int k = 0; k < 12 - Step; ++k) pass[k] = moves ? pass[k + Step] : pass[k];
  }

  std::uint32_t word_[4] = {};
};

using simd::access;

/// The rounding of kernels. Nearest even and stochastic have their own code; other modes share it.
template <class R>
using kernel_rounding = std::conditional_t<std::same_as<R, nearest_even> || detail::draws_bits<R> ||
                                               detail::has_device_mode<R>,
                                           R, rounding_mode>;

// The mode, and the source of its random bits, also of a mode in device memory: see replay.hpp.
template <class R>
LOWP_FN decltype(auto) mode_of(R const& rounding) {
  if constexpr (detail::has_device_mode<R>)
    return rounding.mode_on_device();
  else
    return (rounding);
}
template <class R>
using mode_type = std::remove_cvref_t<decltype(mode_of(std::declval<R const&>()))>;

template <class R>
LOWP_FN detail::random_origin origin_of(R const& rounding) {
  if constexpr (detail::has_device_mode<R>)
    return rounding.origin_on_device();
  else if constexpr (detail::is_stochastic_when_read<R>)
    return origin_of(rounding.mode);
  else
    return rounding.origin();
}

/// Returns the magnitude up to which a GPU's conversion instructions convert as a kernel must, to
/// nearest even. All of them give a NaN another code.
template <format F>
LOWP_FN constexpr std::uint32_t convertible_limit(detail::special_results<std::uint32_t> const& s) {
  // PTX ISA, cvt: to 8 bits always .satfinite, to 16 bits never.
  std::uint32_t const beyond = F.bits() == 8 ? F.max_code() : F.infinity_code();
  bool const alike = s.overflowed[0] == beyond && s.infinite == beyond;
  return alike ? lanes::binary32_infinity : detail::decode<F>(F.max_code());
}

/// Returns the magnitude up to which no mode overflows, so that detail::encode_in_range encodes.
template <format F>
LOWP_FN constexpr std::uint32_t in_range_limit(detail::special_results<std::uint32_t> const& s) {
  return F.is_truncated_binary32() && s.overflow_is_next_code ? lanes::binary32_infinity - 1
                                                              : detail::decode<F>(F.max_code());
}

/// Philox's keys of an operand, computed on the host if it knows the seed.
struct no_keys {};
template <class R>
auto keys_of(R const& rounding) {
  if constexpr (detail::draws_bits<R>)
    return random_source{rounding.seed, 0}.keys();
  else
    return no_keys{};
}

/// The part of an operand that every thread gets.
template <class T, access A, class R = nearest_even, class Order = simd::unpacked>
struct kernel_operand {
  using type = T;
  using order = Order;
  using rounding_type = R;
  /// True if threads need each other to encode or store.
  static constexpr bool is_collective = A != access::read && std::same_as<Order, split_order>;
  static constexpr bool finds_scales = false, has_few_blocks = false;
  /// The chunks of a square of elements that threads must see together.
  static constexpr std::uint64_t chunks_of_square = 1;
  static constexpr int parts = 1;
  static constexpr int bytes_read = A == access::write ? 0 : static_cast<int>(sizeof(T));
  static constexpr bool is_read = A != access::write;
  static constexpr bool is_written = A != access::read;
  static constexpr int bytes_written = is_written ? static_cast<int>(sizeof(T)) : 0;
  static constexpr bool is_random = (is_written && narrow<T> && mode_type<R>::is_stochastic) ||
                                    detail::is_stochastic_when_read<R>;
  /// True if a block of threads makes the keys of its groups together.
  static constexpr bool has_keys = is_random && std::same_as<mode_type<R>, stochastic_fast>;
  /// True if chunks may lie in runs: no element needs others of its chunk, as a Philox block does.
  static constexpr bool permits_runs =
      !is_random && (std::same_as<Order, simd::unpacked> || requires {
        requires !is_written && std::same_as<Order, pair_order> && T::descriptor.bits() == 4;
      });

  R rounding;
  overflow policy;
  std::uint32_t draw;
  std::uint32_t limit;
  detail::special_results<std::uint32_t> results;
  decltype(keys_of(std::declval<R const&>())) keys;

  template <class From>
  static kernel_operand of(simd::operand<T, A, From, Order> const& o, detail::nans kind) {
    kernel_operand s{R(o.rounding), o.policy, o.draw, 0, {}, keys_of(R(o.rounding))};
    if constexpr (is_written && narrow<T>) {
      constexpr format F = T::descriptor;
      s.results = detail::special_results_of<F, std::uint32_t>(o.rounding, o.policy, kind);
      s.limit = std::same_as<R, nearest_even> ? convertible_limit<F>(s.results)
                                              : in_range_limit<F>(s.results);
    }
    return s;
  }
};

/// The bytes of the largest element that is written, or 0.
template <class... KernelOperand>
inline constexpr int most_written = 0;
template <class First, class... Rest>
inline constexpr int most_written<First, Rest...> =
    First::bytes_written > most_written<Rest...> ? First::bytes_written : most_written<Rest...>;

/// The runs of whole chunks: two if floats are written, four if doubles are.
template <class... KernelOperand>
inline constexpr int runs_of_chunk =
    (KernelOperand::permits_runs && ...) && most_written<KernelOperand...> > 2
        ? most_written<KernelOperand...> / 2
        : 1;

/// True for an output of random rounding.
template <class KernelOperand>
inline constexpr bool draws = requires {
  requires detail::draws_bits<typename KernelOperand::rounding_type> && !KernelOperand::is_read;
};

}  // namespace lowp::cuda
