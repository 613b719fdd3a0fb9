#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures the programs of bench/README.md, or those that are named, in 5 rounds or the number that
# comes first. Keeps the figures in bench/results, in the folder of this kind of processor.
# Rewrites the page and the short table in README.md. Figures that are not measured now stay as they were, with their date. PYTHON, by
# default python3, times PyTorch and ml_dtypes if it has them.
# Runs on x86-64 and on arm64; the latter has no columns for AVX2.
#   PYTHON=venv/bin/python sh bench/table.sh
#   sh bench/table.sh 3 softmax census
. "$(dirname -- "$0")/../tests/setup.sh"
. "$root/bench/build.sh"

python=${PYTHON:-python3}
[ -n "${PYTHON:-}" ] || need python3 python3
wish clang clang++
install_missing
has_program "$python" || die "there is no $python"
table() { "$python" "$root/bench/report/table.py" "$@"; }

rounds=5
case ${1:-} in
  *[!0-9]* | "") ;;
  *) rounds=$1 && shift ;;
esac
[ "$rounds" -gt 0 ] || die "$rounds rounds measure nothing"
# The cases of "team" are those of programs that are built a second time, for all processors.
is_built() { [ -x "$build/bench/$1" ] || { [ "$1" = team ] && [ -x "$build/bench/team_cast" ]; }; }
known=$(table --programs)
targets=
for program; do
  case " $known " in
    *" $program "*) ;;
    *) die "$program is none of $known" ;;
  esac
  if [ "$program" = team ]; then
    for each in $(table --teams); do targets="$targets bench_$each bench_team_$each"; done
  else
    targets="$targets bench_$program"
  fi
done
# shellcheck disable=SC2086 # a list of targets
build_benches $targets
if [ $# -eq 0 ]; then
  for program in $known; do
    if is_built "$program"; then set -- "$@" "$program"; fi
  done
fi

# run PROGRAM NAME OPTION...: into NAME in the folder of the round.
run() {
  binary=$1 name=$2
  shift 2
  say "round $round of $rounds: $name"
  "$build/bench/$binary" --benchmark_out="$out/$name.json" "$@" >"$out/log" 2>&1 ||
    die "$(cat "$out/log")"
}
short='--benchmark_repetitions=5 --benchmark_min_time=0.02'
long='--benchmark_repetitions=3 --benchmark_min_time=0.05'
# measure SUFFIX LEVEL: the program's cases that the page needs from L2, and from DRAM. Then the
# libraries that Python times.
measure() {
  cases=$(table --filter "$program" "$2")
  # shellcheck disable=SC2086 # a list of options
  run "$program" "$program-L2$1" --benchmark_filter="$cases" $short
  cases=$(table --filter "$program" DRAM)
  # shellcheck disable=SC2086
  run "$program" "$program-DRAM$1" --benchmark_filter="$cases" $long
  peers=$out/$program-peers$1.json
  "$python" "$root/bench/peers/peers.py" "$program" >"$peers" || rm "$peers"
}
# measure_team SUFFIX: cases on all processors, and on one beside them.
measure_team() {
  for each in $(table --teams); do
    cases=$(table --filter "$each" one)
    # shellcheck disable=SC2086
    run "$each" "team-$each-one$1" --benchmark_filter="$cases" $short
    cases=$(table --filter "$each" all)
    # shellcheck disable=SC2086
    run "team_$each" "team-$each-all$1" --benchmark_filter="$cases" $long
  done
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
      run watch watch-step --benchmark_min_time=0.1
      continue
    fi
    if [ "$program" = team ]; then measure_team ""; else measure "" L2; fi
    if grep -qsw avx2 /proc/cpuinfo; then
      # A process chooses its backend once. PyTorch and oneDNN have such a cap too.
      (
        export LOWP_ISA=avx2 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2
        if [ "$program" = team ]; then measure_team -avx2; else measure -avx2 avx2; fi
      )
    fi
  done
done
for program; do
  table --collect "$program" "$all"/* >"$all/figures"
  kind=$root/bench/results/$(table --kind "$all/figures")
  mkdir -p "$kind"
  mv "$all/figures" "$kind/$program.json"
done
table >"$all/table.md"
mv "$all/table.md" "$root/bench/README.md"
table --into "$root/README.md"
say "bench/README.md and the table in README.md are written"
