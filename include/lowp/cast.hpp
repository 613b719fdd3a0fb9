// SPDX-License-Identifier: Apache-2.0
// Conversion of spans, and operations of your own:
//
//     cast(in, out, rounding = nearest_even, overflow = default of out's format)
//     scaled_cast(in, out, scale, [amax], rounding, overflow)
//     block_cast(in, blocks_of<32>(codes, scales), rounding, rule = scale_rule::rceil, overflow)
//     block_cast(in, blocks_of<32>(codes, scales), rounding, {.columns = of a matrix})
//     block_cast(blocks_of<32>(codes, scales), out, rounding, overflow)
//     split(in, high, low), join(high, low, out), resync(storage)
//     transform(function, rounding, out, in...)
//     view(pointer, size): numbers of another library as a span
//
// Blocks of 32 with a power of two are MX of the OCP Microscaling Formats Specification v1.0.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/interop/view.hpp>
#include <lowp/ops/casts.hpp>
#include <lowp/simd/dispatch.hpp>

#include <lowp/base/restore_macros.inc>
