# SPDX-License-Identifier: Apache-2.0
"""Compares the translator's terms with the machine code of the same IR on a million inputs.

Terms become C functions, clang compiles the IR, and one program calls both.
"""
import subprocess
import sys
from pathlib import Path

import generate
import model
import prove
from c_text import c_function
from queries import all_queries

HEAD = '''#include <stdint.h>
#include <stdio.h>

static uint64_t state = 88172645463325252u;
static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state * 0x2545f4914f6cdd1du;
}
/* Random bits, dense, sparse, of a length, or near a power of two: what branches ask. */
static uint64_t pattern(int bits) {
  uint64_t r = next(), how = next();
  int at = (int)(next() % 64);
  switch (how % 8) {
    case 0: r = ((uint64_t)1 << at) + (r % 5) - 2; break;
    case 1: r &= next() & next(); break;
    case 2: r |= next() | next(); break;
    case 3: r >>= at; break;
    case 4: r <<= at; break;
  }
  if (how & 256) r ^= ((how & 512 ? 0x7f8u : 0x7c0u) << (bits > 12 ? bits - 12 : 0));
  return bits == 64 ? r : r & (((uint64_t)1 << bits) - 1);
}
'''


def comparison(query):
    """Returns a C function that counts the inputs on which term and machine code differ."""
    sizes = [generate.width_of(type) for type in query.arguments]
    types = ', '.join(f'uint{size}_t' for size in sizes)
    inputs = ''.join(f'    uint64_t a{i} = pattern({size});\n' for i, size in enumerate(sizes))
    call = ', '.join(f'a{i}' for i in range(len(sizes)))
    cast = ', '.join(f'(uint{size}_t)a{i}' for i, size in enumerate(sizes))
    return (f'uint{query.result}_t {query.name}({types});\n'
            f'static int differs_{query.name}(int count) {{\n  int wrong = 0;\n'
            f'  for (int i = 0; i < count; ++i) {{\n{inputs}'
            f'    wrong += model_{query.name}({call}) != {query.name}({cast});\n  }}\n'
            f'  if (wrong) printf("{query.name}: %d differ\\n", wrong);\n  return wrong;\n}}\n')


def program(queries, functions, count):
    parts = [HEAD]
    compared = []
    for query in queries:
        m = model.translate(functions[query.name])
        if m.assumed:
            continue  # its floating-point results are relations, not terms
        parts += [c_function(f'model_{query.name}', m.inputs, m.result), comparison(query)]
        compared.append(query)
    calls = ''.join(f'  wrong += differs_{query.name}({count});\n' for query in compared)
    parts.append(f'int main(void) {{\n  int wrong = 0;\n{calls}'
                 f'  printf("SUMMARY: {len(compared)} functions on {len(compared) * count} inputs: '
                 '%d differ\\n", wrong);\n  return wrong != 0;\n}\n')
    return '\n'.join(parts)


def main():
    parser = prove.arguments(__doc__)
    parser.add_argument('--every', type=int, default=13, help='compares every n-th function')
    parser.add_argument('--inputs', type=int, default=12000, help='for each function')
    options = parser.parse_args()
    folder = Path(options.folder)
    queries = [query for query in all_queries() if query.unit][::options.every]
    path = generate.compile_unit(options.clang, options.include, folder, 'checked', queries)
    (folder / 'checked.c').write_text(
        program(queries, generate.functions_of(path), options.inputs))
    binary = folder / 'checked'
    subprocess.run([options.clang, '-w', '-x', 'c', '-O0', str(folder / 'checked.c'), '-x', 'ir',
                    str(path), '-o', str(binary)], check=True)
    sys.exit(subprocess.run([binary]).returncode)


if __name__ == '__main__':
    main()
