// SPDX-License-Identifier: Apache-2.0
#include "recipes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <lowp/base/environment.hpp>
#include <lowp/quantization/tile_scales.hpp>
#include <utility>

#include "inputs.hpp"
#include "model/files/problem.hpp"

namespace judge {

namespace {

namespace of = lowp::detail;

std::string package_of(std::string_view recipe) {
  constexpr std::pair<std::string_view, std::string_view> packages[]{
      {"te_2_20", "Transformer Engine 2.20"},
      {"torchao_0_18", "torchao 0.18"},
      {"torchao_main", "torchao, main branch"},
      {"compressed_tensors_0_20", "compressed-tensors 0.20"},
      {"modelopt_0_47", "ModelOpt 0.47"},
      {"ggml", "ggml"},
      {"microxcaling", "microxcaling"}};
  for (auto const& [start, package] : packages)
    if (recipe.starts_with(start)) return std::string(package);
  return "lowp";
}

/// Scalars follow the library's rules in the order of its operations.
template <auto const& Recipe>
quantized_tensor quantize_by(std::span<float const> x, std::size_t columns) {
  using recipe_type = std::remove_cvref_t<decltype(Recipe)>;
  using T = typename recipe_type::element;
  using scale = typename recipe_type::scale;
  constexpr std::size_t block = recipe_type::block;
  of::default_environment const environment;
  std::uint32_t most = 0;
  for (float const v : x) most = std::max(most, std::bit_cast<std::uint32_t>(v) & 0x7fffffff);
  float const largest = std::bit_cast<float>(most);
  of::tensor_scales const t = of::tensor_scales_of(Recipe.of_scale, largest, Recipe.most);
  std::vector<std::uint32_t> scales(x.size() / block);
  std::vector<float> factors(scales.size());
  if (Recipe.needs_choice()) {
    of::given_scales given(scales.size());
    of::choose_scales<T, scale>(given, Recipe, largest, x.size(), columns,
                                [&](std::size_t i) { return x[i]; });
    std::copy_n(given.codes.data(), scales.size(), scales.begin());
    std::copy_n(given.factors.data(), scales.size(), factors.begin());
  } else {
    for (std::size_t b = 0; b < scales.size(); ++b) {
      std::uint32_t amax = 0;
      for (float const v : x.subspan(b * block, block))
        amax = std::max(amax, std::bit_cast<std::uint32_t>(v) & 0x7fffffff);
      auto const s = of::scale_by<T, scale>(Recipe.of_scale, t, std::bit_cast<float>(amax));
      scales[b] = s.code;
      factors[b] = s.factor;
    }
  }
  auto const results = of::special_results_of<of::element_format<T>, std::uint32_t>(
      lowp::nearest_even{}, lowp::overflow::saturate);
  quantized_tensor q{{}, {scales.begin(), scales.end()}, t.value};
  for (std::size_t i = 0; i < x.size(); ++i)
    q.codes.push_back(
        of::code_by<T>(Recipe, x[i], factors[i / block], 0u, lowp::nearest_even{}, results).code);
  return q;
}

template <auto const&... Recipes>
std::vector<named_recipe> listed() {
  return {{Recipes.name, package_of(Recipes.name), quantize_by<Recipes>}...};
}

template <class T>
std::vector<named_recipe> microscaling() {
  using namespace lowp::recipes;
  return listed<te_2_20_mx<T>, torchao_0_18_floor<T>, torchao_0_18_ceil<T>, torchao_0_18_even<T>,
                torchao_0_18_rceil<T>, torchao_0_18_rceil_32x32<T>, torchao_main_floor<T>,
                torchao_main_ceil<T>, torchao_main_even<T>, torchao_main_rceil<T>,
                microxcaling_nearest<T>, microxcaling_even<T>>();
}

std::vector<recipe_family> made_families() {
  using namespace lowp::recipes;
  std::vector<recipe_family> all{
      {"nvfp4", "float4_e2m1fn", "float8_e4m3fn", 16,
       listed<te_2_20_nvfp4, te_2_20_nvfp4_16x16, te_2_20_nvfp4_4over6_mae_448,
              te_2_20_nvfp4_4over6_mae_256, te_2_20_nvfp4_4over6_mse_448,
              te_2_20_nvfp4_4over6_mse_256, torchao_main_nvfp4_training,
              torchao_0_18_nvfp4_two_level, torchao_0_18_nvfp4_one_level,
              compressed_tensors_0_20_nvfp4, compressed_tensors_0_20_nvfp4_bfloat16,
              compressed_tensors_0_20_nvfp4_float16, modelopt_0_47_nvfp4, ggml_nvfp4,
              nvfp4_unbiased>()},
      {"nvfp4_ue5m3", "float4_e2m1fn", "float8_ue5m3", 16, listed<nvfp4_ue5m3_sixth>()},
      {"mxfp4", "float4_e2m1fn", "float8_e8m0fnu", 32, microscaling<lowp::float4_e2m1fn>()},
      {"mxfp6_e2m3", "float6_e2m3fn", "float8_e8m0fnu", 32, microscaling<lowp::float6_e2m3fn>()},
      {"mxfp6_e3m2", "float6_e3m2fn", "float8_e8m0fnu", 32, microscaling<lowp::float6_e3m2fn>()},
      {"mxfp8_e4m3", "float8_e4m3fn", "float8_e8m0fnu", 32, microscaling<lowp::float8_e4m3fn>()},
      {"mxfp8_e5m2", "float8_e5m2", "float8_e8m0fnu", 32, microscaling<lowp::float8_e5m2>()},
      {"fp8_blocks", "float8_e4m3fn", "float32", 128,
       listed<torchao_0_18_float8_1x128, torchao_0_18_float8_128x128,
              compressed_tensors_0_20_fp8_1x128, compressed_tensors_0_20_fp8_128x128,
              compressed_tensors_0_20_fp8_1x128_bfloat16,
              compressed_tensors_0_20_fp8_1x128_float16>()}};
  for (named_recipe const& r :
       listed<te_2_20_mxfp4, compressed_tensors_0_20_mxfp4, compressed_tensors_0_20_mxfp4_bfloat16,
              modelopt_0_47_mxfp4, ggml_mxfp4>())
    all[2].recipes.push_back(r);
  return all;
}

}  // namespace

std::vector<recipe_family> const& recipe_families() {
  static std::vector<recipe_family> const all = made_families();
  return all;
}

std::string names_of_families() {
  std::string text;
  for (recipe_family const& f : recipe_families())
    text += (text.empty() ? "" : ", ") + std::string(f.name);
  return text;
}

recipe_family const& family_named(std::string_view name) {
  for (recipe_family const& f : recipe_families())
    if (f.name == name) return f;
  throw problem("there is no '" + std::string(name) + "': there are " + names_of_families());
}

std::vector<std::uint64_t> block_inputs() {
  constexpr float largest = 1961.77f;  // no recipe has a power of two of it
  constexpr float t = largest / 2688;
  constexpr std::array parts{0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 0.125f};
  std::vector<std::uint64_t> all;
  for (std::size_t b = 0; b < input_rows * input_columns / 16; ++b) {
    std::uint64_t const random = mixed(b);
    // A scale of e4m3 or the middle of two, or a significand next to where exponents change.
    float const step = static_cast<float>(16 + b % 32) / 16;
    float const tie = 6 * t * std::ldexp(step, static_cast<int>(b / 32 % 14) - 6);
    constexpr std::array edges{1.0f, 1.5f, 1.75f, 1.875f, 1.25f, 1.0625f};
    float const edge = std::ldexp(edges[b % edges.size()], static_cast<int>(random % 19) - 9);
    auto word = std::bit_cast<std::uint32_t>(std::min(b % 3 == 2 ? edge : tie, largest));
    word += static_cast<std::uint32_t>(random >> 8 & 7) - 4;  // some units of the last place away
    float const amax = b == 777 ? largest : b % 97 == 5 ? 0 : std::bit_cast<float>(word);
    for (std::size_t i = 0; i < 16; ++i) {
      float x = amax / 6 * parts[(i + b) % 8];
      std::uint64_t const more = mixed(16 * b + i);
      if (i % 3 == 0) x = amax * (static_cast<float>(more >> 40) * 0x1p-24f);
      if (i == (random >> 20) % 16) x = amax;
      if (more % 31 == 0) x = 0;
      auto const bits = std::bit_cast<std::uint32_t>(x);
      all.push_back(bits | (more >> 7 & 1) << 31);
    }
  }
  return all;
}

}  // namespace judge
