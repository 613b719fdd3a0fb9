# SPDX-License-Identifier: Apache-2.0
# All backends of other processors have the same bits, big-endian ones among them. Those are tried
# that have a cross compiler and a qemu-user here. On aarch64 no state of FPCR changes a bit, and
# some test programs run besides: casts, adds and steps in every state, random bits, rows. As on x86,
# these have the last backend alone.
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${SCRATCH})
string(REPLACE " " ";" warnings "${WARNINGS}")
set(tests ${ROOT}/tests)
file(STRINGS ${tests}/project/flags/result.hpp expected REGEX "expected_fingerprint = 0x")
list(GET expected -1 expected)  # that of LOWP_TEST_SOME
string(REGEX REPLACE "^.*0x|;.*$" "" expected "${expected}")

set(heap --param ggc-min-heapsize=1000000)  # as in ../CMakeLists.txt: a tenth of the time
set(i686_flags -msse2 -mfpmath=sse)
set(aarch64_cpu -cpu max)
set(aarch64_backends neon neon_bf16)
set(tried "")
foreach(processor aarch64 i686 powerpc64le riscv64 s390x)
  find_program(${processor}_compiler ${processor}-linux-gnu-g++)
  string(REPLACE powerpc ppc emulated ${processor})
  string(REPLACE i686 i386 emulated ${emulated})
  find_program(${processor}_emulator NAMES qemu-${emulated} qemu-${emulated}-static)
  if(NOT ${processor}_compiler OR NOT ${processor}_emulator)
    continue()
  endif()
  set(program ${SCRATCH}/${processor})
  execute_process(
    COMMAND ${${processor}_compiler} -std=c++20 -Og ${heap} -static ${${processor}_flags} ${warnings} -DLOWP_TEST_SOME -DUNIT=o2
            -I${ROOT}/include -I${tests} ${tests}/project/flags/unit.cpp ${tests}/project/sapphire/conformance.cpp
            -o ${program}
    COMMAND_ERROR_IS_FATAL ANY)
  foreach(backend portable ${${processor}_backends})
    set(ENV{LOWP_ISA} ${backend})
    execute_process(
      COMMAND ${${processor}_emulator} ${${processor}_cpu} ${program} ${${processor}_cpu}
      OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
    if(NOT said MATCHES "^isa ${backend}\nfingerprint ${expected}\n" OR said MATCHES "matter [^0]")
      message(SEND_ERROR "${processor}: not the fingerprint ${expected}:\n${said}")
    endif()
    list(APPEND tried ${processor}.${backend})
  endforeach()
endforeach()

# Sizes of files in a process of 32 bits, whose off_t has 32 or 64.
find_path(json nlohmann/json.hpp)
if(i686_compiler AND i686_emulator AND json)
  file(CREATE_LINK ${json}/nlohmann ${SCRATCH}/include/nlohmann SYMBOLIC)
  foreach(bits 32 64)
    set(program ${SCRATCH}/files${bits})
    execute_process(
      COMMAND ${i686_compiler} -std=c++20 -O1 -static ${i686_flags} ${warnings} -D_FILE_OFFSET_BITS=${bits} -I${ROOT}/include
              -isystem ${SCRATCH}/include ${tests}/project/large_files.cpp -o ${program}
      COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND ${i686_emulator} ${program} ${SCRATCH}/large_file COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND tried i686.files${bits})
  endforeach()
endif()

set(googletest /usr/src/googletest/googletest)
if(aarch64_compiler AND aarch64_emulator AND EXISTS ${googletest}/src/gtest-all.cc)
  set(flags -std=c++20 -I${ROOT}/include -I${tests} -isystem ${googletest}/include -I${googletest} -DLOWP_TEST_SOME
            -DLOWP_TESTS="${tests}" -DLOWP_TEST_BACKENDS=lowp::simd::neon_bf16)
  set(sources ${tests}/base/environment_test.cpp ${tests}/simd/random_test.cpp ${tests}/simd/rows_test.cpp
              ${tests}/support/main.cpp)
  set(program ${SCRATCH}/programs)
  execute_process(COMMAND ${aarch64_compiler} ${flags} -w -O0 -c ${googletest}/src/gtest-all.cc -o ${SCRATCH}/gtest.o
                  COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${aarch64_compiler} ${flags} ${heap} -w -O1 ${sources} ${SCRATCH}/gtest.o -static -o ${program}
                  ERROR_VARIABLE linked COMMAND_ERROR_IS_FATAL ANY)
  set(ENV{LOWP_ISA} neon_bf16)
  execute_process(COMMAND ${aarch64_emulator} -cpu max ${program} --gtest_brief=1 RESULT_VARIABLE status OUTPUT_VARIABLE said)
  if(NOT status EQUAL 0 OR NOT said MATCHES "PASSED")
    message(SEND_ERROR "neon_bf16:\n${said}")
  endif()
  list(APPEND tried programs.aarch64)
endif()
if(tried)
  message("the same bits: ${tried}")
else()
  message("SKIPPED: no cross compiler with its qemu-user")
endif()
