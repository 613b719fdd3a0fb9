#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the examples and trains a small model. Arguments go to it: sh examples/run.sh --help
. "$(dirname -- "$0")/../tests/setup.sh"

need_toolchain
need libeigen3-dev eigen3/Eigen/Core Eigen/Core
need libcli11-dev CLI/CLI.hpp
need libfmt-dev fmt/core.h
need nlohmann-json3-dev nlohmann/json.hpp
wish gnuplot-nox gnuplot
install_missing

build_target examples -DLOWP_BUILD_EXAMPLES=ON
exec "$build/examples/train" "$@"
