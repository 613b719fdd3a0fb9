# SPDX-License-Identifier: Apache-2.0
# Philox4x32-10 against the package Random123.
cmake_minimum_required(VERSION 3.25)

file(WRITE ${SCRATCH}/has_random123.cpp "#include <Random123/philox.h>\n")
execute_process(COMMAND ${CXX} -fsyntax-only ${SCRATCH}/has_random123.cpp RESULT_VARIABLE status
                OUTPUT_QUIET ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: Random123 is not installed (Debian: librandom123-dev)")
  return()
endif()
string(REPLACE " " ";" warnings "${WARNINGS}")
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 ${warnings} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/philox.cpp -o ${SCRATCH}/philox
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/philox COMMAND_ERROR_IS_FATAL ANY)
