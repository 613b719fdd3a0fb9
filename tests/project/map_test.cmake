# SPDX-License-Identifier: Apache-2.0
# The ways that include/lowp/README.md draws are those that a compiler takes. Debug information tells for each
# instruction of a program by which functions it was inlined.
#
# A line of a drawing is a header, a function and what it does. Each such frame exists. Some row of functions leads to
# it, all of which the page draws, and draws before. So no function comes into a way, leaves it or moves unnoticed.
cmake_minimum_required(VERSION 3.25)

set(page include/lowp/README.md)
file(READ ${ROOT}/${page} text)
set(mark "<!-- tested by tests/project/map_test.cmake -->\n```text\n")

# next_drawing(): leaves its text in `drawing`, and the rest of the page in `text`.
function(next_drawing)
  string(FIND "${text}" "${mark}" begin)
  if(begin EQUAL -1)
    message(FATAL_ERROR "${page} has too few drawings")
  endif()
  string(SUBSTRING "${text}" ${begin} -1 rest)
  string(FIND "${rest}" "\n```\n" end)
  string(SUBSTRING "${rest}" 0 ${end} drawing)
  string(SUBSTRING "${rest}" ${end} -1 rest)
  set(drawing "${drawing}" PARENT_SCOPE)
  set(text "${rest}" PARENT_SCOPE)
endfunction()

set(drawn "")
set(way "")
foreach(number RANGE 1)
  next_drawing()
  string(APPEND way "${drawing}")
  string(REGEX REPLACE "[;]" "," drawing "${drawing}")
  string(REGEX MATCHALL "\n  [a-z_0-9/]+[.]hpp +[a-z_()]+ " lines "${drawing}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "([a-z_0-9/]+[.]hpp) +([a-z_()]+)" line "${line}")
    set(header ${CMAKE_MATCH_1})
    string(REPLACE "operator()" "call" function "${CMAKE_MATCH_2}")
    list(APPEND drawn ${function}@${header})
  endforeach()
endforeach()
list(LENGTH drawn count)
if(count LESS 15)
  message(FATAL_ERROR "${page} draws only ${drawn}")
endif()

# The doors of CUDA include every header of their drawing, directly or not.
next_drawing()
set(todo cuda/lowp.cuh)
set(included "")
while(todo)
  list(POP_FRONT todo header)
  if(NOT header IN_LIST included)
    list(APPEND included ${header})
    file(STRINGS ${ROOT}/include/lowp/${header} lines REGEX "^#include <lowp/")
    list(TRANSFORM lines REPLACE "^#include <lowp/(.*)>.*" "\\1")
    list(APPEND todo ${lines})
  endif()
endwhile()
string(REGEX MATCHALL "\n +(\\.\\.\\. )?[a-z_]+/[a-z_0-9/]+[.](hpp|cuh)" headers "${drawing}")
list(LENGTH headers count)
if(count LESS 8)
  message(FATAL_ERROR "${page} draws for CUDA only ${headers}")
endif()
foreach(header IN LISTS headers)
  string(REGEX MATCH "[a-z].*" header "${header}")
  if(NOT header IN_LIST included)
    message(SEND_ERROR "${page} draws ${header} for CUDA, which cuda/lowp.cuh does not include")
  endif()
endforeach()

file(REMOVE_RECURSE ${SCRATCH})
file(WRITE ${SCRATCH}/main.cpp [[
#include <lowp/cast.hpp>

#include <cstdio>
#include <vector>

int main() {
  std::vector<float> const in(1000, 1.0f);
  std::vector<lowp::bfloat16> out(in.size());
  lowp::cast(in, out);
  lowp::cast(in, out, lowp::stochastic{.seed = 1});
  using lowp::simd::portable;
  std::printf("batches of %d x lanes elements\n", lowp::simd::batch<portable> / portable::lanes);
}
]])
execute_process(COMMAND ${CXX} -std=c++20 -O1 -g -I${ROOT}/include ${SCRATCH}/main.cpp -o ${SCRATCH}/main
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/main OUTPUT_VARIABLE batch OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(FIND "${way}" "${batch}" place)
if(place EQUAL -1)
  message(SEND_ERROR "${page} has another size of a batch: ${batch}")
endif()

find_program(objdump objdump)
find_program(addr2line addr2line)
find_program(awk awk)
if(NOT way MATCHES "simd/isa/([a-z0-9_]+[.]hpp)")
  message(FATAL_ERROR "${page} draws no kernel entry of simd/isa/")
endif()
set(backend simd/isa/${CMAKE_MATCH_1})
if(NOT EXISTS ${ROOT}/include/lowp/${backend})
  message(FATAL_ERROR "${page} draws ${backend}, which does not exist")
endif()
if(NOT objdump OR NOT addr2line OR NOT awk)
  message("SKIPPED: objdump, addr2line or awk is missing")
  return()
endif()
file(WRITE ${SCRATCH}/addresses.awk "/^ +[0-9a-f]+:/ { sub(\":\", \"\", $1); print \"0x\" $1 }\n")
execute_process(COMMAND ${objdump} -d --no-show-raw-insn ${SCRATCH}/main
                COMMAND ${awk} -f ${SCRATCH}/addresses.awk
                COMMAND ${addr2line} -e ${SCRATCH}/main -afiC
                COMMAND ${awk} -v backend=${backend} -f ${CMAKE_CURRENT_LIST_DIR}/frames.awk
                OUTPUT_VARIABLE rows COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n$" "" rows "${rows}")
string(REPLACE "\n" ";" rows "${rows}")
if(NOT rows MATCHES "enter@${backend}")
  cmake_path(GET backend STEM class)
  execute_process(COMMAND ${objdump} -tC ${SCRATCH}/main OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  if(symbols MATCHES "::${class}[^a-z0-9_]")
    message(FATAL_ERROR "${page} draws enter@${backend}: no instruction comes from it, and the program has ${class}")
  endif()
  message("SKIPPED: this compiler or processor has no ${backend}")
  return()
endif()

set(before "")
foreach(frame IN LISTS drawn)
  set(reason "no instruction comes from it")
  foreach(row IN LISTS rows)
    string(REPLACE " " ";" row "${row}")
    list(FIND row ${frame} place)
    if(place EQUAL -1)
      continue()
    endif()
    list(SUBLIST row 0 ${place} leading)
    list(REMOVE_ITEM leading ${before})
    if(NOT leading)
      set(reason "")
      break()
    endif()
    set(reason "to it leads ${leading}, which is not drawn before it")
  endforeach()
  if(reason)
    message(SEND_ERROR "${page} draws ${frame}: ${reason}")
  endif()
  list(APPEND before ${frame})
endforeach()
