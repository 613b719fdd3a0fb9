# SPDX-License-Identifier: Apache-2.0
# A fault in the backend for Arm changes the fingerprint under qemu, or makes a state of FPCR
# matter.
cmake_minimum_required(VERSION 3.25)

find_program(compiler aarch64-linux-gnu-g++)
find_program(emulator NAMES qemu-aarch64 qemu-aarch64-static)
if(NOT compiler OR NOT emulator)
  message("SKIPPED: no cross compiler for aarch64 with its qemu-user")
  return()
endif()

# passes(OUT): no bit and no state of FPCR is wrong with the headers of SCRATCH.
function(passes out)
  execute_process(
    COMMAND ${compiler} -std=c++20 -O1 -static -DLOWP_TEST_SOME -DUNIT=o2 -I${SCRATCH}/include
            -I${ROOT}/tests ${ROOT}/tests/project/flags/unit.cpp
            ${ROOT}/tests/project/sapphire/conformance.cpp -o ${SCRATCH}/program
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${emulator} -cpu max ${SCRATCH}/program states RESULT_VARIABLE status
                  OUTPUT_VARIABLE said)
  set(${out} FALSE PARENT_SCOPE)
  if(status EQUAL 0 AND said MATCHES "matter 0\n")
    set(${out} TRUE PARENT_SCOPE)
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
file(COPY ${ROOT}/include DESTINATION ${SCRATCH})
passes(right)
if(NOT right)
  message(FATAL_ERROR "the program fails without a fault")
endif()

# fault(FILE TEXT FAULTY): the text must be there.
set(planted 0)
set(found 0)
function(fault file text faulty)
  set(header ${SCRATCH}/include/lowp/${file})
  file(READ ${header} right)
  string(REPLACE "${text}" "${faulty}" wrong "${right}")
  if(wrong STREQUAL right)
    message(FATAL_ERROR "${file} lacks: ${text}")
  endif()
  file(WRITE ${header} "${wrong}")
  passes(survived)
  file(WRITE ${header} "${right}")
  if(survived)
    message(SEND_ERROR "survived in ${file}: ${faulty}")
  else()
    math(EXPR found "${found} + 1")
  endif()
  math(EXPR planted "${planted} + 1")
  set(planted ${planted} PARENT_SCOPE)
  set(found ${found} PARENT_SCOPE)
endfunction()
fault(simd/isa/neon.hpp "uzp2 %0.4s" "uzp1 %0.4s")
fault(simd/isa/neon.hpp "high = whole >> 32" "high = whole >> 31")
fault(simd/isa/neon.hpp "fmla %0.4s" "fmls %0.4s")
fault(simd/isa/neon.hpp "xtn %0.8b, %0.8h" "nop")
fault(simd/isa/neon_bf16.hpp "bfcvtn %0.4h, %1.4s" "shrn %0.4h, %1.4s, #16")
fault(base/environment.hpp "msr fpcr, xzr" "nop")
message("SUMMARY: ${found} of ${planted} faults of Arm's backends found")
