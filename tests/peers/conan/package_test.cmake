# SPDX-License-Identifier: Apache-2.0
# Conan packages the archive of this version, and builds and runs ../../project/install with the package.
cmake_minimum_required(VERSION 3.25)

include(${ROOT}/tests/support/python.cmake)
python_with(python conan)
if(NOT python)
  return()
endif()
cmake_path(GET python PARENT_PATH programs)
find_program(conan conan HINTS ${programs} NO_CMAKE_PATH)

file(REMOVE_RECURSE ${SCRATCH})
set(ENV{CONAN_HOME} ${SCRATCH}/home)
set(ENV{CXX} ${CXX})
include(${ROOT}/tests/support/archive.cmake)
unpack_archive(unpacked)
run(${conan} profile detect)
run(${conan} create ${unpacked}/.packaging/conan --test-folder ${ROOT}/tests/project/install
    -s compiler.cppstd=20 -c tools.cmake.cmake_layout:test_folder=${SCRATCH}/test)
