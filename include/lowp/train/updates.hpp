// SPDX-License-Identifier: Apache-2.0
// The operations of update.hpp, for every executor.
#pragma once

#include <lowp/ops/split.hpp>
#include <lowp/train/gradients.hpp>
#include <lowp/train/update.hpp>

#define LOWP_UPDATES(X) X(update) X(unscale) X(measure)
