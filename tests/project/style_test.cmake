# SPDX-License-Identifier: Apache-2.0
# Comments and Markdown prose are easy to read: style.awk has the rules.
cmake_minimum_required(VERSION 3.25)

# Folders and files whose texts are checked.
set(checked .ci .packaging CMakeLists.txt README.md bench examples include tests)

find_program(awk awk)
if(NOT awk)
  message("SKIPPED: awk is not installed")
  return()
endif()

# check(OUT FILE...): the complaints about these files.
function(check out)
  execute_process(COMMAND ${awk} -f ${ROOT}/tests/project/style.awk ${ARGN} WORKING_DIRECTORY ${ROOT}
                  OUTPUT_VARIABLE complaints COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${complaints}" PARENT_SCOPE)
endfunction()

# expect(NAME TEXT REGEX): the complaints about a file with this text, less the file's name.
function(expect name text regex)
  set(file ${SCRATCH}/${name})
  file(WRITE ${file} "${text}")
  check(complaints ${file})
  string(REPLACE "${file}:" "" complaints "${complaints}")
  string(STRIP "${complaints}" complaints)
  if(NOT complaints MATCHES "^${regex}$")
    message(SEND_ERROR "${name} with\n${text}\nshould give `${regex}`, gives `${complaints}`")
  endif()
endfunction()

# The test of the test: each wrong line is found, in each kind of file, and right lines are not.
foreach(word What Of One Where Whether Which How As)
  expect(a.hpp "int x;\n// ${word} it is\n" "2: a comment opens with a verb or a noun")
endforeach()
expect(a.cmake "# SPDX-License-Identifier: x\n# How it is\n" "2: a comment opens[^\n]*")
expect(CMakeLists.txt "set(x)  # One thing\n" "1: a comment opens[^\n]*")
expect(a.py "\"\"\"Of a thing.\"\"\"\nx = 1\n" "1: a comment opens[^\n]*")
expect(a.py "PAGE = \"\"\"\n# Which page\n\"\"\"\n# As it is\n" "4: a comment opens[^\n]*")
expect(a.cpp "// A thing\n// What it is\n// Onegin\n" "")
expect(a.cpp "f(\"// What it is\");  // a thing\n" "")
expect(a.md "Whether it is\n" "")

foreach(words "it is told of x" "it has gone through x" "so many x" "there is none here" "in vain"
        "for what it is" "the head of that. And")
  expect(a.cpp "// Fine.\n//\n// But ${words}\n" "3: [^\n]+")
  expect(a.md "# Fine\n\nBut ${words}\n" "3: [^\n]+")
endforeach()
expect(a.md "Fine\nis told\nof x, so\nmany\n" "2: [^\n]+\n3: [^\n]+")
expect(a.md "```\nso many\n```\nFor `so many` x.\n" "")

foreach(word of to for with from in on by at about into)
  expect(a.sh "# The thing it is ${word}. Fine\n" "1: a sentence ends in a preposition")
  expect(a.md "- fine\n- the thing\n  it is ${word}.\n" "3: a sentence ends in a preposition")
endforeach()
expect(a.awk "# It stays in.file, and in of: fine\n" "")

set(problem "a sentence has more than 20 words")
string(REPEAT "it " 19 words)
expect(a.cpp "// Fine.\n// ${words}\n// ends here\n" "2: ${problem}")
expect(a.cpp "/// @param x  ${words}ends here\n/// @param y  fine\n" "1: ${problem}")
expect(a.cpp "/// Fine:\n///\n///     x  fine\n///     y  ${words}ends\n///        here\n"
       "4: ${problem}")
expect(a.py "def f():\n  \"\"\"Fine.\n\n  ${words}\n  ends here.\n  \"\"\"\n" "4: ${problem}")
expect(a.md "# Fine\n\nFine. **${words}**\n[ends here](a.md). Fine\n" "3: ${problem}")
expect(a.md "| x | ${words}ends here |\n" "1: ${problem}")
foreach(end . : ";" "?" ! .\))
  expect(a.sh "# ${words}ends${end} ${words}ends${end}\n" "")
endforeach()
expect(a.cpp "/// @param x  ${words}\n/// @param y  ${words}\n// - ${words}\n// - ${words}\n" "")
expect(a.cpp "///     x  ${words}\n///     or y  ${words}\n" "")
expect(a.py "\"\"\"Fine.\n\n    x  ${words}\n    or y  ${words}\n\"\"\"\n" "")
expect(a.md "- ${words}\n  `of code`\n- ${words}\n  * + =\n- ${words}\n  [a](b.md)\n" "")
expect(a.md "**${words}ends.** ${words}ends\n" "")
expect(a.md "| ${words}| ${words}|\n" "")

string(REPEAT "x" 97 long)
expect(a.cu "// ${long}x\n" "1: a comment passes column 100")
expect(a.cuh "int a;  // ${long}\n" "1: a comment passes column 100")
expect(a.hpp "// ${long}\n" "")
expect(a.sh "# ${long}${long}\n" "")

execute_process(
  COMMAND git ls-files --cached --others --exclude-standard -- ${checked}
  WORKING_DIRECTORY ${ROOT} OUTPUT_VARIABLE files RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message("SKIPPED: this is not a git checkout")
  return()
endif()
string(REPLACE "\n" ";" files "${files}")
list(FILTER files INCLUDE REGEX
     "\\.(hpp|inc|cpp|cu|cuh|cmake|sh|awk|py|md)$|(^|/)CMakeLists\\.txt$|^\\.ci/run$")
set(found "")
foreach(file IN LISTS files)
  if(EXISTS ${ROOT}/${file})
    list(APPEND found ${file})
  endif()
endforeach()
if(NOT found)
  message(FATAL_ERROR "there are no files in ${checked}")
endif()
check(complaints ${found})
if(complaints)
  message(FATAL_ERROR "${complaints}")
endif()
