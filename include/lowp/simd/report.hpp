// SPDX-License-Identifier: Apache-2.0
// The counts and sums of an update_report in lanes.
#pragma once

#include <lowp/report.hpp>
#include <lowp/simd/pack.hpp>

#include <cstdint>

namespace lowp::simd {

LOWP_EXACT_BEGIN

template <class Isa>
class report_lanes {
  using F = pack<float, Isa>;
  using U = word<Isa>;
  using M = mask<Isa>;
  using D = wide<Isa>;

 public:
  /// One pack: parameters went from the codes before to the codes after, that is from `old` to
  /// `now`, where u was asked for.
  LOWP_HOST_FN void add(F u, U const& before, U const& after, F const& old, F const& now,
                        M const& overflowed) {
    using namespace lanes;
    M const no_wish = is_zero(u);
    stalled_ += lanes::count(both(equal(before, after), negate(no_wish)));
    F step = sub(now, old);
    U const largest = max(magnitude(u), max(magnitude(old), magnitude(now)));
    M const nonfinite = greater(largest, spread<U>(binary32_infinity - 1));
    F const zero = spread<F>(0);
    if (any(either(overflowed, nonfinite))) {
      overflowed_ += lanes::count(overflowed);
      nonfinite_ += lanes::count(nonfinite);
      u = select(nonfinite, zero, u);
      step = select(nonfinite, zero, step);
    }
    F const toward_u = from_bits<F>(bits(step) ^ (bits(u) & binary32_sign));
    applied_ = lanes::add(applied_, widen(select(no_wish, zero, toward_u)));
    requested_ = lanes::add(requested_, widen(absolute(u)));
  }

  /// The same for a pack of which only the first `count` lanes, and not all, are elements.
  LOWP_HOST_FN void add_first(int count, F const& u, U const& before, U const& after, F const& old,
                              F const& now, M const& overflowed) {
    using namespace lanes;
    M const is_element = greater(spread<U>(static_cast<std::uint32_t>(count)), lane_numbers<Isa>());
    F const zero = spread<F>(0);
    add(select(is_element, u, zero), before, after, select(is_element, old, zero),
        select(is_element, now, zero), both(is_element, overflowed));
  }

  /// After every few packs: a plain sum of n terms is wrong by n * 2^-53 of them, so it is kept short
  /// and its result added in twice the precision.
  LOWP_HOST_FN void fold() {
    all_applied_.add(applied_);
    all_requested_.add(requested_);
    applied_ = requested_ = lanes::spread<D>(0);
  }

  LOWP_HOST_FN void finish(std::uint64_t count, update_report& report) const {
    // A copy, because what its address is given away of does not live in registers.
    update_report totals;
    totals.count = count;
    totals.stalled = stalled_;
    totals.overflowed = overflowed_;
    totals.nonfinite = nonfinite_;
    all_applied_.merge_into(totals.applied);
    all_requested_.merge_into(totals.requested);
    report += totals;
  }

 private:
  struct sum {
    D high = lanes::spread<D>(0), low = lanes::spread<D>(0);
    LOWP_HOST_FN void add(D const& x) {  // as compensated_sum
      using namespace lanes;
      D const total = lanes::add(high, x);
      D const part = sub(total, high);
      low = lanes::add(low, lanes::add(sub(high, sub(total, part)), sub(x, part)));
      high = total;
    }
    LOWP_HOST_FN void merge_into(compensated_sum& total) const {
      for (int i = 0; i < 2; ++i)
        for (int k = 0; k < Isa::lanes / 2; ++k)
          total += compensated_sum{high.v[i][k], low.v[i][k]};
    }
  };

  D applied_ = lanes::spread<D>(0), requested_ = lanes::spread<D>(0);
  sum all_applied_, all_requested_;
  std::uint64_t stalled_ = 0, overflowed_ = 0, nonfinite_ = 0;
};

LOWP_EXACT_END

}  // namespace lowp::simd
