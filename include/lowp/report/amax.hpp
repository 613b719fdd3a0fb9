// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of a tensor, for its scale, and those of an update.
#pragma once

#include <lowp/report/lanes.hpp>

namespace lowp {

/// The largest |x| seen, infinity included; 0 if none was. Reports skip NaN and count it beside, so
/// that one NaN does not decide the scale of all other elements. Its bytes are those of a float
/// without a sign, so that code for floats can read it.
///
/// No scale can be made of NaN. A function on the host refuses an amax that is NaN by name. In
/// device memory such an amax makes NaN of every scale that depends on it.
struct amax {
  std::uint32_t bits = 0;

  LOWP_FN constexpr float value() const { return __builtin_bit_cast(float, bits); }
  LOWP_FN constexpr explicit operator float() const { return value(); }

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(amax const& other, Atomics const& atomics = {}) {
    atomics.max(bits, other.bits);
  }
};

/// The largest magnitudes that an update has seen. `update`, `fused_add` and `tree_add` take it in
/// place of an update_report, at a small part of the cost. A gradient that is not finite makes its
/// stored weight not finite, unless the overflow policy saturates. Moments are not seen: a finite
/// gradient whose square overflows shows in an update_report alone. All zero bytes are an empty
/// report.
struct update_amax {
  amax gradient;                   ///< as given
  amax weight;                     ///< as stored: after the update, and rounded
  std::uint64_t nan_gradient = 0;  ///< NaN elements, which `gradient` skips
  std::uint64_t nan_weight = 0;    ///< likewise

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(update_amax const& other, Atomics const& atomics = {}) {
    gradient.add(other.gradient, atomics);
    weight.add(other.weight, atomics);
    atomics.add(nan_gradient, other.nan_gradient);
    atomics.add(nan_weight, other.nan_weight);
  }
};

namespace detail {

template <class F>
class amax_lanes {
  using U = lanes::word<F>;

 public:
  LOWP_FN void add(F const& x) {
    if constexpr (requires { lane<F>::maximum_number(x, x); })
      largest_ =
          lanes::bits(lane<F>::maximum_number(lanes::size_of(x), lanes::from_bits<F>(largest_)));
    else
      add_number(lanes::from_bits<F>(
          lanes::select(lanes::is_nan(x), lanes::broadcast<U>(0), lanes::magnitude(x))));
  }
  /// Adds x, which is not NaN.
  LOWP_FN void add_number(F const& x) { largest_ = lanes::max(largest_, lanes::magnitude(x)); }
  LOWP_FN void add(amax_lanes const& other) { largest_ = lanes::max(largest_, other.largest_); }
  LOWP_FN amax total(std::uint64_t) const {
    amax all;
    for (int i = 0; i < lane<U>::lanes; ++i) all += amax{lane<U>::at(largest_, i)};
    return all;
  }

 private:
  U largest_ = lanes::broadcast<U>(0);
};

template <class F>
struct lanes_of_report<amax, F> : std::type_identity<amax_lanes<F>> {};

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
    U const larger = lanes::max(lanes::magnitude(gradient), lanes::magnitude(now));
    auto const is_nan = lanes::greater(larger, lanes::broadcast<U>(lanes::binary32_infinity));
    if (lanes::any(is_nan)) [[unlikely]] {
      nan_gradient_ += lanes::count(lanes::is_nan(gradient));
      nan_weight_ += lanes::count(lanes::is_nan(now));
    }
  }

  LOWP_FN update_amax total(std::uint64_t count) const {
    return {gradient_.total(count), weight_.total(count), nan_gradient_, nan_weight_};
  }

 private:
  amax_lanes<F> gradient_, weight_;
  lane_counter<F> nan_gradient_ = 0, nan_weight_ = 0;
};

template <class F>
struct lanes_of_report<update_amax, F> : std::type_identity<update_amax_lanes<F>> {};

}  // namespace detail

}  // namespace lowp
