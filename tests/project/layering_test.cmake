# SPDX-License-Identifier: Apache-2.0
# Includes point down: a header includes its own room, without cycles, and the rooms before it.
cmake_minimum_required(VERSION 3.25)

# From the bottom up. A header directly in lowp/ is a door, and so is cuda/*.cuh to users.
set(rooms base lanes format report storage simd ops measure quantization nn train watch io interop cuda distributed doors)

# Headers of the outside world, and the headers that may include them.
set(outside
    "intrin\\.h$|^cpuid\\.h$" "^base/environment\\.hpp$"
    "^(iostream|istream|ostream|sstream|fstream|iomanip|ios|print)$" "^io/io\\.hpp$"
    "^fmt/" "^fmt\\.hpp$"
    "^nlohmann/" "^io/(safetensors|checkpoint)/|^nlohmann_json\\.hpp$"
    "^cereal/" "^cereal\\.hpp$"
    "^Eigen/" "^eigen\\.hpp$"
    "^(ATen|c10|torch)/" "^torch\\.hpp$"
    "^mpi\\.h$" "^mpi\\.hpp$"
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
    list(FIND rooms ${room} rank)
    if(rank EQUAL -1)
      list(APPEND errors "${header} is in no room of the list")
    endif()
    set(includes_of_${header} "")
    file(STRINGS ${dir}/${header} includes REGEX "^[ \t]*#[ \t]*include")
    foreach(include IN LISTS includes)
      if(include MATCHES "<lowp/([^>]+)>")
        set(target ${CMAKE_MATCH_1})
        room_of(target_room ${target})
        list(FIND rooms ${target_room} target_rank)
        if(NOT target IN_LIST headers)
          list(APPEND errors "${header} includes ${target}, which does not exist")
        elseif(target_rank GREATER rank)
          list(APPEND errors "${header} includes ${target}, and ${room} is below ${target_room}")
        elseif(room STREQUAL target_room)
          list(APPEND includes_of_${header} ${target})
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
expect_complaint("^base/a.hpp includes io/io.hpp, and base is below io" base/a.hpp
                 "#include <lowp/io/io.hpp>")
expect_complaint("^base/a.hpp includes io.hpp, and base is below doors" base/a.hpp
                 "#include <lowp/io.hpp>")
expect_complaint("these include each other: base/a.hpp" base/a.hpp "#include <lowp/base/a.hpp>")
expect_complaint("^attic/c.hpp is in no room" attic/c.hpp "")
expect_complaint("^base/a.hpp includes base/c.hpp, which does not exist" base/a.hpp
                 "#include <lowp/base/c.hpp>")
expect_complaint("^base/a.hpp may not include <iostream>" base/a.hpp "#include <iostream>")
expect_complaint("^base/a.hpp: write <lowp/" base/a.hpp "#include \"b.hpp\"")

check(errors ${ROOT}/include/lowp)
foreach(error IN LISTS errors)
  message(SEND_ERROR "${error}")
endforeach()
