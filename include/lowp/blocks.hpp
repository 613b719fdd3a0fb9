// SPDX-License-Identifier: Apache-2.0
// Conversion to and from codes with a power of two for each block: MX of the OCP Microscaling
// Formats Specification v1.0, and the same with larger blocks:
//
//     block_cast(in, blocks_of<32>(codes, scales), rounding = nearest_even,
//                rule = scale_rule::rceil, overflow = overflow::saturate)
//     block_cast(blocks_of<32>(codes, scales), out, rounding, overflow = default of out's format)
#pragma once

#include <lowp/ops/block_cast.hpp>
