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
#include <lowp/ops/cast.hpp>
#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/split.hpp>
#include <lowp/ops/transform.hpp>
#include <lowp/storage/packed.hpp>
#include <lowp/storage/scale.hpp>

#define LOWP_CASTS(X) X(cast) X(scaled_cast) X(block_cast) X(split) X(join) X(resync) X(transform)

#include <lowp/base/restore_macros.inc>
