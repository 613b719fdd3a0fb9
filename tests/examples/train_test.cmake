# SPDX-License-Identifier: Apache-2.0
# The training example from outside. It refuses in one line. A resumed run ends with the bits of an
# uninterrupted one. It reports and draws every mode.
cmake_minimum_required(VERSION 3.25)

set(train ${BUILD}/examples/train)
if(NOT EXISTS ${train})
  message("SKIPPED: the examples are not built")
  return()
endif()
set(modes fp32 bf16 bf16-sr fp16 fp16-sr fp8 fp8-sr)
set(inputs ${SCRATCH}/inputs)
set(outputs ${SCRATCH}/outputs)
file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${inputs} ${outputs})

# try(ARGUMENT...): runs in the folder of outputs; leaves `status`, `out` and `err`.
macro(try)
  execute_process(COMMAND ${train} ${ARGN} WORKING_DIRECTORY ${outputs} RESULT_VARIABLE status
                  OUTPUT_VARIABLE out ERROR_VARIABLE err)
endmacro()

function(succeeds)
  try(${ARGN})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "train ${ARGN}: status ${status}\n${out}${err}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

# refuses(WORDS ARGUMENT...): one line that has WORDS, a regular expression; no file.
function(refuses words)
  file(GLOB before ${outputs}/*)
  try(${ARGN})
  file(GLOB after ${outputs}/*)
  if(NOT status EQUAL 2)
    message(SEND_ERROR "train ${ARGN}: status ${status}, not 2\n${out}${err}")
  endif()
  if(NOT err MATCHES "^train: [^\n]*${words}[^\n]*\n$")
    message(SEND_ERROR "train ${ARGN}: not one line with ${words}:\n${err}")
  endif()
  if(NOT before STREQUAL after)
    message(SEND_ERROR "train ${ARGN}: left ${after}, there was ${before}")
  endif()
endfunction()

function(expect_same a b)
  file(SHA256 ${outputs}/${a} hash_a)
  file(SHA256 ${outputs}/${b} hash_b)
  if(NOT hash_a STREQUAL hash_b)
    message(SEND_ERROR "${a} and ${b} differ")
  endif()
endfunction()

function(expect_in text)
  foreach(part IN LISTS ARGN)
    string(FIND "${text}" "${part}" place)
    if(place EQUAL -1)
      message(SEND_ERROR "there is no ${part} in:\n${text}")
    endif()
  endforeach()
endfunction()

# Input
file(WRITE ${inputs}/empty "")
file(WRITE ${inputs}/short "too short to learn from\n")
string(REPEAT "abracadabra " 100 other)
file(WRITE ${inputs}/other "${other}")
refuses("--text" --text ${inputs}/missing)
refuses("--text" --text ${inputs})
refuses("0 bytes.*--text" --text ${inputs}/empty)
refuses("at least.*--text" --text ${inputs}/short)
refuses("fp12.*fp32.*--modes" --modes fp32,fp12)
refuses("--steps.*range" --steps 0)
refuses("--seed.*-1" --seed -1)
refuses("--stop-at 10 is after" --steps 8 --stop-at 010)  # not octal
refuses("--lr.*number" --lr nan)
refuses("--stop-at" --steps 2 --stop-at 3)
refuses("--help" --nonsense)

# Output; the run itself writes nothing if one of its files could not be written.
foreach(option --csv --svg --checkpoint)
  set(others --csv;a.csv;--svg;a.svg;--checkpoint;a)
  list(FIND others ${option} place)
  list(REMOVE_AT others ${place})
  list(REMOVE_AT others ${place})
  refuses("cannot write 'missing/file'.*${option}" ${others} ${option} missing/file)
  refuses("cannot write.*directory.*${option}" ${others} ${option} ${inputs})
endforeach()

# Report
succeeds(--steps 8 --csv all.csv --svg all.svg --checkpoint through)
file(STRINGS ${outputs}/all.csv rows)
foreach(mode IN LISTS modes)
  if(NOT out MATCHES "\n${mode} +b?float[^\n]* %[^\n]* %[^\n]*\n")
    message(SEND_ERROR "no row for ${mode}:\n${out}")
  endif()
  # Step 0, and each of the 8.
  set(rows_of_mode ${rows})
  list(FILTER rows_of_mode INCLUDE REGEX "^[0-8],${mode},[0-9.]+,[0-9.]+,[0-9.e-]*,[0-9.e-]*$")
  list(LENGTH rows_of_mode count)
  if(NOT count EQUAL 9)
    message(SEND_ERROR "${count} rows for ${mode}, not 9:\n${rows}")
  endif()
endforeach()
expect_in("${out}" ${outputs}/all.svg ${outputs}/all.csv)

# The picture, with gnuplot if it is installed, and without.
set(path "$ENV{PATH}")
set(ENV{PATH} ${inputs})
succeeds(--steps 8 --svg plain.svg)
set(ENV{PATH} "${path}")
if(out MATCHES "gnuplot")
  message(SEND_ERROR "gnuplot was hidden, and used:\n${out}")
endif()
foreach(picture all plain)
  file(READ ${outputs}/${picture}.svg svg)
  expect_in("${svg}" "<svg" "</svg>" ">step<" ">nats per byte<")
  foreach(mode IN LISTS modes)
    expect_in("${svg}" ">${mode}<")
  endforeach()
endforeach()

# The number of threads changes nothing.
succeeds(--steps 8 --svg /dev/null --threads 1 --csv one.csv --checkpoint one)
expect_same(one through)
expect_same(one.csv all.csv)

# Stopped half way and resumed, also with another stop and with some of the modes.
succeeds(--steps 8 --stop-at 3 --svg /dev/null --checkpoint at3)
succeeds(--steps 8 --stop-at 5 --svg /dev/null --checkpoint at5 --resume at3)
succeeds(--steps 8 --svg /dev/null --checkpoint resumed --resume at5)
expect_same(resumed through)
succeeds(--steps 8 --svg /dev/null --modes fp8-sr,bf16-sr --checkpoint some)
succeeds(--steps 8 --svg /dev/null --modes fp8-sr,bf16-sr --checkpoint some_resumed --resume at3)
expect_same(some_resumed some)

# Checkpoints that are none, or another's.
refuses("not a checkpoint.*--checkpoint" --resume ${ROOT}/LICENSE)
refuses("not a readable file" --resume ${inputs}/missing)
refuses("--text" --steps 8 --resume at3 --text ${inputs}/other)
refuses("seed 1.*--seed" --steps 8 --resume at3 --seed 2)
refuses("step 3.*--steps" --steps 2 --resume at3)
refuses("fp32.*bf16-sr.*--modes" --steps 8 --resume some --modes fp32)
foreach(size 4 8 1000 200000)
  execute_process(COMMAND head -c ${size} ${outputs}/at3 OUTPUT_FILE ${inputs}/cut
                  COMMAND_ERROR_IS_FATAL ANY)
  refuses("cannot resume from.*--checkpoint" --steps 8 --resume ${inputs}/cut)
endforeach()

# The runs left no files but the wanted.
file(GLOB left RELATIVE ${outputs} ${outputs}/*)
set(asked all.csv all.svg at3 at5 one one.csv plain.svg resumed some some_resumed through)
if(NOT left STREQUAL asked)
  message(SEND_ERROR "there is ${left}, not ${asked}")
endif()
