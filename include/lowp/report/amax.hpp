// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of a tensor, for its scale, and those of an update.
#pragma once

#include <lowp/report/lanes.hpp>

#include <cstdint>

namespace lowp {

/// The largest |x| seen: NaN if any x was NaN, 0 if no x was seen. Its bytes are those of a float
/// without a sign, so that code for floats can read it. Integers find it, because the hardware's
/// maximum of two floats loses NaN.
struct amax {
  std::uint32_t bits = 0;

  LOWP_FN constexpr float value() const { return __builtin_bit_cast(float, bits); }
  LOWP_FN constexpr explicit operator float() const { return value(); }

  /// Merges another maximum, as += does, alone or beside other threads.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr amax& add(amax const& other, Atomics const& atomics = {}) {
    atomics.max(bits, other.bits);
    return *this;
  }
};

/// The largest magnitudes that an update has seen. `update`, `fused_add` and `tree_add` take it in
/// place of an update_report, at a small part of the cost. A gradient that is not finite makes its
/// stored weight not finite, unless the overflow policy saturates. All zero bytes are an empty
/// report.
struct update_amax {
  amax gradient;  ///< as given
  amax weight;    ///< as stored: after the update, and rounded

  /// Merges other maxima, as += does, alone or beside other threads.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr update_amax& add(update_amax const& other, Atomics const& atomics = {}) {
    gradient.add(other.gradient, atomics);
    weight.add(other.weight, atomics);
    return *this;
  }
};

namespace detail {

template <class F>
class amax_lanes {
  using U = lanes::word<F>;

 public:
  static constexpr bool sees_codes = false;

  LOWP_FN void add(F const& x) { largest_ = lanes::max(largest_, lanes::magnitude(x)); }
  LOWP_FN void add(amax_lanes const& other) { largest_ = lanes::max(largest_, other.largest_); }
  LOWP_FN void end_batch() {}
  LOWP_FN amax total(std::uint64_t) const {
    amax all;
    for (int i = 0; i < lane<U>::lanes; ++i) all += amax{lane<U>::at(largest_, i)};
    if (all.bits > lanes::binary32_infinity) all.bits = lanes::binary32_nan;
    return all;
  }

 private:
  U largest_ = lanes::broadcast<U>(0);
};

template <class F>
struct lanes_of_report<amax, F> {
  using type = amax_lanes<F>;
};

template <class F>
class update_amax_lanes {
  using U = lanes::word<F>;
  using M = lanes::mask<F>;

 public:
  static constexpr bool sees_codes = true;

  LOWP_FN void add(F const&, U const&, U const&, F const&, F const& now, M const&,
                   F const& gradient) {
    gradient_.add(gradient);
    weight_.add(now);
  }
  LOWP_FN void add_masked(M const& is_element, F const&, U const&, U const&, F const&, F const& now,
                          M const&, F const& gradient) {
    gradient_.add(only(is_element, gradient));
    weight_.add(only(is_element, now));
  }
  LOWP_FN void end_batch() {}

  LOWP_FN update_amax total(std::uint64_t count) const {
    return {gradient_.total(count), weight_.total(count)};
  }

 private:
  amax_lanes<F> gradient_, weight_;
};

template <class F>
struct lanes_of_report<update_amax, F> {
  using type = update_amax_lanes<F>;
};

}  // namespace detail

}  // namespace lowp
