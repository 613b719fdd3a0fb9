// SPDX-License-Identifier: Apache-2.0
// All of the host side that needs only the standard library, and the exceptions that it throws. For
// less, include single doors.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <stdexcept>

#include <lowp/advice.hpp>
#include <lowp/cast.hpp>
#include <lowp/format/charconv.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/measure.hpp>
#include <lowp/nn.hpp>
#include <lowp/train/adafactor.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>

// The operations of every executor: openmp.hpp and cuda/lowp.cuh make theirs from this list.
#define LOWP_OPERATIONS(X) LOWP_CASTS(X) LOWP_UPDATES(X) LOWP_OTHERS(X)
// clang-format off
#define LOWP_OTHERS(X) \
  X(fused_add) X(adafactor_direction) X(sum) X(dot) \
  LOWP_ACTIVATIONS(LOWP_FOUR_OF_ACTIVATION, X) \
  X(softmax) X(log_softmax) X(softmax_pb_relax) X(scale_mask_softmax) X(cross_entropy) \
  X(softmax_backward) X(log_softmax_backward) X(scale_mask_softmax_backward) \
  X(rms_norm) X(layer_norm) X(add_rms_norm) X(add_layer_norm) \
  X(rms_norm_backward) X(layer_norm_backward) X(add_rows) \
  X(gather_rows) X(scatter_add_rows) \
  X(clamp_overflow) X(scale_by_power_of_two)
// clang-format on

#include <lowp/base/restore_macros.inc>
