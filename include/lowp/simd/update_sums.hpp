// SPDX-License-Identifier: Apache-2.0
// The sums of an update_report in packs. Terms wait in memory for their group, and for the blocks
// of moments, which are stored late.
#pragma once

#include <lowp/report/lanes.hpp>
#include <lowp/simd/blocks.hpp>
#include <lowp/simd/rows/row_fold.hpp>
#include <lowp/simd/stored_moments.hpp>

namespace lowp {

namespace simd {

LOWP_EXACT_BEGIN

template <class Isa>
class update_lanes : public detail::update_counts<pack<float, Isa>> {
  using F = pack<float, Isa>;
  using U = word<Isa>;
  using M = mask<Isa>;
  static constexpr std::size_t most = 2 * batch<Isa> > fold::sums ? 2 * batch<Isa> : fold::sums;

 public:
  struct scratch {
    alignas(64) float applied[most], requested[most];
  };

  LOWP_HOST_FN update_lanes(scratch& terms, update_report& report)
      : terms_(terms), report_(report) {}

  /// Counts one pack and keeps its terms. `gradient` is for other reports.
  LOWP_HOST_FN void add(F const& u, U const& before, U const& after, F const& old, F const& now,
                        M const& overflowed, F const&) {
    keep(this->count(u, before, after, old, now, overflowed));
  }
  LOWP_HOST_FN void add_masked(M const& is_element, F const& u, U const& before, U const& after,
                               F const& old, F const& now, M const& overflowed, F const&) {
    keep(this->count_masked(is_element, u, before, after, old, now, overflowed));
  }
  /// Sees moments before they are rounded: the bits that any of them has set.
  LOWP_HOST_FN void see_moments(auto const&... moment) {
    ((seen_ = seen_ | lanes::bits(moment)), ...);
  }
  /// Sums the terms after a batch that ends groups and blocks, at element number `end`.
  LOWP_HOST_FN void end_batch(std::size_t end, bool is_last, auto const& operands) {
    if (kept_ != most && !is_last) return;
    F const zero = lanes::broadcast<F>(0);
    while (kept_ % fold::sums != 0) keep({zero, zero});
    mark_moments(end, operands);
    LOWP_UNROLL
    for (std::size_t i = 0; i < most; i += fold::sums) {
      if (i >= kept_) break;
      group_ = i;
      double const unit = detail::sum_in_float(*this) ? 1 << detail::sum_exponent : 1;
      sums_.applied += static_cast<double>(applied_) * unit;
      sums_.requested += static_cast<double>(requested_) * unit;
    }
    kept_ = 0;
    seen_ = lanes::broadcast<U>(0);
  }
  LOWP_HOST_FN void finish(std::size_t count) {
    report_.add(this->counted(count));
    report_.add(sums_);
  }

  // A group: see sum_in_float.
  LOWP_HOST_FN bool sum() {
    applied_ = sum_of(terms_.applied + group_);
    requested_ = sum_of(terms_.requested + group_);
    return lanes::magnitude(applied_) < lanes::binary32_infinity &&
           lanes::magnitude(requested_) < lanes::binary32_infinity;
  }
  LOWP_HOST_FN void change(auto const& fn) {
    for (std::size_t i = group_; i < group_ + fold::sums; i += Isa::lanes) {
      detail::update_terms<F> terms{F::load(terms_.applied + i), F::load(terms_.requested + i)};
      fn(terms);
      terms.applied.store(terms_.applied + i);
      terms.requested.store(terms_.requested + i);
    }
  }

 private:
  LOWP_HOST_FN void keep(detail::update_terms<F> const& terms) {
    terms.applied.store(terms_.applied + kept_);
    terms.requested.store(terms_.requested + kept_);
    kept_ += Isa::lanes;
  }
  /// Makes terms infinite whose elements have a moment that is not finite, as stored.
  template <class P, class G, class... Moment>
  LOWP_HOST_FN void mark_moments(std::size_t end,
                                 std::tuple<P, G, Moment...> const& operands) const {
    std::size_t const first = (end - 1) / most * most;
    U const large = seen_ & lanes::bits(2.0f);  // also of infinity and NaN
    bool const are_small = !lanes::any(lanes::greater(large, lanes::broadcast<U>(0)));
    auto const mark = [&]<class Operand>(Operand const& moment) __attribute__((always_inline)) {
      if (!are_small || !keeps_small<Operand>)
        mark_nonfinite(moment, first, end - first, terms_.requested);
    };
    if constexpr (sizeof...(Moment) > 0) mark(std::get<2>(operands));
    if constexpr (sizeof...(Moment) > 1) mark(std::get<3>(operands));
  }
  LOWP_HOST_FN static float sum_of(float const* terms) {
    F const sum =
        among_lanes<fold::sum, Isa::lanes / 2>(sum_of_packs<F, 1, fold::sums / Isa::lanes>(terms));
    return lane<float>::from_bits(lane<U>::at(lanes::bits(sum), 0));
  }

  scratch& terms_;
  update_report& report_;
  update_report sums_;
  std::size_t kept_ = 0, group_ = 0;
  U seen_ = lanes::broadcast<U>(0);
  float applied_ = 0, requested_ = 0;  // sums of the last group
};

LOWP_EXACT_END

}  // namespace simd

template <class Isa>
struct detail::lanes_of_report<update_report, simd::pack<float, Isa>> {
  using type = simd::update_lanes<Isa>;
};

}  // namespace lowp
