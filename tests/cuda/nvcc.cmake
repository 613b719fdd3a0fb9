# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of this folder. Sets nvcc and clang, each empty if it is not installed.
find_program(nvcc nvcc PATHS /usr/local/cuda/bin)
find_program(clang NAMES clang++ clang++-14)
if(NOT clang)
  set(clang "")
endif()
# Hardly optimized code of a GPU has the same errors, warnings, and instructions that flush.
set(compiles_sooner "")
if(nvcc)
  execute_process(COMMAND ${nvcc} --help OUTPUT_VARIABLE options)
  if(options MATCHES "--Ofast-compile")
    set(compiles_sooner --Ofast-compile=max)
  endif()
else()
  message("SKIPPED: nvcc is not installed")
endif()

include(${ROOT}/tests/support/run.cmake)

# compile(HOST_COMPILER ARGUMENT...): warnings are errors, in device code and on the host.
function(compile host)
  # Not -Wpedantic: it finds fault with the line numbers that nvcc writes.
  run(${nvcc} -std=c++20 -ccbin ${host} -Werror all-warnings
      -Xcompiler -Wall,-Wextra,-Wshadow,-Wconversion -I${ROOT}/include -I${ROOT}/tests ${ARGN})
  set(printed "${printed}" PARENT_SCOPE)
endfunction()
