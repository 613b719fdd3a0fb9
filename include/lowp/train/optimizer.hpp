// SPDX-License-Identifier: Apache-2.0
// An optimizer is one class. The update takes any aggregate of hyper-parameters with these members:
//
//     static constexpr char const* name          for error texts
//     static constexpr char const* moments[]     names of the moments, in the order of arguments
//     static constexpr int least_moments         a step may leave out the moments after these
//     uses_moments()                             false: a step does not touch the moments
//     check_optimizer(optimizer, step, moments)  a function beside it: returns the error text of
//                                                wrong hyper-parameters
//     element                                    element(optimizer, step) computes what a call
//                                                needs once; element(p, g, moments...) takes a
//                                                step in lanes and returns the update
//
// Each statement of an element function is one fused multiply-add or one single operation: a
// compiler has nothing to contract.
#pragma once

#include <lowp/base/error_text.hpp>
#include <lowp/base/text.hpp>
#include <lowp/format/unpack.hpp>
#include <lowp/lanes/lanes.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace lowp {

template <class O>
concept optimizer = requires(O const& o) {
  O::name;
  typename O::element;
  { o.lr } -> std::convertible_to<double>;
  { o.uses_moments() } -> std::same_as<bool>;
};

namespace detail {

/// An optimizer whose step may take N moments.
template <class O, int N>
concept optimizer_with =
    optimizer<O> && N >= O::least_moments && N <= static_cast<int>(std::size(O::moments));

/// Returns the truth even if the caller's environment treats subnormals as zero.
LOWP_FN bool is_zero(double x) { return __builtin_bit_cast(std::uint64_t, x) << 1 == 0; }

inline namespace LOWP_UNIT {

/// A number, finite and at least 0 unless a flag says otherwise.
struct hyper_parameter {
  char const* name;
  double value;
  bool is_below_one = false, may_be_negative = false, is_above_zero = false;
};

/// Returns the error text of the first number that is wrong, empty if all are right.
LOWP_COLD inline error_text check_numbers(std::string const& prefix,
                                          std::initializer_list<hyper_parameter> all) {
  for (hyper_parameter const& h : all) {
    unpacked const value = unpack(h.value);  // -ffast-math assumes no NaN or infinity
    bool const is_number = !value.nan && !value.infinite, is_zero = value.significand == 0;
    if (is_number && (h.may_be_negative || !value.negative || is_zero) &&
        !(h.is_below_one && value.exponent >= 0) && !(h.is_above_zero && is_zero))
      continue;
    return prefix + h.name + " is " + text_of(h.value) +
           (h.is_below_one      ? ", not in [0, 1)"
            : h.may_be_negative ? ", not finite"
            : h.is_above_zero   ? ", not finite and above 0"
                                : ", not finite and at least 0");
  }
  return {};
}

LOWP_COLD inline error_text check_hyper_parameters(char const* optimizer, std::uint64_t step,
                                                   std::initializer_list<hyper_parameter> all,
                                                   char const* call = "update") {
  std::string const prefix = std::string(call) + ": " + optimizer + ": ";
  if (step == 0) return prefix + "step is 0, and counts from 1";
  if (step > std::uint64_t{1} << 63)
    return prefix + "step is " + text_of(step) + ", or " +
           text_of(static_cast<std::int64_t>(step)) + ", and counts from 1";
  return check_numbers(prefix, all);
}

}  // namespace LOWP_UNIT

LOWP_EXACT_BEGIN

LOWP_FN float narrowed(double x) { return lane<float>::narrowed(x); }
/// Returns the value that the element function sees.
LOWP_FN double as_float(double x) { return lane<float>::widen(narrowed(x)); }

/// Makes the element function in code that ignores the caller's floating-point flags.
template <class Element, class Settings>
struct make_step {
  Settings settings;
  std::uint64_t step;
  LOWP_FN Element operator()() const { return Element(settings, step); }
};

LOWP_EXACT_END

}  // namespace detail

}  // namespace lowp
