// SPDX-License-Identifier: Apache-2.0
// Recipes of block quantization as data: a line for each, named after the package and the version
// whose bits it gives.
#pragma once

#include <lowp/quantization/block_scales.hpp>

namespace lowp {

/// The rounding of a scaled element to nearest: the choice between two codes that are equally near.
enum class halves : std::uint8_t {
  even,
  toward_zero,
  even_of_sum,  ///< the package adds 0.5 in float, so the number below the least half rounds up
  away_of_sum,  ///< likewise
};

/// The code of an element that rounds to zero.
enum class zero_code : std::uint8_t {
  with_sign,       ///< the element's sign, also of -0
  plus,            ///< +0
  plus_if_exact,   ///< +0 if the scaled element is zero, else its sign
  minus_if_exact,  ///< -0 if the scaled element is zero, else its sign
};

/// The way from an element to its code.
enum class element_rule : std::uint8_t {
  multiply,  ///< rounds x * factor
  divide,    ///< rounds x / factor
  search,    ///< takes the first code c with the least |c * factor - x|, each rounded to float;
             ///< modes other than nearest_even divide
};

/// The choice between two scales, which map the largest magnitude to 4 and to 6. The sum of the
/// errors or of their squares decides.
enum class four_over_six : std::uint8_t { no, magnitudes, squares };

/// A recipe for elements T in blocks of Block, with scales of the type Scale.
template <class T, int Block, class Scale>
struct quantization_recipe {
  using element = T;
  using scale = Scale;
  static constexpr int block = Block;

  char const* name;
  detail::power_rule of_scale{block_rule::te, 0};
  element_rule of_element = element_rule::multiply;
  halves ties = halves::even;
  zero_code zeros = zero_code::with_sign;
  int rows = 1;  ///< of a block; 16, 32 or 128 for tiles
  four_over_six choice = four_over_six::no;
  float most = 448;  ///< the largest scale, which the tensor's scale leaves room for

  LOWP_FN constexpr bool needs_choice() const { return rows != 1 || choice != four_over_six::no; }

