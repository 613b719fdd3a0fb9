# SPDX-License-Identifier: Apache-2.0
# Finds comments and Markdown prose that are hard to read: awk -f style.awk FILE... prints
# FILE:LINE: REASON. To add a rule, add one line to BEGIN, and a wrong line to style_test.cmake.

# rule(SCOPE, REGEX, REASON), where SCOPE is the text in which REGEX is an error:
#
#     first     the first word of a comment
#     text      comments and prose whose lines are joined
#     line      a line of C++ that has a comment
function rule(scope, regex, reason) {
  scopes[++rules] = scope
  regexes[rules] = regex
  reasons[rules] = reason
}

BEGIN {
  most_words = 20
  sentence_end = "[.:;?!][*]*([ )]|$)|[|]|   *"  # two spaces end a cell of a table
  end = "[.]([ )]|$)"  # of a sentence
  rule("first", "^(What|Of|One|Where|Whether|Which|How|As)[^A-Za-z_]", \
       "a comment opens with a verb or a noun")
  rule("text", "[Ii]s told of", "say who says what")
  rule("text", "[Gg]one through", "name the action")
  rule("text", "[Ss]o many", "say how many")
  rule("text", "[Ii]s none", "write: there is no ...")
  rule("text", "[Ii]n vain", "say what failed")
  rule("text", "(^|[^A-Za-z])[Ff]or what[^A-Za-z]", "name the thing")
  rule("text", " of that" end, "name the thing")
  rule("text", " (of|to|for|with|from|in|on|by|at|about|into)" end, \
       "a sentence ends in a preposition")
  rule("line", "^" columns(100) ".", "a comment passes column 100")
}

function columns(count,   dots) {
  while (count-- > 0) dots = dots "."
  return dots
}

function complain(line, reason) {
  print file ":" line ": " reason
}

# Tells the line on which character `place` of the block lies.
function line_of(place,   i) {
  for (i = parts; i > 1 && starts[i] > place; --i) continue
  return lines[i]
}

function words(text,   tokens, count, i, found) {
  count = split(text, tokens, " ")
  for (i = 1; i <= count; ++i) found += tokens[i] ~ /[A-Za-z0-9]/
  return found
}

function check_sentences(   rest, passed, size) {
  for (rest = block; rest != ""; rest = substr(rest, size + 1)) {
    size = match(rest, sentence_end) ? RSTART + RLENGTH - 1 : length(rest)
    if (words(substr(rest, 1, size)) > most_words)
      complain(line_of(passed + 1), "a sentence has more than " most_words " words")
    passed += size
  }
}

# Checks the block that was collected, and begins another.
function check_block(   i, rest, passed) {
  check_sentences()
  for (i = 1; i <= rules; ++i) {
    if (scopes[i] == "first" && kind != "markdown" && block ~ regexes[i])
      complain(lines[1], reasons[i])
    if (scopes[i] != "text") continue
    rest = block
    passed = 0
    while (match(rest, regexes[i])) {
      complain(line_of(passed + RSTART + 1), reasons[i])
      passed += RSTART + RLENGTH - 1
      rest = substr(rest, RSTART + RLENGTH)
    }
  }
  block = ""
  parts = 0
}

# Joins a line to the block, which is a table if its first line is indented by `margin` or more.
function add(text, margin,   indent) {
  gsub(/`[^`]*`/, "`code`", text)
  match(text, /^[ \t]*/)
  indent = RLENGTH
  gsub(/^[ \t]+|[ \t]+$/, "", text)
  if (text == "") return
  if (block == "") table_indent = margin && indent >= margin ? indent : -1
  else block = block (indent == table_indent || text ~ /^(@[a-z]|[-*] )/ ? " | " : " ")
  starts[++parts] = length(block) + 1
  lines[parts] = FNR
  block = block text
}

function check_line(   i) {
  for (i = 1; i <= rules; ++i)
    if (scopes[i] == "line" && kind == "c++" && $0 ~ regexes[i]) complain(FNR, reasons[i])
}

# Adds the comment that begins with `mark`, and ends the block if there is other text.
function add_comment(mark,   text, place) {
  text = $0
  sub(/\r$/, "", text)
  if (text ~ "^[ \t]*" mark) {
    check_line()
    sub("^[ \t]*" mark "/?<?", "", text)
    if (text ~ /SPDX-License|^!/ || text ~ /^[ \t]*$/) check_block()
    else add(text, 5)
    return
  }
  check_block()
  gsub(/\\./, "__", text)
  while (match(text, /"[^"]*"/))
    text = substr(text, 1, RSTART - 1) columns(RLENGTH) substr(text, RSTART + RLENGTH)
  place = match(text, "[ \t]" mark "[ \t]")
  if (place) {
    check_line()
    add(substr($0, place + RLENGTH))
    check_block()
  }
}

FNR == 1 {
  if (file != "") check_block()
  file = FILENAME
  quoted = is_code = 0
  kind = "script"
  if (file ~ /[.](hpp|inc|cpp|cu|cuh)$/) kind = "c++"
  if (file ~ /[.]md$/) kind = "markdown"
  if (file ~ /[.]py$/) kind = "python"
}

kind == "c++" { add_comment("//") }

# Triple quotes at the start of a line begin a docstring, elsewhere a text that is no comment.
kind == "python" && (quoted || /"""/) {
  text = $0
  marks = gsub(/"""/, "", text)
  if (!quoted) {
    check_block()
    is_docstring = /^[ \t]*"""/
    margin = match($0, /"/) + 3
  }
  if (marks % 2) quoted = !quoted
  if (is_docstring && text ~ /^[ \t]*$/) check_block()
  if (is_docstring) add(text, margin)
  if (!quoted) check_block()
  next
}
kind == "script" || kind == "python" { add_comment("#") }

kind == "markdown" && /^[ \t]*```/ {
  check_block()
  is_code = !is_code
  next
}
kind == "markdown" && !is_code {
  if (/^[ \t]*$/ || /^#/ || /^[ \t]*([-*]|[0-9]+[.]) / || /^[ \t]*[|<]/) check_block()
  add($0)
  if (/^#/ || /^[ \t]*[|<]/) check_block()
}

END { check_block() }
