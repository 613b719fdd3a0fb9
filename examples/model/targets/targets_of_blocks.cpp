// SPDX-License-Identifier: Apache-2.0
// Codes with scales of blocks, as other programs write them: their bits and their names.
#include <cmath>
#include <limits>

#include <lowp/quantize.hpp>

#include "targets/make_target.hpp"
#include "targets/target_list.hpp"

namespace {

namespace st = lowp::safetensors;

template <class Tensor, auto const& Recipe>
lowp::quantization_report quantize(std::span<float const> in, lowp::amax const& largest,
                                   std::uint64_t first, rounding_of_tensor const& how,
                                   std::span<std::byte> codes, std::span<std::byte> scales,
                                   std::span<float> read) {
  using scale = typename Tensor::scale_type;
  Tensor q{lowp::packed<lowp::float4_e2m1fn>(codes, in.size()),
           {reinterpret_cast<scale*>(scales.data()), scales.size()}};
  lowp::quantization_report report;
  lowp::quantize_options const options{.largest = largest, .report = &report};
  if (how.is_fast)
    lowp::quantize(in, q, Recipe,
                   lowp::stochastic_fast{.seed = how.seed, .stream = how.stream, .offset = first},
                   options);
  else if (how.is_stochastic)
    lowp::quantize(in, q, Recipe,
                   lowp::stochastic{.seed = how.seed, .stream = how.stream, .offset = first},
                   options);
  else
    lowp::quantize(in, q, Recipe, lowp::nearest_even{}, options);
  if (!read.empty()) lowp::dequantize(q, read);
  return report;
}

// The packages' operations, one for one.
float modelopt_global(float largest) { return largest / 2688.0f; }
float compressed_tensors_global(float largest) {
  constexpr float tiny = std::numeric_limits<float>::min();
  float const scale = 2688.0f * (1.0f / (largest < tiny ? tiny : largest));
  return std::isfinite(scale) ? scale : 1.0f;
}

constexpr block_layout compressed_tensors_nvfp4{
    16,
    st::dtype::f8_e4m3,
    "_packed",
    "_scale",
    "_global_scale",
    compressed_tensors_global,
    quantize<lowp::nvfp4, lowp::recipes::compressed_tensors_0_20_nvfp4>};
constexpr block_layout modelopt_nvfp4{16,
                                      st::dtype::f8_e4m3,
                                      "",
                                      "_scale",
                                      "_scale_2",
                                      modelopt_global,
                                      quantize<lowp::nvfp4, lowp::recipes::modelopt_0_47_nvfp4>};
constexpr block_layout compressed_tensors_mxfp4{
    32,
    st::dtype::u8,
    "_packed",
    "_scale",
    "",
    nullptr,
    quantize<lowp::mxfp4, lowp::recipes::compressed_tensors_0_20_mxfp4>};

constexpr target with(block_layout const& blocks, std::string_view name) {
  target result = stored<lowp::float4_e2m1fn>(name);
  result.blocks = &blocks;
  return result;
}

}  // namespace

constexpr target nvfp4_compressed_tensors_target =
    with(compressed_tensors_nvfp4, "nvfp4_compressed_tensors");
constexpr target nvfp4_modelopt_target = with(modelopt_nvfp4, "nvfp4_modelopt");
constexpr target mxfp4_compressed_tensors_target =
    with(compressed_tensors_mxfp4, "mxfp4_compressed_tensors");
