// SPDX-License-Identifier: Apache-2.0
// The operations of cast.hpp, for every executor.
#pragma once

#include <lowp/ops/scaled_cast.hpp>
#include <lowp/ops/split.hpp>
#include <lowp/ops/transform.hpp>

#define LOWP_CASTS(X) X(cast) X(scaled_cast) X(block_cast) X(split) X(join) X(resync) X(transform)
