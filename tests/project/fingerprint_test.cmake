# SPDX-License-Identifier: Apache-2.0
# tests/fingerprint.sh compiles one program, names each backend that the machine has, and fails if one has other
# bits than recorded. Here its compiler writes a program that says what is to be said. project.single_header builds
# and runs the true one.
cmake_minimum_required(VERSION 3.25)

# expect(STATUS OUTPUT AVX2): AVX2 is what the program does there. It has no other backend but `portable`.
function(expect status output avx2)
  file(WRITE ${SCRATCH}/program "#!/bin/sh
case $LOWP_ISA in
  portable) echo isa portable && echo fingerprint 12 ;;
  avx2) ${avx2} ;;
  *) echo \"lowp: LOWP_ISA=$LOWP_ISA is not a backend here\" >&2 && exit 1 ;;
esac
")
  file(WRITE ${SCRATCH}/compiler "#!/bin/sh
for last; do :; done
case \"$*\" in *-O7*unit.cpp*) cp ${SCRATCH}/program \"$last\" ;; *) exit 3 ;; esac
")
  file(CHMOD ${SCRATCH}/program ${SCRATCH}/compiler PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(ENV{CXX} ${SCRATCH}/compiler)
  set(ENV{CXXFLAGS} -O7)
  execute_process(COMMAND sh ${ROOT}/tests/fingerprint.sh OUTPUT_VARIABLE said RESULT_VARIABLE got)
  if(NOT got EQUAL status OR NOT said STREQUAL output)
    message(SEND_ERROR "${got} and not ${status}, or not `${output}`:\n${said}")
  endif()
endfunction()

set(portable "portable: fingerprint 12, as recorded\n")
expect(0 "${portable}avx2: fingerprint 12, as recorded\n" "echo fingerprint 12")
expect(1 "${portable}avx2: fingerprint 13, NOT as recorded\n" "echo fingerprint 13 && exit 1")
expect(1 "${portable}avx2: lowp: no memory, NOT as recorded\n" "echo lowp: no memory >&2 && exit 1")
expect(0 "${portable}" "echo avx2 is not a backend here >&2 && exit 1")
