// SPDX-License-Identifier: Apache-2.0
// The chunks of one operand in a thread's registers: loads, decodes, rounds, encodes, stores them.
#pragma once

#include <lowp/cuda/kernel_operand.hpp>
#include <lowp/cuda/numbers.hpp>
#include <lowp/format/encode_in_range.hpp>

namespace lowp::cuda {

/// Returns the largest magnitude of the first elements. A GPU's instruction makes NaN canonical.
template <class F>
LOWP_FN std::uint32_t largest_of(F const (&x)[chunk_size], int count = chunk_size) {
  F largest = 0;
  LOWP_UNROLL_ON_GPU
  for (int k = 0; k < chunk_size; ++k) {
    if (k >= count) continue;
    if constexpr (requires { lane<F>::larger_or_nan(largest, largest); })
      largest = lane<F>::larger_or_nan(largest, lane<F>::absolute(x[k]));
    else
      largest = lanes::from_bits<F>(lanes::max(lanes::bits(largest), lanes::magnitude(x[k])));
  }
  return lanes::bits(largest);
}

/// The chunks of an operand, one for each pass. Hardware converts pairs:
///
///     encode(std::type_identity<T>, float, float) -> two codes, to nearest even
///     encode(std::type_identity<T>, float, float, 32 random bits) -> two codes, stochastic
///     decode(std::type_identity<T>, two codes, float&, float&), for codes that are not NaN
template <class KernelOperand, bool IsComputed, class Hardware, int Rows>
class accessor {
  using T = typename KernelOperand::type;
  static constexpr bool is_packed = !std::same_as<typename KernelOperand::order, simd::unpacked>;
  using pointer = std::conditional_t<is_packed, std::uint8_t*, T*>;
  using chunk_type = chunk<T, typename KernelOperand::order>;
  using tag = std::type_identity<T>;
  using rounding = mode_type<typename KernelOperand::rounding_type>;
  static constexpr bool encodes_to_nearest =
      std::same_as<rounding, nearest_even> && requires(float x) { Hardware::encode(tag{}, x, x); };
  static constexpr bool encodes_randomly = detail::draws_bits<rounding> && requires(float x) {
    Hardware::encode(tag{}, x, x, std::uint32_t{});
  };
  // Tests a chunk as a whole. Elsewhere a test for each element avoids more than it costs.
  static constexpr bool encodes_in_range = requires {
    requires !std::same_as<rounding, nearest_even> && T::descriptor.has_sign &&
                 T::descriptor.has_zero() &&
                 (detail::draws_bits<rounding> || T::descriptor.is_truncated_binary32());
  };
  static constexpr bool is_number = detail::plain_number<T>;  // an operand of a cast
  static constexpr bool decodes =
      requires(float x) { Hardware::decode(tag{}, std::uint32_t{}, x, x); };

 public:
  /// True if each magnitude below 2 is stored as a finite value.
  static constexpr bool keeps_small = detail::holds_small<T>;
  /// True if an instruction encodes.
  static constexpr bool encodes = encodes_to_nearest || encodes_randomly;

  /// Accesses tensor `number` of a list, whose elements begin at *data.
  LOWP_FN accessor(KernelOperand const& s, void* const* data, std::uint32_t number)
      : operand_(s), data_(static_cast<pointer>(*data)) {
    if constexpr (KernelOperand::is_random) {
      origin_ = origin_of(s.rounding);
      if constexpr (!is_number) origin_.add_tensor(number);  // no list has numbers
      origin_.source.draw = s.draw;
    }
  }

  template <int Width, class Thread>
  LOWP_FN void load(int pass, Thread const& thread, chunk_place first, int count) {
    if constexpr (KernelOperand::is_read) {
      first_[pass] = first;
      before_[pass].template load<Width>(count, thread, address(first));
    }
  }
  template <int Width, class Thread>
  LOWP_FN void store(Thread const& thread, chunk_place first, int count) const {
    if constexpr (KernelOperand::is_written)
      after_.template store<Width>(count, thread, address(first));
  }

  /// Begins elsewhere.
  LOWP_FN void move(void* data) { data_ = static_cast<pointer>(data); }
  LOWP_FN auto& codes(int pass) { return before_[pass]; }
  LOWP_FN std::uint32_t code(int pass, int k) const { return before_[pass].code(k); }
  LOWP_FN static float decoded(std::uint32_t code) {
    if constexpr (narrow<T>)
      return lanes::from_bits<float>(detail::decode<T::descriptor>(code));
    else
      return lanes::from_bits<float>(code);
  }

