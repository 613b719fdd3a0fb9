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
  bool is_plain = false;  ///< `plain` gives the same

  LOWP_FN float operator()(float x) const {
    auto const results = special_results_of<f, std::uint32_t>(nearest_even{}, overflow::saturate);
    auto const q = code_by<T>(recipe, x, factor, 0u, nearest_even{}, results).code;
    float const code = lanes::from_bits<float>(decode<f>(q));
    return distance(lanes::div(back(code), lanes::mul(6.0f, recipe.most)), x);
  }
  /// Rounds by the sum with a power of two whose ulp is the code's step, and divides by products.
  LOWP_FN float plain(float x) const {
    using namespace lanes;
    constexpr auto more = std::uint32_t{23 - f.significand_bits} << 23;
    constexpr auto least = static_cast<std::uint32_t>(f.min_exponent() + 127) << 23;
    std::uint32_t const a =
        lanes::min(lanes::magnitude(recipe.scaled(x, factor)), detail::decode<f>(f.max_code()));
    float const addend = from_bits<float>(lanes::max(a & binary32_infinity, least) + more);
    float const code = sub(add(from_bits<float>(a), addend), addend);
    return distance(recipe.divisor.quotient(back(code)), absolute(x));
  }

 private:
  LOWP_FN float back(float code) const { return lanes::mul(lanes::mul(code, scale), largest); }
  LOWP_FN float distance(float x, float y) const {
    float const d = lanes::sub(x, y);
    return recipe.choice == four_over_six::squares ? lanes::mul(d, d) : lanes::absolute(d);
  }
};

/// Returns the better one of two scales of a block, as Transformer Engine's reference_nvfp4.py
/// chooses it. `sum_of(error)` adds up error(x): of a row in the order of elements, of rows as a
/// tree.
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class T, class Recipe, class SumOf>
LOWP_FN block_scale_of<float> better_of_two(Recipe const& recipe, tensor_scales const& t,
                                            float largest, float amax, SumOf const& sum_of) {
  using namespace lanes;
  float const base = mul(div(amax, 6.0f), t.encode);
  block_scale_of<float> better{};
  float least = 0;
  for (int k = 0; k < 2; ++k) {
    e4m3<float> const scale(k == 0 ? mul(base, 1.5f) : base);
    float const factor = encode_factor(scale.value, t.decode);
    element_error<T, Recipe> error{recipe, largest, scale.value, factor};
    if constexpr (requires { recipe.divisor; })
      error.is_plain =
          recipe.is_plain(bits(amax), factor) && recipe.divisor.permits(lanes::absolute(largest));
    float const sum = sum_of(error);
    // Errors are not negative. A NaN is not less.
    if (k != 0 && bits(least) < bits(sum) && !lanes::is_nan(sum)) break;
    better = {scale.code, factor};
    least = sum;
  }
  return better;
}

inline namespace LOWP_UNIT {

/// Chooses a scale for each block of a row, which all rows of a tile share.
///
/// `at(i)` is element i.
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
    if (recipe.choice != four_over_six::no)
      chosen = better_of_two<T>(recipe, t, largest, from_bits<float>(amax), [&](auto const& error) {
        float of_row[16] = {};
        for (std::size_t i = 0; i < rows * width; ++i)
          of_row[i / width] =
              add(of_row[i / width], error(at(first + i / width * columns + i % width)));
        for (std::size_t half = rows / 2; half != 0; half /= 2)
          for (std::size_t r = 0; r < half; ++r) of_row[r] = add(of_row[r], of_row[r + half]);
        return of_row[0];
      });
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
  LOWP_FN block_scale_of<float> chosen(tensor_numbers const& t, float amax,
                                       auto const& sum_of) const {
    if constexpr (std::is_same_v<Scale, float8_e4m3fn>)
      if (chooses()) return better_of_two<T>(*this, t.scales, t.largest, amax, sum_of);
    return scale_by<T, Scale>(this->of_scale, t.scales, amax);
  }
};

struct counts_of_thread {
  static constexpr bool sees_blocks = true;

  std::uint32_t clipped = 0, zero_blocks = 0, saturated_scales = 0, underflowed_scales = 0,
                nonfinite_blocks = 0;

  LOWP_FN void end_batch() {}
  LOWP_FN quantization_report total(std::uint64_t) const {
    return {clipped, zero_blocks, saturated_scales, underflowed_scales, nonfinite_blocks};
  }
};
template <>
struct lanes_of_report<quantization_report, float> : std::type_identity<counts_of_thread> {};

LOWP_EXACT_END

}  // namespace lowp::detail
