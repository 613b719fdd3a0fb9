// SPDX-License-Identifier: Apache-2.0
// A scaled addition in place, rounded once:
//
//     fused_add(p, alpha, u, rounding = nearest_even, overflow, report)
//     fused_add(list, alpha, rounding, overflow, report)
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/ops/fused_add.hpp>
#include <lowp/simd/dispatch.hpp>

#include <lowp/base/restore_macros.inc>
