# SPDX-License-Identifier: Apache-2.0
# The recipes of include/lowp/README.md are followed in a copy of the library: each adds as many files and lines as
# its heading says. A program then compares what it gets from all of them with numbers that it computes otherwise.
#
# A block after the mark of this test is a new file, whose first line names it; or lines for a file that is there:
#
#   +++ include/lowp/lowp.hpp     which file
#    context                      one space before it
#   +new line                     a line that is removed has a minus
#   @@                            then more of the same
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE ${SCRATCH})
file(COPY ${ROOT}/include DESTINATION ${SCRATCH})
file(COPY ${ROOT}/tests/oracle ${ROOT}/tests/support DESTINATION ${SCRATCH}/tests)

# apply(FILE HUNK): the lines of HUNK with a plus, where those without one are.
function(apply file hunk)
  string(REGEX REPLACE "\n\\+[^\n]*" "" before "\n${hunk}")
  string(REGEX REPLACE "\n-[^\n]*" "" after "\n${hunk}")
  string(REGEX REPLACE "\n[-+ ]" "\n" before "${before}")
  string(REGEX REPLACE "\n[-+ ]" "\n" after "${after}")
  file(READ ${SCRATCH}/${file} text)
  string(FIND "${text}" "${before}\n" first)
  string(FIND "${text}" "${before}\n" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "${file} does not have once:${before}")
  endif()
  string(REPLACE "${before}\n" "${after}\n" text "${text}")
  file(WRITE ${SCRATCH}/${file} "${text}")
endfunction()

# follow(KIND CODE): one block. Counts in `files` and `lines`.
function(follow kind code)
  if(kind STREQUAL "cpp")
    string(REGEX MATCH "^// ([^\n]+)\n" first "${code}")
    set(file ${CMAKE_MATCH_1})
    if(NOT file OR EXISTS ${SCRATCH}/${file})
      message(FATAL_ERROR "no new file:\n${code}")
    endif()
    file(WRITE ${SCRATCH}/${file} "${code}")
    math(EXPR files "${files} + 1")
  elseif(kind STREQUAL "diff")
    string(REGEX MATCH "^\\+\\+\\+ ([^\n]+)\n" first "${code}")
    set(file ${CMAKE_MATCH_1})
    string(LENGTH "${first}" length)
    string(SUBSTRING "${code}" ${length} -1 rest)
    while(rest MATCHES "\n@@\n")
      string(FIND "${rest}" "\n@@\n" place)
      string(SUBSTRING "${rest}" 0 ${place} hunk)
      apply(${file} "${hunk}")
      math(EXPR place "${place} + 4")
      string(SUBSTRING "${rest}" ${place} -1 rest)
    endwhile()
    string(REGEX REPLACE "\n$" "" rest "${rest}")
    apply(${file} "${rest}")
    string(REGEX REPLACE "[][;]" "" plain "${code}")
    string(REGEX MATCHALL "\n\\+" new "${plain}")
    list(LENGTH new new)
    math(EXPR lines "${lines} + ${new}")
  else()
    message(FATAL_ERROR "a recipe is cpp or diff, and not ${kind}")
  endif()
  set(files ${files} PARENT_SCOPE)
  set(lines ${lines} PARENT_SCOPE)
endfunction()

# check_claim(NAME CLAIM): that its blocks have `files` and `lines`.
function(check_claim name claim)
  foreach(unit file line)
    set(claimed 0)
    if(claim MATCHES "([0-9]+) ${unit}")
      set(claimed ${CMAKE_MATCH_1})
    endif()
    if(NOT claimed EQUAL ${unit}s)
      message(SEND_ERROR "${name} takes ${${unit}s} ${unit}s, and include/lowp/README.md says ${claimed}")
    endif()
  endforeach()
endfunction()

file(READ ${ROOT}/include/lowp/README.md page)
set(mark "\n<!-- tested by tests/project/recipes_test.cmake -->\n```")
set(followed "")
while(TRUE)
  # Headings and marked blocks, in their order.
  string(FIND "${page}" "${mark}" place)
  if(NOT place EQUAL -1)
    string(SUBSTRING "${page}" 0 ${place} prose)
  else()
    set(prose "${page}")
  endif()
  if(prose MATCHES "\n### ([^\n]+): ([^\n]+)\n")
    if(followed)
      check_claim("${name}" "${claim}")
    endif()
    set(name "${CMAKE_MATCH_1}")
    set(claim "${CMAKE_MATCH_2}")
    list(APPEND followed "${name}")
    set(files 0)
    set(lines 0)
  endif()
  if(place EQUAL -1)
    break()
  endif()
  string(LENGTH "${mark}" length)
  math(EXPR place "${place} + ${length}")
  string(SUBSTRING "${page}" ${place} -1 page)
  string(REGEX MATCH "^[a-z]+" kind "${page}")
  string(FIND "${page}" "\n" begin)
  string(FIND "${page}" "\n```\n" end)
  math(EXPR begin "${begin} + 1")
  math(EXPR length "${end} + 1 - ${begin}")
  string(SUBSTRING "${page}" ${begin} ${length} code)
  math(EXPR end "${end} + 4")
  string(SUBSTRING "${page}" ${end} -1 page)
  follow(${kind} "${code}")
