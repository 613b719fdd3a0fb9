#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds the examples and trains a small model. Arguments go to it: sh examples/run.sh --help
. "$(dirname -- "$0")/../tests/setup.sh"

need_examples
wish gnuplot-nox gnuplot
install_missing

build_target examples -DLOWP_BUILD_EXAMPLES=ON
exec "$build/examples/train" "$@"
