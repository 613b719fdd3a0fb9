# SPDX-License-Identifier: Apache-2.0
# Conan packages the archive of this version, and builds and runs ../../project/install with the package.
# Takes Conan from PyPI, 18 MB into a folder of the build, unless it is installed.
cmake_minimum_required(VERSION 3.25)

set(python "$ENV{LOWP_PYTHON}")
cmake_path(GET python PARENT_PATH programs)
find_program(conan conan HINTS ${programs} NO_CMAKE_PATH)
if(NOT conan)
  find_program(python3 python3)
  set(folder ${BUILD}/tests/conan)
  if(NOT EXISTS ${folder}/bin/conan)
    execute_process(COMMAND ${python3} -m pip install -q --target ${folder} conan RESULT_VARIABLE status
                    OUTPUT_QUIET ERROR_VARIABLE error)
    if(NOT status EQUAL 0)
      message("SKIPPED: Conan is not installed, and PyPI does not bring it: ${error}")
      return()
    endif()
  endif()
  set(ENV{PYTHONPATH} ${folder})
  set(conan ${python3} -B ${folder}/bin/conan)
endif()

file(REMOVE_RECURSE ${SCRATCH})
set(ENV{CONAN_HOME} ${SCRATCH}/home)
set(ENV{CXX} ${CXX})
include(${ROOT}/tests/support/archive.cmake)
unpack_archive(unpacked)
run(${conan} profile detect)
run(${conan} create ${unpacked}/.packaging/conan --test-folder ${ROOT}/tests/project/install
    -s compiler.cppstd=20 -c tools.cmake.cmake_layout:test_folder=${SCRATCH}/test)
