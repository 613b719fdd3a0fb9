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
  /// `now`, where u was asked for. Lanes outside `valid` are padding.
  LOWP_HOST_FN void add(M const& valid, F const& u, U const& before, U const& after, F const& old,
                        F const& now, M const& overflowed) {
    using namespace lanes;
    M const wanted = both(valid, negate(is_zero(u)));
    M const finite = both(both(is_finite(u), is_finite(old)), is_finite(now));
    totals_.stalled += lanes::count(both(wanted, equal(before, after)));
    totals_.overflowed += lanes::count(both(valid, overflowed));
    totals_.nonfinite += lanes::count(both(valid, negate(finite)));
    M const counts = both(wanted, finite);
    F const zero = spread<F>(0);
    F const step = sub(now, old);
    F const toward_u = from_bits<F>(bits(step) ^ (bits(u) & binary32_sign));
    applied_ = lanes::add(applied_, widen(select(counts, toward_u, zero)));
    requested_ = lanes::add(requested_, widen(select(counts, absolute(u), zero)));
  }

  /// After every few packs: a plain sum of n terms is wrong by n * 2^-53 of them, so it is kept short
  /// and its result added in twice the precision.
  LOWP_HOST_FN void fold() {
    all_applied_.add(applied_);
    all_requested_.add(requested_);
    applied_ = requested_ = lanes::spread<D>(0);
  }

  LOWP_HOST_FN void finish(std::uint64_t count, update_report& report) {
    totals_.count = count;
    all_applied_.merge_into(totals_.applied);
    all_requested_.merge_into(totals_.requested);
    report += totals_;
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
  update_report totals_;
};

LOWP_EXACT_END

}  // namespace lowp::simd
