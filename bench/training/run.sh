#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains three small models in every storage, at a normal and at a small learning rate, and writes
# what came of it: results/*.csv, figures and tables. Options go to the program.
#   sh bench/training/run.sh             # all of it
#   sh bench/training/run.sh --quick     # a fortieth of the steps, into the build folder
#   sh bench/training/run.sh --help
. "$(dirname -- "$0")/../../tests/setup.sh"

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
  [ -f "$data/$3" ] || {
    say "fetching $3 from Debian's $1"
    rm -rf "$data/package"
    mkdir -p "$data/package"
    (cd "$data/package" && apt-get download -q "$1" && dpkg -x ./*.deb .) ||
      die "could not fetch $1"
    gzip -dc "$data/package/$2" >"$data/$3.part"
    mv "$data/$3.part" "$data/$3"
    rm -rf "$data/package"
  }
  (cd "$data" && grep " $3\$" "$here/data.sha256" | sha256sum -c --quiet -) ||
    die "$data/$3 is not the file that the figures in bench/training/README.md are of"
}
fetch jargon-text usr/share/doc/jargon-text/jargon.txt.gz jargon.txt
fetch python3-sklearn usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz digits.csv

build_target bench_training -DLOWP_BUILD_BENCH=ON
out=$here/results
for argument; do
  case $argument in --quick) out=$data/quick ;; esac
done
mkdir -p "$out"
"$build/bench/training/training" --text "$data/jargon.txt" --digits "$data/digits.csv" \
  --csv "$out/runs.csv" --tensors "$out/tensors.csv" "$@"
