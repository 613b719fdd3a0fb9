# SPDX-License-Identifier: Apache-2.0
# Conversions, arithmetic, decimal text, exp and log against MPFR.
cmake_minimum_required(VERSION 3.25)

file(MAKE_DIRECTORY ${SCRATCH})
file(WRITE ${SCRATCH}/has_mpfr.cpp "#include <mpfr.h>\nint main() { return mpfr_get_version() == nullptr; }\n")
execute_process(COMMAND ${CXX} ${SCRATCH}/has_mpfr.cpp -o ${SCRATCH}/has_mpfr -lmpfr -lgmp
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: MPFR is not installed (Debian: libmpfr-dev)")
  return()
endif()
string(REPLACE " " ";" warnings "${WARNINGS}")
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include -I${ROOT}/tests
          ${CMAKE_CURRENT_LIST_DIR}/numbers.cpp -o ${SCRATCH}/numbers -lmpfr -lgmp
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/numbers COMMAND_ERROR_IS_FATAL ANY)
