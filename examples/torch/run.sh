#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs train.py, or the script of this folder that is named first, under an environment of its own:
#   sh examples/torch/run.sh
#   sh examples/torch/run.sh offload.py
# LOWP_PYTHON names an interpreter that has torch and numpy, and then nothing is installed.
. "$(dirname -- "$0")/../../tests/setup.sh"

. "$root/examples/torch/python.sh"
need g++ "${CXX:-c++}"
need_python
install_missing
install_in_python torch numpy

script=${1:-train.py}
[ $# -eq 0 ] || shift
say "each kind of step is compiled when it is first taken"
exec "$LOWP_PYTHON" "$root/examples/torch/$script" "$@"
