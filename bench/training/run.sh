#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains three small models in every storage, at a normal and at a small learning rate. Writes the
# results into results/*, README.md here and six storages in the project's README.md. Other
# arguments go to the program; with any of them all of it is written into the build folder instead.
#   sh bench/training/run.sh             # all of it: half an hour on two processors
#   sh bench/training/run.sh --quick     # a fortieth of the steps
#   sh bench/training/run.sh --help
. "$(dirname -- "$0")/../../tests/setup.sh"
root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
build=$root/build

need_toolchain
need libeigen3-dev eigen3/Eigen/Core Eigen/Core
need libcli11-dev CLI/CLI.hpp
need libfmt-dev fmt/core.h
need gnuplot-nox gnuplot
need python3 python3
install_missing

here=$root/bench/training
data=$build/training
mkdir -p "$data"

# fetch PACKAGE FILE NAME: a file of a Debian package, unpacked and checked; nothing is installed.
fetch() {
  if [ ! -f "$data/$3" ]; then
    say "fetching $3 from Debian's $1"
    rm -rf "$data/package"
    mkdir -p "$data/package"
    (cd "$data/package" && apt-get download -q "$1" && dpkg -x ./*.deb .) ||
      die "could not fetch $1"
    gzip -dc "$data/package/$2" >"$data/$3.part"
    mv "$data/$3.part" "$data/$3"
    rm -rf "$data/package"
  fi
  (cd "$data" && grep " $3\$" "$here/data.sha256" | sha256sum -c --quiet -) ||
    die "$data/$3 is not the file that bench/training/README.md tells of"
}
fetch jargon-text usr/share/doc/jargon-text/jargon.txt.gz jargon.txt
fetch python3-sklearn usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz digits.csv

build_target bench_training -DLOWP_BUILD_TRAINING=ON
out=$here/results
[ $# -eq 0 ] || out=$data/results
mkdir -p "$out"
commit=$(git -C "$root" rev-parse --short HEAD 2>/dev/null || echo unknown)
started=$(date +%s)
"$build/bench/training/training" --text "$data/jargon.txt" --digits "$data/digits.csv" \
  --csv "$out/runs.csv" --tensors "$out/tensors.csv" --loss-scaling "$out/loss_scaling.csv" "$@"
[ -s "$out/runs.csv" ] || exit 0
cat >"$out/context.csv" <<END
what,value
processor,"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(getconf _NPROCESSORS_ONLN) of them"
compiler,"$(${CXX:-c++} --version | head -n 1)"
date,$(date -u +%Y-%m-%d)
commit,$commit
minutes,$((($(date +%s) - started + 59) / 60))
END

python3 "$here/table.py" --figures "$out"
if [ $# -eq 0 ]; then
  python3 "$here/table.py" >"$data/page.md"
  mv "$data/page.md" "$here/README.md"
  python3 "$here/table.py" --into "$root/README.md"
  say "bench/training/README.md and the table in README.md are written"
else
  python3 "$here/table.py" "$out" >"$out/README.md"
  say "$out/README.md is written"
fi
