// SPDX-License-Identifier: Apache-2.0
// Recipes of codes with scales of blocks, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace judge {

/// A tensor as a recipe makes it: a code for each element, a scale for each block.
struct quantized_tensor {
  std::vector<std::uint64_t> codes, scales;
  float tensor_scale = 1;
};

struct named_recipe {
  std::string_view name;  ///< that of the library
  std::string whose;      ///< "compressed-tensors 0.20"
  /// @param columns  of the matrix, whole blocks
  quantized_tensor (*quantize)(std::span<float const> x, std::size_t columns);
};

/// Recipes whose elements, blocks and scales have the same types.
struct recipe_family {
  std::string_view name;            ///< "nvfp4"
  std::string_view element, scale;  ///< names of formats
  std::size_t block;
  std::vector<named_recipe> recipes;
};
std::vector<recipe_family> const& recipe_families();
/// @throws problem  no family has that name
recipe_family const& family_named(std::string_view name);
std::string names_of_families();

inline constexpr std::size_t input_rows = 128, input_columns = 512;
/// Returns a matrix whose blocks lie on ties of scales, and their elements on ties of codes.
std::vector<std::uint64_t> block_inputs();

}  // namespace judge
