// SPDX-License-Identifier: Apache-2.0
// Tensors whose values lie in several tensors of a file: codes, a scale for each block, and a scale
// for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <lowp/io/safetensors/header.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The meaning of a tensor's own scale. A converter that mixes up the last two writes noise.
enum class global_scale : std::uint8_t {
  none,
  multiplies,  ///< ModelOpt: NAME_scale_2, value = code * scale of the block * it
  divides,     ///< compressed-tensors: NAME_global_scale, value = code * scale of the block / it
};

/// A tensor of a file, and the file's number.
struct part {
  lowp::safetensors::tensor const* tensor = nullptr;
  std::size_t shard = 0;
};

struct block_scales {
  part codes, scales, global;
  std::uint64_t size = 0;  ///< elements of a block, along the last extent
  std::uint64_t rows = 1;  ///< of a block, along the extent before
  global_scale convention = global_scale::none;
  /// The values of `global`. Each is for as many consecutive elements, such as those of an expert.
  std::vector<float> factors{1};
  /// The tensor that they are together: the type of its elements, their shape, the bytes of
  /// `codes`.
  lowp::safetensors::tensor whole;

  [[nodiscard]] bool is_of_e4m3() const {
    return scales.tensor->type == lowp::safetensors::dtype::f8_e4m3;
  }
  /// "NVFP4 (ModelOpt)", "MXFP4", "MXFP8", "F8_E4M3 in blocks of 128 x 128"
  [[nodiscard]] std::string text() const;
};

/// Returns how many blocks n elements have; the last may be smaller.
constexpr std::uint64_t blocks_along(std::uint64_t n, std::uint64_t size) {
  return n / size + (n % size != 0 ? 1 : 0);
}

/// Finds the companions of a tensor of codes by their names:
///
///     codes               scales                for all
///     NAME.weight         NAME.weight_scale     NAME.weight_scale_2         ModelOpt
///     NAME.weight_packed  NAME.weight_scale     NAME.weight_global_scale    compressed-tensors
///     NAME_blocks         NAME_scales                                       gpt-oss
///     NAME.weight         NAME.scale                                        DeepSeek
///
/// Codes are F4, F6_* or F8_*. A U8 or I8 holds two codes of 4 bits, the first in the low bits.
/// Scales are F8_E8M0, U8 that mean the same, or F8_E4M3. With F8_E4M3 there is a scale for all, or
/// one for each of the outermost extents. F8_* may have a scale for each 128 x 128 elements.
///
/// @return  nothing if the tensor has no such companions, or no elements
/// @throws problem  scales do not fit the shape of the codes, or there is not one scale for all
std::optional<block_scales> find_block_scales(part const& codes,
                                              std::function<part(std::string_view)> const& find);
