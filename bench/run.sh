#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the benchmarks, or those of the operations named first. Other arguments are Google
# Benchmark's and go to each program; a filter keeps the traffic loops of the cases that it selects.
#   sh bench/run.sh
#   sh bench/run.sh --benchmark_filter='bfloat16.*DRAM'
#   sh bench/run.sh cast --benchmark_out=cast.json
#   sh bench/run.sh --quick     tries each case once; where tests are built, on one backend alone
. "$(dirname -- "$0")/../tests/setup.sh"
. "$root/bench/build.sh"

if [ "${1:-}" = --quick ]; then
  shift
  quick=ON
  set -- "$@" --benchmark_min_time=0.001
fi
names=
while case ${1:--} in -*) false ;; esac; do
  [ -f "$root/bench/operations/$1.cpp" ] || [ -f "$root/bench/$1.cpp" ] ||
    die "there is no bench/operations/$1.cpp"
  names="$names $1"
  shift
done
if [ -z "$names" ]; then
  for source in "$root"/bench/operations/*.cpp; do names="$names $(basename "$source" .cpp)"; done
fi

# shellcheck disable=SC2046,SC2086 # lists of names
build_benches $(printf 'bench_%s ' $names)
for name in $names; do
  say "$name"
  "$build/bench/$name" "$@"
done
