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
  using D = pack<double, Isa>;

 public:
  /// One pack: parameters went from the codes before to the codes after, that is from `old` to
  /// `now`, where u was asked for. Lanes outside `valid` are padding.
  LOWP_HOST_FN void add(M const& valid, F const& u, U const& before, U const& after, F const& old,
                        F const& now, M const& overflowed) {
    using namespace lanes;
    if (++pending_ == flush_interval) flush();
    M const moved = negate(equal(before, after));
    M const finite = both(both(is_finite(u), is_finite(old)), is_finite(now));
    stalled_ = stalled_ + one(both(valid, negate(either(moved, is_zero(u)))));
    overflowed_ = overflowed_ + one(both(valid, overflowed));
    nonfinite_ = nonfinite_ + one(both(valid, negate(finite)));
    M const counts = both(valid, finite);
    F const zero = spread<F>(0);
    F const step = sub(now, old);
    F const toward_u = from_bits<F>(bits(step) ^ (bits(u) & binary32_sign));
    M const wanted = both(counts, negate(is_zero(u)));
    applied_.add(widen(select(wanted, toward_u, zero)));
    requested_.add(widen(select(wanted, absolute(u), zero)));
  }

  LOWP_HOST_FN void finish(std::uint64_t count, update_report& report) {
    flush();
    totals_.count = count;
    for (int i = 0; i < Isa::lanes; ++i) {
      totals_.applied += compensated_sum{applied_.high.v[i], applied_.low.v[i]};
      totals_.requested += compensated_sum{requested_.high.v[i], requested_.low.v[i]};
    }
    report += totals_;
  }

 private:
  static constexpr std::uint32_t flush_interval = 1u << 31;  // before a lane's count wraps

  struct sum {
    D high = lanes::spread<D>(0), low = lanes::spread<D>(0);
    LOWP_HOST_FN void add(D const& x) {  // as compensated_sum
      using namespace lanes;
      D const total = lanes::add(high, x);
      D const part = sub(total, high);
      low = lanes::add(low, lanes::add(sub(high, sub(total, part)), sub(x, part)));
      high = total;
    }
  };

  LOWP_HOST_FN static U one(M const& where) {
    return lanes::select(where, lanes::spread<U>(1), lanes::spread<U>(0));
  }
  LOWP_HOST_FN void flush() {
    for (int i = 0; i < Isa::lanes; ++i) {
      totals_.stalled += stalled_.v[i];
      totals_.overflowed += overflowed_.v[i];
      totals_.nonfinite += nonfinite_.v[i];
    }
    stalled_ = overflowed_ = nonfinite_ = lanes::spread<U>(0);
    pending_ = 0;
  }

  U stalled_ = lanes::spread<U>(0), overflowed_ = lanes::spread<U>(0),
    nonfinite_ = lanes::spread<U>(0);
  std::uint32_t pending_ = 0;
  sum applied_, requested_;
  update_report totals_;
};

LOWP_EXACT_END

}  // namespace lowp::simd
