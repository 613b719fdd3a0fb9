// SPDX-License-Identifier: Apache-2.0
// Optimizer steps in place:
//
//     update(p, g, sgd, step, rounding = nearest_even, overflow, report)
//     update(p, g, momentum, sgd, step, ...)
//     update(p, g, m, v, adamw, step, ...)
//     update(list, optimizer, step, ...)
//
// Around a step: unscale, measure and clip; loss_scaler, tree_add. lowp.hpp has
// adafactor_direction, too.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/simd/dispatch.hpp>
#include <lowp/train/tree_add.hpp>
#include <lowp/train/updates.hpp>

#include <lowp/base/restore_macros.inc>
