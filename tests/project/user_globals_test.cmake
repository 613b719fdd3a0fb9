# SPDX-License-Identifier: Apache-2.0
# A program's globals and macros give no warning in the headers, whichever compiler reads them.
cmake_minimum_required(VERSION 3.25)

string(REPLACE " " ";" warnings "${WARNINGS}")
find_program(clang clang++)
foreach(compiler ${CXX} ${clang})
  if(compiler)
    execute_process(COMMAND ${compiler} -std=c++20 ${warnings} -fsyntax-only -I${ROOT}/include
                            ${CMAKE_CURRENT_LIST_DIR}/user_globals.cpp
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()
# Sizes of 32 bits are converted without a warning, too.
find_program(i686 i686-linux-gnu-g++)
if(i686)
  execute_process(COMMAND ${i686} -std=c++20 -msse2 -mfpmath=sse ${warnings} -Wsign-conversion -fsyntax-only
                          -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/user_globals.cpp
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

# Doors that need another library. That comes before the macros, which many libraries do not bear.
find_path(eigen Eigen/Core PATHS /usr/include/eigen3)
find_program(mpicxx mpicxx)
set(mpi "")
if(mpicxx)
  execute_process(COMMAND ${mpicxx} --showme:incdirs OUTPUT_VARIABLE mpi OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
set(folders "")
foreach(folder ${eigen} ${mpi})
  if(EXISTS ${folder})
    list(APPEND folders -isystem ${folder})
  endif()
endforeach()
set(libraries "")
set(doors "")
foreach(pair Eigen/Core=eigen cereal/cereal.hpp=cereal fmt/format.h=fmt mpi.h=mpi ATen/core/TensorBase.h=torch
        nlohmann/json.hpp=nlohmann_json nlohmann/json.hpp=safetensors nlohmann/json.hpp=checkpoint omp.h=openmp)
  string(REGEX MATCH "(.+)=(.+)" pair ${pair})
  string(APPEND libraries "#if __has_include(<${CMAKE_MATCH_1}>)\n#include <${CMAKE_MATCH_1}>\n"
                          "#define HAS_${CMAKE_MATCH_2}\n#endif\n")
  string(APPEND doors "#if defined HAS_${CMAKE_MATCH_2}\n#include <lowp/${CMAKE_MATCH_2}.hpp>\n#endif\n")
endforeach()
set(macros "#include \"${CMAKE_CURRENT_LIST_DIR}/user_macros.hpp\"\n")
file(WRITE ${SCRATCH}/doors.cpp "${libraries}${macros}${doors}")
execute_process(COMMAND ${CXX} -std=c++20 -fopenmp ${warnings} -fsyntax-only ${folders} -I${ROOT}/include
                        ${SCRATCH}/doors.cpp COMMAND_ERROR_IS_FATAL ANY)

find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
if(nvcc)
  file(WRITE ${SCRATCH}/doors.cu "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n${macros}"
       "#include <lowp/cuda/lowp.cuh>\n#include <lowp/cuda/interop.cuh>\n#include <lowp/cuda/overflow_watch.cuh>\n")
  execute_process(COMMAND ${nvcc} -std=c++20 -arch=sm_90 -ccbin ${CXX} -Werror all-warnings -I${ROOT}/include -c
                          ${SCRATCH}/doors.cu -o ${SCRATCH}/doors.o COMMAND_ERROR_IS_FATAL ANY)
endif()
