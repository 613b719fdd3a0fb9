# SPDX-License-Identifier: Apache-2.0
"""Writes C++ units, a function of bit patterns for each query, and compiles them to LLVM IR."""
import re
import subprocess
from pathlib import Path

import ir

HEAD = '''#include <lowp/value.hpp>

#include "lanes.hpp"

#include <bit>
#include <cstdint>

namespace lowp {
using own_e6m9 = basic_float<format{6, 9, 31}>;
using own_e5m6fn = basic_float<format{5, 6, 13, specials::nan_all_ones}>;
}

template <class T, class U>
constexpr T value_of(U pattern) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(pattern);
  else
    return std::bit_cast<T>(pattern);
}
template <class T>
T value_of(std::uint64_t significand, std::uint16_t head) {
  T x{};
  __builtin_memcpy(&x, &significand, 8);
  __builtin_memcpy(reinterpret_cast<char*>(&x) + 8, &head, 2);
  return x;
}
constexpr std::uint32_t code_of(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr auto code_of(auto x) { return x.bits(); }
constexpr bool code_of(bool x) { return x; }
'''
FLAGS = ['-std=c++20', '-O2', '-fno-vectorize', '-fno-slp-vectorize', '-fno-unroll-loops']


def width_of(type):
    """Returns the bits of std::uintN_t."""
    return int(re.search(r'\d+', type)[0])


def unit_text(queries):
    functions = []
    for query in queries:
        arguments = ', '.join(f'{type} a{i}' for i, type in enumerate(query.arguments))
        functions.append(f'extern "C" std::uint{query.result}_t {query.name}({arguments}) '
                         f'{{ {query.cpp()} }}')
    return HEAD + '\n' + '\n'.join(functions) + '\n'


def compile_unit(clang, include, folder, unit, queries, *more):
    """Writes UNIT.cpp and UNIT.ll, or another file if `more` says so."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    source = Path(folder) / f'{unit}.cpp'
    source.write_text(unit_text(queries))
    output = source.with_suffix('.so' if '-shared' in more else '.ll')
    what = list(more) or ['-S', '-emit-llvm']
    subprocess.run([clang, *FLAGS, f'-I{include}', f'-I{Path(__file__).parent}', *what, str(source), '-o', str(output)], check=True)
    return output


def functions_of(path):
    return ir.parse(Path(path).read_text())
