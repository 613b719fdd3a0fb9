#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Trains three small models in every storage, at a normal and at a small learning rate. Writes the
# results into results/*, README.md here and six storages in the project's README.md. Other
# arguments go to the program; with any of them all of it is written into the build folder instead.
#   sh bench/training/run.sh             # all of it: fifty minutes on two processors
#   sh bench/training/run.sh --quick     # a fortieth of the steps
#   sh bench/training/run.sh --help
# Some storages alone, among the results that are there:
#   sh bench/training/run.sh --configurations lion,lion-bf16
#   python3 bench/training/table.py --merge build/training/results
. "$(dirname -- "$0")/../../tests/setup.sh"
. "$(dirname -- "$0")/data.sh"
fetch python3-sklearn usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz digits.csv

build_target bench_training -DLOWP_BUILD_TRAINING=ON
here=$root/bench/training
out=$here/results
[ $# -eq 0 ] || out=$data/results
mkdir -p "$out"
started=$(date +%s)
"$build/bench/training/training" --text "$data/jargon.txt" --digits "$data/digits.csv" \
  --csv "$out/runs.csv" --tensors "$out/tensors.csv" --loss-scaling "$out/loss_scaling.csv" "$@"
[ -s "$out/runs.csv" ] || exit 0
write_context "$out"

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
