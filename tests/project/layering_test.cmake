# SPDX-License-Identifier: Apache-2.0
# Includes point down: a header includes its own room, without cycles, and the rooms that the map in
# include/lowp/README.md names for it. A door is a list of includes. Headers are short, and doors are few.
cmake_minimum_required(VERSION 3.25)

# From the bottom up. A header directly in lowp/ is a door, and so is cuda/*.cuh to users.
set(rooms "")
file(STRINGS ${ROOT}/include/lowp/README.md rows REGEX "^[|] [[]?`[a-z]+/`.*[|]$")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "`([a-z]+)/`.*[|] ?([a-z ]*)[|]$")
    message(FATAL_ERROR "the map has a row without rooms: ${row}")
  endif()
  set(room ${CMAKE_MATCH_1})
  list(APPEND rooms ${room})
  string(REGEX MATCHALL "[a-z]+" may_include_${room} "${CMAKE_MATCH_2}")
  foreach(lower IN LISTS may_include_${room})
    if(NOT lower IN_LIST rooms)
      message(FATAL_ERROR "the map draws ${room} above ${lower}, which comes later")
    endif()
  endforeach()
endforeach()
set(may_include_doors ${rooms})
list(APPEND rooms doors)

# Doors that have more than a list: the names of operations, those for teams, a type for device memory.
set(doors_with_code lowp.hpp openmp.hpp nccl.hpp)
set(most_doors 24)
set(lines_too_many 300)

# Headers of the outside world, and the headers that may include them.
set(outside
    "intrin\\.h$|^cpuid\\.h$" "^base/environment\\.hpp$"
    "^(iostream|istream|ostream|sstream|fstream|iomanip|ios|print)$" "^io/io\\.hpp$"
    # Each of these costs every unit about as much as half an empty one.
    "^(string|stdexcept|system_error|algorithm|ranges|functional|memory)$"
    "^lowp\\.hpp$|^(cuda|distributed|interop|io|quantization|watch)/|^base/(error_text|text)|^measure/census/|openmp_team|train/advice"
    "^fmt/" "^interop/fmt\\.hpp$"
    "^nlohmann/" "^io/(safetensors|checkpoint)/|^interop/nlohmann_json\\.hpp$"
    "^cereal/" "^interop/cereal\\.hpp$"
    "^Eigen/" "^interop/eigen\\.hpp$"
    "^(ATen|c10|torch)/" "^interop/torch\\.hpp$"
    "^mpi\\.h$" "^distributed/mpi/"
    "^nccl\\.h$" "^distributed/nccl/"
    "^cuda|^cooperative_groups|^cub/|^thrust/" "^cuda/.*\\.cuh$|^distributed/nccl/")

function(room_of out header)
  set(room doors)
  if(NOT header MATCHES "^cuda/.*\\.cuh$" AND header MATCHES "^([^/]+)/")
    set(room ${CMAKE_MATCH_1})
  endif()
  set(${out} ${room} PARENT_SCOPE)
endfunction()

