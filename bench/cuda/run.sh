#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures lowp::cuda and its peers on this machine's GPU, in ten minutes. Runs the device tests first,
# and stops at a wrong bit. Writes JSON and a README.md into a folder, by default build/bench-cuda.
# PYTHON, by default python3, times those of PyTorch, Triton and JAX that it has. WHEELS names a folder
# with their wheels: `pip download -d FOLDER torch "jax[cuda13]"` fills it. Needs nvcc, GoogleTest and
# nothing from a network.
#   sh bench/cuda/run.sh
#   sh bench/cuda/run.sh --quick                  two minutes: one size, few tests, no peers
#   WHEELS=wheels sh bench/cuda/run.sh results
#   LOWP_GPU=folder sh bench/cuda/run.sh          a rehearsal on an emulated GPU
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
here=$root/bench/cuda
quick=
if [ "${1:-}" = --quick ]; then
  quick=yes
  shift
fi
out=${1:-$root/build/bench-cuda${quick:+-quick}${LOWP_GPU:+-rehearsal}}
python=${PYTHON:-python3}
limit=600

. "$root/tests/cuda/gpu.sh"
bin=$root/build/bench-cuda/bin${quick:+-quick}${rehearsal:+-rehearsal}

mkdir -p "$out" "$bin"
out=$(CDPATH= cd -- "$out" && pwd)
begin=$(date +%s)

# Compilers work on both at once. In a rehearsal tensors are small, and each is timed once.
optimized="-O3${quick:+ -DLOWP_QUICK}"
[ -z "$rehearsal" ] || optimized='-O1 -DLOWP_REHEARSAL'
say "building for sm_$capability"
jobs=
for source in "$here"/*.cu; do
  # shellcheck disable=SC2086 # lists of flags
  "$nvcc" $optimized -std=c++20 $device_flags -I"$root/include" \
    -o "$bin/$(basename "$source" .cu)" "$source" &
  jobs="$jobs $!"
done
tests=
if [ -n "$quick$rehearsal" ]; then tests='convert.0 watch'; fi
# shellcheck disable=SC2086 # words
SANITIZE=no sh "$root/tests/cuda/run.sh" "$out/tests" $tests ||
  die "device tests fail, so nothing is timed: see $out/tests"
for job in $jobs; do wait "$job" || die "a program does not compile"; done

# Record the device's state meanwhile: the columns that table.py reads.
nvidia_smi -lms 200 --format=csv,noheader,nounits --query-gpu=driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu,utilization.gpu,ecc.mode.current \
  >"$out/clocks.csv" &
sampler=$!
trap 'kill "$sampler" 2>/dev/null || :' EXIT

status=0
for source in "$here"/*.cu; do
  name=$(basename "$source" .cu)
  say "$name"
  on_device "$bin/$name" "$out/$name.json" "$commit" "$date" || status=1
done

if [ -n "${WHEELS:-}" ] && [ -z "$quick$rehearsal" ]; then
  "$python" -m venv "$out/peers" &&
    "$out/peers/bin/python" -m pip install -q --no-index --find-links "$WHEELS" torch 'jax[cuda13]' ||
    say "not all peers are in $WHEELS"
  python=$out/peers/bin/python
fi
if command -v "$python" >/dev/null 2>&1; then
  if [ -z "$quick$rehearsal" ]; then
    say "peers"
    "$python" "$here/peers.py" "$out" $((limit - $(date +%s) + begin)) || status=1
  fi
  "$python" "$here/table.py" "$out" >"$out/README.md" || status=1
  say "$out/README.md is written after $(($(date +%s) - begin)) seconds"
else
  say "there is no $python, so there are no peers and no table"
fi
exit "$status"
