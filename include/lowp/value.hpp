// SPDX-License-Identifier: Apache-2.0
// The value types with all their conversions, operators, functions, numeric_limits and hash.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/format/arithmetic.hpp>
#include <lowp/format/basic_float.hpp>
#include <lowp/format/math.hpp>

#include <lowp/base/restore_macros.inc>
