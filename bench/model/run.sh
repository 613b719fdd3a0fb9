#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a trained sentence encoder once for each way of rounding, then fine-tunes it with lowp_torch.
# Writes results/* and README.md here. Other arguments go to the fine-tuning, and send what is written
# to the build folder.
# LOWP_PYTHON names an interpreter that has torch, transformers and safetensors; else PyPI has them.
#   sh bench/model/run.sh             # all of it: half an hour on two processors
#   sh bench/model/run.sh --steps 20 --seeds 1
#   sh bench/model/run.sh --help
. "$(dirname -- "$0")/../../tests/setup.sh"
. "$root/examples/torch/python.sh"
need nlohmann-json3-dev nlohmann/json.hpp
need python3-pip pip3
need_python
. "$(dirname -- "$0")/../training/data.sh"
text=$data/jargon.txt
data=$build/model
mkdir -p "$data"
. "$root/examples/model/minilm.sh"
fetch_minilm
install_in_python torch numpy transformers safetensors

here=$root/bench/model
page=$here
[ $# -eq 0 ] || page=$data/page
mkdir -p "$page/results"
build_target bench_model -DLOWP_BUILD_TRAINING=ON
started=$(date +%s)
"$LOWP_PYTHON" "$here/minilm.py" embed "$data" "$text"
"$build/bench/model/model" --weights "$data/minilm.safetensors" \
  --calibration "$data/calibration.tokens" --held-out "$data/held_out.tokens" \
  --embeddings "$data/embeddings.f32" --scales "$page/results/scales.csv" \
  --csv "$page/results/embeddings.csv"
"$LOWP_PYTHON" "$here/minilm.py" finetune "$data" "$text" --csv "$page/results/finetuned.csv" "$@"
[ -s "$page/results/finetuned.csv" ] || exit 0
write_context "$page/results"
python3 "$here/table.py" --figure "$page/results"
python3 "$here/table.py" "$page/results" >"$page/page.md"
mv "$page/page.md" "$page/README.md"
say "$page/README.md is written"
