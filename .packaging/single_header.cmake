# SPDX-License-Identifier: Apache-2.0
# Writes the host side of the library as one header:
#   cmake -DOUT=single_include/lowp/lowp.hpp -P .packaging/single_header.cmake
# Every header comes where lowp/lowp.hpp first includes it. Between #if and #endif a header is
# missing from units in which the condition is false. There it comes again, and guards keep the first.
# A part of a class, which is no header by itself (.inc), comes wherever it is included.
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED OUT)
  message(FATAL_ERROR "give the file to write: cmake -DOUT=lowp.hpp -P ${CMAKE_SCRIPT_MODE_FILE}")
endif()
cmake_path(SET include NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../include)
set(begun "") # headers that the units which read this place have
set(all "")   # the text

# expand(HEADER): appends the header to `all`, its includes in their places.
function(expand header)
  if(header IN_LIST begun)
    return()
  endif()
  file(READ ${include}/${header} rest)
  string(REPLACE "// SPDX-License-Identifier: Apache-2.0\n" "" rest "${rest}")
  if(header MATCHES "[.]inc$")
    string(APPEND all "${rest}")
    set(all "${all}" PARENT_SCOPE)
    return()
  endif()
  list(APPEND begun ${header})
  string(REPLACE "#pragma once\n" "" rest "${rest}")
  string(MAKE_C_IDENTIFIER "${header}" guard)
  string(TOUPPER "${guard}" guard)
  string(APPEND all "#ifndef ${guard}\n#define ${guard}\n")

  set(depth 0)
  set(outside "") # `begun` before the outermost #if
  while(rest MATCHES "(^|\n)[ \t]*#[ \t]*include <(lowp/[^>]+)>")
    set(line "${CMAKE_MATCH_0}")
    set(target ${CMAKE_MATCH_2})
    string(FIND "${rest}" "${line}" place)
    string(SUBSTRING "${rest}" 0 ${place} before)
    string(LENGTH "${line}" length)
    math(EXPR place "${place} + ${length}")
    string(SUBSTRING "${rest}" ${place} -1 rest)
    string(APPEND all "${before}\n")

    string(REGEX MATCHALL "\n[ \t]*#[ \t]*(if|el|endif)" conditions "\n${before}")
    if(conditions)
      if(depth GREATER 0)
        set(begun ${outside})
      else()
        set(outside ${begun})
      endif()
      foreach(condition IN LISTS conditions)
        if(condition MATCHES "endif$")
          math(EXPR depth "${depth} - 1")
        elseif(condition MATCHES "if$")
          math(EXPR depth "${depth} + 1")
        endif()
      endforeach()
    endif()
    expand(${target})
  endwhile()
  if(depth GREATER 0)
    set(begun ${outside})
  endif()
  string(APPEND all "${rest}#endif\n")
  set(begun ${begun} PARENT_SCOPE)
  set(all "${all}" PARENT_SCOPE)
endfunction()

expand(lowp/lowp.hpp)
string(REGEX REPLACE "\n\n\n+" "\n\n" all "${all}")
file(WRITE ${OUT} "// SPDX-License-Identifier: Apache-2.0
// Generated from the headers of lowp, to be copied into a project. Changes belong into those headers.
#pragma once
${all}")
