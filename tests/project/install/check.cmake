# SPDX-License-Identifier: Apache-2.0
# Installs, moves the installed tree, and builds a program against it in the given WAY.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)

if(WAY STREQUAL pkg_config)
  find_program(pkg_config pkg-config)
  if(NOT pkg_config)
    message("SKIPPED: pkg-config is not installed")
    return()
  endif()
  file(GLOB_RECURSE pc ${SCRATCH}/moved/lowp.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${pkg_config} --cflags "lowp >= 0.1" OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${CXX} -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${SCRATCH}/main)
  run(${SCRATCH}/main)
else()
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -DCMAKE_CXX_COMPILER=${CXX}
      -DWAY=${WAY} -DLOWP_SOURCE=${ROOT} -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
  run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
  run(${SCRATCH}/build/main)
endif()
