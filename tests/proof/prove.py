# SPDX-License-Identifier: Apache-2.0
"""Proves every query on two processes, and writes what became of each."""
import argparse
import json
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from bitwuzla import Bitwuzla, Option, Options, Result

import bv
import generate
import model
import pool
from queries import all_queries


def asked(assumed, wrong):
    options = Options()
    options.set(Option.PRODUCE_MODELS, True)
    solver = Bitwuzla(bv.tm, options)
    for condition in [*assumed, wrong]:
        solver.assert_formula(condition.term)
    return solver


def refute(assumed, wrong):
    """Looks for inputs with `assumed` and `wrong`. Returns the answer and the solver."""
    solver = asked(assumed, wrong)
    return solver.check_sat(), solver


def value(solver, x):
    return int(solver.get_value(x.term).value(10))


def witness(solver, inputs, got, wanted):
    shown = {f'a{i}': f'{value(solver, x):0{(x.width + 3) // 4}x}' for i, x in enumerate(inputs)}
    shown['got'] = f'{value(solver, got):x}'
    if wanted is not None:
        shown['wanted'] = f'{value(solver, wanted):x}'
        shown['undefined'] = shown['got'] == shown['wanted']
    return shown


def question(query, function):
    """Returns inputs, the code's answer, the specification's, what is assumed, and what is wrong."""
    if query.unit is None:
        inputs = [bv.unknown(generate.width_of(type), f'input{i}')
                  for i, type in enumerate(query.arguments)]
        got, wanted, assumed = query.ways(inputs)
        return inputs, got, wanted, assumed, got != wanted
    m = (query.translate if hasattr(query, 'translate') else model.translate)(function)
    if hasattr(query, 'holds'):
        wanted, (right, assumed) = None, query.holds(m.inputs, m.result)
    else:
        lemmas = list(query.lemmas(m)) if hasattr(query, 'lemmas') else []
        if any(refute(*lemma)[0] != Result.UNSAT for lemma in lemmas):
            raise model.Refused('a lemma is not proved')
        wanted, assumed = query.wanted_from(m) if lemmas else query.wanted(m.inputs)
        right = m.result == wanted
    return m.inputs, m.result, wanted, assumed + m.assumed, ~right | m.undefined


def prove(query, function):
    start = time.process_time()
    record = {'what': query.name, 'space': query.space}
    try:
        inputs, got, wanted, assumed, wrong = question(query, function)
        answer, solver = refute(assumed, wrong)
        record['result'] = {Result.SAT: 'sat', Result.UNSAT: 'unsat'}.get(answer, 'unknown')
        if answer == Result.SAT:
            record['witness'] = witness(solver, inputs, got, wanted)
    except model.Refused as refusal:
        record['result'] = f'refused: {refusal}'
    record['seconds'] = round(time.process_time() - start, 2)
    return record


def tasks_of(queries, options):
    """Returns (query, its function in LLVM IR) for each query."""
    units = {}
    for query in queries:
        units.setdefault(query.unit, []).append(query)
    tasks = []
    for unit, members in units.items():
        functions = {}
        if unit is not None:
            functions = generate.functions_of(generate.compile_unit(
                options.clang, options.include, options.folder, unit, members))
        tasks += [(query, functions.get(query.name)) for query in members]
    return tasks


def run(queries, options):
    """Yields a record for each query. One that takes too long, or a solver that dies, is unknown."""
    for (query, _), record in pool.each(lambda task: prove(*task), tasks_of(queries, options),
                                        options.processes, options.limit):
        yield record or {'what': query.name, 'space': query.space, 'result': 'unknown',
                         'seconds': options.limit}


def processor():
    """Returns the processor seconds of this process and of those that ended below it."""
    return sum(sum(resource.getrusage(who)[:2])
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def summary(records, clang):
    version = subprocess.run([clang, '--version'], capture_output=True, text=True, check=True).stdout
    results = [record['result'] for record in records]
    others = ''.join(f', {results.count(kind)} {kind}' for kind in sorted(set(results) - {'unsat'}))
    return (f'{results.count("unsat")} of {len(records)} proved{others}, in {processor():.0f} '
            f'processor seconds; {version.splitlines()[0]}')


def arguments(purpose):
    parser = argparse.ArgumentParser(description=purpose)
    parser.add_argument('--clang', default='clang++')
    parser.add_argument('--include', default=str(Path(__file__).parents[2] / 'include'))
    parser.add_argument('--folder', default='.', help='for generated files')
    parser.add_argument('--only', default='', help='a regular expression that names must contain')
    parser.add_argument('--limit', type=int, default=120,
                        help='processor seconds for each query')
    parser.add_argument('--processes', type=int, default=2)
    parser.add_argument('--json', default='', help='a file for the records')
    return parser


def main():
    options = arguments(__doc__).parse_args()
    records = []
    for record in run([q for q in all_queries() if re.search(options.only, q.name)], options):
        records.append(record)
        print(f"{record['result']:8} 2^{record['space']:<3} {record['seconds']:7.2f} s  "
              f"{record['what']} {record.get('witness', '')}", flush=True)
    print('SUMMARY:', summary(records, options.clang))
    if options.json:
        Path(options.json).write_text(json.dumps(records, indent=1))
    sys.exit(any(record['result'] != 'unsat' for record in records))


if __name__ == '__main__':
    main()