endwhile()
check_claim("${name}" "${claim}")
set(recipes "A format;A rounding mode;An operation;An optimizer;A storage;A backend")
if(NOT followed STREQUAL recipes)
  message(SEND_ERROR "include/lowp/README.md has the recipes ${followed}, not ${recipes}")
endif()

# The list of the recipe of a format: the files that name every format, but for those which the recipe changes, pages
# and other libraries.
file(STRINGS ${ROOT}/include/lowp/format/format.hpp formats REGEX "^using b?float[a-z0-9_]+ += basic_float")
list(TRANSFORM formats REPLACE "^using ([a-z0-9_]+).*" "\\1")
list(LENGTH formats count)
if(count LESS 10)
  message(FATAL_ERROR "format.hpp has only ${formats}")
endif()
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/include/lowp/* ${ROOT}/tests/*)
list(FILTER sources EXCLUDE REGEX "README[.]md$|^tests/peers/|^include/lowp/format/format.hpp$|^tests/oracle/facts.hpp$")
set(having "")
foreach(source IN LISTS sources)
  file(READ ${ROOT}/${source} code)
  set(has_all YES)
  foreach(format IN LISTS formats)
    string(FIND "${code}" "${format}" place)
    if(place EQUAL -1)
      set(has_all NO)
      break()
    endif()
  endforeach()
  if(has_all)
    list(APPEND having ${source})
  endif()
endforeach()
file(STRINGS ${ROOT}/include/lowp/README.md listed REGEX "^[|] `(include|tests)/[a-z0-9_/.]+` [|]")
list(TRANSFORM listed REPLACE "^[|] `([^`]+)`.*" "\\1")
list(SORT having)
list(SORT listed)
if(NOT listed STREQUAL having)
  message(SEND_ERROR "the recipe of a format lists ${listed}; these name every format: ${having}")
endif()

file(WRITE ${SCRATCH}/main.cpp [[
#include <lowp/format/nearest_toward_zero.hpp>
#include <lowp/lowp.hpp>
#include <lowp/openmp.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

using lowp::bfloat16;

int failures = 0;
void expect(bool holds, char const* what) {
  if (!holds) std::printf("wrong: %s\n", what), ++failures;
}

// A refused call's text.
template <class Fn>
std::string refusal_of(Fn const& fn) {
  try {
    fn();
  } catch (std::invalid_argument const& error) {
    return error.what();
  }
  return "not refused";
}

constexpr unsigned elements = 20000;  // more than one shard of a team

void check_format() {
  using T = lowp::float8_e3m4fn;
  for (unsigned code = 0; code < 128; ++code) {
    unsigned const e = code >> 4, m = code & 15;
    double const value = e == 0 ? std::ldexp(m, -6) : std::ldexp(16 + m, static_cast<int>(e) - 7);
    T const x = T::from_bits(static_cast<T::storage>(code));
    expect(code == 127 ? isnan(x) : float(x) == value, "a value of the format");
    if (code < 127) expect(T(value).bits() == code, "a code of the format");
  }
  expect(T(31).bits() == 0x7e, "the format's largest value");
}

void check_rounding() {
  // Quarters of an ulp above 1, and their negatives.
  std::vector<float> in(elements);
  for (unsigned i = 0; i < elements; ++i)
    in[i] = (i % 2 ? 1.0f : -1.0f) * (1 + float(i % 512) * 0x1p-9f);
  std::vector<bfloat16> out(elements);
  lowp::cast(in, out, lowp::nearest_toward_zero{});
  for (unsigned i = 0; i < elements; ++i) {
    unsigned const quarters = i % 512, magnitude = 0x3f80 + quarters / 4 + (quarters % 4 == 3);
    expect(out[i].bits() == (magnitude | (i % 2 ? 0 : 0x8000)), "the rounding of a span");
    expect(out[i] == lowp::convert<bfloat16>(in[i], lowp::nearest_toward_zero{}),
           "the rounding of a value");
  }
  lowp::rounding_mode const chosen = lowp::nearest_toward_zero{};
  expect(!chosen.inward(true), "the mode as one that is chosen at run time");
}

// To eight bits, ties to even, in integers.
unsigned rounded(unsigned n) {
  unsigned shift = 0;
  while (n >> shift > 255) ++shift;
  unsigned const unit = 1u << shift, rest = n % unit, low = n - rest;
  bool const up = 2 * rest > unit || (2 * rest == unit && low / unit % 2 == 1);
  return up ? low + unit : low;
}

void check_operation() {
  std::vector<bfloat16> a(elements), b(elements), out(elements), by_team(elements);
  for (unsigned i = 0; i < elements; ++i) a[i] = bfloat16(i % 256), b[i] = bfloat16(i % 251);
  lowp::product(a, b, out);
  lowp::openmp::product(a, b, by_team);
  for (unsigned i = 0; i < elements; ++i) {
    expect(float(out[i]) == float(rounded((i % 256) * (i % 251))), "the operation");
    expect(by_team[i] == out[i], "the operation on a team");
  }
  b.resize(3);
  std::string const text = "lowp::product: sizes differ: a has 20000, b has 3, out has 20000";
  expect(refusal_of([&] { lowp::product(a, b, out); }) == text, "a refused operation");
  expect(refusal_of([&] { lowp::openmp::product(a, b, out); }) == text, "a refusal of the team");
}

void check_optimizer() {
  lowp::signum const signum{.lr = .25, .momentum = .5};
  // (m + g) / 2 is negative, zero and positive.
  std::vector<float> const g{-2, -1, 2}, p_after{.75f, .5f, .25f}, m_after{-.5f, 0, 1.5f};
  std::vector<bfloat16> p(3, bfloat16(.5f)), m(3, bfloat16(1)), q = p, n = m;
  lowp::update(p, g, m, signum, 1);
  lowp::openmp::update(q, g, n, signum, 1);
  for (unsigned i = 0; i < 3; ++i) {
    expect(float(p[i]) == p_after[i] && q[i] == p[i], "the optimizer's parameter");
    expect(float(m[i]) == m_after[i] && n[i] == m[i], "the optimizer's moment");
  }
  expect(refusal_of([&] { lowp::update(p, g, m, lowp::signum{.lr = -1}, 1); }) ==
             "lowp::update: signum: lr is -1, not finite and at least 0",
         "a refused hyper-parameter");
}

void check_storage() {
  std::vector<lowp::float16> roots{lowp::float16(2), lowp::float16(2)}, others = roots;
  std::vector<float> const u{5, 3};
  lowp::fused_add(lowp::root{roots}, 1.0f, u);
  lowp::openmp::fused_add(lowp::root{others}, 1.0f, u);
  expect(float(roots[0]) == 3, "the storage, exact");
  expect(float(roots[1]) == 1355 * 0x1p-9f, "the storage, rounded");  // the root of 7 is 1354.6 * 2^-9
  expect(others == roots, "the storage on a team");
}

void check_backend() {
  std::vector<bfloat16> x(elements), y(elements);
  for (unsigned i = 0; i < elements; ++i) x[i] = bfloat16(i) / 7;
  std::vector<float> wide(elements);
  lowp::cast(x, wide);
  lowp::cast(wide, y);
  expect(x == y, "a cast there and back");
}

int main() {
  check_format();
  check_rounding();
  check_operation();
  check_optimizer();
  check_storage();
  check_backend();
  std::printf("%s %d\n", lowp::isa().data(), failures);
}
]])
separate_arguments(warnings UNIX_COMMAND "${WARNINGS}")
execute_process(
  COMMAND ${CXX} -std=c++20 -O1 -fopenmp ${warnings} -I${SCRATCH}/include ${SCRATCH}/main.cpp -o ${SCRATCH}/main
  COMMAND_ERROR_IS_FATAL ANY)
foreach(isa imaginary portable)
  set(ENV{LOWP_ISA} ${isa})
  execute_process(COMMAND ${SCRATCH}/main OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
  if(NOT out STREQUAL "${isa} 0\n")
    message(FATAL_ERROR "${out}")
  endif()
endforeach()

# The line of facts is all that the tests need.
file(WRITE ${SCRATCH}/facts.cpp [[
#include "support/formats.hpp"
using namespace lowp_test;
static_assert(facts<lowp::float8_e3m4fn>.max_finite == 30);
template <class... T>
constexpr bool has_it(testing::Types<T...>) {
  return (std::is_same_v<T, lowp::float8_e3m4fn> || ...);
}
static_assert(has_it(all_formats()) && has_it(byte_formats()) && !has_it(wide_formats()));
static_assert(oracle::all.size() == 14);
]])
execute_process(
  COMMAND ${CXX} -std=c++20 -fsyntax-only -I${SCRATCH}/include -I${SCRATCH}/tests ${SCRATCH}/facts.cpp
  COMMAND_ERROR_IS_FATAL ANY)
