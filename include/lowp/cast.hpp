// SPDX-License-Identifier: Apache-2.0
// Conversion of spans:
//
//     cast(in, out, rounding = nearest_even, overflow = default of out's format)
#pragma once

#include <lowp/ops/cast.hpp>
