// SPDX-License-Identifier: Apache-2.0
// The smallest and largest magnitude of a tensor, and counts of elements lost now or later.
#pragma once

#include <lowp/measure/census/census_lanes.hpp>
#include <lowp/measure/measuring.hpp>

namespace lowp {

/// Counts and range of the elements of one or more tensors. All zero bytes are an empty range.
struct abs_range {
  std::uint64_t count = 0;     ///< elements seen
  std::uint64_t nan = 0;       ///< NaN elements
  std::uint64_t infinite = 0;  ///< infinite elements of either sign
  std::uint64_t overflow = 0;  ///< finite elements, beyond the target's largest value once rounded
  amax max_abs;                ///< largest of those that are not NaN; 0 if none was seen
  amin min_abs;  ///< smallest of those that are not NaN, zeros included; infinity if none was seen

  /// Returns true if no element is NaN or infinite, or overflows.
  LOWP_FN constexpr bool is_sound() const { return nan == 0 && infinite == 0 && overflow == 0; }

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(abs_range const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(infinite, other.infinite);
    atomics.add(overflow, other.overflow);
    max_abs.add(other.max_abs, atomics);
    min_abs.add(other.min_abs, atomics);
  }
};

/// An abs_range whose `overflow` is that of rounding to `To`. Operations add to it in place.
template <census_target To>
struct abs_range_report : abs_range {};

namespace detail {

template <census_target To, class F>
class abs_range_lanes {
  using U = lanes::word<F>;
  using M = lanes::mask<F>;

 public:
  LOWP_FN void add(F const& x) {
    U const a = lanes::hidden(lanes::magnitude(x));
    add(a, a);
  }
  LOWP_FN void add_masked(M const& is_element, F const& x) {
    U const a = lanes::hidden(lanes::magnitude(x));
    add(lanes::select(is_element, a, lanes::broadcast<U>(0)), lanes::select(is_element, a, none()));
  }

  LOWP_FN abs_range total(std::uint64_t count) const {
    abs_range all{count, unsound_.nan, unsound_.infinite, unsound_.finite, {}, {}};
    for (int i = 0; i < lane<U>::lanes; ++i) {
      all.max_abs += amax{lane<U>::at(largest_, i)};
      all.min_abs += amin{lanes::binary32_infinity - lane<U>::at(least_, i)};
    }
    return all;
  }

 private:
  /// Adds magnitudes, with zeros for no elements in `a` and with none() in `b`.
  LOWP_FN void add(U const& a, U const& b) {
    constexpr std::uint32_t border = borders_of<To>.overflow;
    U number = a;
    if (lanes::any(lanes::greater(a, lanes::broadcast<U>(border - 1)))) [[unlikely]] {
      unsound_.add(a, border);
      auto const is_nan = lanes::greater(a, lanes::broadcast<U>(lanes::binary32_infinity));
      number = lanes::select(is_nan, lanes::broadcast<U>(0), a);
    }
    largest_ = lanes::max(largest_, number);
    least_ = lanes::min(least_, b);
  }
  LOWP_FN static U none() { return lanes::broadcast<U>(lanes::binary32_infinity); }

  U largest_ = lanes::broadcast<U>(0), least_ = none();
  unsound_counts<U> unsound_;
};

template <census_target To, class F>
struct lanes_of_report<abs_range_report<To>, F> : std::type_identity<abs_range_lanes<To, F>> {};

template <class T>
using not_an_abs_range_report = fit<report_of_type<T, abs_range>>;

template <class Executor>
struct abs_range_of_operation : operation<Executor> {
  using calls = call<needs_readable<names::in>, needs<names::report, not_an_abs_range_report>>;

  template <readable S, census_target To>
  LOWP_HOST_FN void operator()(S&& in, abs_range_report<To>& report) const {
    run(this->executor, "abs_range_of", make<measuring>{}, &report, read("in", in));
  }
};

template <census_target To, class Executor, class S>
LOWP_HOST_FN abs_range abs_range_from(Executor const& executor, S&& in) {
  abs_range_report<To> report;
  abs_range_of_operation<Executor>{executor}(in, report);
  return report;
}

}  // namespace detail

}  // namespace lowp

namespace lowp::functions {

/// Returns the smallest and largest magnitude of `in`, and counts NaN, infinities and overflows in
/// `To`, exactly. Overflow is decided after rounding, as by `census`, which counts more.
///
/// @return     merges with the result of other ranges by +=
/// @tparam To  float, in which no finite float overflows; or a narrow type, but not float8_e8m0fnu
/// @param in   n elements, or any struct of the folder storage
/// @throws std::invalid_argument  a storage has parts of different sizes, or an invalid scale
template <census_target To = float, readable S>
[[nodiscard]] LOWP_HOST_FN abs_range abs_range_of(S&& in) {
  return detail::abs_range_from<To>(simd::this_thread{}, in);
}

}  // namespace lowp::functions

namespace lowp::simd {
#define LOWP_COMPILED_RANGE(part, T)                                          \
  LOWP_COMPILED_CALL(part, compiled_elements<detail::make<detail::measuring>, \
                                             abs_range_report<float>, operand<T, access::read>>)
LOWP_COMPILED_MEASURES(LOWP_COMPILED_RANGE)
#undef LOWP_COMPILED_RANGE
}  // namespace lowp::simd
