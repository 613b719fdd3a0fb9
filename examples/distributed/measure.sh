#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints measured.csv: bytes that rank 0 keeps and sends, as the program counts them.
#   sh examples/distributed/measure.sh PROGRAM >examples/distributed/measured.csv
set -eu
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
echo "mode,ranks,leaves,parameters,shard,kept,sent"
for mode in fsdp bf16 fp8-lm mxfp8; do
  for ranks in 1 4; do
    mpiexec -n $ranks "$1" --mode $mode --steps 1 | sed -n '/^rank 0: /s/[^0-9]\{1,\}/,/gp' |
      sed "s/^,0/$mode,$ranks/; s/,$//"
  done
done
