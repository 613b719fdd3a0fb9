// SPDX-License-Identifier: Apache-2.0
// Conversion of spans with one scale for all elements:
//
//     scaled_cast(in, out, scale, rounding = nearest_even, overflow = default of out's format)
//     scaled_cast(in, out, scale, amax, rounding, overflow)
#pragma once

#include <lowp/ops/scaled_cast.hpp>
