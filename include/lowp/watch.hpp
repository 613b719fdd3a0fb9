// SPDX-License-Identifier: Apache-2.0
// Watches of a training run:
//
//     stall_watch       names a tensor whose updates no longer arrive
//     overflow_watch    names the layer that made the first infinity or NaN
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/measure/census/abs_range.hpp>
#include <lowp/simd/dispatch.hpp>
#include <lowp/train/gradients.hpp>
#include <lowp/watch/overflow_watch.hpp>
#include <lowp/watch/stall_watch.hpp>

#include <lowp/base/restore_macros.inc>
