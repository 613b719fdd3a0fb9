// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lowp/ops/number.hpp>
#include <lowp/quantization/hadamard.hpp>
#include <lowp/quantization/tile_scales.hpp>
#include <lowp/report/amax.hpp>

#include <optional>

namespace lowp {

struct quantize_options {
  std::size_t columns = 0;                ///< of a matrix, in rows; tiles need it
  std::optional<amax> largest{};          ///< the tensor's largest magnitude, if known; see amax
  quantization_report* report = nullptr;  ///< counts are added to it
  amax const* largest_at = nullptr;       ///< where `largest` is, if in memory; it has precedence
};

namespace detail {

struct observed_element {
  LOWP_FN auto operator()(auto const& x) const { return x; }
};

inline namespace LOWP_UNIT {

template <class Recipe>
error_text wrong_shape(char const* function, Recipe const& recipe, std::size_t size,
                       std::size_t columns) {
  auto const rows = static_cast<std::size_t>(recipe.rows);
  if (recipe.choice != four_over_six::no) {
    constexpr bool has_e4m3 = std::is_same_v<typename Recipe::scale, float8_e4m3fn>;
    if (!has_e4m3 || recipe.of_scale.rule != block_rule::te)
      return joined_text(
          {function, ": ", recipe.name, " chooses between scales that are not by block_rule::te"});
    if (rows != 1 && rows != 16)
      return joined_text(
          {function, ": ", recipe.name, " chooses a scale for ", rows, " rows, not for 1 or 16"});
  }
  if (rows == 1 && columns == 0 && (!recipe.needs_choice() || size % Recipe::block == 0)) return {};
  if (columns != 0 && rows != 0 && columns % Recipe::block == 0 && size % columns == 0 &&
      size / columns % rows == 0)
    return {};
  return joined_text(
      {function, ": ", size, " elements in rows of ", columns, " are no whole blocks of ", rows,
       " x ", static_cast<std::uint64_t>(Recipe::block), ", which ", recipe.name, " needs"});
}

/// Returns the error text of what kernels lack, or cannot do.
/// @param together  elements of a row that threads must hold side by side
template <class Recipe>
error_text wrong_on_a_device(char const* function, Recipe const& recipe,
                             quantize_options const& options, bool has_scale_at, int together) {
  bool const is_stored = options.largest_at != nullptr;
  constexpr int block = Recipe::block;
  char const* const lacks =
      !recipe.needs_tensor()           ? nullptr
      : !is_stored && !options.largest ? " needs options.largest or options.largest_at"
      : is_stored && !has_scale_at     ? " with options.largest_at needs out.tensor_scale_at"
                                       : nullptr;
  if (lacks != nullptr) return joined_text({function, ": ", recipe.name, lacks});
  if (recipe.rows != 1 && (recipe.rows != block || together > block))
    return joined_text({function, ": ", recipe.name, " has tiles of ",
                        static_cast<std::uint64_t>(recipe.rows), " x ",
                        static_cast<std::uint64_t>(block), "; a GPU takes tiles as wide as high",
                        together > block ? " that part no 32 elements" : ""});
  if (recipe.choice != four_over_six::no && block != 16)
    return joined_text({function, ": ", recipe.name, " chooses a scale for ",
                        static_cast<std::uint64_t>(block), " elements; a GPU does so for 16"});
  return {};
}

}  // namespace LOWP_UNIT

template <class R>
inline constexpr int kept_together = 1;
template <rotated_range R>
inline constexpr int kept_together<R> = R::points;
template <packed_range R>
inline constexpr int kept_together<R> = std::is_same_v<typename R::order, split_order> ? 32 : 1;

/// Multiplies by a tensor's scale, which a kernel may have to read.
struct make_tensor_scaling {
  static constexpr bool may_be_absent = true;

  float scale;
  float const* at;

  LOWP_FN scaling operator()() const { return {at != nullptr ? *at : scale}; }
  float const* stored_at() const { return at; }
};

/// Quantizes by a recipe, whose bits are those of its package on every backend and number of
/// threads. One pass rounds, after others for the tensor's largest magnitude and for tiles.
///
/// On a GPU, options.report, options.largest_at and out.tensor_scale_at are in device memory. A
/// recipe that needs the tensor's largest magnitude needs it in options. If that is NaN in device
/// memory, so is every scale. Tiles are as wide as high, and part nothing that a rotated or packed
/// range keeps together. A tensor without elements leaves out.tensor_scale_at as it is.
///
/// @param in        n elements of float or a narrow type, or `rotated` ones; a block has successive
///                  elements of a row
/// @param out       n codes, and a scale for each block of a row; its tensor_scale is written
/// @param recipe    of the namespace recipes
/// @param rounding  nearest_even is the recipe's own rounding to nearest
/// @param options   see quantize_options; a largest magnitude of NaN, and rows that are no whole
///                  blocks, are refused
template <class Executor>
struct quantize_operation : operation<Executor> {
  using calls = otherwise<the_arguments_fit_no_call>;

