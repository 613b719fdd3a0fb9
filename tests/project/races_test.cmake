# SPDX-License-Identifier: Apache-2.0
# ThreadSanitizer finds no race in the tests of lowp/openmp.hpp, and finds a planted one. It needs
# archer, which tells it of OpenMP's barriers.
cmake_minimum_required(VERSION 3.25)

find_program(clang clang++)
if(NOT clang)
  message("SKIPPED: clang++ is not installed")
  return()
endif()
execute_process(COMMAND ${clang} -print-resource-dir OUTPUT_VARIABLE resources
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
cmake_path(SET archer NORMALIZE ${resources}/../../libarcher.so)
if(NOT EXISTS ${archer})
  message("SKIPPED: ${archer} is missing; on Debian: libomp-14-dev")
  return()
endif()
set(ENV{OMP_TOOL_LIBRARIES} ${archer})
set(ENV{TSAN_OPTIONS} ignore_noninstrumented_modules=1)
set(ENV{OMP_NUM_THREADS} 4)
file(MAKE_DIRECTORY ${SCRATCH})
# Under a sanitizer a unit has the backend of its flags alone; portable kernels take longest to compile.
set(flags -std=c++20 -O1 -g1 -fopenmp -fsanitize=thread)
if(CMAKE_HOST_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND flags -march=native)
endif()

# The count races if there is an argument. The sums are read behind a barrier.
file(WRITE ${SCRATCH}/planted.cpp "
int main(int count, char**) {
  int raced = 0, sums[4] = {}, sum = 0;
#pragma omp parallel num_threads(4)
  {
#pragma omp for
    for (int i = 0; i < 4; ++i) sums[i] = i;
#pragma omp single
    for (int each : sums) sum += each;
    if (count > 1) ++raced;
  }
  return sum == 6 ? 0 : raced;
}
")
execute_process(COMMAND ${clang} ${flags} ${SCRATCH}/planted.cpp -o ${SCRATCH}/planted
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: this clang++ has no ThreadSanitizer or no OpenMP")
  return()
endif()
include(${ROOT}/tests/support/run.cmake)
run(${SCRATCH}/planted)
execute_process(COMMAND ${SCRATCH}/planted race RESULT_VARIABLE status ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "data race")
  message(FATAL_ERROR "a planted race is not found: status ${status}\n${said}")
endif()

run(${clang} ${flags} -DLOWP_TEST_SOME -D${KERNELS} -I${ROOT}/include -I${ROOT}/tests
    ${ROOT}/tests/openmp_test.cpp -o ${SCRATCH}/openmp_test -lgtest_main -lgtest -pthread)
run(${SCRATCH}/openmp_test --gtest_brief=1)
