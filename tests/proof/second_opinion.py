# SPDX-License-Identifier: Apache-2.0
"""Asks another solver, cvc5, for its answer to some of the queries, in SMT-LIB's text."""
import re
import subprocess
import sys
import time
from pathlib import Path

import pool
import prove
from queries import all_queries


def main():
    parser = prove.arguments(__doc__)
    parser.add_argument('--every', type=int, default=23, help='asks every n-th query')
    options = parser.parse_args()
    queries = [q for q in all_queries() if re.search(options.only, q.name)][::options.every]

    def ask(task):
        query, function = task
        _, _, _, assumed, wrong = prove.question(query, function)
        text = prove.asked(assumed, wrong).print_formula('smt2')
        if '(check-sat)' not in text:
            text += '\n(check-sat)\n'
        path = Path(options.folder) / f'{query.name}.smt2'
        path.write_text(text)
        start = time.monotonic()
        answer = subprocess.run(['cvc5', f'--tlimit={int(options.limit * 1000)}', str(path)],
                                capture_output=True, text=True)
        words = (answer.stdout or answer.stderr).split()
        return (words or ['unknown'])[0], round(time.monotonic() - start, 2)

    answers = []
    for (query, _), result in pool.each(ask, prove.tasks_of(queries, options), options.processes,
                                        2 * options.limit):
        answer, seconds = result or ('unknown', 2 * options.limit)
        answers.append(answer)
        print(f'{answer:8} {seconds:7.2f} s  {query.name}', flush=True)
    print(f'cvc5: {len(answers)} queries: ' + ', '.join(
        f'{answers.count(kind)} {kind}' for kind in sorted(set(answers))))
    sys.exit('sat' in answers)


if __name__ == '__main__':
    main()
