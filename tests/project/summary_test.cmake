# SPDX-License-Identifier: Apache-2.0
# The last line of tests/run.sh counts what ctest's log says, and names why tests were skipped.
cmake_minimum_required(VERSION 3.25)

function(expect log line)
  file(WRITE ${SCRATCH}/log "${log}")
  execute_process(COMMAND awk -f ${ROOT}/tests/summary.awk ${SCRATCH}/log OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said STREQUAL "lowp: ${line}\n")
    message(SEND_ERROR "not `lowp: ${line}`:\n${said}")
  endif()
endfunction()

set(program "1/9 Test: cast.avx2\n[==========] 12 tests from 3 test suites ran. (9 ms total)\n")
set(script "2/9 Test: layering\nOutput:\nsaid this\n")
expect("${program}[  PASSED  ] 12 tests.\nTest Passed.\n" "12 passed, 0 failed, 0 skipped")
expect("${script}Test Passed.\n${script}Test Failed.\n" "1 passed, 1 failed, 0 skipped")
expect("${program}[  PASSED  ] 10 tests.\n[  FAILED  ] 2 tests, listed below:\nTest Failed.\n"
       "10 passed, 2 failed, 0 skipped")
expect("${program}Segmentation fault\nTest Failed.\n" "0 passed, 1 failed, 0 skipped")
expect("a.cpp:3: Skipped\nno GPU\n${program}[  PASSED  ] 12 tests.\nTest Passed.\n"
       "12 passed, 0 failed, 0 skipped")
expect("${program}a.cpp:3: Skipped\nno GPU\n\nb.cpp:4: Skipped\nno GPU\n[  PASSED  ] 10 tests.\nTest Passed.\n"
       "10 passed, 0 failed, 2 skipped (no GPU: 2)")
expect("${script}SKIPPED: clang++ is not installed\nTest Skipped.\n${program}[  PASSED  ] 12 tests.\nTest Passed.\n"
       "12 passed, 0 failed, 1 skipped (clang++ is not installed: 1)")
expect("${script}SKIPPED: there is no GPU\n<end of output>\nTest Pass Reason:\nSkip regular expression found\n"
       "0 passed, 0 failed, 1 skipped (there is no GPU: 1)")
expect("${program}[  PASSED  ] 12 tests.\nTest Fail Reason:\nError regular expression found\n"
       "12 passed, 1 failed, 0 skipped")
expect("${script}SKIPPED: lowp: LOWP_ISA=avx512 is not a backend here; there is portable\nTest Passed.\n"
       "0 passed, 0 failed, 1 skipped (a backend that this machine lacks: 1)")

# Records, for the table of guarantees. Each test has a state of its own.
function(expect_record log record)
  file(WRITE ${SCRATCH}/log "${log}")
  file(WRITE ${SCRATCH}/known "now\tlayering\tknown\t\nsince\tcast.avx2\tknown\t\n")
  file(REMOVE ${SCRATCH}/records)
  execute_process(COMMAND awk -f ${ROOT}/tests/summary.awk -v known=${SCRATCH}/known -v records=${SCRATCH}/records
                          ${SCRATCH}/log
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${SCRATCH}/records written)
  if(NOT written STREQUAL "${record}\n")
    message(SEND_ERROR "not `${record}`:\n${written}")
  endif()
endfunction()
expect_record("${script}SUMMARY: 3 of 3\nTest Passed.\n" "now\tlayering\tpassed\t3 of 3")
expect_record("${script}SUMMARY: 2 of 3\nTest Failed.\n" "now\tlayering\tfailed\t2 of 3")
expect_record("${script}SKIPPED: no clang\nTest Skipped.\n" "now\tlayering\tskipped\tno clang")
expect_record("${program}[  PASSED  ] 12 tests.\nTest Passed.\n" "since\tcast.avx2\tpassed\t")
expect_record("${program}[  FAILED  ] 2 tests, listed below:\nTest Failed.\n" "since\tcast.avx2\tfailed\t")
expect_record("${program}Segmentation fault\nTest Failed.\n" "since\tcast.avx2\tfailed\t")
expect_record("${program}a.cpp:3: Skipped\nno GPU\nTest Passed.\n" "since\tcast.avx2\tskipped\tno GPU")
expect_record("${program}a.cpp:3: Skipped\nno GPU\n[  PASSED  ] 11 tests.\nTest Passed.\n"
              "since\tcast.avx2\tskipped\tno GPU: 1 of 12")
