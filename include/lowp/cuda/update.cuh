// SPDX-License-Identifier: Apache-2.0
// Steps of update.hpp over device memory: see lowp.cuh.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/on_stream.cuh>
#include <lowp/train/updates.hpp>

namespace lowp::cuda {
LOWP_UPDATES(LOWP_ON_STREAM)
}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
