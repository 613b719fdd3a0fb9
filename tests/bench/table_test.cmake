# SPDX-License-Identifier: Apache-2.0
# The pages of bench/ and a table of README.md are what their scripts write from the results beside them. The page describes figures that are made up here, and says which goals are reached.
cmake_minimum_required(VERSION 3.25)

find_program(python python3)
if(NOT python)
  message("SKIPPED: there is no python3")
  return()
endif()

function(table out)
  execute_process(COMMAND ${python} ${ROOT}/bench/report/table.py ${ARGN} OUTPUT_VARIABLE printed
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${printed}" PARENT_SCOPE)
endfunction()

# The page of ${SCRATCH}/results has this line.
function(expect line)
  table(page ${SCRATCH}/results)
  string(FIND "${page}" "\n${line}\n" place)
  if(place EQUAL -1)
    message(SEND_ERROR "The page of ${SCRATCH}/results has no line\n${line}")
  endif()
endfunction()

table(page)
file(READ ${ROOT}/bench/README.md committed)
if(NOT page STREQUAL committed)
  message(SEND_ERROR "bench/README.md is not what bench/report/table.py writes")
endif()

foreach(folder transformer model)
  execute_process(COMMAND ${python} ${ROOT}/bench/${folder}/table.py OUTPUT_VARIABLE page
                  COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${ROOT}/bench/${folder}/README.md committed)
  if(NOT page STREQUAL committed)
    message(SEND_ERROR "bench/${folder}/README.md is not what bench/${folder}/table.py writes")
  endif()
endforeach()

file(MAKE_DIRECTORY ${SCRATCH})
file(COPY_FILE ${ROOT}/README.md ${SCRATCH}/README.md)
table(nothing --into ${SCRATCH}/README.md)
file(READ ${ROOT}/README.md committed)
file(READ ${SCRATCH}/README.md page)
if(NOT page STREQUAL committed)
  message(SEND_ERROR "the table in README.md is not what bench/report/table.py --into writes")
endif()

# Every program has a topic; "team" is some of them on all processors.
table(told --programs)
string(STRIP "${told}" told)
string(REPLACE " " ";" told "${told}")
file(GLOB sources ${ROOT}/bench/operations/*.cpp)
set(programs team)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  list(APPEND programs ${name})
endforeach()
list(SORT told)
list(SORT programs)
if(NOT told STREQUAL programs)
  message(SEND_ERROR "bench/report/goals.py tells of ${told}; there are ${programs}")
endif()

# The filter of a level has names, in which characters of regular expressions are escaped.
table(filter --filter storage DRAM)
set(case "storage/kahan(bfloat16,bfloat16)/nearest_even")
string(REGEX REPLACE "([()|^$])" "\\\\\\1" escaped "${case}")
foreach(part "^(" "|${escaped}|" ")/(portable|avx2|avx512|avx512_bf16|neon|neon_bf16)/DRAM$")
  string(FIND "${filter}" "${part}" place)
  if(place EQUAL -1)
    message(SEND_ERROR "'${part}' is not in the filter ${filter}")
  endif()
endforeach()
table(told --teams)
string(STRIP "${told}" told)
if(NOT told STREQUAL "cast census fused_add softmax update")
  message(SEND_ERROR "the page tells of all processors for ${told}")
endif()
table(filter --filter softmax all)
string(STRIP "${filter}" filter)
if(NOT filter STREQUAL
   "^(softmax/bfloat16/1024|softmax/float16/1024)/(portable|avx2|avx512|avx512_bf16|neon|neon_bf16)/(L2|DRAM)$")
  message(SEND_ERROR "the filter of all processors is ${filter}")
endif()

# round(NUMBER NAME SPEED...): what a program and a peer may write, in items a second.
function(round number)
  file(MAKE_DIRECTORY ${SCRATCH}/rounds/${number})
  set(runs "")
  while(ARGN)
    list(POP_FRONT ARGN name speed)
    list(APPEND runs "{\"run_name\": \"${name}\", \"run_type\": \"iteration\", \"label\": \"r2_w2\", \
\"items_per_second\": ${speed}}")
  endwhile()
  list(JOIN runs ", " runs)
  file(WRITE ${SCRATCH}/rounds/${number}/softmax-L2.json
       "{\"context\": {\"cpu\": \" A processor\", \"num_cpus\": 2, \"caches\": [], \"lowp_isa\": \"avx2\", \
\"compiler\": \"a compiler\", \"threads\": \"1\", \"date\": \"2001-02-03T04:05:06\", \"load_avg\": [${number}.25]}, \
\"benchmarks\": [${runs}]}")
endfunction()
function(peers number speed)
  file(WRITE ${SCRATCH}/rounds/${number}/softmax-peers.json
       "{\"context\": {\"versions\": {\"torch\": \"9.8\"}}, \"benchmarks\": [{\"run_name\": \
\"softmax/float16/1024/torch/L2\", \"run_type\": \"iteration\", \"items_per_second\": ${speed}}]}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
set(own softmax/float16/1024/avx2)
set(narrow softmax/all_in/float16/1024/avx2)
set(loop softmax/traffic/r2_w2)
# The median of three repetitions is 4e9, that of three rounds the second.
round(1 ${own}/L2 3e9 ${own}/L2 4e9 ${own}/L2 9e9 ${narrow}/L2 4e9
        ${own}/DRAM 3e9 ${loop}/plain/DRAM 4e9 ${loop}/streaming/DRAM 3e9)
round(2 ${own}/L2 4e9 ${narrow}/L2 5e9
        ${own}/DRAM 3e9 ${loop}/plain/DRAM 3e9 ${loop}/streaming/DRAM 6e9)
round(3 ${own}/L2 4e9 ${narrow}/L2 8e9
        ${own}/DRAM 3e9 ${loop}/plain/DRAM 3e9 ${loop}/streaming/DRAM 5e9)
peers(1 2e9)
peers(2 1e9)
peers(3 8e9)
table(figures --collect softmax ${SCRATCH}/rounds/1 ${SCRATCH}/rounds/2 ${SCRATCH}/rounds/3)
file(WRITE ${SCRATCH}/results/softmax.json "${figures}")
expect("| machine | A processor; 2 processors;  |")
expect("| date | 2001-02-03 |")
expect("| rounds | 3 |")
expect("| load when a program began | 1.2 to 3.2 |")
expect("| peers | torch 9.8 |")
expect("| softmax, float16, 1024 columns | all in 16 bits | 0.95 | 0.80 [0.50 to 1.00] | **no** | 0.85 \
| 0.60 [0.50 to 0.75] (streaming) | **no** |")
expect("|  | fastest peer (torch) |  | 2.00 [0.50 to 4.00] |  |  |  |  |")
expect("| softmax, float16, 1024 columns | 2.00 |  |  |  |  |")
# The bound of a row has its numbers of instructions.
table(page ${SCRATCH}/results)
file(READ ${ROOT}/bench/report/bounds.json bounds)
string(JSON bound GET "${bounds}" "softmax, float16, 1024 columns")
string(REPLACE "$vector" "[0-9.]+" bound "${bound}")
string(REPLACE "$avx2" "[0-9.]+" bound "${bound}")
string(REPLACE "^" "." bound "${bound}")
if(NOT page MATCHES "- \\*\\*softmax, float16, 1024 columns\\*\\*: ${bound}\n")
  message(SEND_ERROR "The page does not say what bounds softmax: ${bound}")
endif()
expect("| softmax, float16, 8192 columns | all in 16 bits | 0.95 | not measured |  | 0.85 | not measured |  |")
expect("| `softmax/float16/1024/avx2` | 4.00 [4.00 to 4.00] | 3.00 [3.00 to 3.00] |")

# Runs that are held to AVX2 have columns and a table of their own.
file(WRITE ${SCRATCH}/rounds/2/softmax-avx2.json
     "{\"context\": {\"lowp_isa\": \"avx2\"}, \"benchmarks\": [{\"run_name\": \"${own}/L2\", \
\"run_type\": \"iteration\", \"items_per_second\": 6e9}]}")
file(WRITE ${SCRATCH}/rounds/2/softmax-peers-avx2.json
     "{\"context\": {\"versions\": {}}, \"benchmarks\": [{\"run_name\": \
\"softmax/float16/1024/torch/L2\", \"run_type\": \"iteration\", \"items_per_second\": 2e9}]}")
table(capped --collect softmax ${SCRATCH}/rounds/1 ${SCRATCH}/rounds/2 ${SCRATCH}/rounds/3)
file(WRITE ${SCRATCH}/results/softmax.json "${capped}")
expect("|  | fastest peer (torch) |  | 2.00 [0.50 to 4.00] |  |  | 3.00 [3.00 to 3.00] |  |  |  |  |")
expect("| softmax, float16, 1024 columns | all in 16 bits | 0.95 | 0.80 [0.50 to 1.00] | **no** |  |  |  \
| 0.85 | 0.60 [0.50 to 0.75] (streaming) | **no** |")
expect("| softmax, float16, 1024 columns | 3.00 |  |  |  |  |")

# All processors, of as many times one, and of the traffic that they have.
function(team name threads)
  set(runs "")
  while(ARGN)
    list(POP_FRONT ARGN case speed)
    list(APPEND runs "{\"run_name\": \"${case}\", \"run_type\": \"iteration\", \"label\": \"r2_w2\", \
\"items_per_second\": ${speed}}")
  endwhile()
  list(JOIN runs ", " runs)
  file(WRITE ${SCRATCH}/rounds/1/team-softmax-${name}.json
       "{\"context\": {\"cpu\": \" A processor\", \"num_cpus\": 4, \"caches\": [], \"lowp_isa\": \"avx2\", \
\"compiler\": \"a compiler\", \"threads\": \"${threads}\", \"date\": \"2001-02-03T04:05:06\", \
\"load_avg\": [1]}, \"benchmarks\": [${runs}]}")
endfunction()
team(one 1 ${own}/L2 1e9)
team(all 4 ${own}/L2 3e9 ${own}/DRAM 1e9 ${loop}/plain/DRAM 4e9 ${loop}/plain/L2 9e9)
team(one-avx2 1 ${own}/L2 1e9)
team(all-avx2 4 ${own}/L2 4e9 ${own}/DRAM 1e9 ${loop}/plain/DRAM 2e9)
table(every --collect team ${SCRATCH}/rounds/1)
file(WRITE ${SCRATCH}/results/team.json "${every}")
expect("| softmax, float16, 1024 columns | 0.90 | 0.75 [0.75 to 0.75] | **no** | 0.90 | 1.00 [1.00 to 1.00] | yes \
| 0.80 | 0.25 [0.25 to 0.25] | **no** | 0.50 | 0.50 [0.50 to 0.50] | yes |")
expect("| census, float to bfloat16 | 0.90 | not measured |  | 0.90 | not measured |  \
| 0.95 | not measured |  | 0.95 | not measured |  |")
expect("| `all:softmax/float16/1024/avx2` | 3.00 [3.00 to 3.00] | 1.00 [1.00 to 1.00] |")
file(REMOVE ${SCRATCH}/results/team.json)

# In these, another round was faster, and the programs are of another day.
string(REPLACE "\"speeds\": [4e+09, 5e+09, 8e+09]" "\"speeds\": [4e+09, 4e+09, 4e+09]" faster
               "${figures}")
file(WRITE ${SCRATCH}/results/softmax.json "${faster}")
string(REPLACE "softmax/float16/1024" "census/measure/float" other "${figures}")
string(REPLACE "2001-02-03" "2002-03-04" other "${other}")
file(WRITE ${SCRATCH}/results/census.json "${other}")
expect("| softmax, float16, 1024 columns | all in 16 bits | 0.95 | 1.00 [1.00 to 1.00] | yes | 0.85 \
| 0.60 [0.50 to 0.75] (streaming) | **no** |")
expect("| date | 2001-02-03 (softmax); 2002-03-04 (census) |")
