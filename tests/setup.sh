# SPDX-License-Identifier: Apache-2.0
# Sourced by the run.sh of every folder. Finds what is missing, installs it if
# the system is Debian, configures and builds.
set -eu

# The script lies in a folder of the project, however deep.
root=$(CDPATH= cd -- "$(dirname -- "$0")" && until [ -e tests/setup.sh ]; do cd ..; done && pwd)
build=$root/build
missing=
wished=

say() { printf '%s\n' "lowp: $*"; }
die() {
  say "$*" >&2
  exit 1
}

has_program() { command -v "$1" >/dev/null 2>&1; }
has_header() {
  [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] ||
    printf '#include <%s>\n' "$1" | ${CXX:-c++} -E -x c++ - >/dev/null 2>&1
}
has() {
  case $1 in
    /*) has_program "$1" ;;
    */*) has_header "$1" ;;
    *) has_program "$1" ;;
  esac
}

# need PACKAGE SIGN...: the Debian package that brings any one of these programs or headers.
# wish PACKAGE SIGN...: the same, but the work can be done without it.
need() { lacks "$@" || missing="$missing $1"; }
wish() { lacks "$@" || wished="$wished $1"; }
lacks() {
  shift
  for sign; do if has "$sign"; then return 0; fi; done
  return 1
}

need_toolchain() {
  need g++ "${CXX:-c++}"
  need cmake cmake
  need ninja-build ninja make
}

# Packages that all of examples/ needs.
need_examples() {
  need_training
  need nlohmann-json3-dev nlohmann/json.hpp
}
need_training() {
  need_toolchain
  need libeigen3-dev eigen3/Eigen/Core Eigen/Core
  need libcli11-dev CLI/CLI.hpp
  need libfmt-dev fmt/core.h
}

install_missing() {
  [ -n "$missing$wished" ] || return 0
  as_root=
  if [ ! -f /etc/debian_version ] || ! has_program apt-get; then
    why="this is not Debian"
  elif [ "$(id -u)" -ne 0 ] && ! has_program sudo; then
    why="no root and no sudo"
  else
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    say "installing from Debian:$missing$wished"
    # A stale or unreachable source is no reason to stop: the next line decides.
    $as_root apt-get update -q || say "apt-get update failed, going on with the lists at hand"
    # shellcheck disable=SC2086 # a list of packages
    $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -q -o DPkg::Lock::Timeout=600 --no-install-recommends $missing $wished ||
      die "could not install:$missing$wished"
    return 0
  fi
  [ -z "$missing" ] || die "missing ($why):$missing. These are Debian's names; install them and run this again."
  say "going on without:$wished ($why)"
}

# cuda_tool PROGRAM PACKAGE: finds a tool of CUDA beside $nvcc. Packages of CUDA may lack it; PyPI has it.
cuda_tool() {
  if has_program "$1"; then return 0; fi
  tools=$(dirname -- "$nvcc")
  if [ ! -x "$tools/$1" ]; then
    [ -d "$build/$1" ] || python3 -m pip install -q --target "$build/$1" "$2" ||
      say "going on without $1, which is in PyPI's $2"
    tools=$(echo "$build/$1"/nvidia/cu*/bin)
  fi
  PATH=$PATH:$tools
}

# Counts jobs: one a processor, but with 2 GB of memory for each.
job_count() {
  memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo 2>/dev/null || :)
  processors=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
  fit=$((${memory:-4000000} / 2000000))
  [ "$fit" -ge 1 ] || fit=1
  [ "$fit" -lt "$processors" ] || fit=$processors
  echo "$fit"
}

# followed WHAT COMMAND...: shows what `cmake --build` or `ctest` prints, less its lines about what
# went well. On a terminal that is one line that is rewritten, elsewhere one for every tenth. It has
# the command's exit status.
followed() {
  what=$1
  shift
  # Debian's awk waits for a block of input unless it is told otherwise.
  interactive=
  if awk -W version 2>&1 </dev/null | grep -q '^mawk'; then interactive='-W interactive'; fi
  tty=0
  if [ -t 1 ]; then tty=1; fi
  status_file=$(mktemp)
  { "$@" 2>&1 && echo 0 >"$status_file" || echo $? >"$status_file"; } |
    awk $interactive -v what="$what" -v tty=$tty -f "$root/tests/progress.awk"
  status=$(cat "$status_file")
  rm -f "$status_file"
  return "$status"
}

# build_target TARGETS OPTION...: one tree serves the three commands; each switches on what it needs.
build_target() {
  target=$1
  shift
  if [ ! -f "$build/CMakeCache.txt" ] && has_program ninja; then set -- -G Ninja "$@"; fi
  log=$(mktemp)
  cmake -S "$root" -B "$build" "$@" >"$log" 2>&1 || {
    cat "$log" >&2
    rm -f "$log"
    exit 1
  }
  grep -E '(not tested|no loops|no [a-z0-9]+, which)' "$log" || :
  rm -f "$log"
  # shellcheck disable=SC2086 # a list of targets
  NINJA_STATUS='[%f/%t] ' followed building cmake --build "$build" --target $target -j "$(job_count)"
}
