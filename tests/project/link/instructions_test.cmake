# SPDX-License-Identifier: Apache-2.0
# A program compiled without any -m flag has AVX instructions, and none that a machine without AVX
# reaches. They are in the kernels of the backends that ask the processor first. No call leads there
# from outside: the executor takes the entry of a kernel from a table. No instruction of SSE is among
# them: while upper halves of registers are in use, it may wait for hundreds of cycles.
cmake_minimum_required(VERSION 3.25)

find_program(objdump objdump)
find_program(awk awk)
if(NOT objdump OR NOT awk)
  message("SKIPPED: objdump or awk is not installed")
  return()
endif()

file(MAKE_DIRECTORY ${SCRATCH})
foreach(level O0 O2)
  execute_process(
    COMMAND ${CXX} -std=c++20 -${level} -I${ROOT}/include ${CMAKE_CURRENT_LIST_DIR}/program.cpp
            -o ${SCRATCH}/${level}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${objdump} -d --no-show-raw-insn -C ${SCRATCH}/${level}
    COMMAND ${awk} -f ${CMAKE_CURRENT_LIST_DIR}/instructions.awk
    OUTPUT_FILE ${SCRATCH}/${level}.txt COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${SCRATCH}/${level}.txt found)
  # A backend's own functions, by its name: lowp::simd::unit_000::avx2::enter<...>(...).
  set(leaf "lowp::simd::unit_[01]+::avx[0-9a-z_]*::")
  set(functions_seen 0)
  set(calls_seen 0)
  foreach(line IN LISTS found)
    if(line MATCHES "^avx ")
      math(EXPR functions_seen "${functions_seen} + 1")
      if(NOT line MATCHES "^avx ([a-z]+ )?${leaf}")
        message(SEND_ERROR "-${level}: AVX outside a backend: ${line}")
      endif()
      continue()
    endif()
    if(line MATCHES "^sse ")
      message(SEND_ERROR "-${level}: SSE among AVX: ${line}")
      continue()
    endif()
    string(FIND "${line}" " | " bar)
    string(SUBSTRING "${line}" 0 ${bar} caller)
    string(SUBSTRING "${line}" ${bar} -1 callee)
    if(callee MATCHES "^ \\| ([a-z]+ )?${leaf}" AND NOT callee MATCHES "::available\\(")
      math(EXPR calls_seen "${calls_seen} + 1")
      if(NOT caller MATCHES "unit_[01]+::avx[0-9a-z_]*")
        message(SEND_ERROR "-${level}: a backend is called from elsewhere: ${line}")
      endif()
    endif()
  endforeach()
  message("-${level}: ${functions_seen} functions with AVX, ${calls_seen} calls of backends")
  if(functions_seen LESS 10 OR calls_seen LESS 3)
    message(SEND_ERROR "-${level}: too few: nothing was looked at")
  endif()
endforeach()
