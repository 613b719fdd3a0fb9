#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains on 1, 2, 3 and 4 ranks of MPI, and in one process without MPI. Their parameters must have
# the same bits. Arguments go to the program: sh examples/distributed/run.sh --mode fp8-lm
. "$(dirname -- "$0")/../../tests/setup.sh"

need_training
need nlohmann-json3-dev nlohmann/json.hpp
need libopenmpi-dev mpicxx
need openmpi-bin mpiexec
install_missing

build_target example_distributed -DLOWP_BUILD_EXAMPLES=ON

# Open MPI refuses root, and more ranks than processors, unless it is told otherwise.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none

program=$build/examples/distributed
alone=$("$program" --no-mpi "$@")
printf '%s\n\n' "without MPI: $alone"
hash=$(printf '%s\n' "$alone" | tail -n 1)
for ranks in 1 2 3 4; do
  out=$(mpiexec -n $ranks "$program" "$@")
  printf '%s\n\n' "$out"
  [ "$(printf '%s\n' "$out" | tail -n 1)" = "$hash" ] || die "$ranks ranks have other parameters"
done
say "the same bits on 1, 2, 3 and 4 ranks, and without MPI"
