// SPDX-License-Identifier: Apache-2.0
// Layers that do not overflow, over rows of `columns` elements, and their derivatives:
//
//     softmax, log_softmax, scale_mask_softmax, softmax_pb_relax, mask_value<T>
//     rms_norm, layer_norm; add_rms_norm, add_layer_norm behind a residual sum
//     gelu_tanh, gelu, silu; gated_gelu_tanh ...
//     add_rows, a bias's derivative
//     gather_rows, scatter_add_rows: an embedding and its derivative
//     cross_entropy, the loss and its derivative in one call
//     scale_by_power_of_two, projection_exponent, clamp_overflow
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/nn/activation.hpp>
#include <lowp/nn/add_norm.hpp>
#include <lowp/nn/clamp_overflow.hpp>
#include <lowp/nn/cross_entropy.hpp>
#include <lowp/nn/embedding.hpp>
#include <lowp/nn/masked_softmax.hpp>
#include <lowp/nn/normalization.hpp>
#include <lowp/nn/normalization_backward.hpp>
#include <lowp/nn/power_of_two_scaling.hpp>
#include <lowp/nn/softmax.hpp>
#include <lowp/simd/dispatch.hpp>

#include <lowp/base/restore_macros.inc>
