#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests that need a GPU. Runs all again under memcheck and racecheck of compute-sanitizer, and
# small ones under its other tools. If the toolkit lacks that tool, it comes from PyPI.
# Writes README.md into a folder, by default build/tests-cuda. Needs a driver and nvcc.
#   sh tests/cuda/run.sh
#   sh tests/cuda/run.sh results replay watch    programs with these words in their names
#   SANITIZE=no sh tests/cuda/run.sh             without compute-sanitizer
#   LOWP_GPU=folder sh tests/cuda/run.sh         a rehearsal on an emulated GPU
. "$(dirname -- "$0")/../setup.sh"
. "$root/tests/cuda/gpu.sh"

out=${1:-$root/build/tests-cuda}
[ $# -eq 0 ] || shift
words=${*:-.}
# Programs that run under initcheck and synccheck; and tests that take minutes on an emulated GPU.
small='convert.0|replay|reports|pieces.0|watch|gradients'
large='*converts_all_floats*:*indices_beyond_31_bits*'

need_toolchain
need libgtest-dev gtest/gtest.h
install_missing
mkdir -p "$out"
out=$(CDPATH= cd -- "$out" && pwd)
begin=$(date +%s)

build=$root/build/cuda
CUDACXX=$nvcc cmake -S "$root" -B "$build" -DLOWP_TEST_ALL=ON -DLOWP_BUILD_TESTS=ON \
  -DCMAKE_CUDA_ARCHITECTURES="$capability" >"$out/configure.log" 2>&1 ||
  die "it cannot be configured: see $out/configure.log"
pattern=$(echo "$words" | sed 's/ /|/g')
programs=$(cmake --build "$build" --target help |
  grep -oE 'test_cuda\.device[a-z0-9_.]*[0-9]' | sort -u | grep -E "$pattern")
say "building $(echo "$programs" | wc -l) programs"
# shellcheck disable=SC2086 # a list of targets
cmake --build "$build" -j "$(job_count)" --target $programs >"$out/build.log" 2>&1 ||
  die "a program does not compile: see $out/build.log"

# counted PASSED LOG: the number of tests in a line of googletest's.
counted() { sed -n "s/^\[  $1 *\] \([0-9]*\) test.*/\1/p" "$2" | sed -n 1p | grep . || echo 0; }

status=0
{
  [ -z "$rehearsal" ] || printf '**A rehearsal on an emulated GPU.**\n\n'
  echo '# Tests on a GPU, as last run'
  echo
  device_facts
  echo
  echo '| program | passed | failed | skipped | seconds |'
  echo '|---|---|---|---|---|'
} >"$out/README.md"
filter='*'
[ -z "$rehearsal" ] || filter=-$large
for program in $programs; do
  name=${program#test_cuda.}
  path=$(find "$build" -type f -name "$program" -perm -u+x | sed -n 1p)
  log=$out/$name.log
  start=$(date +%s)
  on_device "$path" "--gtest_filter=$filter" >"$log" 2>&1 || status=1
  passed=$(counted PASSED "$log")
  [ "$passed" != 0 ] || grep -q '^\[  SKIPPED' "$log" || status=1
  echo "| $name | $passed | $(counted FAILED "$log") | $(counted SKIPPED "$log") | $(($(date +%s) - start)) |" |
    tee -a "$out/README.md"
done

if [ "${SANITIZE:-yes}" = no ]; then
  say "$out/README.md is written after $(($(date +%s) - begin)) seconds"
  exit $status
fi
[ -n "$rehearsal" ] || cuda_tool compute-sanitizer nvidia-cuda-sanitizer-api
{
  echo
  echo '| program | memcheck | racecheck | initcheck | synccheck |'
  echo '|---|---|---|---|---|'
} >"$out/sanitizer.md"
# sanitized TOOL PROGRAM: runs a program under a tool. The emulated GPU has these checks, all in one.
# Tests make calls that CUDA must refuse, and look at each status: memcheck need not report those.
sanitized() {
  if [ -n "$rehearsal" ]; then
    GPUEMU_RACES=1 on_device "$2" "--gtest_filter=-$large:*more_tiles*" 2>&1
    return
  fi
  option=
  if [ "$1" = memcheck ]; then option='--report-api-errors no'; fi
  # shellcheck disable=SC2086 # words
  compute-sanitizer --tool "$1" $option --error-exitcode 99 "$2" 2>&1
}
if has_program compute-sanitizer || [ -n "$rehearsal" ]; then
  for program in $programs; do
    name=${program#test_cuda.}
    tools='memcheck racecheck'
    if echo "$name" | grep -qE "$small"; then tools="$tools initcheck synccheck"; fi
    path=$(find "$build" -type f -name "$program" -perm -u+x | sed -n 1p)
    cells=
    for tool in $tools; do
      log=$out/$name.$tool.log
      answer=clean
      sanitized "$tool" "$path" >"$log" || answer=**failed**
      if grep -qE 'gpuemu: [1-9][0-9]* complaints' "$log"; then answer=**failed**; fi
      [ "$answer" = clean ] || status=1
      cells="$cells $answer |"
      if [ -n "$rehearsal" ]; then
        cells="$cells in the first | in the first | in the first |"
        break
      fi
    done
    echo "| $name |$cells" | tee -a "$out/sanitizer.md"
  done
else
  echo '| compute-sanitizer is not installed | | | | |' | tee -a "$out/sanitizer.md"
fi
cat "$out/sanitizer.md" >>"$out/README.md"
rm "$out/sanitizer.md"
say "$out/README.md is written after $(($(date +%s) - begin)) seconds"
exit $status
