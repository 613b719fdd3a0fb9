# SPDX-License-Identifier: Apache-2.0
# unpack_archive(OUT): makes the archive of this version, and unpacks it. OUT is the folder with its files.
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

function(unpack_archive out)
  run(${CMAKE_COMMAND} -DOUT=${SCRATCH}/archive -P ${ROOT}/.packaging/archive.cmake)
  file(GLOB archive ${SCRATCH}/archive/*)
  if(NOT archive MATCHES "/lowp-[0-9]+[.][0-9]+[.][0-9]+[.]tar[.]xz$")
    message(FATAL_ERROR "not one archive: ${archive}")
  endif()
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${SCRATCH}/unpacked)
  file(GLOB folder ${SCRATCH}/unpacked/lowp-*)
  set(${out} ${folder} PARENT_SCOPE)
endfunction()
