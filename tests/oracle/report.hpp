// SPDX-License-Identifier: Apache-2.0
// A10's report of an update, element by element, with exact sums.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "softfloat.hpp"

namespace oracle {

// The sum of any number of floats, exactly: a two's complement integer that counts 2^-149. 278 bits
// hold one float and its sign; the rest of the 384 hold the carries. Infinities are counted aside.
class exact_sum {
 public:
  constexpr void add(std::uint32_t float_bits) {
    number const x = from_float_bits(float_bits);
    if (x.what == kind::nan) ++nans_;
    if (x.what == kind::infinity) ++(x.negative ? minus_infinities_ : plus_infinities_);
    if (x.what != kind::finite) return;
    int const shift = x.exponent + 149;
    words addend{};
    u128 const placed = x.significand << (shift % 64);
    auto const at = static_cast<std::size_t>(shift / 64);
    addend[at] = static_cast<std::uint64_t>(placed);
    addend[at + 1] = static_cast<std::uint64_t>(placed >> 64);
    add_words(x.negative ? minus(addend) : addend);
  }

  constexpr exact_sum& operator+=(exact_sum const& other) {
    add_words(other.words_);
    nans_ += other.nans_;
    plus_infinities_ += other.plus_infinities_;
    minus_infinities_ += other.minus_infinities_;
    return *this;
  }

  // Truncated to its 64 leading bits, a relative error below 2^-63.
  [[nodiscard]] constexpr number value() const {
    if (nans_ != 0 || (plus_infinities_ != 0 && minus_infinities_ != 0)) return make_nan();
    if (plus_infinities_ != 0 || minus_infinities_ != 0)
      return make_infinity(plus_infinities_ == 0);
    bool const negative = words_.back() >> 63 != 0;
    words const magnitude = negative ? minus(words_) : words_;
    std::size_t top = magnitude.size() - 1;
    while (top > 0 && magnitude[top] == 0) --top;
    if (top == 0) return make_finite(negative, magnitude[0], -149);
    u128 const pair = static_cast<u128>(magnitude[top]) << 64 | magnitude[top - 1];
    int const excess = bit_length(pair) - 64;
    return make_finite(negative, pair >> excess, static_cast<int>(top - 1) * 64 + excess - 149);
  }

 private:
  using words = std::array<std::uint64_t, 6>;

  static constexpr words minus(words const& x) {
    words out{};
    u128 carry = 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      carry += ~x[i];
      out[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return out;
  }
  constexpr void add_words(words const& x) {
    u128 carry = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      carry += words_[i];
      carry += x[i];
      words_[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
  }

  words words_{};
  std::uint64_t nans_ = 0;
  std::uint64_t plus_infinities_ = 0;
  std::uint64_t minus_infinities_ = 0;
};

struct report {
  std::uint64_t count = 0;
  std::uint64_t stalled = 0;
  std::uint64_t overflowed = 0;
  std::uint64_t nonfinite = 0;
  exact_sum applied;  // sum(sign(u) * (new - old))
  exact_sum moved;    // sum(|new - old|), which the error of `applied` is relative to
  exact_sum wanted;   // sum(|u|)

  // Stores `w` over `old_code`, counts the element, and returns the new code. The element's moments
  // may be stored as what is not finite.
  constexpr std::uint32_t store(facts const& f, std::uint32_t u, std::uint32_t w,
                                std::uint32_t old_code, mode m, policy p, std::uint32_t r = 0,
                                bool has_finite_moments = true) {
    bool too_large = false;
    std::uint32_t const new_code = encode(f, from_float_bits(w), m, p, r, &too_large);
    ++count;
    overflowed += too_large ? 1 : 0;
    number const update = from_float_bits(u);
    stalled += update.what != kind::zero && new_code == old_code ? 1 : 0;

    auto const infinite_or_nan = [](number const& x) {
      return x.what == kind::infinity || x.what == kind::nan;
    };
    std::uint32_t const change =
        f32_sub(decode_to_float_bits(f, new_code), decode_to_float_bits(f, old_code));
    if (!has_finite_moments || infinite_or_nan(update) || infinite_or_nan(decode(f, old_code)) ||
        infinite_or_nan(decode(f, new_code)) || infinite_or_nan(from_float_bits(change))) {
      ++nonfinite;
      return new_code;
    }
    if (update.what == kind::zero) return new_code;
    applied.add(update.negative ? change ^ 0x80000000U : change);
    moved.add(change & 0x7fffffffU);
    wanted.add(u & 0x7fffffffU);
    return new_code;
  }

  constexpr report& operator+=(report const& other) {
    count += other.count;
    stalled += other.stalled;
    overflowed += other.overflowed;
    nonfinite += other.nonfinite;
    applied += other.applied;
    moved += other.moved;
    wanted += other.wanted;
    return *this;
  }

  // Within 2^-51 relative of the exact ratio; 1 when nothing was to be applied.
  [[nodiscard]] constexpr double applied_ratio() const {
    number const denominator = wanted.value();
    if (denominator.what == kind::zero) return 1;
    return std::bit_cast<double>(round_result(binary64, quotient(applied.value(), denominator)));
  }
};

}  // namespace oracle
