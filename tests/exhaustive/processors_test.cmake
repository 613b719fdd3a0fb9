# SPDX-License-Identifier: Apache-2.0
# Texts, streams, files and assignments on other processors, big-endian ones among them. Those are
# tried that have a cross compiler and a qemu-user here.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/support/run.cmake)

set(googletest /usr/src/googletest/googletest)
set(tests ${ROOT}/tests)
file(MAKE_DIRECTORY ${SCRATCH})
set(summary "")
foreach(processor s390x riscv64 powerpc64le)
  find_program(${processor}_compiler ${processor}-linux-gnu-g++)
  string(REPLACE powerpc ppc emulated ${processor})
  find_program(${processor}_emulator NAMES qemu-${emulated} qemu-${emulated}-static)
  if(NOT ${processor}_compiler OR NOT ${processor}_emulator OR NOT EXISTS ${googletest}/src/gtest-all.cc)
    continue()
  endif()
  set(flags -std=c++20 -w -I${ROOT}/include -I${tests} -isystem ${googletest}/include -I${googletest} -DLOWP_TEST_SOME
            -DLOWP_TESTS="${tests}" -DLOWP_TEST_BACKENDS=lowp::simd::portable)
  set(program ${SCRATCH}/${processor})
  run(${${processor}_compiler} ${flags} -O0 -c ${googletest}/src/gtest-all.cc -o ${program}.o)
  run(${${processor}_compiler} ${flags} -O1 -static ${tests}/format/charconv_test.cpp ${tests}/format/assignment_test.cpp
      ${tests}/io/io_test.cpp ${tests}/io/atomic_file_test.cpp ${tests}/support/main.cpp ${program}.o -o ${program})
  run(${${processor}_emulator} ${program} --gtest_brief=1)
  string(REGEX MATCH "PASSED  . ([0-9]+) tests" passed "${printed}")
  list(APPEND summary "${CMAKE_MATCH_1} tests on ${processor}")
endforeach()
list(JOIN summary ", " summary)
if(summary)
  message("SUMMARY: ${summary}")
else()
  message("SKIPPED: no cross compiler with its qemu-user")
endif()
