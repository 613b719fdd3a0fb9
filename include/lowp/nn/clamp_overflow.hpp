// SPDX-License-Identifier: Apache-2.0
// T5's clamp of hidden states that have overflowed: one pass finds overflows, another one clamps.
#pragma once

#include <lowp/format/math.hpp>
#include <lowp/measure/census/census_report.hpp>
#include <lowp/measure/measuring.hpp>

namespace lowp {

/// A format for clamp_overflow: it overflows to infinity, and 1000 is a small part of its range.
template <class T>
concept clampable = element<T> && std::numeric_limits<T>::has_infinity &&
                    (std::same_as<T, float> || std::numeric_limits<T>::max_exponent >= 13);

/// The largest finite value less 1000, to nearest in T: 64512 in float16, whose values from 32768
/// to 65504 are 32 apart. In float8_e5m2, bfloat16 and float it is the largest finite value itself.
template <clampable T>
inline constexpr T clamp_limit =
    convert<T>(static_cast<double>(std::numeric_limits<T>::max()) - 1000);

/// Counts over the elements of a range before a clamp. All zero bytes are an empty report.
struct clamp_report {
  std::uint64_t count = 0;     ///< elements seen
  std::uint64_t nan = 0;       ///< NaN elements, which stay
  std::uint64_t infinite = 0;  ///< infinite elements of either sign
  std::uint64_t beyond = 0;    ///< finite elements of greater magnitude than clamp_limit

  /// Returns the number of changed elements: 0 if none was infinite.
  LOWP_FN constexpr std::uint64_t clamped() const { return infinite == 0 ? 0 : infinite + beyond; }

  template <class Atomics = detail::alone>
  LOWP_FN constexpr void add(clamp_report const& other, Atomics const& atomics = {}) {
    atomics.add(count, other.count);
    atomics.add(nan, other.nan);
    atomics.add(infinite, other.infinite);
    atomics.add(beyond, other.beyond);
  }
};

/// A clamp_report of elements of T. Operations add to it in place.
template <clampable T>
struct clamp_report_of : clamp_report {};

namespace detail {

template <clampable T, class F>
class clamp_lanes {
  static constexpr std::uint32_t limit = lanes::bits(convert<float>(clamp_limit<T>));

 public:
  LOWP_FN void add(F const& x) { unsound_.add(lanes::magnitude(x), limit + 1); }
  LOWP_FN clamp_report total(std::uint64_t count) const {
    return {count, unsound_.nan, unsound_.infinite, unsound_.finite};
  }

 private:
  unsound_counts<lanes::word<F>> unsound_;
};

template <clampable T, class F>
struct lanes_of_report<clamp_report_of<T>, F> : std::type_identity<clamp_lanes<T, F>> {};

template <class X>
concept clampable_output = output<X> && clampable<element_of<X>>;

template <class T>
using not_a_clamp_report = fit<report_of_type<T, clamp_report>>;
template <class T>
using not_a_writable_range_of_a_format_with_infinity_such_as_float16 = fit<clampable_output<T>>;

struct clamping {
  float limit;
  bool is_idle;  ///< true if a kernel changes nothing, not a bit of a NaN

  template <class F>
  LOWP_FN void operator()(F& x) const {
    using U = lanes::word<F>;
    U const most = lanes::broadcast<U>(lanes::bits(limit));
    U const bounded =
        lanes::min(lanes::magnitude(x), most) | (lanes::bits(x) & lanes::binary32_sign);
    x = lanes::select(lanes::is_nan(x), x, lanes::from_bits<F>(lanes::hidden(bounded)));
  }
};

/// Reads the report only when the clamp runs, so that a GPU need not wait for the report.
template <clampable T>
struct make_clamping {
  static constexpr float limit = convert<float>(clamp_limit<T>);

  clamp_report_of<T> const* report;

  LOWP_FN clamping operator()() const { return {limit, report->infinite == 0}; }
  clamp_report_of<T> const* stored_at() const { return report; }
};

/// Clamps x if any element is infinite: each magnitude above clamp_limit, finite or not, becomes
/// clamp_limit and keeps its sign. NaN stays NaN. Returns the counts:
///
///     clamp_report const counts = clamp_overflow(x)
///
/// T5Block does this to float16 hidden states after each of its layers (huggingface/transformers,
/// models/t5/modeling_t5.py). The limit leaves room for the next layer's residual.
///
/// @param x       n elements, changed in place
/// @param report  replaces the returned one; must be empty, because the clamp reads it
template <class Executor>
struct clamp_overflow_operation : operation<Executor> {
  using calls =
      call<needs<names::x, not_a_writable_range_of_a_format_with_infinity_such_as_float16>,
           may_have<1, names::report, not_a_clamp_report>>;

  template <clampable_output X>
    requires(!returns_values<Executor>)
  LOWP_HOST_FN void operator()(X&& x, clamp_report_of<element_of<X>>& report) const {
    find(x, report);
    clamp(x, report);
  }
  template <clampable_output X>
    requires returns_values<Executor>
  LOWP_HOST_FN clamp_report operator()(X&& x) const {
    clamp_report_of<element_of<X>> report;
    find(x, report);
    if (report.infinite != 0) clamp(x, report);
    return report;
  }

 private:
  LOWP_HOST_FN void find(auto& x, auto& report) const {
    run(this->executor, "clamp_overflow", make<measuring>{}, &report, read("x", x));
  }
  template <class X>
  LOWP_HOST_FN void clamp(X& x, clamp_report_of<element_of<X>> const& report) const {
    run(this->executor, "clamp_overflow", make_clamping<element_of<X>>{&report}, no_report,
        read_write("x", x));
  }
};

}  // namespace detail

}  // namespace lowp

LOWP_ON_THIS_THREAD(clamp_overflow)
