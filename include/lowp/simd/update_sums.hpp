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

template <class F>
LOWP_HOST_FN float sum_of_group(float const* terms) {
  return lane<float>::from_bits(lane<lanes::word<F>>::at(lanes::bits(sum_of_terms<F>(terms)), 0));
}

inline namespace LOWP_UNIT {
LOWP_NOINLINE inline void add_exactly(double sum, exact_sum& all) { all += sum; }

/// Terms of a group that has a term or a sum that is not finite: see sum_in_float.
// Templates of T, which is float: nvcc would compile functions for a GPU, which has no vectors.
template <class T>
struct nonfinite_terms : detail::update_counts<pack<T, portable>> {
  using F = pack<T, portable>;
  T *applied, *requested, applied_sum = 0, requested_sum = 0;

  bool sum() {
    applied_sum = sum_of_group<F>(applied);
    requested_sum = sum_of_group<F>(requested);
    return lanes::is_finite(applied_sum) && lanes::is_finite(requested_sum);
  }
  void change(auto const& fn) {
    for (std::size_t i = 0; i < fold::sums; i += F::lanes) {
      detail::update_terms<F> terms{F::load(applied + i), F::load(requested + i)};
      fn(terms);
      terms.applied.store(applied + i);
      terms.requested.store(requested + i);
    }
  }
};
template <class T>
LOWP_COLD void add_nonfinite(T* applied, T* requested, update_report& report) {
  nonfinite_terms<T> group{{}, applied, requested};
  double const unit = detail::sum_in_float(group) ? 1 << detail::sum_exponent : 1;
  report.add(group.counted(0));
  report.applied += static_cast<double>(group.applied_sum) * unit;
  report.requested += static_cast<double>(group.requested_sum) * unit;
}
}  // namespace LOWP_UNIT

/// A sum in double, which an exact one takes over before a bit is lost.
struct pending_sum {
  double sum = 0;

  LOWP_HOST_FN void add(float term, exact_sum& all) {
    double const x = static_cast<double>(term);
    auto bits = __builtin_bit_cast(std::uint64_t, sum + x);
    asm("" : "+r"(bits));  // clang for AArch64 takes -ffast-math into the next line
    double const next = __builtin_bit_cast(double, bits);
    double const term_of_it = next - sum, sum_of_it = next - x;
    bool const is_exact =
        term_of_it >= x && term_of_it <= x && sum_of_it >= sum && sum_of_it <= sum;
    if (!is_exact) [[unlikely]]
      add_exactly(sum, all);
    sum = is_exact ? next : x;
  }
};

template <class Isa>
class update_lanes : public detail::update_counts<pack<float, Isa>> {
  using F = pack<float, Isa>;
  using U = word<Isa>;
  using M = mask<Isa>;

 public:
  /// The elements that are summed at once.
  static constexpr std::size_t most = 2 * batch<Isa> > fold::sums ? 2 * batch<Isa> : fold::sums;
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
  /// Sees a moment before it is rounded. The sum is not finite if one is 256 or more.
  LOWP_HOST_FN void see_moment(F const& moment) {
    seen_ = lanes::fma(moment, lanes::broadcast<F>(0x1p121f), seen_);
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
      float *const applied = terms_.applied + i, *const requested = terms_.requested + i;
      float const sums[] = {sum_of_group<F>(applied), sum_of_group<F>(requested)};
      if (!lanes::is_finite(sums[0]) || !lanes::is_finite(sums[1])) {
        add_nonfinite(applied, requested, report_);
      } else {
        applied_.add(sums[0], report_.applied);
        requested_.add(sums[1], report_.requested);
      }
    }
    kept_ = 0;
    seen_ = lanes::broadcast<F>(0);
  }
  LOWP_HOST_FN void finish(std::size_t count) {
    report_.add(this->counted(count));
    add_exactly(applied_.sum, report_.applied);
    add_exactly(requested_.sum, report_.requested);
  }

 private:
  LOWP_HOST_FN void keep(detail::update_terms<F> const& terms) {
    terms.applied.store(terms_.applied + kept_);
    terms.requested.store(terms_.requested + kept_);
    kept_ += Isa::lanes;
  }
  /// Makes terms infinite whose elements have a moment that is not finite, as stored.
  template <class Indices, class P, class G, class... Moment>
  LOWP_HOST_FN void mark_moments(std::size_t end,
                                 tuple_of<Indices, P, G, Moment...> const& operands) const {
    std::size_t const first = (end - 1) / most * most;
    U const largest = lanes::broadcast<U>(lanes::binary32_infinity - 1);
    bool const are_small = !lanes::any(lanes::greater(lanes::magnitude(seen_), largest));
    auto const mark = [&]<class Operand>(Operand const& moment) __attribute__((always_inline)) {
      if (!are_small || !keeps_small<Operand>)
        mark_nonfinite(moment, first, end - first, terms_.requested);
    };
    if constexpr (sizeof...(Moment) > 0) mark(get<2>(operands));
    if constexpr (sizeof...(Moment) > 1) mark(get<3>(operands));
  }

  scratch& terms_;
  update_report& report_;
  std::size_t kept_ = 0;
  F seen_ = lanes::broadcast<F>(0);
  pending_sum applied_, requested_;
};

/// Returns x with zeros or false in the other lanes. A code may stay: no report counts it there.
template <class Isa, class X>
LOWP_HOST_FN X of_elements(mask<Isa> const& is_element, X const& x) {
  using detail::only;
  if constexpr (std::is_same_v<X, word<Isa>>)
    return x;
  else if constexpr (std::is_same_v<X, mask<Isa>>)
    return lanes::mask_and(is_element, x);
  else
    return only(is_element, x);
}
/// Counts a pack of which the first `left` lanes are elements.
template <class Isa>
LOWP_HOST_FN void count_elements(int left, auto& totals, auto const&... counted) {
  using registers = typename Isa::registers;
  if (left < Isa::lanes) {
    auto const is_element = first_lanes<registers>(left);
    if constexpr (requires { totals.add_masked(is_element, counted...); })
      totals.add_masked(is_element, counted...);
    else
      totals.add(of_elements<registers>(is_element, counted)...);
  } else {
    totals.add(counted...);
  }
}
/// Rounds a parameter, whose operand has its old codes, and counts the update u.
template <class Isa, class F, class Parameter>
LOWP_HOST_FN void store_reported(int k, int left, F const& u, F const& result, F const& gradient,
                                 auto& totals, Parameter& p) {
  F const old = p.load(k);
  if constexpr (requires { p.store_value(k, result); }) {  // equal values have equal codes
    auto const now = p.store_value(k, result);
    count_elements<Isa>(left - k, totals, u, lanes::bits(old), now.code, old,
                        lanes::from_bits<F>(now.code), now.overflowed, gradient);
  } else {
    auto const before = p.codes(k);
    auto const now = p.template store<true>(k, result);
    count_elements<Isa>(left - k, totals, u, before, now.code, old, Parameter::decoded(now.code),
                        now.overflowed, gradient);
  }
}

LOWP_EXACT_END

}  // namespace simd

template <class Isa>
struct detail::lanes_of_report<update_report, simd::pack<float, Isa>>
    : std::type_identity<simd::update_lanes<Isa>> {};

}  // namespace lowp
