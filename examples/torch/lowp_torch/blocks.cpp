// SPDX-License-Identifier: Apache-2.0
// Quantization for functional.py.
#include "memory.hpp"

#include <type_traits>

namespace {

namespace team = lowp::openmp;

/// A quantized tensor's memory.
struct quantized_memory {
  void *codes, *scales;
  float* tensor_scale;
};

/// Calls function(recipe) with the recipe of a name and an element type.
bool with_recipe(std::string const& name, auto const& function, auto const&... recipe) {
  return ((name == recipe.name && (function(recipe), true)) || ...);
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
                 size columns, quantized_memory const& out, rounding mode, std::uint64_t seed,
                 std::uint64_t stream) {
  with_rounding(mode, seed, stream, [&](auto how) {
    auto q = quantized_of<T, Block, Scale>(out, n);
    team::quantize(read<float>(in, n), q, recipe, how, {.columns = columns});
    *out.tensor_scale = q.tensor_scale;
  });
}

template <class T, int Block, class Scale>
void dequantize_to(quantized_memory const& in, size n, float* out) {
  auto q = quantized_of<T, Block, Scale>(in, n);
  q.tensor_scale = *in.tensor_scale;
  team::dequantize(q, write<float>(out, n));
}

}  // namespace

extern "C" {

char const* lowp_quantize(float const* in, size n, size columns, char const* recipe, dtype of,
                          void* codes, void* scales, float* tensor_scale, rounding mode,
                          std::uint64_t seed, std::uint64_t stream) {
  return error_of([&] {
    using namespace lowp::recipes;
    std::string const name(recipe);
    auto const by = [&](auto const& each) {
      quantize_by(each, in, n, columns, {codes, scales, tensor_scale}, mode, seed, stream);
    };
    bool const is_known =
        with_recipe(name, by, te_2_20_nvfp4, te_2_20_nvfp4_16x16, torchao_0_18_nvfp4_two_level,
                    torchao_0_18_nvfp4_one_level, modelopt_0_47_nvfp4, nvfp4_unbiased) ||
        with_recipe(name, by, te_2_20_mxfp4, modelopt_0_47_mxfp4) ||
        with_recipe(name, by, torchao_0_18_float8_1x128, torchao_0_18_float8_128x128) ||
        (of == dtype::float8_e4m3fn && with_recipe(name, by, te_2_20_mx<lowp::float8_e4m3fn>,
                                                   torchao_0_18_floor<lowp::float8_e4m3fn>,
                                                   torchao_0_18_rceil<lowp::float8_e4m3fn>)) ||
        (of == dtype::float8_e5m2 &&
         with_recipe(name, by, te_2_20_mx<lowp::float8_e5m2>, torchao_0_18_floor<lowp::float8_e5m2>,
                     torchao_0_18_rceil<lowp::float8_e5m2>));
    if (!is_known) throw std::invalid_argument("quantize: no recipe is " + name);
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
