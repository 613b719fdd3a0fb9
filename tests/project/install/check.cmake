# SPDX-License-Identifier: Apache-2.0
# Builds somebody else's program with lowp in the given WAY: main.cpp, which then runs, or the main.cu
# of SUFFIX=cu. An installed tree is moved first.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/run.cmake)

set(source ${CMAKE_CURRENT_LIST_DIR}/main.${SUFFIX})
set(compile ${CXX} -std=c++20)
set(options -DCMAKE_CXX_COMPILER=${CXX} -DSUFFIX=${SUFFIX})
if(SUFFIX STREQUAL cu)
  find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
  if(NOT nvcc)
    message("SKIPPED: nvcc is not installed")
    return()
  endif()
  set(compile ${nvcc} -std=c++20 -arch=compute_90 -ccbin ${CXX})
  list(APPEND options -DWITH=CUDA -DCMAKE_CUDA_COMPILER=${nvcc} -DCMAKE_CUDA_HOST_COMPILER=${CXX}
       -DCMAKE_CUDA_ARCHITECTURES=90-virtual)
endif()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
if(WAY MATCHES "package|pkg_config")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/first)
  file(RENAME ${SCRATCH}/first ${SCRATCH}/moved)
endif()

if(WAY STREQUAL pkg_config)
  find_program(pkg_config pkg-config)
  if(NOT pkg_config)
    message("SKIPPED: pkg-config is not installed")
    return()
  endif()
  file(GLOB_RECURSE pc ${SCRATCH}/moved/lowp.pc)
  cmake_path(GET pc PARENT_PATH folder)
  set(ENV{PKG_CONFIG_PATH} ${folder})
  execute_process(COMMAND ${pkg_config} --cflags "lowp >= 0.2" OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${compile} ${flags} ${source} -o ${SCRATCH}/main)
elseif(WAY STREQUAL include)
  run(${compile} -I${ROOT}/include ${source} -o ${SCRATCH}/main)
else()
  if(WAY STREQUAL fetch_content)
    execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${SCRATCH}/lowp.tar.gz CMakeLists.txt include
                    WORKING_DIRECTORY ${ROOT} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${SCRATCH}/build -DWAY=${WAY} ${options}
      -DLOWP_SOURCE=${ROOT} -DLOWP_ARCHIVE=${SCRATCH}/lowp.tar.gz
      -DCMAKE_PREFIX_PATH=${SCRATCH}/moved)
  run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
  file(RENAME ${SCRATCH}/build/main ${SCRATCH}/main)
endif()
if(SUFFIX STREQUAL cpp)
  run(${SCRATCH}/main)
endif()
