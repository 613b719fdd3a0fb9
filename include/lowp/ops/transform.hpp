// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/roles.hpp>

namespace lowp::detail {

template <class T>
using not_an_element_function = fit<std::is_class_v<std::remove_cvref_t<T>>>;

/// Adapts a function that returns its result to the form that a kernel calls.
template <class Function>
struct returned {
  Function function;

  LOWP_FN void operator()(auto& out, auto const&... in) const { out = function(in...); }
};

/// Says that a function takes a lane F for each range and returns an F.
template <class F, class Function, class... In>
concept maps_lanes =
    std::is_invocable_v<Function const&, std::conditional_t<true, F, In> const&...> &&
    std::same_as<F, std::remove_cvref_t<std::invoke_result_t<
                        Function const&, std::conditional_t<true, F, In> const&...>>>;

#if defined(__CUDA_ARCH__)  // there are no packs
using any_lanes = float;
#else
using any_lanes = simd::pack<float, simd::portable>;
#endif

/// Says that a function takes an element of each range. The host may not see a GPU's function.
template <class Executor, class Function, class... In>
concept takes_elements =
    sizeof...(In) != 0 && std::is_class_v<Function> && std::copy_constructible<Function> &&
    (!returns_values<Executor> ||
     (maps_lanes<float, Function, In...> && maps_lanes<any_lanes, Function, In...>));

struct because_the_function_does_not_return_lanes_of_the_type_that_it_takes_one_for_each_in;

/// Runs a function of your own: out[i] = round(function(in[i]...)).
///
/// `function` takes lanes of one type F and returns an F. Write it for any F with the functions of
/// lanes/lanes.hpp (fma, add, mul, select, ...): every backend and compiler flag gives the same
/// bits. A NaN result is the canonical one. An executor copies `function` and may call it on many
/// threads at once; it throws nothing.
template <class Executor>
struct transform_operation : operation<Executor> {
  using calls = call_unless<
      because_the_function_does_not_return_lanes_of_the_type_that_it_takes_one_for_each_in,
      needs<names::function, not_an_element_function>,
      needs<names::rounding, not_a_rounding_mode_of_ranges>,
      needs<names::out, neither_a_lasting_writable_range_of_float_or_a_narrow_type_nor_packed>,
      may_have<8, names::in, neither_a_range_of_float_or_a_narrow_type_nor_packed>>;

  template <class Function, range_rounding R, any_output Out, any_input... In>
    requires takes_elements<Executor, Function, In...>
  LOWP_HOST_FN void operator()(Function const& function, R rounding, Out&& out, In&&... in) const {
    run(this->executor, "transform", make<returned<Function>>{{function}}, no_report,
        write("out", out, rounding), read("in", in)...);
  }
};

}  // namespace lowp::detail

LOWP_ON_THIS_THREAD(transform)
