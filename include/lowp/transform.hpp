// SPDX-License-Identifier: Apache-2.0
// transform: an operation of your own at the speed of the library's.
#pragma once

#include <lowp/ops/transform.hpp>

namespace lowp {

namespace detail {

/// Runs a function of your own: out[i] = round(function(in[i]...)).
///
/// `function` takes lanes of one type F and returns an F. Write it for any F with the functions of
/// lanes/lanes.hpp (fma, add, mul, select, ...): every backend and compiler flag gives the same
/// bits. A NaN result is the canonical one. An executor copies `function` and may call it on many
/// threads at once; it throws nothing.
///
/// @param out  n elements; may be the storage of an `in` whose elements have equal size
/// @param in   n elements each
/// @throws std::invalid_argument  sizes differ, or `out` overlaps an `in` in another way
template <class Executor>
struct transform_operation : operation<Executor> {
  using calls = call<
      needs<names::function, not_an_element_function>,
      needs<names::rounding, not_a_rounding_mode_of_ranges>, needs_output<names::out>,
      may_have<8, names::in, not_a_range_of_float_or_a_narrow_type_such_as_std_span_x_data_x_size>>;

  template <class Function, range_rounding R, output Out, input... In>
  LOWP_HOST_FN void operator()(Function const& function, R rounding, Out&& out, In&&... in) const {
    this->executor.refuse_if(transform_on(this->executor, function, rounding, out, in...));
  }
};

}  // namespace detail

inline constexpr detail::callable<detail::transform_operation<simd::this_thread>> transform{};

}  // namespace lowp
