# SPDX-License-Identifier: Apache-2.0
# Writes the table of guarantees into README.md, which it prints:
#   awk -f guarantees.awk -v library=... -v kept=FILE guarantees.txt RECORDS README.md
# RECORDS begins with the tests of the build: state, name, and the outcome `known`. After them comes
# what summary.awk wrote. A line counts if its test has this state still, unless it says `skipped`
# where another machine passed. Those of the table's tests that count go to the file `kept`, if given.
BEGIN { if (kept != "") printf "" > kept }
function trim(text) {
  gsub(/^[ \t]+|[ \t]+$/, "", text)
  return text
}
function append(list, text, separator) {
  return list == "" ? text : index(separator list separator, separator text separator) ? list : list separator text
}

# Returns the outcome of the tests of a row. Every test that did not pass is named, those that were
# skipped behind their reason. What a test said stands in its first row.
function outcome_of(tests, name, i, n, stem, found, known, passed, failed, skipped, reason, reasons, missing, absent, text, words) {
  if (tests == "") return "not proved"
  n = split(tests, stem, " ")
  for (i = 1; i <= n; ++i) {
    found = known = 0
    for (name in outcome) {
      if (name != stem[i] && index(name, stem[i] ".") != 1) continue
      if (outcome[name] == "known") {
        known = 1
        continue
      }
      found = 1
      machines = append(machines, ran_on[name], "; ")
      if (kept != "" && !(name in is_kept)) print line[name] > kept
      is_kept[name] = 1
      if (outcome[name] == "failed") failed = append(failed, "`" name "`", ", ")
      else if (outcome[name] == "skipped") {
        if (!(said[name] in skipped)) reason[++reasons] = said[name]
        skipped[said[name]] = append(skipped[said[name]], stem[i], ", ")
      } else ++passed
      if (outcome[name] == "passed" && said[name] != "" && !told[said[name]]++) words = append(words, said[name], "; ")
    }
    if (!found && known) missing = append(missing, stem[i], ", ")
    if (!found && !known) absent = append(absent, stem[i], ", ")
  }
  if (passed + reasons == 0 && failed == "") return missing == "" ? "not built" : "not run"
  if (failed != "") return "**failed**: " failed
  text = passed > 0 ? "0" : ""
  if (words != "") text = append(text, words, "; ")
  for (i = 1; i <= reasons; ++i) text = append(text, "skipped (" reason[i] "): " skipped[reason[i]], "; ")
  if (missing != "") text = append(text, "not run: " missing, "; ")
  if (absent != "") text = append(text, "not built: " absent, "; ")
  return text
}

{ file = FILENAME == ARGV[1] ? 1 : FILENAME == ARGV[2] ? 2 : 3 }
file == 1 && !/^#/ && NF { row[++rows] = $0 }
file == 2 {
  split($0, field, "\t")
  if (field[3] == "known") state[field[2]] = field[1]
  if (state[field[2]] == field[1] && !(field[3] == "skipped" && outcome[field[2]] == "passed")) {
    outcome[field[2]] = field[3]
    said[field[2]] = field[4]
    ran_on[field[2]] = field[5]
    line[field[2]] = $0
  }
}
file == 3 && /^<!-- end: tests\/guarantees.txt -->$/ { inside = 0 }
file == 3 && !inside { print }
file == 3 && /^<!-- begin: tests\/guarantees.txt -->$/ {
  inside = 1
  print "| promise | inputs | tests | held against | differences |"
  print "|---|---|---|---|---|"
  for (i = 1; i <= rows; ++i) {
    split(row[i], field, "|")
    printf "| %s | %s |", trim(field[1]), trim(field[2])
    names = trim(field[3])
    shown = names == "" ? "" : "`" names "`"
    gsub(/ /, "` `", shown)
    printf " %s | %s | %s |\n", shown, trim(field[4]), outcome_of(names)
  }
  print ""
  print "Run: " machines "; library `" library "`; each test as it was when it last ran on this library."
}
