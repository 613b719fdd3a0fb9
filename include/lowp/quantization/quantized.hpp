// SPDX-License-Identifier: Apache-2.0
// A block-scaled tensor, and its operands.
#pragma once

#include <lowp/ops/roles.hpp>
#include <lowp/quantization/recipe_rule.hpp>
#include <lowp/storage/scaled.hpp>

namespace lowp {

/// Codes, a scale for every Block of them in a row, and a scale of the tensor:
///
///     x[i] = codes[i] * scales[i / Block] * tensor_scale
///
///     nvfp4 q{packed<float4_e2m1fn>(bytes, n), scales};
///
/// @tparam T      packed<float4_e2m1fn> and its like, a narrow type for codes of a byte each, or
///                std::int8_t beside scales of float; const if nothing is written
/// @tparam Block  a power of two from 16 on for `quantize` and `dequantize`
/// @tparam Scale  float8_e4m3fn, float8_ue5m3, float8_e8m0fnu for a power of two, or float
template <class T, int Block, class Scale>
struct quantized {
  static constexpr bool is_written = detail::block_codes<T>::is_written;
  using scale_type = std::conditional_t<is_written, Scale, Scale const>;

  typename detail::block_codes<T>::type codes;
  std::span<scale_type> scales;  ///< one for each block; the last block may be short
  float tensor_scale = 1;        ///< `quantize` writes it, if the processor knows it
  /// Address of the tensor's scale in device memory or here. `quantize` writes it there, too, and
  /// `dequantize` reads it there. May be null.
  std::conditional_t<is_written, float, float const>* tensor_scale_at = nullptr;

  /// Returns the error text if the number of bytes or scales is wrong, else an empty text.
  [[nodiscard]] LOWP_HOST_FN detail::error_text invalid() const {
    return detail::check_blocks(codes, Block, scales.size());
  }
};
using nvfp4 = quantized<packed<float4_e2m1fn>, 16, float8_e4m3fn>;
using nvfp4_ue5m3 = quantized<packed<float4_e2m1fn>, 16, float8_ue5m3>;
using mxfp4 = quantized<packed<float4_e2m1fn>, 32, float8_e8m0fnu>;
template <class T>
using mxfp8 = quantized<T, 32, float8_e8m0fnu>;
template <class T>
using float_scaled = quantized<T, 128, float>;

namespace detail {

/// Blocks of whole packs, which fill the memory of elements that wait for a scale.
template <int Block>
concept block_of_packs = Block >= 16 && (Block & (Block - 1)) == 0;

/// Elements, blocks and scales of the rules.
template <class T, int Block, class Scale>
concept quantizable =
    (scalable<T> || (is_integer_code<T> && std::is_same_v<Scale, float>)) &&
    block_of_packs<Block> && one_of<Scale, float8_e4m3fn, float8_ue5m3, float8_e8m0fnu, float>;

/// The tensor that a recipe writes, or that is read with its scales alone.
template <class T, int Block, class Scale,
          class Rule = recipe_rule<typename block_codes<T>::element, Scale>>
struct with_rule {
  quantized<T, Block, Scale> const& tensor;
  Rule rule;

  LOWP_HOST_FN error_text invalid() const { return tensor.invalid(); }
};

template <class T, int Block, class Scale, class Rule>
struct argument_of<with_rule<T, Block, Scale, Rule>> {
  using element = typename block_codes<T>::element;
  using rounded_element = carrier_of_element<element>;
  using argument = with_rule<T, Block, Scale, Rule>;

  static constexpr std::size_t ranges = 4;
  LOWP_HOST_FN static void describe(extent* to, char const*, argument& s) {
    std::span const one(s.tensor.tensor_scale_at, s.tensor.tensor_scale_at != nullptr ? 1 : 0);
    quantization_report* const report = s.rule.report;
    std::span const counts(reinterpret_cast<std::uint64_t*>(report),
                           report != nullptr ? sizeof *report / sizeof(std::uint64_t) : 0);
    to[0] = extent("codes", s.tensor.codes);
    to[1] = extent("scales", s.tensor.scales);
    to[2] = extent("tensor_scale_at", one);
    to[3] = extent("report", counts);
    to[1].per_entry = to[2].per_entry = to[3].per_entry = Block;
  }
  template <simd::access A, class R>
  LOWP_HOST_FN static auto operand(argument& s, R const& rounding, overflow policy,
                                   std::uint32_t draw) {
    auto codes = carried(s.tensor.codes);
    auto const operand =
        argument_of<decltype(codes)>::template operand<A>(codes, rounding, policy, draw);
    using order = typename std::remove_const_t<decltype(operand)>::order;
    return simd::blocked<rounded_element, Block, A, R, order, Rule>{operand, s.tensor.scales.data(),
                                                                    s.rule};
  }
};

}  // namespace detail

}  // namespace lowp
