# SPDX-License-Identifier: Apache-2.0
# Counts what ctest's log says: in a program of GoogleTest its tests, in a script or an example one. The
# last line counts those that passed, failed and were skipped, with reasons. The file `records`, if
# given, gets a line for each test: its state by the file `known`, name, outcome, its SUMMARY, and
# `machine`, if given.
BEGIN {
  while (known != "" && (getline line < known) > 0) {
    split(line, field, "\t")
    state[field[2]] = field[1]
  }
}
function reason_of(text) {
  sub(/^.*SKIPPED: /, "", text)
  sub(/^lowp: LOWP_ISA=[a-z0-9_]+ is not a backend here.*/, "a backend that this machine lacks", text)
  return text
}
function reason(text, count) {
  text = reason_of(text)
  if (!(text in skips)) order[++reasons] = text
  skips[text] += count
  skipped += count
}
function record(outcome, words) {
  if (records == "") return
  print state[name] "\t" name "\t" outcome "\t" words (machine == "" ? "" : "\t" machine) >> records
}
/^[0-9]+\/[0-9]+ Test: / { name = $3; ran = passes = fails = owns = 0; why = words = "" }
/^SUMMARY: / { words = words (words == "" ? "" : "; ") substr($0, 10) }
/^SKIPPED: / || /: SKIPPED: / { if (why == "") why = $0 }
next_is_reason { own[++owns] = $0; next_is_reason = 0 }
/: Skipped$/ { next_is_reason = 1 }
/^\[==========\] [0-9]+ tests? from .* ran\./ { ran = $2 }
/^\[  PASSED  \] [0-9]+ tests?\./ { passes = $4 }
/^\[  FAILED  \] [0-9]+ tests?, listed below/ { fails = $4 }
/^Test (Passed|Failed|Skipped|Not Run|timeout|Pass Reason|Fail Reason)/ || /^Test Timeout/ {
  good = $0 ~ /^Test Pass/
  if (why != "") {
    reason(why, 1)
    record("skipped", reason_of(why))
  } else if (ran > 0) {
    passed += passes
    failed += fails
    for (i = 1; i <= owns; ++i) reason(own[i], 1)
    if (!good && fails == 0) ++failed
    record(!good || fails > 0 ? "failed" : owns > 0 ? "skipped" : "passed",
           owns == 0 ? words : own[1] (passes > 0 ? ": " owns " of " owns + passes : ""))
  } else {
    good ? ++passed : ++failed
    record(good ? "passed" : "failed", words)
  }
  owns = 0
}
END {
  printf "lowp: %d passed, %d failed, %d skipped", passed, failed, skipped
  for (i = 1; i <= reasons; ++i)
    printf "%s%s: %d", i == 1 ? " (" : "; ", order[i], skips[order[i]]
  print (reasons > 0 ? ")" : "")
}
