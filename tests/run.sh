#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the tests.
#   sh tests/run.sh           every operation; casts and steps on every backend of this machine
#   sh tests/run.sh --quick   does the library work here?
#   sh tests/run.sh --all     every format, other compilers, CUDA, the examples
#   sh tests/run.sh --peers   beside PyTorch, Eigen, ml_dtypes ...: downloads gigabytes
#   sh tests/run.sh --ranks   optimizers for PyTorch on 1 to 8 ranks of gloo: downloads 3 GB
#   sh tests/run.sh --arm     as without an option, built for AArch64 and run under qemu: 35 processor
#                             minutes; --arm --quick takes 3. CXX=clang++ before it takes clang
#   sh tests/run.sh --record  keeps what --all found of the guarantees. If all tests of their table
#                             have run, here or elsewhere, it goes into tests/README.md
# Other arguments go to ctest: sh tests/run.sh --all -L exhaustive
. "$(dirname -- "$0")/setup.sh"

level=
quick=
case ${1:-} in
  --quick | --all | --peers | --arm) level=$1 && shift ;;
  --ranks)
    . "$root/examples/torch/python.sh"
    need g++ "${CXX:-c++}"
    need cmake cmake
    need_python
    install_missing
    install_in_python torch numpy
    "$LOWP_PYTHON" -c 'import numpy, torch'
    export LOWP_PYTHON
    say "five libraries are compiled first"
    exec cmake -DROOT="$root" -DSCRATCH="$build/tests/scratch/ranks" -DCXX="${CXX:-c++}" \
      -P "$root/tests/peers/torch/ranks_test.cmake"
    ;;
  --help | -h) sed -n '3,13s/^# //p' "$0" && exit 0 ;;
  --record)
    [ -f "$build/guarantees.md" ] || die "there is no table yet: run sh tests/run.sh --all"
    LC_ALL=C sort -k 2 -o "$root/tests/guarantees.tsv" "$build/guarantees.kept"
    if grep '^|.*not run' "$build/guarantees.md"; then die "these tests of the table have not run"; fi
    cp "$build/guarantees.md" "$root/tests/README.md"
    exit 0
    ;;
esac

need_toolchain
need libgtest-dev gtest/gtest.h
need python3 python3
wish nlohmann-json3-dev nlohmann/json.hpp
target=tests
all=OFF
case $level in
  --quick) quick=asked ;;
  --all)
    need_examples
    wish pkg-config pkg-config
    wish clang clang++
    wish clang-19 clang++-19
    wish libclang-rt-14-dev ../lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a
    wish libomp-14-dev ../lib/llvm-14/lib/libarcher.so
    wish qemu-user qemu-aarch64
    wish g++-aarch64-linux-gnu aarch64-linux-gnu-g++
    wish g++-i686-linux-gnu i686-linux-gnu-g++
    wish g++-s390x-linux-gnu s390x-linux-gnu-g++
    wish clang-format-19 clang-format-19
    wish libopenmpi-dev mpicxx
    wish openmpi-bin mpiexec
    target=all
    all=ON
    ;;
  --peers)
    target=tests_peers
    all=ON
    python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
    need_examples
    wish g++-mingw-w64-x86-64-posix x86_64-w64-mingw32-g++-posix
    wish wine64 /usr/lib/wine/wine64
    wish libmpfr-dev mpfr.h
    wish librandom123-dev Random123/philox.h
    wish libcereal-dev cereal/cereal.hpp
    wish libfmt-dev fmt/core.h
    wish libglm-dev glm/glm.hpp
    wish libnanoflann-dev nanoflann.hpp
    wish libboost-dev boost/numeric/ublas/matrix.hpp
    wish libxtensor-dev xtensor/xtensor.hpp
    wish clang-19 clang++-19
    wish libc++-19-dev ../lib/llvm-19/include/c++/v1/mdspan
    set -- -L peers "$@"
    ;;
  --arm)
    need g++-aarch64-linux-gnu aarch64-linux-gnu-g++
    need qemu-user qemu-aarch64
    if [ "${1:-}" = --quick ]; then quick=asked && shift; fi
    case ${CXX:-} in
      *clang*) build=$build/aarch64-clang && need clang "$CXX" ;;
      *) build=$build/aarch64 ;;
    esac
    ;;
  *)
    wish libfmt-dev fmt/core.h
    ;;
esac
if [ -n "$quick" ]; then
  target=tests_quick
  set -- -L quick "$@"
fi
install_missing
if [ "$level" = --peers ]; then
  # Python's packages go into an environment of the build.
  LOWP_PYTHON=${LOWP_PYTHON:-$build/peers/bin/python}
  export LOWP_PYTHON
  [ -x "$LOWP_PYTHON" ] || python3 -m venv "$build/peers"
  say "installing from PyPI: $(tr '\n' ' ' <"$root/tests/peers/requirements.txt")"
  "$LOWP_PYTHON" -m pip install -q -r "$root/tests/peers/requirements.txt"
