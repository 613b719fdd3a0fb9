// SPDX-License-Identifier: Apache-2.0
// Sharded training over MPI 3 or newer. mpi::communicator reduces narrow gradients with one sum in
// float, and gathers parameters in place. It merges maxima and reports, and decides to skip a step.
// mpi::datatype is for messages of your own.
#pragma once

#include <lowp/distributed/mpi/communicator.hpp>
