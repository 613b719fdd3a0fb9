#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures lowp::cuda and its peers on this machine's GPU. Writes JSON and a README.md into a
# folder, by default build/bench-cuda. PYTHON, by default python3, times those of PyTorch, Triton
# and JAX that it has. Needs nvcc and nothing from a network.
#   sh bench/cuda/run.sh
#   PYTHON=venv/bin/python sh bench/cuda/run.sh results
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
here=$root/bench/cuda
out=${1:-$root/build/bench-cuda}
bin=$root/build/bench-cuda/bin
python=${PYTHON:-python3}

say() { printf '%s\n' "lowp: $*"; }
die() {
  say "$*" >&2
  exit 1
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || die "there is no nvcc, neither in PATH nor in /usr/local/cuda/bin"
command -v nvidia-smi >/dev/null 2>&1 || die "there is no GPU: nvidia-smi is not installed"
nvidia-smi -L 2>/dev/null | grep -q . || die "there is no GPU: nvidia-smi lists none"

ask() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits 2>/dev/null | sed -n 1p; }
capability=$(ask compute_cap | tr -d .)
case $capability in '' | *[!0-9]*) capability=90 ;; esac

mkdir -p "$out" "$bin"
out=$(CDPATH= cd -- "$out" && pwd)
commit=${COMMIT:-$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)}
date=$(date -u +%Y-%m-%d)

say "building for sm_$capability"
jobs=
for source in "$here"/*.cu; do
  "$nvcc" -O3 -std=c++20 "-arch=sm_$capability" -I"$root/include" \
    -o "$bin/$(basename "$source" .cu)" "$source" &
  jobs="$jobs $!"
done
for job in $jobs; do wait "$job" || die "a program does not compile"; done

# Record the device's state meanwhile: the columns that table.py reads.
nvidia-smi -lms 200 --format=csv,noheader,nounits --query-gpu=driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,ecc.mode.current \
  >"$out/clocks.csv" 2>/dev/null &
sampler=$!
trap 'kill "$sampler" 2>/dev/null || :' EXIT

status=0
for source in "$here"/*.cu; do
  name=$(basename "$source" .cu)
  say "$name"
  "$bin/$name" "$out/$name.json" "$commit" "$date" || status=1
done

if command -v "$python" >/dev/null 2>&1; then
  say "peers"
  "$python" "$here/peers.py" "$out" || status=1
  "$python" "$here/table.py" "$out" >"$out/README.md" || status=1
  say "$out/README.md is written"
else
  say "there is no $python, so there are no peers and no table"
fi
exit "$status"
