// SPDX-License-Identifier: Apache-2.0
// Rounding modes, each an increment. A B-bit fraction is the position of the exact value between
// its neighbours toward and away from zero. The result is the neighbour away from zero if and only
// if fraction plus increment carries, that is, reaches 2^B. No increment reaches 2^B by itself, so
// an exact value never moves.
#pragma once

#include <lowp/format/random.hpp>

namespace lowp {

namespace detail {
/// The numbers of B bits that are all ones, and a one at the top.
template <int B, class U>
inline constexpr auto all = (typename lane<U>::scalar{1} << B) - 1;
template <int B, class U>
inline constexpr auto half = typename lane<U>::scalar{1} << (B - 1);

/// The random bits of a range: their source, and the index of the range's first element.
struct random_origin {
  bool is_on = false;  ///< false if no bit is random
  random_source source{};
  std::uint64_t offset = 0;

  LOWP_FN constexpr void set_stream(std::uint64_t stream, std::uint64_t step) {
    source.stream = stream_of(static_cast<std::uint32_t>(stream >> 32), step);
  }
  /// Counts tensor `number` of a list from the stream's own tensor.
  LOWP_FN constexpr void add_tensor(std::uint32_t number) { source.stream += stream_of(number, 0); }
};
}  // namespace detail

// A mode is an empty class with `is_stochastic` and two functions:
//
//     increment<B>(odd, negative, random)    odd is 1 if the neighbour toward zero has an odd code;
//                                            random holds 16 bits
//     inward(negative)                       true if overflow gives the largest finite value
//                                            (IEEE 754-2019, 7.4) rather than infinity

/// IEEE 754 roundTiesToEven.
struct nearest_even {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const& odd, M const&, U const&) const {
    return odd + (detail::half<B, U> - 1);
  }
  LOWP_FN constexpr bool inward(bool) const { return false; }
};

/// IEEE 754 roundTiesToAway.
struct nearest_away {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const&, U const&) const {
    return lanes::broadcast<U>(detail::half<B, U>);
  }
  LOWP_FN constexpr bool inward(bool) const { return false; }
};

/// IEEE 754 roundTowardZero.
struct toward_zero {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const&, U const&) const {
    return lanes::broadcast<U>(0);
  }
  LOWP_FN constexpr bool inward(bool) const { return true; }
};

/// IEEE 754 roundTowardPositive.
struct upward {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const& negative, U const&) const {
    return lanes::select(negative, lanes::broadcast<U>(0), lanes::broadcast<U>(detail::all<B, U>));
  }
  LOWP_FN constexpr bool inward(bool negative) const { return negative; }
};

/// IEEE 754 roundTowardNegative.
struct downward {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const& negative, U const&) const {
    return lanes::select(negative, lanes::broadcast<U>(detail::all<B, U>), lanes::broadcast<U>(0));
  }
  LOWP_FN constexpr bool inward(bool negative) const { return !negative; }
};

/// Rounds an inexact value to the neighbour with the odd code (S. Boldo, G. Melquiond, "Emulation
/// of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE TC 57, 2008).
struct to_odd {
  static constexpr bool is_stochastic = false;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const& odd, M const&, U const&) const {
    return (odd - 1) & detail::all<B, U>;
  }
  LOWP_FN constexpr bool inward(bool) const { return true; }
};

/// Rounds away from zero with the probability that the position gives. Element i of a span takes
/// its bits from (seed, stream, offset + i) alone. The draws are Philox's or, if `IsKeyed`,
/// functions of a Philox block for 128 elements.
template <bool IsKeyed>
struct basic_stochastic {
  std::uint64_t seed, stream = 0, offset = 0;

  /// Returns the mode with `step` in the low half of the stream: see stream_of.
  LOWP_FN constexpr basic_stochastic at(std::uint64_t step) const {
    return {seed, stream_of(static_cast<std::uint32_t>(stream >> 32), step), offset};
  }
  /// Returns the mode for tensor `number` of a list, counted from the stream's own tensor.
  LOWP_FN constexpr basic_stochastic of_tensor(std::uint32_t number) const {
    return {seed, stream + stream_of(number, 0), offset};
  }
  /// Returns the mode for the rest of a span after its first `count` elements.
  LOWP_FN constexpr basic_stochastic after(std::uint64_t count) const {
    return {seed, stream, offset + count};
  }

  static constexpr bool is_stochastic = true;
  /// The name of the generator in a file.
  static constexpr char const* generator =
      IsKeyed ? "Philox4x32-10, a key for 128 elements" : "Philox4x32-10";
  /// Rounds the fraction first to the nearest multiple of 2^-16, half up.
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const&, M const&, U const& random) const {
    if constexpr (B > 16)
      return (random << (B - 16)) + (typename lane<U>::scalar{1} << (B - 17));
    else
      return random >> (16 - B);
  }
  LOWP_FN constexpr bool inward(bool) const { return false; }
  LOWP_FN constexpr detail::random_origin origin() const {
    return {true, {seed, stream, 0, IsKeyed}, offset};
  }
};
using stochastic = basic_stochastic<false>;
/// Takes other bits, for a fraction of the work. Each draw is uniform; any three are independent.
using stochastic_fast = basic_stochastic<true>;

/// Rounds one value stochastically with the caller's 16 random bits. It implements StochasticB with
/// 16 bits of the IEEE P3109 draft, report 4.0.
struct stochastic_bits {
  std::uint16_t r;

