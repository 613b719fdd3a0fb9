// SPDX-License-Identifier: Apache-2.0
// The sums of an update_report in packs: terms wait in memory until there is a group of them.
#pragma once

#include <lowp/report/lanes.hpp>
#include <lowp/simd/rows/row_fold.hpp>

#include <cstddef>

namespace lowp {

namespace simd {

LOWP_EXACT_BEGIN

template <class Isa>
class update_lanes : public detail::update_counts<pack<float, Isa>> {
  using F = pack<float, Isa>;
  using U = word<Isa>;
  using M = mask<Isa>;

 public:
  struct scratch {
    alignas(64) float applied[fold::sums], requested[fold::sums];
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
  /// Sums the terms after a batch that completes a group.
  LOWP_HOST_FN void end_batch() {
    if (kept_ == fold::sums) add_group();
  }
  LOWP_HOST_FN void finish(std::size_t count) {
    if (kept_ != 0) {
      F const zero = lanes::broadcast<F>(0);
      while (kept_ != fold::sums) keep({zero, zero});
      add_group();
    }
    report_.add(this->counted(count));
    report_.add(sums_);
  }

  // A group: see sum_in_float.
  LOWP_HOST_FN bool sum() {
    applied_ = sum_of(terms_.applied);
    requested_ = sum_of(terms_.requested);
    return lanes::magnitude(applied_) < lanes::binary32_infinity &&
           lanes::magnitude(requested_) < lanes::binary32_infinity;
  }
  template <class Fn>
  LOWP_HOST_FN void change(Fn const& fn) {
    for (std::size_t i = 0; i < fold::sums; i += Isa::lanes) {
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
  LOWP_HOST_FN void add_group() {
    double const unit = detail::sum_in_float(*this) ? 1 << detail::sum_exponent : 1;
    sums_.applied += static_cast<double>(applied_) * unit;
    sums_.requested += static_cast<double>(requested_) * unit;
    kept_ = 0;
  }
  LOWP_HOST_FN static float sum_of(float const* terms) {
    F const sum =
        among_lanes<fold::sum, Isa::lanes / 2>(sum_of_packs<F, 1, fold::sums / Isa::lanes>(terms));
    return lane<float>::from_bits(lane<U>::at(lanes::bits(sum), 0));
  }

  scratch& terms_;
  update_report& report_;
  update_report sums_;
  std::size_t kept_ = 0;
  float applied_ = 0, requested_ = 0;  // sums of the last group
};

LOWP_EXACT_END

}  // namespace simd

template <class Isa>
struct detail::lanes_of_report<update_report, simd::pack<float, Isa>> {
  using type = simd::update_lanes<Isa>;
};

}  // namespace lowp
