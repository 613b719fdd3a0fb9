# SPDX-License-Identifier: Apache-2.0
# Sourced after tests/setup.sh. Makes an environment with PyTorch in $build, or takes that of LOWP_PYTHON.

need_python() {
  [ -z "${LOWP_PYTHON:-}" ] || return 0
  need python3 python3
  python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
}
# install_in_python PACKAGE...: into the environment of the build, and not into another one.
install_in_python() {
  [ -z "${LOWP_PYTHON:-}" ] || return 0
  LOWP_PYTHON=$build/torch/bin/python
  [ -x "$LOWP_PYTHON" ] || python3 -m venv "$build/torch"
  say "installing from PyPI, gigabytes at first: $*"
  "$LOWP_PYTHON" -m pip install -q "$@"
}
