// SPDX-License-Identifier: Apache-2.0
// The library's recipes by name, for compare.py.
#include <lowp/quantize.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace {

using namespace lowp;

struct call {
  std::string_view name;
  std::span<float const> x;
  std::size_t size;              ///< of a block
  std::uint8_t *scales, *codes;  ///< each scale in its bytes

  /// Quantizes if the recipe is the one of this name. Tiles lie side by side in a matrix, and each
  /// row of a tile repeats its scale.
  template <class T, int Block, class Scale>
  bool by(quantization_recipe<T, Block, Scale> const& recipe) const {
    if (recipe.name != name) return false;
    std::size_t const rows = size / Block, columns = x.size() / rows;
    auto const place = [&](std::size_t i) {
      return i % size / Block * columns + i / size * Block + i % Block;
    };
    std::vector<float> matrix(x.size());
    std::vector<T> made(x.size());
    std::vector<Scale> of_rows(x.size() / Block);
    for (std::size_t i = 0; i < x.size(); ++i)
      matrix[place(i)] = name.ends_with("_bfloat16")  ? float(bfloat16(x[i]))
                         : name.ends_with("_float16") ? float(float16(x[i]))
                                                      : x[i];
    quantized<T, Block, Scale> q{made, of_rows};
    quantize(matrix, q, recipe, nearest_even{}, {.columns = columns});
    for (std::size_t i = 0; i < x.size(); ++i) {
      codes[i] = std::bit_cast<std::uint8_t>(made[place(i)]);
      void* const scale = scales + i / size * sizeof(Scale);
      if (i % size == 0) std::memcpy(scale, &of_rows[place(i) / Block], sizeof(Scale));
      if (std::memcmp(scale, &of_rows[place(i) / Block], sizeof(Scale)) != 0) return false;
    }
    return true;
  }
  template <class... Recipe>
  bool by_one_of(Recipe const&... recipe) const {
    return (by(recipe) || ...);
  }
  template <class T>
  bool by_microscaling() const {
    using namespace recipes;
    return by_one_of(te_2_20_mx<T>, torchao_0_18_floor<T>, torchao_0_18_ceil<T>,
                     torchao_0_18_even<T>, torchao_0_18_rceil<T>, torchao_0_18_rceil_32x32<T>,
                     torchao_main_floor<T>, torchao_main_ceil<T>, torchao_main_even<T>,
                     torchao_main_rceil<T>, microxcaling_nearest<T>, microxcaling_even<T>);
  }
};

}  // namespace

/// Returns false if there is no recipe of this name for these elements.
extern "C" bool quantize_by_name(char const* name, char const* elements, float const* x,
                                 std::size_t blocks, std::size_t size, std::uint8_t* scales,
                                 std::uint8_t* codes) {
  using namespace recipes;
  call const c{name, {x, blocks * size}, size, scales, codes};
  std::string_view const kind = elements;
  if (kind == "e2m3") return c.by_microscaling<float6_e2m3fn>();
  if (kind == "e3m2") return c.by_microscaling<float6_e3m2fn>();
  if (kind == "int8")
    return c.by_one_of(compressed_tensors_0_20_int8, compressed_tensors_0_20_int8_bfloat16,
                       compressed_tensors_0_20_int8_float16);
  if (kind == "e4m3")
    return c.by_microscaling<float8_e4m3fn>() ||
           c.by_one_of(
               torchao_0_18_float8_1x128, torchao_0_18_float8_128x128,
               compressed_tensors_0_20_fp8_1x128, compressed_tensors_0_20_fp8_1x128_bfloat16,
               compressed_tensors_0_20_fp8_1x128_float16, compressed_tensors_0_20_fp8_128x128,
               compressed_tensors_0_20_fp8_128x128_bfloat16,
               compressed_tensors_0_20_fp8_128x128_float16);
  if (kind == "e5m2") return c.by_microscaling<float8_e5m2>();
  return c.by_microscaling<float4_e2m1fn>() ||
         c.by_one_of(te_2_20_nvfp4, te_2_20_nvfp4_4over6_mae_448, te_2_20_nvfp4_4over6_mae_256,
                     te_2_20_nvfp4_4over6_mse_448, te_2_20_nvfp4_4over6_mse_256,
                     te_2_20_nvfp4_16x16, te_2_20_nvfp4_16x16_4over6_mae_448,
                     te_2_20_nvfp4_16x16_4over6_mae_256, te_2_20_nvfp4_16x16_4over6_mse_448,
                     te_2_20_nvfp4_16x16_4over6_mse_256, torchao_main_nvfp4_training,
                     torchao_0_18_nvfp4_two_level, torchao_0_18_nvfp4_one_level,
                     compressed_tensors_0_20_nvfp4, compressed_tensors_0_20_nvfp4_bfloat16,
                     compressed_tensors_0_20_nvfp4_float16, compressed_tensors_0_20_mxfp4_bfloat16,
                     modelopt_0_47_nvfp4, ggml_nvfp4, te_2_20_mxfp4, compressed_tensors_0_20_mxfp4,
                     modelopt_0_47_mxfp4, ggml_mxfp4);
}

/// Transforms blocks of 16 bfloat16 by Transformer Engine's signs, and quantizes them.
extern "C" void transform_and_quantize(bfloat16 const* x, bfloat16* y, float8_e4m3fn* scales,
                                       float4_e2m1fn* codes, std::size_t blocks) {
  std::span const in(x, blocks * 16);
  hadamard(in, std::span(y, in.size()), te_2_20_signs);
  quantized<float4_e2m1fn, 16, float8_e4m3fn> q{std::span(codes, in.size()), {scales, blocks}};
  quantize(rotated(in, te_2_20_signs), q, recipes::te_2_20_nvfp4);
}

extern "C" void tile_scales(float8_e4m3fn const* scales, float8_e4m3fn* tiles, std::size_t rows,
                            std::size_t columns) {
  to_scale_tiles(std::span(scales, rows * columns), rows, columns,
                 std::span(tiles, scale_tiles_size(rows, columns)));
}
