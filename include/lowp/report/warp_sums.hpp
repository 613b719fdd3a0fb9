// SPDX-License-Identifier: Apache-2.0
// Sums by the 32 threads of a GPU's warp, for a `Thread` as in cuda/kernel.hpp.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/report/exact_sum.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

template <class Thread>
struct warp {
  static constexpr unsigned threads = 32;

  Thread const& thread;

  LOWP_FN unsigned number() const { return thread.thread() % threads; }
  LOWP_FN bool is_upper(unsigned distance) const { return (thread.thread() & distance) != 0; }
  /// Returns x of the thread at this distance.
  template <int Distance>
  LOWP_FN float other(float x) const {
    return lanes::from_bits<float>(thread.template exchanged<Distance>(lanes::bits(x)));
  }
  template <int Distance>
  LOWP_FN float sum_of_two(float x) const {
    return lanes::add(x, other<Distance>(x));
  }
  /// Returns the largest word of threads at distances from First to below End.
  template <int First, int End>
  LOWP_FN std::uint32_t max_among(std::uint32_t x) const {
    if constexpr (First < End)
      return max_among<First, End / 2>(lanes::max(x, thread.template exchanged<End / 2>(x)));
    else
      return x;
  }
  /// Adds the 2 * Kept values of a thread at this distance. The one of higher number keeps the
  /// upper half of them. Then the threads at half the distance do so, until each has one value.
  template <int Distance, int Kept>
  LOWP_FN void halve(float* x) const {
    bool const is_upper_one = is_upper(Distance);
    LOWP_UNROLL_ON_GPU
    for (int i = 0; i < Kept; ++i) {
      float const kept = is_upper_one ? x[i + Kept] : x[i];
      x[i] = lanes::add(kept, other<Distance>(is_upper_one ? x[i] : x[i + Kept]));
    }
    if constexpr (Kept > 1) halve<Distance / 2, Kept / 2>(x);
  }
};

/// A digit of an exact sum of floats. A warp's threads have one each. A float goes to the digit of
/// its last bit. It has room for 2^(40 - Bits) floats, so nothing is carried before the report.
template <int Digits, int Bits>
class warp_digit {
 public:
  static constexpr int bits = Digits * Bits;  ///< for last bits

  /// Adds x, which is finite and, as a binary32 number, counts 2^(149 + exponent) units of the sum.
  LOWP_FN void add(unsigned number, float x, int exponent) {
    std::uint32_t const code = lanes::bits(x), field = code >> 23 & 0xff,
                        fraction = code & 0x7fffff;
    auto const at = static_cast<unsigned>(exponent) + (field == 0 ? 0 : field - 1);
    if (at / Bits != number % Digits) return;
    std::int64_t const units = std::int64_t{field == 0 ? fraction : fraction | 1u << 23}
                               << at % Bits;
    digit_ += code >> 31 != 0 ? -units : units;
  }
  LOWP_FN void add_to(auto& sum, unsigned number) const {
    bool const negative = digit_ < 0;
    auto const digit = static_cast<std::uint64_t>(digit_);
    sum.add(negative, negative ? 0 - digit : digit, static_cast<int>(number % Digits) * Bits,
            alone{});
  }

 private:
  std::int64_t digit_ = 0;
};

LOWP_EXACT_END

}  // namespace lowp::detail
