# SPDX-License-Identifier: Apache-2.0
# Shows how far a build or a run of tests is. Reads what ninja, make or ctest print; passes on what is
# not about progress.
#   -v what=building   the first word of the line
#   -v tty=1           rewrites one line; else a line for every tenth
function show(done, all, name,    percent, text) {
  percent = all > 0 ? int(100 * done / all) : 0
  if (tty) {
    text = sprintf("lowp: %s %d of %d  %s", what, done, all, name)
    printf "\r%-100.100s", text
    fflush()
    shown = 1
  } else if (int(percent / 10) > tenth || !begun) {
    begun = 1
    tenth = int(percent / 10)
    printf "lowp: %s %d of %d (%d %%)\n", what, done, all, percent
    fflush()
  }
}
function pass(line) {
  if (shown) printf "\r%-100s\r", ""
  shown = 0
  print line
  fflush()
}
/^\[[0-9]+\/[0-9]+\] Re-(checking globbed|running CMake)/ { next }
# ninja: [12/300] Building CXX object a.o
/^\[[0-9]+\/[0-9]+\] / {
  split(substr($1, 2, length($1) - 2), part, "/")
  name = $NF
  sub(/.*\//, "", name)
  show(part[1], part[2], name)
  next
}
# make: [ 12%] Building CXX object a.o
/^\[ *[0-9]+%\] / {
  match($0, /[0-9]+/)
  show(substr($0, RSTART, RLENGTH) + 0, 100, $NF)
  next
}
# ctest: 12/300 Test #12: cast.avx2 ....   Passed    0.12 sec
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
  match($0, /[0-9]+\/[0-9]+/)
  split(substr($0, RSTART, RLENGTH), part, "/")
  name = $0
  sub(/.*#[0-9]+: /, "", name)
  sub(/ .*/, "", name)
  if ($0 !~ / Passed +[0-9]/ && $0 !~ /\*\*\*Skipped/) pass($0)
  show(part[1], part[2], name)
  next
}
/^ *Start +[0-9]+: / || /^Test project / || /^Internal ctest/ || /^make\[[0-9]+\]: / { next }
/^Label Time Summary:/ || /sec\*proc/ || / - .* \(Skipped\)$/ { next }
/^The following tests did not run:$/ || /^ninja: no work to do/ { next }
/^Consolidate compiler generated/ || /^$/ { next }
{ pass($0) }
END { if (shown) printf "\r%-100s\r", "" }
