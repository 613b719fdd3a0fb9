#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the training program alone. Arguments go to it: sh examples/run.sh --help
. "$(dirname -- "$0")/../tests/setup.sh"

need_training
wish gnuplot-nox gnuplot
install_missing

build_target example_train -DLOWP_BUILD_EXAMPLES=ON
exec "$build/examples/train" "$@"
