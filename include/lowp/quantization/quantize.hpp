// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/quantization/quantized.hpp>
#include <lowp/report/amax.hpp>

namespace lowp {

namespace detail {

/// Observes elements, but no NaN.
struct observing_numbers {
  template <class F>
  LOWP_FN F operator()(F const& x) const {
    return lanes::select(lanes::is_nan(x), lanes::broadcast<F>(0), x);
  }
};

/// Quantizes by a recipe: one pass, after one for the tensor's largest magnitude if the recipe
/// needs that and the call does not give it. A block has successive elements, so the columns of a
/// matrix are a multiple of the block. The codes have the bits of the package that the recipe is
/// named after, on every backend and number of threads.
///
/// @param in        n elements of float or a narrow type
/// @param out       n codes, and a scale for each block; its tensor_scale is written
/// @param recipe    of the namespace recipes
/// @param largest   optional: the tensor's largest magnitude, without NaN
/// @param rounding  nearest_even is the recipe's own rounding to nearest; a stochastic mode is
///                  keyed by the element's index
/// @param report    optional: adds counts
/// @throws std::invalid_argument  sizes differ, or ranges overlap
template <class Executor>
struct quantize_operation : operation<Executor> {
  template <any_input In, class T, int Block, class Scale, range_rounding R = nearest_even>
    requires(quantized<T, Block, Scale>::is_written)
  LOWP_HOST_FN void operator()(
      In&& in, quantized<T, Block, Scale>& out,
      quantization_recipe<typename block_codes<T>::element, Block, Scale> const& recipe,
      R rounding = {}) const {
    call(in, out, recipe, largest_of_tensor(in, recipe), rounding, nullptr);
  }
  template <any_input In, class T, int Block, class Scale, range_rounding R = nearest_even>
    requires(quantized<T, Block, Scale>::is_written)
  LOWP_HOST_FN void operator()(
      In&& in, quantized<T, Block, Scale>& out,
      quantization_recipe<typename block_codes<T>::element, Block, Scale> const& recipe, R rounding,
      quantization_report& report) const {
    call(in, out, recipe, largest_of_tensor(in, recipe), rounding, &report);
  }
  template <any_input In, class T, int Block, class Scale, range_rounding R = nearest_even>
    requires(quantized<T, Block, Scale>::is_written)
  LOWP_HOST_FN void operator()(
      In&& in, quantized<T, Block, Scale>& out,
      quantization_recipe<typename block_codes<T>::element, Block, Scale> const& recipe,
      amax const& largest, R rounding = {}) const {
    call(in, out, recipe, largest, rounding, nullptr);
  }
  template <any_input In, class T, int Block, class Scale, range_rounding R = nearest_even>
    requires(quantized<T, Block, Scale>::is_written)
  LOWP_HOST_FN void operator()(
      In&& in, quantized<T, Block, Scale>& out,
      quantization_recipe<typename block_codes<T>::element, Block, Scale> const& recipe,
      amax const& largest, R rounding, quantization_report& report) const {
    call(in, out, recipe, largest, rounding, &report);
  }

 private:
  template <class In, class T, int Block, class Scale, class Recipe, class R>
  LOWP_HOST_FN void call(In& in, quantized<T, Block, Scale>& out, Recipe const& recipe,
                         amax const& largest, R const& rounding,
                         quantization_report* report) const {
    auto const scales = tensor_scales_for(recipe.of_scale.rule, largest.value());
    with_rule<T, Block, Scale> target{
        out, {recipe.of_scale, recipe.of_element, recipe.ties, recipe.zeros, scales, report}};
    run(this->executor, "quantize", make<copy_element>{}, no_report,
        write("", target, rounding, overflow::saturate), read("in", in));
    out.tensor_scale = scales.value;
  }
  template <class In, class Recipe>
  LOWP_HOST_FN amax largest_of_tensor(In& in, Recipe const& recipe) const {
    amax largest;
    if (recipe.needs_tensor())
      run(this->executor, "quantize", make<observing_numbers>{}, &largest, read("in", in));
    return largest;
  }
};

/// Reads a quantized tensor: out[i] = round(codes[i] * scales[i / Block] * tensor_scale). The first
/// product is exact, the second is rounded to float.
///
/// @param in        n codes, and a scale for each block
/// @param out       n elements of float or a narrow type
/// @param rounding  a stochastic mode is keyed by the element's index
/// @throws std::invalid_argument  sizes differ, or ranges overlap
template <class Executor>
struct dequantize_operation : operation<Executor> {
  template <class T, int Block, class Scale, any_output Out, range_rounding R = nearest_even>
  LOWP_HOST_FN void operator()(quantized<T, Block, Scale> const& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    with_rule<T, Block, Scale> source{in, {}};
    source.rule.tensor.value = in.tensor_scale;
    run(this->executor, "dequantize", make<copy_element>{}, no_report,
        write("out", out, rounding, policy), read("", source));
  }
};

}  // namespace detail

inline constexpr detail::quantize_operation<simd::this_thread> quantize{};
inline constexpr detail::dequantize_operation<simd::this_thread> dequantize{};

}  // namespace lowp
