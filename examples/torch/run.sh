#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs train.py, or the script of this folder that is named first, under an environment of its own:
#   sh examples/torch/run.sh
#   sh examples/torch/run.sh offload.py
# LOWP_PYTHON names an interpreter that has torch and numpy, and then nothing is installed.
. "$(dirname -- "$0")/../../tests/setup.sh"
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
build=$root/build

need g++ "${CXX:-c++}"
if [ -z "${LOWP_PYTHON:-}" ]; then
  need python3 python3
  python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
fi
install_missing
if [ -z "${LOWP_PYTHON:-}" ]; then
  LOWP_PYTHON=$build/torch/bin/python
  [ -x "$LOWP_PYTHON" ] || python3 -m venv "$build/torch"
  say "installing from PyPI, gigabytes at first: torch numpy"
  "$LOWP_PYTHON" -m pip install -q torch numpy
fi

script=${1:-train.py}
[ $# -eq 0 ] || shift
say "each kind of step is compiled when it is first taken"
exec "$LOWP_PYTHON" "$root/examples/torch/$script" "$@"
