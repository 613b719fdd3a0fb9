#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the known cases, each from the failure to the cure, and draws them if gnuplot is
# installed.
#   sh examples/cases/run.sh                all of them
#   sh examples/cases/run.sh stall gaps     these
#   sh examples/cases/run.sh --write        all, and puts what they print into README.md here
. "$(dirname -- "$0")/../../tests/setup.sh"
here=$root/examples/cases

write=
if [ "${1:-}" = --write ]; then
  write=yes
  shift
fi
all=
for source in "$here"/*.cpp; do all="$all $(basename "$source" .cpp)"; done
for name; do
  case " $all " in *" $name "*) ;; *) die "there is no case '$name'; there are:$all" ;; esac
done
# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $all

need_examples
wish gnuplot-nox gnuplot
install_missing
build_target examples -DLOWP_BUILD_EXAMPLES=ON

out=$build/cases
mkdir -p "$out"
for name; do
  printf '\n== %s\n' "$name"
  "$build/examples/cases/$name" --csv "$out/$name.csv" >"$out/$name.txt" \
    2>"$out/$name.time.txt" || die "$name failed: $(cat "$out/$name.time.txt")"
  cat "$out/$name.txt" "$out/$name.time.txt"
  if [ -f "$here/$name.gp" ] && has_program gnuplot; then
    (cd "$here" && gnuplot -e "data='$out/$name.csv'; picture='$out/$name.svg'" "$name.gp")
    say "drawn: $out/$name.svg"
    [ -z "$write" ] || cp "$out/$name.svg" "$here/$name.svg"
  fi
done

# README.md has the output of each case between two marks, and apart what is another at every run.
if [ -n "$write" ]; then
  awk -v out="$out" '
    /^<!-- begin: / {
      print
      print "```"
      file = out "/" $3 ".txt"
      while ((getline line < file) > 0) print line
      close(file)
      print "```"
      inside = 1
    }
    /^<!-- end: / { inside = 0 }
    !inside' "$here/README.md" >"$out/README.md"
  mv "$out/README.md" "$here/README.md"
  say "examples/cases/README.md is written"
fi
