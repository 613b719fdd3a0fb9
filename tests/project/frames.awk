# SPDX-License-Identifier: Apache-2.0
# Reads what `addr2line -afiC` says of all instructions of a program. Prints each different row of
# inlined functions of the library, from the outermost in, as function@header. Rows that begin with a
# backend's entry are kept for `backend` alone.

function flush(row, i) {
  row = ""
  for (i = depth; i >= 1; --i)
    if (frame[i] != frame[i + 1]) row = row (row == "" ? "" : " ") frame[i]
  if (depth && !(row in printed) && (row !~ /^enter@/ || index(row, "enter@" backend) == 1)) {
    printed[row] = 1
    print row
  }
  depth = 0
  frame[1] = ""
}
/^0x/ { flush(); is_file = 0; next }
!is_file { is_file = 1; name = $0; next }
{
  is_file = 0
  file = $1
  sub(/:[0-9?]+$/, "", file)
  if (!sub(/.*\/include\/lowp\//, "", file)) next
  # The name alone, without arguments, namespaces and the type that it returns.
  gsub(/operator\(\)/, "call", name)
  gsub(/operator(<=>|<<|>>|<=|>=|<|>|\[\])/, "operator", name)
  while (gsub(/<[^<>()]*>/, "", name) || gsub(/\([^()<>]*\)/, "", name));
  gsub(/\[[^]]*\]/, "", name)
  sub(/ const$/, "", name)
  sub(/.*[ :]/, "", name)
  frame[++depth] = name "@" file
  frame[depth + 1] = ""
}
END { flush() }
