// SPDX-License-Identifier: Apache-2.0
// The largest magnitude of a tensor, for its scale.
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

  /// Merges the maximum of another shard.
  LOWP_FN constexpr amax& operator+=(amax const& other) { return add(other); }
  /// Merges another maximum, alone or beside other threads.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr amax& add(amax const& other, Atomics const& atomics = {}) {
    atomics.max(bits, other.bits);
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
  using partial = amax;
};

}  // namespace detail

}  // namespace lowp