  LOWP_FN void decode(auto const&, int pass, float (&x)[chunk_size]) const {
    chunk_type const& codes = before_[pass];
    if constexpr (decodes) {
      constexpr std::uint32_t least_nan = T::descriptor.special_values == specials::ieee
                                              ? T::descriptor.infinity_code() + 1
                                              : T::descriptor.nan_code();
      if (!codes.template has_magnitude<least_nan>()) {
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; k += 2)
          Hardware::decode(tag{}, codes.pair(k), x[k], x[k + 1]);
        return;
      }
    }
    if constexpr (is_number) {
      chunk_bits const random = bits(first_[pass]);
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k)
        x[k] = read_number<T>(codes.code(k), operand_.rounding, random(k), operand_.policy);
    } else {
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) x[k] = decoded(codes.code(k));
    }
  }

  /// Returns the largest magnitude of a chunk, of pairs of codes if hardware compares them.
  LOWP_FN std::uint32_t largest([[maybe_unused]] auto const& thread, int pass) const
    requires(!is_number)
  {
    if constexpr (requires(std::uint32_t pair) { Hardware::larger(tag{}, pair, pair); }) {
      auto const magnitudes = [&](int k) { return before_[pass].pair(k) & 0x7fff7fff; };
      std::uint32_t const pair =
          Hardware::larger(tag{}, Hardware::larger(tag{}, magnitudes(0), magnitudes(2)),
                           Hardware::larger(tag{}, magnitudes(4), magnitudes(6)));
      return lanes::max(lanes::bits(decoded(pair & 0xffff)), lanes::bits(decoded(pair >> 16)));
    } else {
      float x[chunk_size];
      decode(thread, pass, x);
      return largest_of(x);
    }
  }
  LOWP_FN detail::nibble_signs<std::uint32_t> signs(int pass) const
    requires(sizeof(T) == 2 && !is_number)
  {
    return {before_[pass].signs(0), before_[pass].signs(1)};
  }

  static constexpr bool has_keys = KernelOperand::has_keys;
  /// Returns the accessor whose mode may need keys, and its source of draws.
  LOWP_FN accessor& keyed() { return *this; }
  LOWP_FN detail::random_origin const& origin() const { return origin_; }
  LOWP_FN void take(shared_blocks const& blocks) {
    shared_ = blocks;
    is_shared_ = true;
  }
  /// Returns random bits for the elements from `first` on, if the mode needs any.
  LOWP_FN chunk_bits bits(std::uint64_t first) const {
    if constexpr (KernelOperand::is_random) {
      if constexpr (has_keys)
        if (is_shared_) return {shared_, first};
      if (detail::draws_bits<rounding> || origin_.is_on)
        return {own_blocks{origin_.source, philox()}, origin_.offset + first};
    }
    return {};
  }

  /// Encodes a whole chunk, of which `store` will store the first `count` elements.
  LOWP_FN void encode(auto const&, float const (&x)[chunk_size], std::uint64_t first, int,
                      auto const&...) {
    if constexpr (KernelOperand::is_written) {
      after_ = {};
      if constexpr (is_number) {
        LOWP_UNROLL_ON_GPU
        for (int k = 0; k < chunk_size; ++k) after_.set(k, widened_pattern(x[k]));
        return;
      }
      chunk_bits const random = bits(first);
      if constexpr (encodes || encodes_in_range) {
        if (largest_of(x) <= operand_.limit) {
          LOWP_UNROLL_ON_GPU
          for (int k = 0; k < chunk_size; k += 2) {
            if constexpr (encodes_to_nearest) {
              after_.set(k, Hardware::encode(tag{}, x[k], x[k + 1]));
            } else if constexpr (encodes_randomly) {
              after_.set(k,
                         Hardware::encode(tag{}, x[k], x[k + 1], random(k + 1) << 16 | random(k)));
            } else if constexpr (detail::draws_bits<rounding> && detail::has_bytes<T, float>) {
              if (k % 4 == 0) after_.word(k / 4) = detail::encode_bytes<T>(x + k, random, k);
            } else {
              after_.set(k, in_range(x[k], random(k)));
              after_.set(k + 1, in_range(x[k + 1], random(k + 1)));
            }
          }
          return;
        }
      }
      LOWP_UNROLL_ON_GPU
      for (int k = 0; k < chunk_size; ++k) set(k, x[k], random(k));
    }
  }

  /// Encodes one element. Returns its code and if it overflowed.
  LOWP_FN detail::encoded<std::uint32_t, bool> set(int k, float x, std::uint32_t random) {
    if constexpr (narrow<T>) {
      auto const result = detail::encode<T::descriptor>(
          lanes::bits(x), random, mode_of(operand_.rounding), operand_.results);
      after_.set(k, result.code);
      return result;
    } else {
      std::uint32_t const code = lanes::bits(IsComputed ? lanes::canonical(x) : x);
      after_.set(k, code);
      return {code, false};
    }
  }
  LOWP_FN std::uint32_t in_range(float x, std::uint32_t random) const {
    return detail::encode_in_range<T::descriptor>(lanes::bits(x), random,
                                                  mode_of(operand_.rounding));
  }
  // Return the code to which an element was encoded, its value, and false if all are finite.
  LOWP_FN std::uint32_t written_code(int k) const { return after_.code(k); }
  LOWP_FN float written(int k) const { return decoded(written_code(k)); }
  LOWP_FN bool may_be_nonfinite() const {
    if constexpr (is_packed)
      return true;
    else
      return after_.may_be_nonfinite();
  }
  LOWP_FN void clear() { after_ = {}; }
  /// Sets a code as it is, at an element that is still zero.
  LOWP_FN void set_code(int k, std::uint32_t code) { after_.set(k, code); }
  LOWP_FN void set_nibbles(std::uint32_t nibbles) { after_.set_nibbles(nibbles); }

 private:
  LOWP_FN philox_keys philox() const {
    if constexpr (requires { operand_.keys.round; })
      return operand_.keys;
    else
      return origin_.source.keys();
  }
  LOWP_FN pointer address(chunk_place const& first) const {
    return data_ + stored_in(first.of_first_pass) + stored_in(first.further);
  }
  /// Returns the place of an element in units of `data_`.
  LOWP_FN static std::uint64_t stored_in(std::uint64_t first) {
    if constexpr (is_packed)
      return KernelOperand::order::bit(static_cast<std::size_t>(first), T::descriptor.bits()) / 8;
    else
      return first;
  }

  KernelOperand const& operand_;
  pointer data_;
  detail::random_origin origin_;
  shared_blocks shared_;
  bool is_shared_ = false;
  std::uint64_t first_[std::size_t{Rows}];  // of what was loaded
  chunk_type before_[std::size_t{Rows}], after_;
};

}  // namespace lowp::cuda
