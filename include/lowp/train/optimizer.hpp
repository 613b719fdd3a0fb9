// SPDX-License-Identifier: Apache-2.0
// An optimizer is one class. The update takes any aggregate of hyper-parameters with these members:
//
//     static constexpr char const* name          for error texts
//     static constexpr char const* ranges[]      names of p and g in error texts; may be left out
//     static constexpr char const* moments[]     names of the moments, in the order of arguments
//     static constexpr int least_moments         a step may leave out the moments after these
//     uses_moments()                             false: a step does not touch the moments
//     check_optimizer(optimizer, step, moments)  a function beside it: returns the error text of
//                                                wrong hyper-parameters
//     element                                    element(optimizer, step) computes what a call
//                                                needs once; element(p, g, moments...) takes a
//                                                step in lanes and returns the update
//
// Each statement of an element function is one fused multiply-add or one single operation.
#pragma once

#include <lowp/lanes/lanes.hpp>
#include <lowp/ops/number.hpp>

#include <span>

namespace lowp {

template <class O>
concept optimizer = requires(O const& o) {
  O::name;
  typename O::element;
  { o.lr } -> std::convertible_to<double>;
  { o.uses_moments() } -> std::same_as<bool>;
};

namespace detail {

/// The names of the parameter's and of the gradient's range.
template <class O>
inline constexpr char const* const ranges_of[] = {"p", "g"};
template <class O>
  requires requires { O::ranges; }
inline constexpr auto const& ranges_of<O> = O::ranges;

/// An optimizer whose step may take N moments.
template <class O, int N>
concept optimizer_with =
    optimizer<O> && N >= O::least_moments && N <= static_cast<int>(std::size(O::moments));

/// Returns the truth even if the caller's environment treats subnormals as zero.
LOWP_FN bool is_zero(double x) { return __builtin_bit_cast(std::uint64_t, x) << 1 == 0; }

inline namespace LOWP_SHARED {

/// Returns the error text of a step or of hyper-parameters, which all become floats.
error_text check_hyper_parameters(char const* optimizer, std::uint64_t step,
                                  std::initializer_list<given_number> all,
                                  char const* call = "update");

#if defined(LOWP_BODIES)
LOWP_NOINLINE LOWP_LIB error_text check_hyper_parameters(char const* optimizer, std::uint64_t step,
                                                         std::initializer_list<given_number> all,
                                                         char const* call) {
  error_text wrong;
  if (step == 0)
    wrong = "step is 0, and counts from 1";
  else if (step > std::uint64_t{1} << 63)
    wrong = joined_text({"step is ", step, ", or -", 0 - step, ", and counts from 1"});
  else
    wrong = check_numbers("", all);
  return wrong.empty() ? wrong : joined_text({call, ": ", optimizer, ": ", wrong});
}
#endif

}  // namespace LOWP_SHARED

inline namespace LOWP_UNIT {

/// Returns x, a subnormal too, for a caller that holds a default_environment.
LOWP_OPAQUE inline double as_double(float x) { return lane<float>::widen(x); }

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