# check(OUT DIR): the complaints about the headers in DIR.
function(check out dir)
  set(errors "")
  file(GLOB_RECURSE headers RELATIVE ${dir} ${dir}/*.hpp ${dir}/*.inc ${dir}/*.cuh)
  foreach(header IN LISTS headers)
    room_of(room ${header})
    if(NOT room IN_LIST rooms)
      list(APPEND errors "${header} is in no room of the map")
    endif()
    file(READ ${dir}/${header} text)
    string(REGEX REPLACE "[^\n]" "" ends "${text}")
    string(LENGTH "${ends}" lines)
    if(NOT lines LESS lines_too_many)
      list(APPEND errors "${header} has ${lines} lines, not less than ${lines_too_many}")
    endif()
    if(NOT header MATCHES "/" AND NOT header IN_LIST doors_with_code)
      file(STRINGS ${dir}/${header} code REGEX "^[^/#]")
      if(code)
        list(APPEND errors "${header} is a door, and has code: ${code}")
      endif()
    endif()
    set(includes_of_${header} "")
    file(STRINGS ${dir}/${header} includes REGEX "^[ \t]*#[ \t]*include")
    foreach(include IN LISTS includes)
      if(include MATCHES "<lowp/([^>]+)>")
        set(target ${CMAKE_MATCH_1})
        room_of(target_room ${target})
        if(NOT target IN_LIST headers)
          list(APPEND errors "${header} includes ${target}, which does not exist")
        elseif(room STREQUAL target_room)
          list(APPEND includes_of_${header} ${target})
        elseif(NOT target_room IN_LIST may_include_${room})
          list(APPEND errors "${header} includes ${target}, and the map does not name ${target_room} for ${room}")
        else()
          set(used_${room}_${target_room} TRUE PARENT_SCOPE)
        endif()
      elseif(include MATCHES "<([^>]+)>")
        set(target ${CMAKE_MATCH_1})
        list(LENGTH outside count)
        math(EXPR last "${count} - 1")
        foreach(i RANGE 0 ${last} 2)
          math(EXPR j "${i} + 1")
          list(GET outside ${i} them)
          list(GET outside ${j} allowed)
          if(target MATCHES "${them}" AND NOT header MATCHES "${allowed}")
            list(APPEND errors "${header} may not include <${target}>")
          endif()
        endforeach()
      else()
        list(APPEND errors "${header}: write <lowp/...> in: ${include}")
      endif()
    endforeach()
  endforeach()

  # Take away every header whose includes are gone, until none can go: the rest include each other.
  set(left ${headers})
  set(is_shorter TRUE)
  while(is_shorter)
    set(is_shorter FALSE)
    foreach(header IN LISTS left)
      set(waits FALSE)
      foreach(target IN LISTS includes_of_${header})
        if(target IN_LIST left)
          set(waits TRUE)
        endif()
      endforeach()
      if(NOT waits)
        list(REMOVE_ITEM left ${header})
        set(is_shorter TRUE)
      endif()
    endforeach()
  endwhile()
  if(left)
    list(JOIN left ", " left)
    list(APPEND errors "these include each other: ${left}")
  endif()
  set(${out} "${errors}" PARENT_SCOPE)
endfunction()

# The test of the test: each wrong tree gets its complaint.
function(expect_complaint regex header text)
  file(REMOVE_RECURSE ${SCRATCH})
  file(WRITE ${SCRATCH}/lowp/base/a.hpp "#include <cstdint>\n")
  file(WRITE ${SCRATCH}/lowp/io/io.hpp "#include <lowp/base/a.hpp>\n#include <ostream>\n")
  file(WRITE ${SCRATCH}/lowp/io.hpp "#include <lowp/io/io.hpp>\n")
  file(WRITE ${SCRATCH}/lowp/${header} "${text}\n")
  check(errors ${SCRATCH}/lowp)
  if(NOT errors MATCHES "${regex}")
    message(SEND_ERROR "a tree with `${text}` in ${header} should give `${regex}`, gives `${errors}`")
  endif()
endfunction()

expect_complaint("^$" base/b.hpp "#include <lowp/base/a.hpp>")
expect_complaint("^$" io.hpp "#include <lowp/io/io.hpp>")
expect_complaint("^base/a.hpp includes io/io.hpp, and the map does not name io for base" base/a.hpp
                 "#include <lowp/io/io.hpp>")
expect_complaint("^base/a.hpp includes io.hpp, and the map does not name doors for base" base/a.hpp
                 "#include <lowp/io.hpp>")
expect_complaint("these include each other: base/a.hpp" base/a.hpp "#include <lowp/base/a.hpp>")
expect_complaint("^attic/c.hpp is in no room of the map" attic/c.hpp "")
expect_complaint("^base/a.hpp includes base/c.hpp, which does not exist" base/a.hpp
                 "#include <lowp/base/c.hpp>")
expect_complaint("^base/a.hpp may not include <iostream>" base/a.hpp "#include <iostream>")
expect_complaint("^base/a.hpp may not include <string>" base/a.hpp "#include <string>")
expect_complaint("^b.hpp is a door, and has code: int x" b.hpp "int x;")
string(REPEAT "\n" 298 lines)  # two more follow
expect_complaint("^base/a.hpp has 300 lines" base/a.hpp "\n${lines}")
expect_complaint("^$" base/a.hpp "${lines}")
expect_complaint("^base/a.hpp: write <lowp/" base/a.hpp "#include \"b.hpp\"")

check(errors ${ROOT}/include/lowp)
foreach(error IN LISTS errors)
  message(SEND_ERROR "${error}")
endforeach()

# The map names no room without need, and doors are few.
foreach(room IN LISTS rooms)
  foreach(lower IN LISTS may_include_${room})
    if(NOT room STREQUAL doors AND NOT used_${room}_${lower})
      message(SEND_ERROR "the map names ${lower} for ${room}, which does not include it")
    endif()
  endforeach()
endforeach()
file(GLOB doors ${ROOT}/include/lowp/*.hpp)
list(LENGTH doors count)
if(count GREATER most_doors)
  message(SEND_ERROR "there are ${count} doors, more than ${most_doors}")
endif()

# A door hides the macros that would break it, and the standard headers that it includes first.
file(GLOB cuda_doors ${ROOT}/include/lowp/cuda/*.cuh)
foreach(door IN LISTS doors cuda_doors)
  file(READ ${door} text)
  if(NOT text MATCHES "\n#pragma once\n\n#include <lowp/base/hide_macros.inc>\n\n"
     OR NOT text MATCHES "\n\n#include <lowp/base/restore_macros.inc>\n$")
    message(SEND_ERROR "${door} does not begin with hide_macros.inc and end with restore_macros.inc, as cast.hpp")
  endif()
endforeach()
file(STRINGS ${ROOT}/include/lowp/base/hide_macros.inc hidden REGEX "^#pragma push_macro")
file(STRINGS ${ROOT}/include/lowp/base/restore_macros.inc restored REGEX "^#pragma pop_macro")
string(REPLACE push_macro pop_macro hidden "${hidden}")
if(NOT hidden STREQUAL restored)
  message(SEND_ERROR "hide_macros.inc hides ${hidden}, and restore_macros.inc has ${restored}")
endif()
