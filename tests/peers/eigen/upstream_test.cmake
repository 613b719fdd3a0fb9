# SPDX-License-Identifier: Apache-2.0
# Eigen's own tests of Eigen::half and Eigen::bfloat16 pass with lowp's types. They are as Debian's
# source package has them, but for two things that ours refuse:
#   - a forward declaration as a struct: ours are instances of a template
#   - a cast from a complex number, which drops the imaginary part
cmake_minimum_required(VERSION 3.25)

set(archive ${BUILD}/eigen3_3.4.0.orig.tar.bz2)
file(DOWNLOAD https://deb.debian.org/debian/pool/main/e/eigen3/eigen3_3.4.0.orig.tar.bz2 ${archive}
     EXPECTED_HASH SHA256=b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626
     STATUS downloaded)
list(GET downloaded 0 status)
if(NOT status EQUAL 0)
  message("SKIPPED: Debian's source of Eigen 3.4.0 is not to be had: ${downloaded}")
  return()
endif()
file(REMOVE_RECURSE ${SCRATCH})
file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${SCRATCH})
set(eigen ${SCRATCH}/eigen-3.4.0)

# replace(PASSAGE NEW): the passage must be there.
macro(replace passage new)
  string(FIND "${source}" "${passage}" place)
  if(place EQUAL -1)
    message(FATAL_ERROR "Eigen's test lacks: ${passage}")
  endif()
  string(REPLACE "${passage}" "${new}" source "${source}")
endmacro()

function(run file theirs ours)
  execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${eigen}/test/${file}.cpp OUTPUT_VARIABLE source)
  replace("#include \"main.h\"" "#include \"upstream.hpp\"")
  replace("struct ${theirs};" "")
  if(theirs STREQUAL bfloat16)
    replace("test_roundtrip<std::complex<float> >();" "")
    replace("test_roundtrip<std::complex<double> >();" "")
  endif()
  file(WRITE ${SCRATCH}/${file}.cpp "${source}")
  execute_process(
    COMMAND
      ${CXX} -std=c++20 -O1 -w -DTHEIRS_IS_${theirs} -DOURS=${ours} -DEIGEN_TEST_FUNC=${file}
      -DEIGEN_TEST_MAX_SIZE=320 -I${ROOT}/include -I${ROOT}/tests/peers/eigen -I${eigen}
      -I${eigen}/test ${SCRATCH}/${file}.cpp -o ${SCRATCH}/${file}
    RESULT_VARIABLE status ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${text}")
  endif()
  execute_process(COMMAND ${SCRATCH}/${file} r10 s1 RESULT_VARIABLE status OUTPUT_VARIABLE text
                  ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(SEND_ERROR "${text}")
  endif()
endfunction()
run(half_float half float16)
run(bfloat16_float bfloat16 bfloat16)
