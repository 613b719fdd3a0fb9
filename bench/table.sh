#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures what bench/README.md tells, in 5 rounds or as many as are named, and rewrites it. PyTorch
# and ml_dtypes are measured where PYTHON, by default python3, has them.
#   PYTHON=venv/bin/python sh bench/table.sh 3
. "$(dirname -- "$0")/../tests/setup.sh"
. "$root/bench/build.sh"

python=${PYTHON:-python3}
rounds=${1:-5}
[ -n "${PYTHON:-}" ] || need python3 python3
wish clang clang++
build_benches
has_program "$python" || die "there is no $python"

# measure PROGRAM LEVEL OPTION...: into the folder of the round.
measure() {
  program=$1 level=$2
  shift 2
  say "round $round of $rounds: $program, $level"
  "$build/bench/$program" --benchmark_out="$out/$program-$level.json" \
    --benchmark_filter="$("$python" "$root/bench/table.py" --filter "$program" "$level")" "$@" \
    >"$out/log" 2>&1 || die "$(cat "$out/log")"
}

all=$build/bench/rounds
rm -rf "$all"
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  out=$all/$round
  mkdir -p "$out"
  for program in cast fused_add update; do
    measure "$program" L2 --benchmark_repetitions=5 --benchmark_min_time=0.02
    measure "$program" DRAM --benchmark_repetitions=3 --benchmark_min_time=0.05
  done
  if grep -qw avx2 /proc/cpuinfo; then
    # A process chooses its backend once.
    (
      export LOWP_ISA=avx2
      measure cast avx2 --benchmark_repetitions=5 --benchmark_min_time=0.02
    )
  fi
  "$python" "$root/bench/peers.py" >"$out/peers.json" || rm "$out/peers.json"
done
"$python" "$root/bench/table.py" "$all"/* >"$all/table.md"
mv "$all/table.md" "$root/bench/README.md"
say "bench/README.md is written"
