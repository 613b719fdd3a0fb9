// SPDX-License-Identifier: Apache-2.0
// All of the host side: value types, rounding, cast, scaled_cast, fused_add, update, split, join,
// transform, from_chars and to_chars. Needs nothing but the standard library.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/charconv.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/scaled_cast.hpp>
#include <lowp/split.hpp>
#include <lowp/transform.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>
