// SPDX-License-Identifier: Apache-2.0
// Scales that one row of a block does not fix: those of tiles, and the better one of two.
#pragma once

#include <lowp/ops/cast.hpp>
#include <lowp/quantization/quantized.hpp>
#include <lowp/report/amax.hpp>
#include <lowp/storage/scale.hpp>

namespace lowp::detail {

LOWP_EXACT_BEGIN

/// The error of an element of a block with a scale.
template <class T, class Recipe>
struct element_error {
  static constexpr format f = element_format<T>;

  Recipe const& recipe;
  float largest, scale, factor;
  bool is_plain = false;    ///< `plain` gives the same
  float one = 0, more = 0;  ///< what codes of -1 and -1.5 stand for then

  LOWP_FN float operator()(float x) const {
    auto const results = special_results_of<f, std::uint32_t>(nearest_even{}, overflow::saturate);
    auto const q = code_by<T>(recipe, x, factor, 0u, nearest_even{}, results).code;
    float const code = lanes::from_bits<float>(decode<f>(q));
    float const d = lanes::sub(lanes::div(back(code), lanes::mul(6.0f, recipe.most)), x);
    return recipe.choice == four_over_six::squares ? lanes::mul(d, d) : lanes::absolute(d);
  }
  /// Finds out whether `plain` gives the same. No element then reaches 7, which saturates.
  LOWP_FN void find_plain(float amax) {
    using namespace lanes;
    is_plain = recipe.may_be_plain && !recipe.divides() && bits(mul(amax, factor)) < bits(7.0f) &&
               recipe.divisor.permits(size_of(largest));
    one = recipe.divisor.quotient(back(-1));
    more = recipe.divisor.quotient(back(-1.5f));
  }
  /// Returns the error with any sign. Rounds by Veltkamp's split to two bits, below 1 to halves,
  /// and ties to even. A power of two times what 1 or 1.5 stands for is exact.
  LOWP_FN float plain(float x) const {
    using namespace lanes;
    static_assert(f.significand_bits == 1 && f.min_exponent() == 0);
    constexpr float split = 0x1p22f + 1;
    float const magnitude = size_of(x), a = mul(magnitude, factor);
    float const large = maximum_number(mul(a, split), split);
    std::uint32_t const code = bits(sub(large, sub(large, a)));
    float const unit = (code & 0x400000) != 0 ? more : one;
    float const d = fma(from_bits<float>(code & binary32_infinity), unit, magnitude);
    return recipe.choice == four_over_six::squares ? mul(d, d) : d;
  }

 private:
  LOWP_FN float back(float code) const { return lanes::mul(lanes::mul(code, scale), largest); }
};

/// A scale of a block and the sum of its elements' errors with it.
struct scale_with_error {
  block_scale_of<float> scale;
  float error;

