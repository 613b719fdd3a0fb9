# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/cuda/run.sh and bench/cuda/run.sh, which set `root` before. Finds nvcc and the
# GPU. If LOWP_GPU names the folder of an emulated GPU, it stands in: that is a rehearsal.
#   nvcc                  the compiler
#   device_flags          what it needs for the device
#   on_device PROGRAM...  runs a program
#   ask COLUMN            a fact from nvidia-smi
#   device_facts          rows of a table: device, driver, clocks, commit, date
#   LOWP_CHECKSUMS        the processor's results, for programs that another machine compiled
rehearsal=${LOWP_GPU:+yes}
export LOWP_CHECKSUMS="$root/tests/cuda/checksums.txt"
[ -s "$LOWP_CHECKSUMS" ] || { echo "lowp: $LOWP_CHECKSUMS is not here" >&2 && exit 1; }

say() { printf '%s\n' "lowp: $*"; }
die() {
  say "$*" >&2
  exit 1
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || die "there is no nvcc, neither in PATH nor in /usr/local/cuda/bin"

if [ -n "$rehearsal" ]; then
  [ -x "$LOWP_GPU/run" ] || die "LOWP_GPU names no folder of an emulated GPU: $LOWP_GPU"
  say "a rehearsal on an emulated GPU: no time means anything"
  device=$root/build/gpu
  mkdir -p "$root/build"
  "$LOWP_GPU/setup" "$device" >/dev/null
  device_flags=$("$LOWP_GPU/flags")
  on_device() { "$LOWP_GPU/run" "$device" "$@"; }
  # The columns of a driver, in the order of the query.
  nvidia_smi() {
    for argument; do
      case $argument in --query-gpu=*) columns=${argument#--query-gpu=} ;; esac
    done
    echo "$columns" | sed 's/,/\n/g' | sed 's/^compute_cap$/9.0/; s/^name$/emulated/
      s/^driver_version$/emulated/; s/^utilization.gpu$/1/; s/^[a-z].*\..*/[N\/A]/' | paste -sd, - | sed 's/,/, /g'
  }
else
  command -v nvidia-smi >/dev/null 2>&1 || die "there is no GPU: nvidia-smi is not installed"
  nvidia-smi -L 2>/dev/null | grep -q . || die "there is no GPU: nvidia-smi lists none"
  on_device() { "$@"; }
  nvidia_smi() { nvidia-smi "$@" 2>/dev/null; }
fi

ask() { nvidia_smi --query-gpu="$1" --format=csv,noheader,nounits | sed -n 1p; }
capability=$(ask compute_cap | tr -d .)
case $capability in '' | *[!0-9]*) capability=90 ;; esac
[ -n "$rehearsal" ] || device_flags=-arch=sm_$capability

commit=${COMMIT:-$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)}
date=$(date -u +%Y-%m-%d)

device_facts() {
  echo '| | |'
  echo '|---|---|'
  echo "| device | $(ask name), compute capability $(ask compute_cap) |"
  echo "| driver | $(ask driver_version) |"
  echo "| CUDA | nvcc $("$nvcc" --version | sed -n 's/.*V\([0-9.]*\)$/\1/p') |"
  echo "| clocks | SM $(ask clocks.sm) MHz, at most $(ask clocks.max.sm) MHz; memory $(ask clocks.mem) MHz |"
  echo "| commit | $commit |"
  echo "| date | $date |"
}
