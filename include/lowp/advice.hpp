// SPDX-License-Identifier: Apache-2.0
// Advice before training: the share of updates that stalls, and a storage in which they arrive.
//
//     stall_advice(p, {.lr, .steps})                 for AdamW over noise
//     stall_advice(p, update_of(optimizer, ...))     for sizes of updates that were measured
//     stall_advice(list, update)                     one storage for all tensors
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/simd/dispatch.hpp>
#include <lowp/train/advice.hpp>

#include <lowp/base/restore_macros.inc>
