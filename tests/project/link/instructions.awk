# SPDX-License-Identifier: Apache-2.0
# Reads a disassembly (objdump -d --no-show-raw-insn -C). Lists the functions that have AVX, their
# callers, and what is slow in them:
#   avx FUNCTION                it has an instruction in a VEX or EVEX encoding
#   call CALLER | CALLEE        a call or jump from one function to another
#   sse FUNCTION | INSTRUCTION  of SSE, in a function with AVX
/^[0-9a-f]+ <.*>:$/ {
  sub(/^[0-9a-f]+ </, "")
  sub(/>:$/, "")
  here = $0
  next
}
/^ *[0-9a-f]+:\t/ {
  instruction = $0
  sub(/^ *[0-9a-f]+:\t/, "", instruction)
  # Everything whose name begins with v, but for verr and verw; masks have instructions with k.
  if (instruction ~ /^(v|k(mov|and|or|xor|not|add|test|shift|unpck))/ && instruction !~ /^ver[rw] / &&
      !(here in avx)) {
    avx[here] = 1
    print "avx " here
  }
  if (instruction !~ /^v/ && instruction ~ /%xmm/) sse[here] = instruction
  if (instruction ~ /^(call|j[a-z]+) .*<.*>$/) {
    target = instruction
    sub(/^[^<]*</, "", target)
    sub(/>$/, "", target)
    sub(/\+0x[0-9a-f]+$/, "", target)
    if (target != here && !((here, target) in seen)) {
      seen[here, target] = 1
      print "call " here " | " target
    }
  }
}
END {
  for (function_name in sse)
    if (function_name in avx) print "sse " function_name " | " sse[function_name]
}
