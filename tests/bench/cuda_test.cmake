# SPDX-License-Identifier: Apache-2.0
# The GPU's benchmarks compile, and their table is what its script writes from what was measured.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/tests/cuda/nvcc.cmake)
if(NOT nvcc)
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
file(GLOB programs ${ROOT}/bench/cuda/*.cu)
# Warnings and errors are of the compilers' front ends. The host's kernels are for one backend.
list(APPEND compiles_sooner -D${KERNELS} -include support/backends.hpp)
foreach(program IN LISTS programs)
  compile(${CXX} -arch=compute_90 ${compiles_sooner} -c ${program} -Xcompiler -fsyntax-only -o ${SCRATCH}/program.o)
endforeach()

find_program(python python3)
if(python)
  run(${python} ${ROOT}/bench/cuda/table.py)
  file(READ ${ROOT}/bench/cuda/README.md table)
  if(NOT printed STREQUAL table)
    message(FATAL_ERROR "bench/cuda/README.md is not what bench/cuda/table.py writes")
  endif()
endif()

# run.sh times nothing after a wrong bit. A program here only says that it runs.
set(copy ${SCRATCH}/copy)
file(REMOVE_RECURSE ${copy})
file(COPY ${ROOT}/bench/cuda/run.sh DESTINATION ${copy}/bench/cuda)
file(COPY ${ROOT}/tests/cuda/gpu.sh ${ROOT}/tests/cuda/checksums.txt DESTINATION ${copy}/tests/cuda)
file(WRITE ${copy}/bench/cuda/cast.cu "")
file(WRITE ${copy}/bin/nvcc "#!/bin/sh
until [ $1 = -o ]; do shift; done
printf '#!/bin/sh\\necho timed >>${copy}/log\\n' >$2
chmod +x $2
")
file(WRITE ${copy}/bin/nvidia-smi "#!/bin/sh\necho 9.0\n")
file(CHMOD ${copy}/bin/nvcc ${copy}/bin/nvidia-smi PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
foreach(outcome 1 0)
  file(WRITE ${copy}/tests/cuda/run.sh "echo tested $SANITIZE >>${copy}/log\nexit ${outcome}\n")
  foreach(options "--quick" "")
    file(WRITE ${copy}/log "")
    execute_process(COMMAND ${CMAKE_COMMAND} -E env PATH=${copy}/bin:$ENV{PATH} PYTHON=none LOWP_GPU=
                            sh ${copy}/bench/cuda/run.sh ${options}
                    RESULT_VARIABLE result OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
    file(READ ${copy}/log log)
    set(expected "tested no\n")
    if(outcome EQUAL 0)
      string(APPEND expected "timed\n")
    endif()
    if(NOT result EQUAL outcome OR NOT log STREQUAL expected)
      message(FATAL_ERROR "run.sh ${options} ends with ${result}, after\n${log}${printed}")
    endif()
  endforeach()
endforeach()