  static constexpr bool is_stochastic = true;
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const& odd, M const& negative, U const& random) const {
    return stochastic{}.increment<B>(odd, negative, random);
  }
  LOWP_FN constexpr bool inward(bool) const { return false; }
};

namespace detail {
template <class R, class... Modes>
concept one_of = (std::same_as<R, Modes> || ...);

template <class R>
concept draws_bits = one_of<R, stochastic, stochastic_fast>;

/// A mode of the library or of a program.
template <class R>
concept deterministic_rounding =
    std::is_empty_v<R> && !R::is_stochastic &&
    requires(R const& mode, std::uint32_t odd, bool negative, std::uint32_t random) {
      { mode.template increment<31>(odd, negative, random) } -> std::same_as<std::uint32_t>;
      { mode.inward(negative) } -> std::same_as<bool>;
    };

/// A mode with a part that is known only inside a kernel.
template <class R>
concept has_device_mode = requires(R const& mode) { mode.origin_on_device(); };
}  // namespace detail

/// A mode chosen at run time, as per_slot holds it: any mode above except stochastic_bits.
class rounding_mode {
 public:
  LOWP_HOST_FN constexpr rounding_mode() : rounding_mode(nearest_even{}) {}

  template <class R>
    requires detail::deterministic_rounding<R> || detail::draws_bits<R>
  LOWP_HOST_FN constexpr rounding_mode(R const& mode)
      : increment_{{of(mode, 0, false), of(mode, 1, false)},
                   {of(mode, 0, true), of(mode, 1, true)}},
        inward_{mode.inward(false), mode.inward(true)} {
    if constexpr (R::is_stochastic) {
      random_mask_ = 0xffff;
      random_ = mode.origin();
    }
  }

  static constexpr bool is_stochastic = true;  // it may be stochastic
  template <int B, class U, class M>
  LOWP_FN constexpr U increment(U const& odd, M const& negative, U const& random) const {
    auto const is_odd = lanes::equal(odd, lanes::broadcast<U>(1));
    U const fixed = lanes::select(negative, by_parity<U>(is_odd, increment_[1]),
                                  by_parity<U>(is_odd, increment_[0]));
    return (fixed + ((random & random_mask_) << (bits - 16))) >> (bits - B);
  }
  LOWP_FN constexpr bool inward(bool negative) const { return inward_[negative ? 1 : 0]; }
  LOWP_FN constexpr bool is_nearest_even() const {
    constexpr word half = 1u << (bits - 1);
    return increment_[0][0] == half - 1 && increment_[0][1] == half;
  }
  LOWP_FN constexpr detail::random_origin origin() const { return random_; }
  // See basic_stochastic.
  LOWP_FN constexpr rounding_mode at(std::uint64_t step) const {
    rounding_mode mode = *this;
    mode.random_.set_stream(random_.source.stream, step);
    return mode;
  }
  LOWP_FN constexpr rounding_mode of_tensor(std::uint32_t number) const {
    rounding_mode mode = *this;
    mode.random_.add_tensor(number);
    return mode;
  }
  LOWP_FN constexpr rounding_mode after(std::uint64_t count) const {
    rounding_mode mode = *this;
    mode.random_.offset += count;
    return mode;
  }

 private:
  using word = std::uint32_t;

  static constexpr int bits = 31;  // bits of the fractions below
  LOWP_HOST_FN static constexpr word of(auto const& mode, word odd, bool negative) {
    return mode.template increment<bits>(odd, negative, word{0});
  }
  template <class U, class M>
  LOWP_FN static constexpr U by_parity(M const& odd, word const (&increment)[2]) {
    return lanes::select(odd, lanes::broadcast<U>(increment[1]), lanes::broadcast<U>(increment[0]));
  }

  word increment_[2][2];  // by sign and parity
  bool inward_[2];
  word random_mask_ = 0;
  detail::random_origin random_;
};

/// A mode for the parameter and one for each moment, for `update`.
struct per_slot {
  rounding_mode param{}, first{}, second{};

  LOWP_FN constexpr per_slot of_tensor(std::uint32_t number) const {
    return {param.of_tensor(number), first.of_tensor(number), second.of_tensor(number)};
  }
};

template <class R>
concept rounding = detail::deterministic_rounding<R> || detail::draws_bits<R> ||
                   std::same_as<R, stochastic_bits> || std::same_as<R, per_slot>;

/// A mode that rounds one value.
template <class R>
concept value_rounding = rounding<R> && !std::same_as<R, per_slot>;

/// A mode that rounds every element of a span.
template <class R>
concept span_rounding = value_rounding<R> && !std::same_as<R, stochastic_bits>;

/// A mode that rounds in an optimizer step.
template <class R>
concept update_rounding = rounding<R> && !std::same_as<R, stochastic_bits>;

namespace detail {
/// Says that overflow of a negative value may give another magnitude than that of a positive one.
template <class R>
inline constexpr bool overflows_by_sign = R{}.inward(false) != R{}.inward(true);
template <>
inline constexpr bool overflows_by_sign<rounding_mode> = true;

/// Returns the mode for tensor `number` of a list. Modes without random bits serve all tensors.
template <class R>
LOWP_FN constexpr R of_tensor(R const& mode, std::uint32_t number) {
  if constexpr (deterministic_rounding<R>)
    return mode;
  else
    return mode.of_tensor(number);
}
}  // namespace detail

}  // namespace lowp
