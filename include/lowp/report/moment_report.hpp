// SPDX-License-Identifier: Apache-2.0
// Moments of an optimizer that cannot move.
#pragma once

#include <lowp/report/lanes.hpp>

namespace lowp {

/// Counts and sums over the elements of a moment. Each step computed w for it in float, and changed
/// it from `old` to `now`. All zero bytes are an empty report.
template <class Sum>
struct basic_moment_counts {
  std::uint64_t wished = 0;     ///< w - `old` is not 0
  std::uint64_t stalled = 0;    ///< of these, the stored code did not change
  std::uint64_t nonfinite = 0;  ///< w or now - w is NaN or at least 2^120; in no sum below
  Sum error;                    ///< the sum of now - w
  Sum size;                     ///< the sum of |w|

  /// Returns the share of elements that stayed although their step moved them; 0 if none moved.
  LOWP_FN double stalled_share() const { return detail::quotient(stalled, wished, 0); }
  /// Returns the relative bias that rounding adds in a step. A moment of decay beta forgets only
  /// 1 - beta a step. So a lasting bias b makes it b / (1 - beta) too large.
  LOWP_FN double bias() const { return detail::quotient(error.value(), size.value(), 0); }

  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_moment_counts<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(wished, other.wished);
    atomics.add(stalled, other.stalled);
    atomics.add(nonfinite, other.nonfinite);
    detail::merge(error, other.error, atomics);
    detail::merge(size, other.size, atomics);
  }
};

/// The moments of an update. `update` takes it in place of an update_report if no moment is in
/// blocks. A second moment in bfloat16, rounded to nearest, cannot decay by a factor of 0.999: half
/// a gap is farther. Here it shows, and a sum over the steps shows how far it lies from the truth.
template <class Sum>
struct basic_moment_report {
  std::uint64_t count = 0;  ///< elements seen
  /// The moments in the order of the call: m and v, or the momentum alone.
  basic_moment_counts<Sum> first, second;

  template <class Other, class Atomics = detail::alone>
  LOWP_FN void add(basic_moment_report<Other> const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    first.add(other.first, atomics);
    second.add(other.second, atomics);
  }
};
using moment_counts = basic_moment_counts<exact_sum>;
using moment_report = basic_moment_report<exact_sum>;

namespace detail {

LOWP_EXACT_BEGIN

/// The sum of one GPU thread: it is short, and compensation would take registers that it lacks.
struct sum_of_thread {
  double all = 0;

  LOWP_FN void add(double x) { all = lanes::add(all, x); }
  LOWP_FN void add_to(compensated_sum& total) const { total += compensated_sum{all, 0}; }
};

template <class F>
class moment_lanes {
  using U = lanes::word<F>;
  using D = lanes::wide<F>;
  using M = lanes::mask<F>;
  using sum = std::conditional_t<std::is_same_v<F, float>, sum_of_thread, compensated_lanes<D>>;

  struct sums {
    lane_counter<F> wished = 0, stalled = 0, nonfinite = 0;
    F error = lanes::broadcast<F>(0), size = lanes::broadcast<F>(0);  // of a batch
    sum errors, sizes;
  };

 public:
  static constexpr bool sees_moments = true;

  /// Counts one pack of moment number Moment. It went from the codes `before` and the values `old`
  /// to the codes `after` and the values `now`; `exact` is not rounded yet.
  template <int Moment>
  LOWP_FN void add(U const& before, U const& after, F const& old, F const& exact, F const& now) {
    sums& all = Moment == 0 ? first_ : second_;
    U const change = lanes::hidden(lanes::magnitude(lanes::sub(exact, old)));
    M const is_wished = lanes::greater(change, lanes::broadcast<U>(0));
    all.wished += lanes::count(is_wished);
    all.stalled += lanes::count(lanes::mask_and(lanes::equal(before, after), is_wished));
    F error = lanes::sub(now, exact);
    F size = lanes::from_bits<F>(lanes::magnitude(exact));
    M const is_large =
        lanes::greater(lanes::max(lanes::magnitude(error), lanes::bits(size)), largest_summed_);
    if (lanes::any(is_large)) {
      all.nonfinite += lanes::count(is_large);
      M const is_summed = lanes::mask_not(is_large);
      error = only(is_summed, error);
      size = only(is_summed, size);
    }
    all.error = lanes::add(all.error, error);
    all.size = lanes::add(all.size, size);
  }
  /// Counts one pack in which only some lanes are elements. The others stay what they are.
  template <int Moment>
  LOWP_FN void add_masked(M const& is_element, U const& before, U const& after, F const& old,
                          F const& exact, F const& now) {
    add<Moment>(before, after, only(is_element, old), only(is_element, exact),
                only(is_element, now));
  }
  LOWP_FN void end_batch() {
    end_batch(first_);
    end_batch(second_);
  }

  LOWP_FN basic_moment_report<compensated_sum> total(std::uint64_t count) const {
    return {count, counts(first_), counts(second_)};
  }

 private:
  LOWP_FN static void end_batch(sums& all) {
    all.errors.add(lanes::widen(all.error));
    all.sizes.add(lanes::widen(all.size));
    all.error = all.size = lanes::broadcast<F>(0);
  }
  LOWP_FN static basic_moment_counts<compensated_sum> counts(sums const& all) {
    basic_moment_counts<compensated_sum> result{all.wished, all.stalled, all.nonfinite, {}, {}};
    all.errors.add_to(result.error);
    all.sizes.add_to(result.size);
    return result;
  }

  // A constant would be made anew for every pack.
  U largest_summed_ = lanes::broadcast<U>(lanes::bits(0x1p120f) - 1);
  sums first_, second_;  // an array would stay in memory
};

LOWP_EXACT_END

template <class F>
struct lanes_of_report<moment_report, F> : std::type_identity<moment_lanes<F>> {};

}  // namespace detail

}  // namespace lowp
