# SPDX-License-Identifier: Apache-2.0
# Writes lowp-VERSION.tar.xz, which has the library, its port for vcpkg and its recipe for Conan:
#   cmake -DOUT=FOLDER -P .packaging/archive.cmake
cmake_minimum_required(VERSION 3.25)

if(NOT DEFINED OUT)
  message(FATAL_ERROR "give the folder of the archive: cmake -DOUT=FOLDER -P ${CMAKE_SCRIPT_MODE_FILE}")
endif()
cmake_path(SET root NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/..)
file(READ ${CMAKE_CURRENT_LIST_DIR}/vcpkg/lowp/vcpkg.json manifest)
string(JSON version GET "${manifest}" version-semver)
set(name lowp-${version})
file(REMOVE_RECURSE ${OUT}/${name})
file(COPY ${root}/CMakeLists.txt ${root}/LICENSE ${root}/README.md ${root}/include ${root}/.packaging ${root}/.github
     DESTINATION ${OUT}/${name})
# The files have one date, so that the archive of a version has one sum.
execute_process(COMMAND ${CMAKE_COMMAND} -E tar cJf ${name}.tar.xz --format=gnutar --mtime=2026-11-27 ${name}
                WORKING_DIRECTORY ${OUT} COMMAND_ERROR_IS_FATAL ANY)
file(REMOVE_RECURSE ${OUT}/${name})
