// SPDX-License-Identifier: Apache-2.0
// Scales that one row of a block does not fix: those of tiles, and the better one of two.
#pragma once

#include <lowp/quantization/quantized.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowp::detail::inline LOWP_UNIT {

LOWP_EXACT_BEGIN

/// Chooses a scale for each block of a row, which all rows of a tile share.
///
/// `at(i)` is element i. four_over_six tries two scales, as Transformer Engine's
/// reference_nvfp4.py does. Errors of a row add up in the order of elements, those of rows as a
/// tree.
template <class T, class Scale, class Recipe, class At>
LOWP_OPAQUE void choose_scales(given_scales& to, Recipe const& recipe, float largest,
                               std::size_t size, std::size_t columns, At const& at) {
  using namespace lanes;
  constexpr auto width = static_cast<std::size_t>(Recipe::block);
  auto const rows = static_cast<std::size_t>(recipe.rows);
  tensor_scales const t = tensor_scales_of(recipe.of_scale.rule, largest, recipe.most);
  auto const results =
      special_results_of<element_format<T>, std::uint32_t>(nearest_even{}, overflow::saturate);
  for (std::size_t tile = 0; tile < size / width / rows; ++tile) {
    std::size_t const across = columns / width;
    std::size_t const first = tile / across * rows * columns + tile % across * width;
    std::uint32_t amax = 0;
    for (std::size_t i = 0; i < rows * width; ++i)
      amax = max(amax, lanes::magnitude(at(first + i / width * columns + i % width)));
    auto chosen = scale_by<T, Scale>(recipe.of_scale, t, from_bits<float>(amax));
    if (recipe.choice != four_over_six::no) {
      float const base = mul(div(from_bits<float>(amax), 6.0f), t.encode);
      block_scale_of<float> tried[2];
      float errors[2];
      for (int k = 0; k < 2; ++k) {
        e4m3<float> const scale(k == 0 ? mul(base, 1.5f) : base);
        float const s = scale.value, factor = encode_factor(s, t.decode);
        tried[k] = {scale.code, factor};
        float of_row[16] = {};
        for (std::size_t i = 0; i < rows * width; ++i) {
          float const x = at(first + i / width * columns + i % width);
          auto const q = code_by<T>(recipe, x, factor, 0u, nearest_even{}, results).code;
          float const back =
              mul(mul(from_bits<float>(detail::decode<element_format<T>>(q)), s), largest);
          float const d = sub(div(back, mul(6.0f, recipe.most)), x);
          float const error = recipe.choice == four_over_six::squares ? mul(d, d) : absolute(d);
          of_row[i / width] = add(of_row[i / width], error);
        }
        for (std::size_t half = rows / 2; half != 0; half /= 2)
          for (std::size_t r = 0; r < half; ++r) of_row[r] = add(of_row[r], of_row[r + half]);
        errors[k] = of_row[0];
      }
      // Errors are not negative. A NaN is not less.
      bool const is_four = bits(errors[0]) < bits(errors[1]) && !lanes::is_nan(errors[1]);
      chosen = tried[is_four ? 0 : 1];
    }
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t const block = (first + r * columns) / width;
      to.codes[block] = chosen.code;
      to.factors[block] = chosen.factor;
    }
  }
}

LOWP_EXACT_END

}  // namespace lowp::detail::inline LOWP_UNIT
