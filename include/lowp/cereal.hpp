// SPDX-License-Identifier: Apache-2.0
// Narrow values, and containers of them, in archives of cereal. An archive holds codes, as integers
// in JSON and XML too, so every value reads back to the same bits: NaN, infinities, negative zero.
// Nothing of cereal is included here.
#pragma once

#include <lowp/interop/cereal.hpp>
