#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests. Arguments go to ctest: sh tests/run.sh -L exhaustive
. "$(dirname -- "$0")/setup.sh"

need_examples
need libgtest-dev gtest/gtest.h
wish pkg-config pkg-config
wish clang-format-19 clang-format-19
install_missing

build_target all -DLOWP_BUILD_TESTS=ON -DLOWP_BUILD_EXAMPLES=ON -DLOWP_BUILD_TRAINING=ON

# The exhaustive tests take longer than all others: only when labels are asked for.
labels=
for argument; do
  case $argument in -L* | --label*) labels=asked ;; esac
done
[ -n "$labels" ] || set -- -LE exhaustive "$@"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(job_count)" "$@"
