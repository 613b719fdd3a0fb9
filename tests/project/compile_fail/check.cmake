# SPDX-License-Identifier: Apache-2.0
# A file here is a mistake that the compiler must refuse, with a reason that helps:
#
#   // expect: REGEX         the first error, or one of the notes that belong to it, matches
#   // expect-first: REGEX   the first error's own line matches
#   // expect-each: REGEX    so does each error's, in the order of these lines, and there are no others
#
#   #include <lowp/lowp.hpp>
#   int main() {
#   #ifdef CONTROL
#     ...                    the same without the mistake: compiles, so nothing else is wrong
#   #else
#     ...                    the mistake
#   #endif
#   }
#
cmake_minimum_required(VERSION 3.25)

# Without the source lines, which would match by themselves.
set(plain -fdiagnostics-color=never -fno-diagnostics-show-caret)
if(CXX_ID MATCHES Clang)
  set(plain -fdiagnostics-color=never -fno-caret-diagnostics -ferror-limit=0)
endif()
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
set(compile ${CXX} -std=c++20 ${warnings} -fsyntax-only ${plain} -I${PARSED} -I${ROOT}/include)
set(parsed ${PARSED}/lowp/lowp.hpp.gch)
file(STRINGS ${SOURCE} includes REGEX "^#include <lowp/lowp.hpp>")
if(CXX_ID MATCHES Clang AND includes AND EXISTS ${parsed})
  list(APPEND compile -include-pch ${parsed})
endif()
set(ENV{LC_ALL} C)

execute_process(COMMAND ${compile} -DCONTROL ${SOURCE} RESULT_VARIABLE status ERROR_VARIABLE control)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "with CONTROL defined it must compile:\n${control}")
endif()

execute_process(COMMAND ${compile} ${SOURCE} RESULT_VARIABLE status ERROR_VARIABLE diagnostics)
if(status EQUAL 0)
  message(FATAL_ERROR "it compiles")
endif()

# The first error with its notes reaches to the next error.
string(FIND "${diagnostics}" "error: " begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "it fails without an error message:\n${diagnostics}")
endif()
string(SUBSTRING "${diagnostics}" ${begin} -1 rest)
string(SUBSTRING "${rest}" 7 -1 tail)
string(FIND "${tail}" "error: " length)
string(SUBSTRING "${tail}" 0 ${length} with_notes)
string(REGEX MATCH "^[^\n]*" first "${tail}")
string(REPLACE ";" "," errors "${diagnostics}")
string(REGEX MATCHALL "error: [^\n]*" errors "${errors}")

file(STRINGS ${SOURCE} expectations REGEX "^// expect(-first|-each)?: ")
if(NOT expectations)
  message(FATAL_ERROR "there is no `// expect: REGEX` line")
endif()
list(GET expectations -1 last)
foreach(expectation IN LISTS expectations)
  string(REGEX REPLACE "^// expect(-first|-each)?: " "" regex "${expectation}")
  if(expectation MATCHES "^// expect-each")
    list(POP_FRONT errors error)
    if(NOT error MATCHES "${regex}")
      message(SEND_ERROR "this error does not match `${regex}`:\n${error}")
    elseif(expectation STREQUAL last AND errors)
      message(SEND_ERROR "these errors are not expected:\n${errors}")
    endif()
  elseif(expectation MATCHES "^// expect-first" AND NOT first MATCHES "${regex}")
    message(SEND_ERROR "the first line does not match `${regex}`:\n${first}")
  elseif(NOT with_notes MATCHES "${regex}")
    message(SEND_ERROR "the first error and its notes do not match `${regex}`:\n${with_notes}")
  endif()
endforeach()
