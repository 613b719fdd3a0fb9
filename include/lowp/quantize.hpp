// SPDX-License-Identifier: Apache-2.0
// Quantization by the recipes of Transformer Engine, torchao, compressed-tensors, ModelOpt,
// microxcaling and ggml, with their bits, and back:
//
//     nvfp4 q{packed<float4_e2m1fn>(bytes, n), scales};    // bytes: n / 2, scales: n / 16
//     quantize(in, q, recipes::te_2_20_nvfp4, [largest], [rounding], [report])
//     dequantize(q, out, rounding = nearest_even, overflow = default of out's format)
//     hadamard(in, out, te_2_20_signs, [rounding], [overflow])
//     quantize(rotated(in, te_2_20_signs), q, recipe)      // in one pass after the transform
//
//     to_scale_tiles, from_scale_tiles                     // the tiles of 128 x 4 of cuBLAS
//     reference_matmul(x, y, out, columns, how)            // to test kernels
//
// quantization/recipe.hpp has the recipes, openmp.hpp all for teams, cuda/lowp.cuh all for a GPU.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/quantization/block_products.hpp>
#include <lowp/quantization/quantize.hpp>
#include <lowp/quantization/scale_tiles.hpp>
#include <lowp/simd/dispatch.hpp>

#include <lowp/base/restore_macros.inc>
