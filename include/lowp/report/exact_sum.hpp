// SPDX-License-Identifier: Apache-2.0
// Exact sums of doubles that are sums of floats or of their squares. The order of integer additions
// does not matter, so threads of a GPU may share a sum without taking turns.
#pragma once

#include <lowp/base/config.hpp>

namespace lowp {

namespace detail {
/// Changes to a word that only this thread uses; each returns the old value. A GPU's version is
/// atomic, so that threads may share the word.
struct alone {
  LOWP_FN constexpr std::uint64_t add(std::uint64_t& word, std::uint64_t x) const {
    std::uint64_t const was = word;
    word += x;
    return was;
  }
  LOWP_FN constexpr std::uint32_t max(std::uint32_t& word, std::uint32_t x) const {
    std::uint32_t const was = word;
    if (x > was) word = x;
    return was;
  }
};
}  // namespace detail

/// Merges the report of another shard or tensor, or adds to a sum. `to.add(from, atomics)` does so
/// beside other threads.
template <class Report, class Other = Report>
  requires requires(Report& to, Other const& from) {
    to.add(from);
    to.add(from, detail::alone{});
  }
LOWP_FN constexpr Report& operator+=(Report& to, Other const& from) {
  to.add(from);
  return to;
}

/// An integer of 64 * Words bits in two's complement that counts units of 2^Unit. Words are 64 bits
/// each, lowest first. All zero bytes are an empty sum.
template <int Unit, int Words>
class basic_exact_sum {
 public:
  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(basic_exact_sum const& other, Atomics const& atomics = {}) {
    std::uint64_t carry = 0;
    for (int i = 0; i < Words; ++i) {
      std::uint64_t const with_carry = other.word_[i] + carry;
      carry = with_carry < carry;
      if (with_carry != 0) carry += atomics.add(word_[i], with_carry) + with_carry < with_carry;
    }
  }

  /// Adds x, a multiple of the unit. All that is added must be below 2^(64 * Words - 33)
  /// units in magnitude. An infinity or NaN makes the value infinite.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(double x, Atomics const& atomics = {}) {
    constexpr int significand_bits = 52, bias = 1075 + Unit;  // the last bit's bias, in units
    auto const bits = __builtin_bit_cast(std::uint64_t, x);
    auto const field = static_cast<int>(bits >> significand_bits & 0x7ff);
    bool const negative = bits >> 63 != 0;
    if (field == 0) return;
    std::uint64_t significand = (bits & ((std::uint64_t{1} << significand_bits) - 1)) |
                                std::uint64_t{1} << significand_bits;
    int shift = field - bias;
    if (field == 0x7ff) {
      significand = 1;
      shift = infinity;
    } else if (shift < 0) {  // the bits shifted out are zero
      significand = shift > -64 ? significand >> -shift : 0;
      shift = 0;
    }
    add(negative, significand, shift, atomics);
  }
  /// Adds magnitude * 2^shift units.
  LOWP_FN constexpr void add(bool negative, std::uint64_t magnitude, int shift,
                             auto const& atomics) {
    int const at = shift % 64;
    std::uint64_t addend = magnitude << at, next = magnitude >> 1 >> (63 - at);
    // A word whose number is not constant would lie in a GPU's memory.
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < Words; ++i) {
      if (i < shift / 64 || (addend | next) == 0) continue;
      std::uint64_t const was = atomics.add(word_[i], negative ? 0 - addend : addend);
      bool const carries = negative ? was < addend : was + addend < addend;
      addend = next + (carries ? 1 : 0);
      next = 0;
    }
  }

  /// Returns the sum within a relative error of 2^-52, by integers alone: whatever the caller's
  /// rounding mode.
  LOWP_FN constexpr double value() const {
    bool const negative = word_[Words - 1] >> 63 != 0;
    std::uint64_t magnitude[std::size_t{Words}] = {};
    std::uint64_t carry = negative ? 1 : 0;
    for (int i = 0; i < Words; ++i) {
      magnitude[i] = (negative ? ~word_[i] : word_[i]) + carry;
      carry = carry != 0 && magnitude[i] == 0 ? 1 : 0;
    }
    std::uint64_t const sign = negative ? std::uint64_t{1} << 63 : 0;
    if (magnitude[Words - 1] >> (infinity - 1) % 64 != 0)
      return __builtin_bit_cast(double, sign | std::uint64_t{0x7ff} << 52);
    int top = Words - 1;
    while (top > 0 && magnitude[top] == 0) --top;
    if (magnitude[top] == 0) return 0;
    int const room = __builtin_clzll(magnitude[top]);
    std::uint64_t leading = magnitude[top] << room;
    if (top > 0) leading |= magnitude[top - 1] >> 1 >> (63 - room);
    std::uint64_t const rest = leading & 0x7ff, odd = leading >> 11 & 1;
    std::uint64_t const rounded = (leading >> 11) + (rest + odd > 0x400 ? 1 : 0);
    // The leading one adds 1 to the exponent's field.
    auto const field = static_cast<std::uint64_t>(64 * top - room + Unit + 1023 + 63 - 1);
    return __builtin_bit_cast(double, sign | ((field << 52) + rounded));
  }

 private:
  static constexpr int infinity = 64 * Words - 32;  // a bit above every finite sum

  std::uint64_t word_[std::size_t{Words}] = {};
};

/// A sum of up to 2^64 floats.
using exact_sum = basic_exact_sum<-149, 6>;
/// A sum of the squares of up to 2^64 floats.
using exact_square_sum = basic_exact_sum<-298, 11>;

}  // namespace lowp
