# SPDX-License-Identifier: Apache-2.0
# Installs the tools, moves them, and runs each. An installation without the component has none.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/run.cmake)

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --component tools --prefix ${SCRATCH}/first)
file(GLOB_RECURSE files RELATIVE ${SCRATCH}/first ${SCRATCH}/first/*)
if(NOT files STREQUAL "bin/lowp-judge;bin/lowp-model")
  message(FATAL_ERROR "the component has: ${files}")
endif()
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)
set(bin ${SCRATCH}/moved/bin)
run(${bin}/lowp-judge inputs --to float8_e4m3fn -o ${SCRATCH}/in.npy)
run(${bin}/lowp-model --help)

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/all)
if(EXISTS ${SCRATCH}/all/bin)
  message(FATAL_ERROR "an installation without the component has programs")
endif()
