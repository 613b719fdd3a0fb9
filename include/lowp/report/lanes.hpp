// SPDX-License-Identifier: Apache-2.0
// The counts and sums of an update_report in lanes.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/report/update_report.hpp>

#include <cstdint>

namespace lowp::detail {

/// The class that counts a report in lanes F (`type`), and the class of one loop's partial
/// (`partial`).
template <class Report, class F>
struct lanes_of_report;

LOWP_EXACT_BEGIN

// Names of `lanes` are qualified here, because this namespace has some of the same names.

/// A compensated_sum for each lane of D, a double or a pack of doubles.
template <class D>
class compensated_lanes {
 public:
  LOWP_FN void add(D const& x) {
    D const total = lanes::add(high_, x);
    D const partial = lanes::sub(total, high_);
    low_ = lanes::add(
        low_, lanes::add(lanes::sub(high_, lanes::sub(total, partial)), lanes::sub(x, partial)));
    high_ = total;
  }
  LOWP_FN void add_to(compensated_sum& total) const {
    compensated_lanes all = *this;
    all.template add_lanes<lane<D>::lanes / 2>();
    total += compensated_sum{lane<D>::at(all.high_, 0), lane<D>::at(all.low_, 0)};
  }

 private:
  /// Adds to each lane the lane whose number differs in this bit, then in the next lower bit. Every
  /// addition works on all lanes.
  template <int Bit>
  LOWP_FN void add_lanes() {
    if constexpr (Bit != 0) {
      D const high = lane<D>::template exchanged<Bit>(high_);
      D const low = lane<D>::template exchanged<Bit>(low_);
      add(high);
      low_ = lanes::add(low_, low);
      add_lanes<Bit / 2>();
    }
  }

  D high_ = lanes::broadcast<D>(0), low_ = lanes::broadcast<D>(0);
};

/// The counts and sums of elements in lanes F: a float or a pack of floats.
template <class F>
class report_lanes {
  using U = lanes::word<F>;
  using M = lanes::mask<F>;
  using D = lanes::wide<F>;

 public:
  static constexpr bool sees_codes = true;

  /// Counts one pack. Its parameters went from the codes `before` to the codes `after`, with the
  /// values `old` and `now`. u is the requested update. `gradient` is for other reports.
  LOWP_FN void add(F u, U const& before, U const& after, F const& old, F const& now,
                   M const& overflowed, F const& gradient) {
    static_cast<void>(gradient);
    M const no_wish = lanes::is_zero(u);
    stalled_ +=
        lanes::count(lanes::mask_and(lanes::equal(before, after), lanes::mask_not(no_wish)));
    F step = lanes::sub(now, old);
    // The step is infinite or NaN if `old` or `now` is, or if it overflows.
    U const largest = lanes::max(lanes::magnitude(u), lanes::magnitude(step));
    M const nonfinite = lanes::greater(largest, lanes::broadcast<U>(lanes::binary32_infinity - 1));
    F const zero = lanes::broadcast<F>(0);
    if (lanes::any(lanes::mask_or(overflowed, nonfinite))) {
      overflowed_ += lanes::count(overflowed);
      nonfinite_ += lanes::count(nonfinite);
      u = lanes::select(nonfinite, zero, u);
      step = lanes::select(nonfinite, zero, step);
    }
    F const toward_u =
        lanes::from_bits<F>(lanes::bits(step) ^ (lanes::bits(u) & lanes::binary32_sign));
    applied_ = lanes::add(applied_, lanes::widen(lanes::select(no_wish, zero, toward_u)));
    requested_ = lanes::add(requested_, lanes::widen(lanes::absolute(u)));
  }

  /// Counts one pack in which only some lanes are elements.
  LOWP_FN void add_masked(M const& is_element, F const& u, U const& before, U const& after,
                          F const& old, F const& now, M const& overflowed, F const& gradient) {
    F const zero = lanes::broadcast<F>(0);
    add(lanes::select(is_element, u, zero), before, after, lanes::select(is_element, old, zero),
        lanes::select(is_element, now, zero), lanes::mask_and(is_element, overflowed), gradient);
  }

  /// Moves the plain sums to the compensated ones, after every few packs. A plain sum of n terms
  /// errs by n * 2^-53 of them, so it stays short.
  LOWP_FN void fold() {
    all_applied_.add(applied_);
    all_requested_.add(requested_);
    applied_ = requested_ = lanes::broadcast<D>(0);
  }

  LOWP_FN partial_report total(std::uint64_t count) const {
    partial_report partial;
    partial.count = count;
    partial.stalled = stalled_;
    partial.overflowed = overflowed_;
    partial.nonfinite = nonfinite_;
    all_applied_.add_to(partial.applied);
    all_requested_.add_to(partial.requested);
    return partial;
  }

 private:
  D applied_ = lanes::broadcast<D>(0), requested_ = lanes::broadcast<D>(0);
  compensated_lanes<D> all_applied_, all_requested_;
  std::uint64_t stalled_ = 0, overflowed_ = 0, nonfinite_ = 0;
};

LOWP_EXACT_END

template <class F>
struct lanes_of_report<update_report, F> {
  using type = report_lanes<F>;
  using partial = partial_report;
};

}  // namespace lowp::detail