fi

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ "$level" = --all ] && [ -x "$nvcc" ]; then cuda_tool nvdisasm nvidia-cuda-nvdisasm; fi

if [ "$level" = --arm ]; then
  mkdir -p "$build"
  set_toolchain=-DCMAKE_TOOLCHAIN_FILE=$root/tests/aarch64.cmake
fi
build_target $target ${set_toolchain:+"$set_toolchain"} -DLOWP_BUILD_TESTS=ON -DLOWP_BUILD_EXAMPLES=ON -DLOWP_TEST_ALL=$all \
  -DLOWP_BUILD_TRAINING=$all

# The exhaustive tests, planted faults and proofs take longer than all others: they run only if
# labels are given.
labels=
for argument; do
  case $argument in -L* | --label*) labels=asked ;; esac
done
[ -n "$labels" ] || set -- -LE 'exhaustive|mutation|proof' "$@"
if ctest --test-dir "$build" -N -L exhaustive "$@" | grep -qE ': (exhaustive|cuda)\.'; then
  followed building cmake --build "$build" --target tests_exhaustive -j "$(job_count)"
fi
status=0
followed testing ctest --test-dir "$build" --output-on-failure --no-tests=error \
  -j "$(job_count)" "$@" || status=$?

# The table of guarantees: each test has a state, a hash of the code that decides its outcome: the
# library, the headers of the tests, and the test's own room, which is the first word of its name. A
# record counts while its test keeps its state. Comments and standard headers decide nothing.
known=
records=
if [ $all = ON ]; then
  known=$build/guarantees.known
  records=$build/guarantees.tsv
  code=$build/guarantees.code
  (cd "$root" && grep -aHrvE --exclude='*.md' --exclude='*.pyc' '^ *(//|$)|^#include <[a-z_0-9]*>$' \
    include tests) | LC_ALL=C sort -s -t : -k 1,1 >"$code"
  state_of() { grep -aE "^($1)" "$code" | sha256sum | cut -c1-12; }
  names=$(find "$build/tests" -name CTestTestfile.cmake -exec cat {} + |
    sed -n 's/^add_test(\[=*\[\([^]]*\)].*/\1/p')
  for room in $(printf '%s\n' "$names" | sed 's/\..*//' | sort -u); do
    state=$(state_of "include/|tests/(support|oracle|$room)/|tests/${room}_test|tests/[^:]*\.hpp:")
    printf '%s\n' "$names" | sed -n "s/^$room\(\..*\)*$/$state\t&\tknown\t/p"
  done >"$known"
fi
machine="$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(${CXX:-c++} --version | head -1)"
if has_program nvidia-smi; then
  machine="$machine, $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)"
fi
machine="$machine${LOWP_GPU:+, an emulated GPU}"
awk -f "$root/tests/summary.awk" -v known="$known" -v records="$records" -v machine="$machine" \
  "$build/Testing/Temporary/LastTest.log"
if [ -n "$records" ]; then
  cat "$known" "$root/tests/guarantees.tsv" "$records" |
    awk -f "$root/tests/guarantees.awk" -v library="$(state_of include/)" -v kept="$build/guarantees.kept" \
      "$root/tests/guarantees.txt" - "$root/tests/README.md" >"$build/guarantees.md"
  say "the table of guarantees: $build/guarantees.md"
fi

# longest: of lines with seconds and a name, those that took longest.
longest() { sort -rn | awk 'NR <= 12 { printf "%s%s %.0f", (NR > 1 ? ", " : ""), $2, $1 }'; }
if [ $all = ON ]; then
  say "seconds of the longest steps of this tree: $(awk -F '\t' 'NF > 3 {
    sub(/.*CMakeFiles\//, "", $4)
    print ($2 - $1) / 1000, $4 }' "$build/.ninja_log" 2>/dev/null | longest)"
  say "seconds of the longest tests: $(awk '/^[0-9]+\/[0-9]+ Test: / { name = $3 }
    /^Test time =/ { print $4, name }' "$build/Testing/Temporary/LastTest.log" | longest)"
fi

# Machines differ by the time of an empty unit.
printf '#include <vector>\n#include <cmath>\n' >"$build/empty.cpp"
times >"$build/times"
for _ in 1 2 3 4 5; do ${CXX:-c++} -std=c++20 -c "$build/empty.cpp" -o "$build/empty.o"; done
times >>"$build/times"
awk -F '[ms ]' 'NR == 2 { all = $1 * 60 + $2 }
  NR == 4 { unit = ($1 * 60 + $2 - all) / 5
    printf "lowp: %.0f processor seconds; an empty unit takes %.2f\n", all, unit }' "$build/times"
exit $status
