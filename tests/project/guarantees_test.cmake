# SPDX-License-Identifier: Apache-2.0
# The table of guarantees in tests/README.md has the rows of tests/guarantees.txt. Each test of a row
# exists, and a cell says what became of the tests.
cmake_minimum_required(VERSION 3.25)

set(tests ${ROOT}/tests)
file(MAKE_DIRECTORY ${SCRATCH})

# page(OUT RECORDS): README.md with the table that these records give.
function(page out records)
  file(WRITE ${SCRATCH}/records "${records}")
  execute_process(COMMAND awk -f ${tests}/guarantees.awk -v library=now -v kept=${SCRATCH}/kept
                          ${tests}/guarantees.txt ${SCRATCH}/records ${tests}/README.md
                  OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${printed}" PARENT_SCOPE)
endfunction()

# promises(OUT PAGE): the page less its outcomes.
function(promises out page)
  string(REGEX REPLACE "\\| [^|\n]* \\|\n" "|\n" page "${page}")
  string(REGEX REPLACE "\nRun: [^\n]*\n" "\n" page "${page}")
  set(${out} "${page}" PARENT_SCOPE)
endfunction()

file(READ ${tests}/README.md committed)
page(written "past\tnobody.knows\tpassed\t\n")
promises(committed "${committed}")
promises(rows "${written}")
if(NOT committed STREQUAL rows)
  file(WRITE ${SCRATCH}/README.md "${written}")
  message(SEND_ERROR "tests/README.md has other rows than tests/guarantees.txt; ${SCRATCH}/README.md has these")
endif()

# A test's name is its file, or a name of this build. `ctest -N` would overwrite the log of the ctest
# that runs this.
file(GLOB_RECURSE lists ${BUILD}/tests/CTestTestfile.cmake)
set(known "")
foreach(list IN LISTS lists)
  file(STRINGS ${list} added REGEX "^add_test")
  string(APPEND known "${added}")
endforeach()
file(STRINGS ${tests}/guarantees.txt rows REGEX "^[^#]")
set(named "")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^[^|]+\\|[^|]+\\|([^|]*)\\|[^|]*$")
    message(SEND_ERROR "not promise | inputs | tests | held against: ${row}")
  endif()
  separate_arguments(names UNIX_COMMAND "${CMAKE_MATCH_1}")
  list(APPEND named ${names})
  foreach(name IN LISTS names)
    string(REPLACE "." "/" stem ${name})
    file(GLOB files ${tests}/${stem}_test.* ${tests}/${stem}.*)
    if(NOT files AND NOT known MATCHES "\\[${name}[].]")
      message(SEND_ERROR "tests/guarantees.txt names the test ${name}, and there is none")
    endif()
  endforeach()
endforeach()

# expect(RECORDS OUTCOME): the outcome of the row whose one test is exhaustive.all_floats.
function(expect records outcome)
  page(page "${records}")
  if(NOT page MATCHES "\n[^\n]*\\| `exhaustive\\.all_floats` \\| [^|\n]* \\| ([^|\n]*) \\|\n")
    message(FATAL_ERROR "no row has exhaustive.all_floats alone")
  endif()
  if(NOT CMAKE_MATCH_1 STREQUAL outcome)
    message(SEND_ERROR "not `${outcome}` but `${CMAKE_MATCH_1}` from\n${records}")
  endif()
endfunction()
set(name "exhaustive.all_floats")
set(known "now\t${name}\tknown\t\n")
set(parts "now\t${name}.avx2\tknown\t\nnow\t${name}.avx512\tknown\t\n")
expect("${known}now\t${name}\tpassed\t\n" "0")
expect("${known}now\t${name}\tpassed\t7 of 7 proved\n" "0; 7 of 7 proved")
expect("now\t${name}s\tknown\t\nnow\t${name}s\tpassed\t\nnow\t${name}\tpassed\t\n" "not built")
expect("${known}before\t${name}\tpassed\t\n" "not run")
expect("${known}now\t${name}\tskipped\tno GPU\n" "skipped (no GPU): ${name}")
expect("${parts}now\t${name}.avx2\tpassed\t\nnow\t${name}.avx512\tskipped\tno AVX-512\n"
       "0; skipped (no AVX-512): ${name}")
expect("${parts}now\t${name}.avx2\tpassed\t\nnow\t${name}.avx512\tfailed\t\n"
       "**failed**: `${name}.avx512`")
# A machine that lacks a backend does not take back what another has passed.
expect("${known}now\t${name}\tpassed\t\tA\nnow\t${name}\tskipped\tno GPU\tB\n" "0")
expect("${known}now\t${name}\tskipped\tno GPU\tB\nnow\t${name}\tpassed\t\tA\n" "0")
# Each test has a state of its own.
expect("now\t${name}\tknown\t\nother\tproof.theorems\tknown\t\nother\t${name}\tpassed\t\n" "not run")
expect("now\t${name}\tknown\t\nother\tproof.theorems\tknown\t\nnow\t${name}\tpassed\t\n" "0")

# expect_kept(RECORDS MACHINES KEPT): the machines that the page names, and the lines that are kept.
function(expect_kept records machines kept)
  page(page "${records}")
  if(NOT page MATCHES "\nRun: ([^\n]*); library `now`; " OR NOT CMAKE_MATCH_1 STREQUAL machines)
    message(SEND_ERROR "not `${machines}` but `${CMAKE_MATCH_1}` from\n${records}")
  endif()
  file(READ ${SCRATCH}/kept written)
  if(NOT written STREQUAL kept)
    message(SEND_ERROR "kept is not\n${kept}but\n${written}")
  endif()
endfunction()
set(passed "now\t${name}.avx2\tpassed\t\tA\n")
expect_kept("${parts}before\t${name}.avx2\tfailed\t\tB\n${passed}" "A" "${passed}")
expect_kept("${known}before\t${name}\tpassed\t\tB\n" "" "")
expect_kept("${known}now\tproof.theorems\tknown\t\nnow\t${name}\tfailed\t\tA\nnow\t${name}\tpassed\t\tB\n"
            "B" "now\t${name}\tpassed\t\tB\n")