  /// Returns true if scales depend on the tensor's largest magnitude.
  LOWP_FN constexpr bool needs_tensor() const { return detail::needs_tensor(of_scale.rule); }
};

template <class T>
using mx_recipe = quantization_recipe<T, 32, float8_e8m0fnu>;
using nvfp4_ue5m3_recipe = quantization_recipe<float4_e2m1fn, 16, float8_ue5m3>;
using nvfp4_recipe = quantization_recipe<float4_e2m1fn, 16, float8_e4m3fn>;
template <class T>
using float_scaled_recipe = quantization_recipe<T, 128, float>;

namespace recipes {

// clang-format off
inline constexpr nvfp4_recipe
  te_2_20_nvfp4                 {"te_2_20_nvfp4_1x16",            {block_rule::te, 0}},
  te_2_20_nvfp4_16x16           {"te_2_20_nvfp4_16x16",           {block_rule::te, 0}, {}, {}, {}, 16},
  te_2_20_nvfp4_4over6_mae_448       {"te_2_20_nvfp4_1x16_4over6_mae_448",  {block_rule::te, 0}, {}, {}, {}, 1, four_over_six::magnitudes},
  te_2_20_nvfp4_4over6_mae_256       {"te_2_20_nvfp4_1x16_4over6_mae_256",  {block_rule::te, 0}, {}, {}, {}, 1, four_over_six::magnitudes, 256},
  te_2_20_nvfp4_4over6_mse_448       {"te_2_20_nvfp4_1x16_4over6_mse_448",  {block_rule::te, 0}, {}, {}, {}, 1, four_over_six::squares},
  te_2_20_nvfp4_4over6_mse_256       {"te_2_20_nvfp4_1x16_4over6_mse_256",  {block_rule::te, 0}, {}, {}, {}, 1, four_over_six::squares, 256},
  te_2_20_nvfp4_16x16_4over6_mae_448 {"te_2_20_nvfp4_16x16_4over6_mae_448", {block_rule::te, 0}, {}, {}, {}, 16, four_over_six::magnitudes},
  te_2_20_nvfp4_16x16_4over6_mae_256 {"te_2_20_nvfp4_16x16_4over6_mae_256", {block_rule::te, 0}, {}, {}, {}, 16, four_over_six::magnitudes, 256},
  te_2_20_nvfp4_16x16_4over6_mse_448 {"te_2_20_nvfp4_16x16_4over6_mse_448", {block_rule::te, 0}, {}, {}, {}, 16, four_over_six::squares},
  te_2_20_nvfp4_16x16_4over6_mse_256 {"te_2_20_nvfp4_16x16_4over6_mse_256", {block_rule::te, 0}, {}, {}, {}, 16, four_over_six::squares, 256},
  torchao_main_nvfp4_training   {"torchao_main_nvfp4_training",   {block_rule::te, 0}},
  torchao_0_18_nvfp4_two_level  {"torchao_0_18_nvfp4_two_level",  {block_rule::torchao_two_level, 0}},
  torchao_0_18_nvfp4_one_level  {"torchao_0_18_nvfp4_one_level",  {block_rule::torchao_one_level, 0}},
  compressed_tensors_0_20_nvfp4 {"compressed_tensors_0_20_nvfp4", {block_rule::compressed_tensors, 0}, element_rule::divide, {}, zero_code::plus_if_exact},
  compressed_tensors_0_20_nvfp4_bfloat16 {"compressed_tensors_0_20_nvfp4_bfloat16", {.rule = block_rule::compressed_tensors, .type = detail::computed_in::bfloat16}, element_rule::divide, {}, zero_code::plus_if_exact},
  compressed_tensors_0_20_nvfp4_float16 {"compressed_tensors_0_20_nvfp4_float16", {.rule = block_rule::compressed_tensors, .type = detail::computed_in::float16}, element_rule::divide, {}, zero_code::plus_if_exact},
  modelopt_0_47_nvfp4           {"modelopt_0_47_nvfp4",           {block_rule::modelopt, 0}, element_rule::divide, {}, zero_code::plus_if_exact},
  ggml_nvfp4                    {"ggml_nvfp4",                    {block_rule::ggml, 0}, element_rule::search, {}, zero_code::plus},
  nvfp4_unbiased                {"nvfp4_unbiased",                {block_rule::upward, 0}, element_rule::divide};
inline constexpr nvfp4_ue5m3_recipe
  nvfp4_ue5m3_sixth             {"nvfp4_ue5m3_sixth",             {block_rule::sixth, 0}, element_rule::divide};
template <class T> inline constexpr mx_recipe<T> te_2_20_mx         {"te_2_20_mx",         {block_rule::ceil, 0}};
template <class T> inline constexpr mx_recipe<T> torchao_0_18_floor {"torchao_0_18_floor", {block_rule::carry, 0, {}, 1}};
template <class T> inline constexpr mx_recipe<T> torchao_0_18_ceil  {"torchao_0_18_ceil",  {block_rule::carry, 0x7fffff, {}, 1}};
template <class T> inline constexpr mx_recipe<T> torchao_0_18_even  {"torchao_0_18_even",  {block_rule::carry, detail::half_place<T>, {}, 1}};
template <class T> inline constexpr mx_recipe<T> torchao_0_18_rceil {"torchao_0_18_rceil", {block_rule::ceil_log, 0, {}, 0, true}};
template <class T> inline constexpr mx_recipe<T> torchao_0_18_rceil_32x32 {"torchao_0_18_rceil_32x32", {block_rule::ceil_log, 0, {}, 0, true}, {}, {}, {}, 32};
template <class T> inline constexpr mx_recipe<T> torchao_main_floor {"torchao_main_floor", {block_rule::carry, 0, detail::infinite_scale::is_nan}};
template <class T> inline constexpr mx_recipe<T> torchao_main_ceil  {"torchao_main_ceil",  {block_rule::carry, 0x7fffff, detail::infinite_scale::is_nan}};
template <class T> inline constexpr mx_recipe<T> torchao_main_even  {"torchao_main_even",  {block_rule::carry, detail::half_place<T>, detail::infinite_scale::is_nan_rounded}};
template <class T> inline constexpr mx_recipe<T> torchao_main_rceil {"torchao_main_rceil", {block_rule::ceil, 0, detail::infinite_scale::is_nan}};
template <class T> inline constexpr mx_recipe<T> microxcaling_nearest{"microxcaling_nearest",{block_rule::floor_log, 0, detail::infinite_scale::is_nan}, {}, halves::away_of_sum, zero_code::plus_if_exact};
template <class T> inline constexpr mx_recipe<T> microxcaling_even  {"microxcaling_even", {block_rule::floor_log, 0, detail::infinite_scale::is_nan}, {}, halves::even_of_sum, zero_code::plus_if_exact};
inline constexpr mx_recipe<float4_e2m1fn>
  te_2_20_mxfp4                 {"te_2_20_mxfp4",                 {block_rule::ceil_log, 0}},
  compressed_tensors_0_20_mxfp4 {"compressed_tensors_0_20_mxfp4", {block_rule::carry, 1u << 21, detail::infinite_scale::is_one_rounded}, {}, {}, zero_code::plus_if_exact},
  compressed_tensors_0_20_mxfp4_bfloat16 {"compressed_tensors_0_20_mxfp4_bfloat16", {block_rule::carry, 1u << 21, detail::infinite_scale::is_one_rounded, 0, false, false, detail::computed_in::bfloat16}, {}, {}, zero_code::plus_if_exact},
  modelopt_0_47_mxfp4           {"modelopt_0_47_mxfp4",           {block_rule::ceil_log, 0, detail::infinite_scale::is_zero}, {}, halves::toward_zero, zero_code::minus_if_exact},
  ggml_mxfp4                    {"ggml_mxfp4",                    {block_rule::floor_log, 0, {}, 0, false, true}, element_rule::search, {}, zero_code::plus};
inline constexpr float_scaled_recipe<float8_e4m3fn>
  torchao_0_18_float8_1x128     {"torchao_0_18_float8_1x128",     {block_rule::reciprocal, 0}},
  torchao_0_18_float8_128x128   {"torchao_0_18_float8_128x128",   {block_rule::reciprocal, 0}, {}, {}, {}, 128},
  compressed_tensors_0_20_fp8_1x128   {"compressed_tensors_0_20_fp8_1x128",   {block_rule::quotient, 0}, element_rule::divide},
  compressed_tensors_0_20_fp8_1x128_bfloat16 {"compressed_tensors_0_20_fp8_1x128_bfloat16", {.rule = block_rule::quotient, .type = detail::computed_in::bfloat16}, element_rule::divide},
  compressed_tensors_0_20_fp8_1x128_float16  {"compressed_tensors_0_20_fp8_1x128_float16",  {.rule = block_rule::quotient, .type = detail::computed_in::float16}, element_rule::divide},
  compressed_tensors_0_20_fp8_128x128 {"compressed_tensors_0_20_fp8_128x128", {block_rule::quotient, 0}, element_rule::divide, {}, {}, 128},
  compressed_tensors_0_20_fp8_128x128_bfloat16 {"compressed_tensors_0_20_fp8_128x128_bfloat16", {.rule = block_rule::quotient, .type = detail::computed_in::bfloat16}, element_rule::divide, {}, {}, 128},
  compressed_tensors_0_20_fp8_128x128_float16  {"compressed_tensors_0_20_fp8_128x128_float16",  {.rule = block_rule::quotient, .type = detail::computed_in::float16}, element_rule::divide, {}, {}, 128};
inline constexpr float_scaled_recipe<std::int8_t>
  compressed_tensors_0_20_int8  {"compressed_tensors_0_20_int8_1x128", {block_rule::quotient, 0}, element_rule::divide},
  compressed_tensors_0_20_int8_bfloat16 {"compressed_tensors_0_20_int8_1x128_bfloat16", {.rule = block_rule::quotient, .type = detail::computed_in::bfloat16}, element_rule::divide},
  compressed_tensors_0_20_int8_float16  {"compressed_tensors_0_20_int8_1x128_float16",  {.rule = block_rule::quotient, .type = detail::computed_in::float16}, element_rule::divide};
// clang-format on

}  // namespace recipes

namespace detail {

LOWP_EXACT_BEGIN

/// Returns the magnitude of the first code c with the least |c * s - x|, for x without a sign.
template <class T, class F>
LOWP_FN lanes::word<F> nearest_by_search(F const& x, F const& s) {
  using namespace lanes;
  using U = word<F>;
  U best = broadcast<U>(0), error = bits(x);
  for (std::uint32_t c = 1; c <= element_format<T>.max_code(); ++c) {
    F const value = broadcast<F>(from_bits<float>(detail::decode<element_format<T>>(c)));
    U const e = lanes::magnitude(sub(mul(value, s), x));
    auto const is_less = greater(error, e);
    best = select(is_less, broadcast<U>(c), best);
    error = select(is_less, e, error);
  }
  return best;
}

/// Returns the code of an element, scaled by the factor.
template <class T, class F, class R, class Recipe>
LOWP_FN auto code_by(Recipe const& recipe, F const& x, F const& factor,
                     lanes::word<F> const& random, R const& rounding,
                     special_results<lanes::word<F>> const& results) {
  using namespace lanes;
  using U = word<F>;
  constexpr format f = element_format<T>;
  U const zero = broadcast<U>(0), sign = broadcast<U>(f.sign_mask());
  constexpr bool is_to_nearest = std::is_same_v<R, nearest_even>;
  bool const searches = is_to_nearest && recipe.of_element == element_rule::search;
  bool const multiplies = searches || recipe.of_element == element_rule::multiply;
  F scaled = multiplies ? mul(x, factor) : div(x, factor);
  if (recipe.of_scale.rule != block_rule::compressed_tensors)  // its factor is a float
    scaled = rounded_as(recipe.of_scale.type, scaled);
  encoded<U, mask<F>> result;
  if (!is_to_nearest || recipe.ties == halves::even) {
    result = encode<f>(bits(scaled), random, rounding, results);
  } else {
    constexpr auto half =
        static_cast<std::uint32_t>(f.min_exponent() - f.significand_bits - 1 + 127) << 23;
    U const a = lanes::magnitude(scaled);
    U const b =
        recipe.ties == halves::toward_zero  // the halves are none then
            ? bits(scaled) - select(equal(a, zero), zero, broadcast<U>(1))
            : bits(scaled) + select(equal(a, broadcast<U>(half - 1)), broadcast<U>(2), zero);
    result = recipe.ties == halves::even_of_sum ? encode<f>(b, random, nearest_even{}, results)
                                                : encode<f>(b, random, nearest_away{}, results);
  }
  if (searches)
    result.code =
        nearest_by_search<T>(absolute(x), factor) | (bits(x) >> (32 - f.bits()) & f.sign_mask());
  if (recipe.zeros == zero_code::with_sign) return result;
  bool const is_plus = recipe.zeros == zero_code::plus;
  auto const is_changed = is_plus ? equal(result.code, sign) : lanes::is_zero(scaled);
  U const other = recipe.zeros == zero_code::minus_if_exact ? sign : zero;
  result.code = select(is_changed, other, result.code);
  return result;
}

LOWP_EXACT_END

}  // namespace detail

}  // namespace lowp
