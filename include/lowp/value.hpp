// SPDX-License-Identifier: Apache-2.0
// The value types whole: conversions, operators, functions, numeric_limits and hash.
#pragma once

#include <lowp/arithmetic.hpp>
#include <lowp/basic_float.hpp>
#include <lowp/cmath.hpp>
#include <lowp/math.hpp>
