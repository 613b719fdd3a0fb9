// SPDX-License-Identifier: Apache-2.0
// Sharded training over NCCL 2.24 or newer: nccl::communicator has the interface of mpi.hpp for
// device memory, on a stream. Compile it with nvcc.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/cuda/launch.cuh>
#include <lowp/distributed/nccl/communicator.hpp>

namespace lowp::nccl {

using communicator = basic_communicator<cuda::gpu_grid>;

}  // namespace lowp::nccl

#include <lowp/base/restore_macros.inc>
