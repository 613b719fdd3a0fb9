// SPDX-License-Identifier: Apache-2.0
// Optimizer steps in place:
//
//     update(p, g, sgd, step, rounding = nearest_even, overflow, report)
//     update(p, g, momentum, sgd, step, ...)
//     update(p, g, m, v, adamw, step, ...)
//     update(list, optimizer, step, ...)
#pragma once

#include <lowp/train/update.hpp>
