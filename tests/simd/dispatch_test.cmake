# SPDX-License-Identifier: Apache-2.0
# The choice of a backend: what the environment variable LOWP_ISA may say. It is read once, so each
# word is tried in a process of its own.
cmake_minimum_required(VERSION 3.25)

string(REPLACE " " ";" warnings "${WARNINGS}")
file(MAKE_DIRECTORY ${SCRATCH})
# With OpenMP, if the compiler has it.
set(build ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/dispatch.cpp
          -o ${SCRATCH}/dispatch)
execute_process(COMMAND ${build} -fopenmp RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
  execute_process(COMMAND ${build} COMMAND_ERROR_IS_FATAL ANY)
endif()

# expect(WORD FIRST_CALL REGEX): the program's last two lines, which must be alike.
function(expect word first_call regex)
  set(ENV{LOWP_ISA} "${word}")
  if(word STREQUAL "unset")
    unset(ENV{LOWP_ISA})
  endif()
  execute_process(COMMAND ${SCRATCH}/dispatch ${first_call} OUTPUT_VARIABLE out
                  ERROR_VARIABLE err COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "(available|lacking) [^\n]*\n" "" out "${out}")
  if(NOT out MATCHES "^${regex}\n${regex}\n$")
    message(SEND_ERROR "LOWP_ISA=${word}, ${first_call}: not `${regex}` twice:\n${out}")
  endif()
  if(err)
    message(SEND_ERROR "LOWP_ISA=${word}, ${first_call}: prints ${err}")
  endif()
endfunction()

set(ENV{LOWP_ISA} "")
execute_process(COMMAND ${SCRATCH}/dispatch OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "available [^\n]+" available "${out}")
string(REGEX MATCHALL "lacking [^\n]+" lacking "${out}")
list(TRANSFORM available REPLACE "available " "")
list(TRANSFORM lacking REPLACE "lacking " "")
message("available: ${available}; lacking: ${lacking}")
if(NOT "portable" IN_LIST available)
  message(SEND_ERROR "every machine has the portable backend")
endif()

# Without a word, the last in the list that the machine has.
list(GET available -1 best)
foreach(first_call isa cast fused_add update openmp)
  expect(unset ${first_call} "chosen ${best}")
  foreach(word IN LISTS available)
    expect(${word} ${first_call} "chosen ${word}")
  endforeach()
  # A name that the machine lacks is an error, not a silent fallback; it says what there is.
  foreach(word IN LISTS lacking ITEMS avx avx9000 PORTABLE "portable,avx2" " portable" 0)
    expect("${word}" ${first_call} "refused [^\n]*LOWP_ISA=${word} [^\n]*portable[^\n]*")
  endforeach()
  # Bytes that would be a command to a terminal are shown as numbers.
  string(ASCII 27 escape)
  string(ASCII 127 delete)
  expect("${escape}[2J\n${delete}\t" ${first_call}
         "refused [^\n]*LOWP_ISA=.x1b.2J.x0a.x7f.x09 is not a backend[^\n]*")
endforeach()

# A constructor of the program may be the first to ask.
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/early.cpp
          -o ${SCRATCH}/early
  COMMAND_ERROR_IS_FATAL ANY)
unset(ENV{LOWP_ISA})
execute_process(COMMAND ${SCRATCH}/early OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
if(NOT out STREQUAL best)
  message(SEND_ERROR "asked early: ${out}, later: ${best}")
endif()

# A unit has no backend below its flags, and under a sanitizer that one alone; LOWP_ALL_BACKENDS brings all.
# expect_unit(FLAGS COMPILED LEFT_OUT): the kernels in the object, and what LOWP_ISA may say.
find_program(nm nm)
function(expect_unit flags compiled left_out)
  execute_process(
    COMMAND ${CXX} -std=c++20 -O1 ${warnings} ${flags} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/flags.cpp
            -o ${SCRATCH}/flags
    COMMAND_ERROR_IS_FATAL ANY)
  if(nm)
    execute_process(COMMAND ${nm} -C ${SCRATCH}/flags OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    foreach(backend IN LISTS compiled left_out)
      set(is_compiled FALSE)
      if(symbols MATCHES "::${backend}::enter<")
        set(is_compiled TRUE)
      endif()
      if(is_compiled AND backend IN_LIST left_out OR NOT is_compiled AND backend IN_LIST compiled)
        message(SEND_ERROR "${flags}: kernels of ${backend}: ${is_compiled}")
      endif()
    endforeach()
  endif()
  foreach(backend IN LISTS compiled left_out)
    set(ENV{LOWP_ISA} ${backend})
    execute_process(COMMAND ${SCRATCH}/flags OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
    set(regex "lowp: LOWP_ISA=${backend} is not a backend here;.*")
    if(backend IN_LIST left_out)
      string(APPEND regex "this unit has .*LOWP_ALL_BACKENDS.*")
    elseif(backend IN_LIST available)
      set(regex ${backend})
    endif()
    if(NOT out MATCHES "^${regex}$")
      message(SEND_ERROR "${flags}, LOWP_ISA=${backend}: not `${regex}`:\n${out}")
    endif()
  endforeach()
endfunction()
if("avx2" IN_LIST available)
  expect_unit("-mavx2" "avx2;avx512" "portable")
  expect_unit("-mavx2;-DLOWP_ALL_BACKENDS" "portable;avx2;avx512" "")
  expect_unit("-fsanitize=address" "portable" "avx2;avx512")
  expect_unit("-fsanitize=address;-mavx2" "avx2" "portable;avx512")
endif()
if("avx512" IN_LIST available)
  expect_unit("-mavx512f" "avx512" "portable;avx2")
endif()

# `extern template` keeps all kernels of a call out of a unit, which links with those of another.
if(nm)
  execute_process(
    COMMAND ${CXX} -std=c++20 -O2 ${warnings} -DELSEWHERE -I${ROOT}/include -c ${CMAKE_CURRENT_LIST_DIR}/flags.cpp
            -o ${SCRATCH}/elsewhere.o
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${nm} -C ${SCRATCH}/elsewhere.o OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(symbols MATCHES "::enter<" OR NOT symbols MATCHES " U void lowp::simd::this_thread::operator")
    message(SEND_ERROR "extern template leaves kernels in a unit:\n${symbols}")
  endif()
endif()
