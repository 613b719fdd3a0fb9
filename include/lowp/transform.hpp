// SPDX-License-Identifier: Apache-2.0
// An operation of your own at the speed of the library's:
//
//     transform(function, rounding, out, in...)
#pragma once

#include <lowp/ops/transform.hpp>
