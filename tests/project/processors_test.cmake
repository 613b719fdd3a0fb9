# SPDX-License-Identifier: Apache-2.0
# All backends of other processors have the same bits, big-endian ones among them. Those are tried
# that have a cross compiler and a qemu-user here. On aarch64 no state of FPCR changes a bit.
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${SCRATCH})
string(REPLACE " " ";" warnings "${WARNINGS}")
set(tests ${ROOT}/tests)
file(STRINGS ${tests}/project/flags/result.hpp expected REGEX "expected_fingerprint = 0x")
list(GET expected -1 expected)  # that of LOWP_TEST_SOME
string(REGEX REPLACE "^.*0x|;.*$" "" expected "${expected}")

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
    COMMAND ${${processor}_compiler} -std=c++20 -O1 -static ${${processor}_flags} ${warnings} -DLOWP_TEST_SOME -DUNIT=o2
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
if(tried)
  message("the same bits: ${tried}")
else()
  message("SKIPPED: no cross compiler with its qemu-user")
endif()
