// SPDX-License-Identifier: Apache-2.0
// mpi::communicator: sharded training over MPI.
#pragma once

#include <lowp/base/hide_macros.inc>

#include <lowp/distributed/mpi/communicator.hpp>
#include <lowp/simd/dispatch.hpp>

#include <lowp/base/restore_macros.inc>