  /// Returns the better one of this scale to 6 and one to 4. Errors are not negative. A NaN is not
  /// less.
  LOWP_FN block_scale_of<float> or_that_to_four(scale_with_error const& four) const {
    return lanes::bits(four.error) < lanes::bits(error) && !lanes::is_nan(error) ? four.scale
                                                                                 : scale;
  }
};
/// Returns one of the two scales of a block among which Transformer Engine's reference_nvfp4.py
/// chooses. `sum_of(error)` adds up error(x): of a row in the order of elements, of rows as a tree.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class T, class Recipe, class SumOf>
LOWP_FN scale_with_error candidate(Recipe const& recipe, tensor_scales const& t, float largest,
                                   float amax, bool to_six, SumOf const& sum_of) {
  using namespace lanes;
  float const base = mul(div(amax, 6.0f), t.encode);
  auto const [code, scale] = rounded_scale(to_six ? base : mul(base, 1.5f));
  float const factor = encode_factor(scale, t.decode);
  element_error<T, Recipe> error{recipe, largest, scale, factor};
  if constexpr (requires { recipe.divisor; }) error.find_plain(amax);
  return {{code, factor}, sum_of(error)};
}

inline namespace LOWP_UNIT {

/// Chooses a scale for each block of a row, which all rows of a tile share. at(i) is element i.
template <class T, class Scale, class Recipe, class At>
LOWP_OPAQUE void choose_scales(given_scales& to, Recipe const& recipe, float largest,
                               std::size_t size, std::size_t columns, At const& at) {
  using namespace lanes;
  constexpr auto width = static_cast<std::size_t>(Recipe::block);
  auto const rows = static_cast<std::size_t>(recipe.rows);
  tensor_scales const t = tensor_scales_of(recipe.of_scale, largest, recipe.most);
  for (std::size_t tile = 0; tile < size / width / rows; ++tile) {
    std::size_t const across = columns / width;
    std::size_t const first = tile / across * rows * columns + tile % across * width;
    std::uint32_t amax = 0;
    for (std::size_t i = 0; i < rows * width; ++i)
      amax = max(amax, lanes::magnitude(at(first + i / width * columns + i % width)));
    auto chosen = scale_by<T, Scale>(recipe.of_scale, t, from_bits<float>(amax));
    auto const by = [&](bool to_six) {
      auto const sum_of = [&](auto const& error) {
        float of_row[16] = {};
        for (std::size_t i = 0; i < rows * width; ++i)
          of_row[i / width] =
              add(of_row[i / width], error(at(first + i / width * columns + i % width)));
        for (std::size_t half = rows / 2; half != 0; half /= 2)
          for (std::size_t r = 0; r < half; ++r) of_row[r] = add(of_row[r], of_row[r + half]);
        return of_row[0];
      };
      return candidate<T>(recipe, t, largest, from_bits<float>(amax), to_six, sum_of);
    };
    if (recipe.choice != four_over_six::no) chosen = by(true).or_that_to_four(by(false));
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t const block = (first + r * columns) / width;
      to.codes[block] = chosen.code;
      to.factors[block] = chosen.factor;
    }
  }
}

}  // namespace LOWP_UNIT

/// The numbers of a tensor, which a kernel makes of the largest magnitude. Copies elements.
struct tensor_numbers : copy_element {
  tensor_scales scales;
  float largest;
};
struct make_tensor_numbers {
  static constexpr bool is_costly = true, may_be_absent = true;

  power_rule of_scale;
  float most;
  amax largest;
  amax const* largest_at;  ///< the largest magnitude, if it is in device memory

  LOWP_FN tensor_numbers operator()() const {
    float const x = (largest_at != nullptr ? *largest_at : largest).value();
    return {{}, tensor_scales_of(of_scale, x, most), x};
  }
  amax const* stored_at() const { return largest_at; }
};

/// The rule of a recipe for threads of a GPU. They find the scales of tiles, choose one of two,
/// count, and read the tensor's largest magnitude.
template <class T, class Scale>
struct tile_rule : recipe_rule<T, Scale> {
  static constexpr bool has_tiles = true;

  four_over_six choice;
  float most;
  std::uint32_t columns;  ///< blocks of a row of the matrix, in tiles as wide as high; else 0
  float* tensor_scale_at;
  block_divisor divisor{6 * most};  ///< a test takes all significands over those of recipes

  LOWP_FN bool chooses() const { return choice != four_over_six::no; }
  LOWP_FN block_scale_of<float> chosen(tensor_numbers const& t, float amax, auto const& together,
                                       auto const& sum_of) const {
    if constexpr (std::is_same_v<Scale, float8_e4m3fn>)
      if (chooses())
        return together.better_of_two([&](bool to_six) {
          return candidate<T>(*this, t.scales, t.largest, amax, to_six, sum_of);
        });
    return scale_by<T, Scale>(this->of_scale, t.scales, amax);
  }
};

struct counts_of_thread {
  static constexpr bool sees_blocks = true;

  std::uint32_t clipped = 0, zero_blocks = 0, saturated_scales = 0, underflowed_scales = 0,
                nonfinite_blocks = 0;

  LOWP_FN quantization_report total(std::uint64_t) const {
    return {clipped, zero_blocks, saturated_scales, underflowed_scales, nonfinite_blocks};
  }
};
template <>
struct lanes_of_report<quantization_report, float> : std::type_identity<counts_of_thread> {};

LOWP_EXACT_END

}  // namespace lowp::detail
