// SPDX-License-Identifier: Apache-2.0
// Narrow values, and containers of them, in archives of cereal. An archive holds codes, as integers
// in JSON and XML too, so every value reads back to the same bits: NaN, infinities, negative zero.
// A code with more bits than its format throws std::invalid_argument. Nothing of cereal is included
// here.
#pragma once

#include <lowp/interop/cereal.hpp>
