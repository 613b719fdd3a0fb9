#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times the steps of lowp_torch beside PyTorch's, and writes README.md here. Arguments go to step.py.
# With them, only the terminal gets the tables.
#   sh bench/torch/run.sh
#   sh bench/torch/run.sh --rounds 3 --small
# LOWP_PYTHON names an interpreter that has torch and numpy: nothing is installed then.
. "$(dirname -- "$0")/../../tests/setup.sh"
. "$root/examples/torch/python.sh"
need g++ "${CXX:-c++}"
need_python
install_missing
install_in_python torch numpy

here=$root/bench/torch
[ $# -ne 0 ] || set -- --into "$here/README.md"
PYTHONPATH=$root/examples/torch exec "$LOWP_PYTHON" "$here/step.py" "$@"
