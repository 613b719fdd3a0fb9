// SPDX-License-Identifier: Apache-2.0
// mpi::communicator: sharded training over MPI.
#pragma once

#include <lowp/distributed/mpi/communicator.hpp>
