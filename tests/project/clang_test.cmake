# SPDX-License-Identifier: Apache-2.0
# -O0, -ffast-math, the link, the refusals and implicit<T> once more, with clang.
cmake_minimum_required(VERSION 3.25)

if(CXX_ID MATCHES Clang)
  message("SKIPPED: everything here is built with clang already")
  return()
endif()
find_program(clang clang++)
if(NOT clang)
  message("SKIPPED: clang++ is not installed")
  return()
endif()

include(${ROOT}/tests/support/run.cmake)

run(${CMAKE_COMMAND} -S ${ROOT} -B ${SCRATCH} -DCMAKE_CXX_COMPILER=${clang}
    -DLOWP_BUILD_TESTS=ON -DLOWP_TEST_ALL=ON -DLOWP_INSTALL=OFF)
# Headers have been built alone by g++. Here the units of the tour include them.
run(${CMAKE_COMMAND} --build ${SCRATCH} --target link_tour parsed_headers
    test_project.flags.o0 test_project.flags.fast test_format.implicit)
# project.link.mixed takes both compilers wherever it runs: it would compile the same again.
run(${CMAKE_CTEST_COMMAND} --test-dir ${SCRATCH} -R "^(project\\.(compile_fail|link|flags\\.(o0|fast))|format\\.implicit)\\."
    -E "^project\\.link\\.mixed$" --output-on-failure)
