// SPDX-License-Identifier: Apache-2.0
// All of the host side: value types, rounding, cast, fused_add, update. Needs nothing but the
// standard library.
#pragma once

#include <lowp/cast.hpp>
#include <lowp/fused_add.hpp>
#include <lowp/update.hpp>
#include <lowp/value.hpp>
