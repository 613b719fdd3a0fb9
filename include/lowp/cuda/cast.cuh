// SPDX-License-Identifier: Apache-2.0
// Operations of cast.hpp over device memory: see lowp.cuh.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/on_stream.cuh>
#include <lowp/ops/casts.hpp>

namespace lowp::cuda {
LOWP_CASTS(LOWP_ON_STREAM)
}  // namespace lowp::cuda

#include <lowp/base/restore_macros.inc>
