#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the benchmarks. Arguments go to each: sh bench/run.sh --benchmark_filter=bfloat16
. "$(dirname -- "$0")/../tests/setup.sh"

need_toolchain
need libbenchmark-dev benchmark/benchmark.h
install_missing

build_target benches -DLOWP_BUILD_BENCH=ON
for source in "$root"/bench/*.cpp; do
  name=$(basename "$source" .cpp)
  say "$name"
  "$build/bench/$name" "$@"
done