  template <class In, class T, int Block, class Scale, range_rounding R = nearest_even>
    requires((any_input<In> || rotated_range<In>) && quantized<T, Block, Scale>::is_written &&
             quantizable<typename block_codes<T>::element, Block, Scale>)
  LOWP_HOST_FN void operator()(
      In&& in, quantized<T, Block, Scale>& out,
      quantization_recipe<typename block_codes<T>::element, Block, Scale> const& recipe,
      R rounding = {}, quantize_options const& options = {}) const {
    using element = typename block_codes<T>::element;
    with_rule<T, Block, Scale> target{
        out, {recipe.of_scale, recipe.of_element, recipe.ties, recipe.zeros, {}, options.report}};
    auto const to = write("", target, rounding, overflow::saturate);
    auto const from = read("in", in);
    constexpr bool is_on_a_device = requires { Executor::has_own_memory; };
    constexpr int in_together = kept_together<std::remove_cvref_t<In>>;
    constexpr int out_together = kept_together<decltype(out.codes)>;
    char const* const function = name_on(this->executor, "quantize");
    error_text wrong = wrong_shape(function, recipe, out.codes.size(), options.columns);
    if (is_on_a_device && wrong.empty())
      wrong = wrong_on_a_device(function, recipe, options, out.tensor_scale_at != nullptr,
                                in_together > out_together ? in_together : out_together);
    amax largest = options.largest.value_or(amax{});
    if constexpr (!is_on_a_device)
      if (options.largest_at != nullptr) largest = *options.largest_at;
    if (wrong.empty() && lanes::is_nan(largest.value()))
      wrong = joined_text({function, ": ", "the tensor's largest magnitude is NaN"});
    if (!wrong.empty()) return this->executor.refuse_if(wrong);
    if (!is_right(this->executor, "quantize", make<copy_element>{}, to, from)) return;

    if constexpr (!is_on_a_device)
      if (recipe.needs_tensor() && !options.largest && options.largest_at == nullptr)
        this->executor(call_of(make<observed_element>{}, &largest, from));
    default_environment const environment;
    target.rule.tensor = tensor_scales_of(recipe.of_scale, largest.value(), recipe.most);
    if constexpr (is_on_a_device) {
      if (options.largest_at == nullptr) out.tensor_scale = target.rule.tensor.value;
      if (recipe.needs_choice() || options.report != nullptr || options.largest_at != nullptr ||
          out.tensor_scale_at != nullptr) {
        auto const across = static_cast<std::uint32_t>(options.columns / Block);
        with_rule<T, Block, Scale, tile_rule<element, Scale>> tiles{
            out,
            {target.rule, recipe.choice, recipe.most, recipe.rows != 1 ? across : 0,
             out.tensor_scale_at}};
        this->executor(
            call_of(make_tensor_numbers{recipe.of_scale, recipe.most, largest, options.largest_at},
                    options.report, write("", tiles, rounding, overflow::saturate), from));
        return;
      }
    }
    given_scales given(recipe.needs_choice() ? out.scales.size() : 0);
    if (recipe.needs_choice()) {
      std::vector<float> values;
      if constexpr (rotated_range<In> && !is_on_a_device) {
        values.resize(to.size());
        this->executor(call_of(make<copy_element>{}, no_report, write("", values), from));
      }
      auto const at = [&](std::size_t i) -> float {
        if constexpr (rotated_range<In>)
          return values[i];
        else if constexpr (packed_range<In>)
          return in[i];
        else
          return std::ranges::data(in)[i];
      };
      choose_scales<element, Scale>(given, recipe, largest.value(), to.size(),
                                    options.columns != 0 ? options.columns : to.size(), at);
      target.rule.codes = given.codes.data();
      target.rule.factors = given.factors.data();
    }
    this->executor(call_of(make<copy_element>{}, no_report, to, from));
    out.tensor_scale = target.rule.tensor.value;
    if (out.tensor_scale_at != nullptr) *out.tensor_scale_at = out.tensor_scale;
  }
};

/// Reads a quantized tensor: out[i] = round(codes[i] * scales[i / Block] * tensor_scale). Each
/// product is rounded to float. The first is exact if scales are narrow.
///
/// @param in        n codes, and a scale for each block
/// @param out       n elements of float or a narrow type, in other memory
template <class Executor>
struct dequantize_operation : operation<Executor> {
  using calls = otherwise<the_arguments_fit_no_call>;

  template <class T, int Block, class Scale, any_output Out, range_rounding R = nearest_even>
    requires block_of_packs<Block>
  LOWP_HOST_FN void operator()(quantized<T, Block, Scale> const& in, Out&& out, R rounding = {},
                               overflow policy = default_overflow<element_of<Out>>) const {
    with_rule<T, Block, Scale> source{in, {}};
    run(this->executor, "dequantize", make_tensor_scaling{in.tensor_scale, in.tensor_scale_at},
        no_report, write("out", out, rounding, policy), read("", source));
  }
};

}  // namespace detail

inline constexpr detail::quantize_operation<simd::this_thread> quantize{};
inline constexpr detail::dequantize_operation<simd::this_thread> dequantize{};

}  // namespace lowp
