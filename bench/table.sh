#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the programs of bench/README.md, or those that are named, in 5 rounds or the number that
# comes first. Keeps the figures in bench/results, and rewrites the page and the short table in
# README.md. Figures that are not measured now stay as they were, with their date. PYTHON, by
# default python3, times PyTorch and ml_dtypes if it has them.
#   PYTHON=venv/bin/python sh bench/table.sh
#   sh bench/table.sh 3 softmax census
. "$(dirname -- "$0")/../tests/setup.sh"
. "$root/bench/build.sh"

python=${PYTHON:-python3}
[ -n "${PYTHON:-}" ] || need python3 python3
wish clang clang++
build_benches
has_program "$python" || die "there is no $python"
table() { "$python" "$root/bench/report/table.py" "$@"; }

rounds=5
case ${1:-} in
  *[!0-9]* | "") ;;
  *) rounds=$1 && shift ;;
esac
[ "$rounds" -gt 0 ] || die "$rounds rounds measure nothing"
known=$(table --programs)
for program; do
  case " $known " in
    *" $program "*) [ -x "$build/bench/$program" ] || die "$program is not built" ;;
    *) die "$program is none of $known" ;;
  esac
done
if [ $# -eq 0 ]; then
  for program in $known; do
    if [ -x "$build/bench/$program" ]; then set -- "$@" "$program"; fi
  done
fi

# run PROGRAM LEVEL OPTION...: into the folder of the round.
run() {
  program=$1 level=$2
  shift 2
  say "round $round of $rounds: $program, $level"
  "$build/bench/$program" --benchmark_out="$out/$program-$level.json" "$@" >"$out/log" 2>&1 ||
    die "$(cat "$out/log")"
}
# measure PROGRAM LEVEL OPTION...: the cases that the page needs there.
measure() {
  cases=$(table --filter "$1" "$2")
  run "$@" --benchmark_filter="$cases"
}

# others NAME: the libraries that Python times.
others() {
  "$python" "$root/bench/peers/peers.py" "$program" >"$out/$1.json" || rm "$out/$1.json"
}

all=$build/bench/rounds
rm -rf "$all"
round=0
while [ "$round" -lt "$rounds" ]; do
  round=$((round + 1))
  out=$all/$round
  mkdir -p "$out"
  for program; do
    if [ "$program" = watch ]; then
      run watch step --benchmark_min_time=0.1
      continue
    fi
    measure "$program" L2 --benchmark_repetitions=5 --benchmark_min_time=0.02
    measure "$program" DRAM --benchmark_repetitions=3 --benchmark_min_time=0.05
    others "$program-peers"
    if grep -qw avx2 /proc/cpuinfo; then
      # A process chooses its backend once. PyTorch and oneDNN have such a cap too.
      (
        export LOWP_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
        measure "$program" avx2 --benchmark_repetitions=5 --benchmark_min_time=0.02
        others "$program-peers-avx2"
      )
    fi
  done
done
mkdir -p "$root/bench/results"
for program; do
  table --collect "$program" "$all"/* >"$all/figures"
  mv "$all/figures" "$root/bench/results/$program.json"
done
table >"$all/table.md"
mv "$all/table.md" "$root/bench/README.md"
table --into "$root/README.md"
say "bench/README.md and the table in README.md are written"
