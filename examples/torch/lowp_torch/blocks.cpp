// SPDX-License-Identifier: Apache-2.0
// Quantization for functional.py. On a GPU a library has the recipe that LOWP_TORCH_ELEMENT names.
// That of no recipe dequantizes.
#include "memory.hpp"

#include <string_view>
#include <type_traits>

namespace {

namespace team {
LOWP_TEAM_CALL(quantize)
LOWP_TEAM_CALL(dequantize)
}  // namespace team

#define LOWP_TEXT(name) LOWP_TEXT_OF(name)
#define LOWP_TEXT_OF(name) #name
constexpr bool is_compiled([[maybe_unused]] std::string_view recipe) {
#ifdef LOWP_TORCH_ELEMENT
  return recipe == LOWP_TEXT(LOWP_TORCH_ELEMENT);
#else
  return true;
#endif
}
#undef LOWP_TEXT_OF
#undef LOWP_TEXT

/// A quantized tensor's memory.
struct quantized_memory {
  void *codes, *scales;
  float* tensor_scale;
};

/// Calls function(recipe) with the recipe of a name.
template <auto const&... Recipe>
bool with_recipe(std::string_view name, auto const& function) {
  auto const take = [&](auto const& recipe, auto is_here) {
    if constexpr (is_here) function(recipe);
    return is_here();
  };
  return ((name == Recipe.name && take(Recipe, std::bool_constant<is_compiled(Recipe.name)>())) ||
          ...);
}

template <class T, int Block, class Scale>
auto quantized_of(quantized_memory const& memory, size n) {
  auto const scales = write<Scale>(memory.scales, n / Block);
  if constexpr (std::is_same_v<T, lowp::float4_e2m1fn>) {
    lowp::packed<T> const codes(write<std::uint8_t>(memory.codes, n / 2), n);
    return lowp::quantized<lowp::packed<T>, Block, Scale>{codes, scales};
  } else {
    return lowp::quantized<T, Block, Scale>{write<T>(memory.codes, n), scales};
  }
}

template <class T, int Block, class Scale>
void quantize_by(lowp::quantization_recipe<T, Block, Scale> const& recipe, float const* in, size n,
                 size columns, quantized_memory const& out, float const* largest, rounding mode,
                 std::uint64_t seed, std::uint64_t stream) {
  with_rounding(mode, seed, stream, [&](auto how) {
    auto q = quantized_of<T, Block, Scale>(out, n);
    q.tensor_scale_at = out.tensor_scale;
    lowp::quantize_options options{.columns = columns};
    if (recipe.needs_tensor()) options.largest_at = reinterpret_cast<lowp::amax const*>(largest);
    team::quantize(read<float>(in, n), q, recipe, how, options);
  });
}

template <class T, int Block, class Scale>
void dequantize_to(quantized_memory const& in, size n, float* out) {
  auto q = quantized_of<T, Block, Scale>(in, n);
  q.tensor_scale_at = in.tensor_scale;
  team::dequantize(q, write<float>(out, n));
}

}  // namespace

extern "C" {

/// @param largest  on a GPU, the largest magnitude of `in`
char const* lowp_quantize(float const* in, size n, size columns, char const* recipe, dtype of,
                          void* codes, void* scales, float* tensor_scale, float const* largest,
                          rounding mode, std::uint64_t seed, std::uint64_t stream) {
  return error_of([&] {
    using namespace lowp::recipes;
    using e4m3 = lowp::float8_e4m3fn;
    using e5m2 = lowp::float8_e5m2;
    auto const by = [&](auto const& each) {
      quantize_by(each, in, n, columns, {codes, scales, tensor_scale}, largest, mode, seed, stream);
    };
    bool const is_known =
        with_recipe<te_2_20_nvfp4, te_2_20_nvfp4_16x16, torchao_0_18_nvfp4_two_level,
                    torchao_0_18_nvfp4_one_level, modelopt_0_47_nvfp4, nvfp4_unbiased,
                    te_2_20_mxfp4, modelopt_0_47_mxfp4, torchao_0_18_float8_1x128,
                    torchao_0_18_float8_128x128>(recipe, by) ||
        (of == dtype::float8_e4m3fn &&
         with_recipe<te_2_20_mx<e4m3>, torchao_0_18_floor<e4m3>, torchao_0_18_rceil<e4m3>>(recipe,
                                                                                           by)) ||
        (of == dtype::float8_e5m2 &&
         with_recipe<te_2_20_mx<e5m2>, torchao_0_18_floor<e5m2>, torchao_0_18_rceil<e5m2>>(recipe,
                                                                                           by));
    if (!is_known) throw std::invalid_argument("quantize: no recipe is " + std::string(recipe));
  });
}

/// @param block  elements of a scale: 16 for nvfp4, 32 for MX, 128
char const* lowp_dequantize(void* codes, void* scales, float* tensor_scale, size n, int block,
                            dtype of, float* out) {
  return error_of([&] {
    quantized_memory const in{codes, scales, tensor_scale};
    if (block == 16) return dequantize_to<lowp::float4_e2m1fn, 16, lowp::float8_e4m3fn>(in, n, out);
    if (block == 128) return dequantize_to<lowp::float8_e4m3fn, 128, float>(in, n, out);
    if (of == dtype::float8_e4m3fn)
      return dequantize_to<lowp::float8_e4m3fn, 32, lowp::float8_e8m0fnu>(in, n, out);
    if (of == dtype::float8_e5m2)
      return dequantize_to<lowp::float8_e5m2, 32, lowp::float8_e8m0fnu>(in, n, out);
    dequantize_to<lowp::float4_e2m1fn, 32, lowp::float8_e8m0fnu>(in, n, out);
  });
}

}  // extern "C"
