# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the IR, one at a time: a proof that cannot fail proves nothing.

Each mutant must come back with a witness, or be proved equivalent.
"""
import copy
import re
import sys

from bitwuzla import Result

import generate
import model
import pool
import prove
from queries import all_queries

MUTATED = ['float_to_bfloat16_nearest_even_infinity', 'float_to_float16_stochastic_infinity',
           'float_to_float8_e4m3fn_nearest_even_saturate', 'float_to_float8_e8m0fnu_upward_saturate',
           'double_to_float16_nearest_even_infinity', 'double_to_bfloat16_stochastic_infinity',
           'long_double_to_float8_e5m2fnuz_to_odd_infinity', 'int64_to_float6_e3m2fn_downward_saturate',
           'uint64_to_float_nearest_away_infinity', 'float8_e5m2_to_float',
           'float_to_float8_ue5m3_nearest_even_infinity']

SWAPS = {
    'predicate': {'ult': 'ule', 'ule': 'ult', 'ugt': 'uge', 'uge': 'ugt', 'slt': 'sle', 'sle': 'slt',
                  'sgt': 'sge', 'sge': 'sgt', 'eq': 'ne', 'ne': 'eq'},
    'shift': {'shl': 'lshr', 'lshr': 'ashr', 'ashr': 'lshr'},
    'operation': {'add': 'sub', 'sub': 'add', 'and': 'or', 'or': 'and', 'xor': 'or', 'zext': 'sext',
                  'sext': 'zext'},
    'intrinsic': {'umin': 'umax', 'umax': 'umin', 'smin': 'smax', 'smax': 'smin', 'ctlz': 'cttz'},
}
FLAG = r' (?:nuw|nsw|nneg|exact|disjoint)\b'


def mutants_of(line):
    """Yields what a fault makes of an instruction: its kind and the new line."""
    bare = re.sub(FLAG, '', line)
    for kind, swap in SWAPS.items():
        if (m := re.search(r'= (?:icmp |call \w+ @llvm\.)?(\w+)', bare)) and m[1] in swap:
            yield kind, bare[:m.start(1)] + swap[m[1]] + bare[m.end(1):]
    if (m := re.search(r', (-?\d+)$', bare)) and '= phi' not in bare:
        yield 'constant', f'{bare[:m.start(1)]}{int(m[1]) + 1}'
        yield 'constant', f'{bare[:m.start(1)]}{int(m[1]) - 1}'
    if m := re.match(r'(\S+ = )(?:add|sub|and|or|xor|shl|lshr|ashr) (\w+) (\S+), ', bare):
        yield 'dropped', f'{m[1]}or {m[2]} {m[3]}, 0'
    if m := re.match(r'(\S+ = select i1 \S+), (\w+ \S+), (\w+ \S+)$', bare):
        yield 'select', f'{m[1]}, {m[3]}, {m[2]}'
    if m := re.match(r'(br i1 \S+), (label \S+), (label \S+)$', bare):
        yield 'branch', f'{m[1]}, {m[3]}, {m[2]}'
    if m := re.match(r'(\S+ = phi \w+ \[ )(\S+)(, \S+ \], \[ )(\S+)(, .*)', bare):
        yield 'phi', m[1] + m[4] + m[3] + m[2] + m[5]


def all_mutants(function):
    for label, place in function.lines():
        line = function.blocks[label][place]
        for kind, text in mutants_of(line):
            yield kind, label, place, text


def judge(query, function):
    """Returns the result for one mutant. Poison does not count: the fault must show in the value."""
    m = model.translate(function)
    wanted, assumed = query.wanted(m.inputs)
    answer, solver = prove.refute(m.assumed + assumed, m.result != wanted)
    if answer == Result.SAT:
        return 'killed', prove.witness(solver, m.inputs, m.result, wanted)
    return ('equivalent' if answer == Result.UNSAT else 'unknown'), ''


def tasks_of(queries, functions, every):
    """Returns (query, mutant, what was done) for every n-th mutant of the functions."""
    tasks = []
    for name in MUTATED:
        mutants = list(all_mutants(functions[name]))[::every]
        for kind, label, place, text in mutants:
            mutant = copy.deepcopy(functions[name])
            mutant.blocks[label][place] = text
            tasks.append((queries[name], mutant, f'{kind}: {text}'))
    return tasks


def run(tasks, options):
    """Yields the result for each mutant, and prints it."""
    for (query, _, fault), result in pool.each(lambda task: judge(*task[:2]), tasks,
                                               options.processes, options.limit):
        kind, seen = result or ('unknown', '')
        print(f'{kind:10} {query.name}: {fault} {seen}', flush=True)
        yield kind


def main():
    parser = prove.arguments(__doc__)
    parser.add_argument('--every', type=int, default=3, help='tries every n-th mutant')
    options = parser.parse_args()
    queries = {query.name: query for query in all_queries() if query.name in MUTATED}
    path = generate.compile_unit(options.clang, options.include, options.folder, 'mutated',
                                 list(queries.values()))
    results = list(run(tasks_of(queries, generate.functions_of(path), options.every), options))
    print(f'SUMMARY: {len(results)} mutants: ' + ', '.join(f'{results.count(kind)} {kind}'
                                                 for kind in sorted(set(results))))
    sys.exit(results.count('killed') < 30 or set(results) > {'killed', 'equivalent'})


if __name__ == '__main__':
    main()
