// SPDX-License-Identifier: Apache-2.0
// All of the host side that needs only the standard library. For less, include single headers.
#pragma once

#include <lowp/abs_range.hpp>
#include <lowp/activation.hpp>
#include <lowp/activation_backward.hpp>
#include <lowp/adafactor.hpp>
#include <lowp/advice.hpp>
#include <lowp/blocks.hpp>
#include <lowp/cast.hpp>
#include <lowp/census.hpp>
#include <lowp/charconv.hpp>
#include <lowp/clamp_overflow.hpp>
#include <lowp/cross_entropy.hpp>
#include <lowp/fp8_lm.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/gradient_list.hpp>
#include <lowp/gradients.hpp>
#include <lowp/loss_scaler.hpp>
#include <lowp/mask_value.hpp>
#include <lowp/masked_softmax.hpp>
#include <lowp/normalization.hpp>
#include <lowp/normalization_backward.hpp>
#include <lowp/packed.hpp>
#include <lowp/power_of_two_scaling.hpp>
#include <lowp/scale.hpp>
#include <lowp/scaled_cast.hpp>
#include <lowp/setups.hpp>
#include <lowp/softmax.hpp>
#include <lowp/softmax_backward.hpp>
#include <lowp/split.hpp>
#include <lowp/storage.hpp>
#include <lowp/sums.hpp>
#include <lowp/transform.hpp>
#include <lowp/tree_add.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>

// The operations of every executor: openmp.hpp and cuda/lowp.cuh make theirs from this list.
// clang-format off
#define LOWP_OPERATIONS(X) \
  X(cast) X(scaled_cast) X(block_cast) X(split) X(join) X(resync) X(transform) \
  X(fused_add) X(update) X(adafactor_direction) \
  X(unscale) X(measure) X(sum) X(dot) \
  X(gelu_tanh) X(gated_gelu_tanh) X(gelu_tanh_backward) X(gated_gelu_tanh_backward) \
  X(softmax) X(log_softmax) X(scale_mask_softmax) X(cross_entropy) \
  X(softmax_backward) X(log_softmax_backward) X(scale_mask_softmax_backward) \
  X(rms_norm) X(layer_norm) X(rms_norm_backward) X(layer_norm_backward) \
  X(clamp_overflow) X(scale_by_power_of_two)
// clang-format on
