#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains a transformer of lowp's layers, once for each way of rounding the operands of its products.
# Writes results/* and README.md here. Other arguments go to the program; with any of them all of it
# is written into the build folder instead.
#   sh bench/transformer/run.sh               # all of it: ten minutes on two processors
#   sh bench/transformer/run.sh --steps 100
#   sh bench/transformer/run.sh --help
. "$(dirname -- "$0")/../../tests/setup.sh"
. "$(dirname -- "$0")/../training/data.sh"

build_target bench_transformer -DLOWP_BUILD_TRAINING=ON
here=$root/bench/transformer
page=$here
[ $# -eq 0 ] || page=$build/transformer
mkdir -p "$page/results"
started=$(date +%s)
"$build/bench/transformer/transformer" --text "$data/jargon.txt" --csv "$page/results/runs.csv" "$@"
[ -s "$page/results/runs.csv" ] || exit 0
write_context "$page/results"
python3 "$here/table.py" --figure "$page/results"
python3 "$here/table.py" "$page/results" >"$page/page.md"
mv "$page/page.md" "$page/README.md"
say "$page/README.md is written"
