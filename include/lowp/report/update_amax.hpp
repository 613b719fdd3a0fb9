// SPDX-License-Identifier: Apache-2.0
// The largest gradient and the largest weight of an update.
#pragma once

#include <lowp/report/amax.hpp>

#include <cstdint>

namespace lowp {

/// The largest magnitudes that an update has seen. `update`, `fused_add` and `tree_add` take it in
/// place of an update_report, at a small part of the cost. A gradient that is not finite makes its
/// stored weight not finite, unless the overflow policy saturates. All zero bytes are an empty
/// report.
struct update_amax {
  amax gradient;  ///< as given
  amax weight;    ///< as stored: after the update, and rounded

  /// Merges the maxima of another shard or tensor.
  LOWP_FN constexpr update_amax& operator+=(update_amax const& other) { return add(other); }
  /// Merges other maxima, alone or beside other threads.
  template <class Atomics = detail::alone>
  LOWP_FN constexpr update_amax& add(update_amax const& other, Atomics const& atomics = {}) {
    gradient.add(other.gradient, atomics);
    weight.add(other.weight, atomics);
    return *this;
  }
};

namespace detail {

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
  using partial = update_amax;
};

}  // namespace detail

}  // namespace lowp
