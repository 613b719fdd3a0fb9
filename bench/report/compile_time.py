#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a unit that uses the library takes to compile, beside a unit of standard headers.

    python3 bench/report/compile_time.py            prints the table
    python3 bench/report/compile_time.py --write    keeps it for bench/README.md, which table.py writes
    python3 bench/report/compile_time.py --check    fails if a unit is over its budget

Processor time, user and system, the least of some runs in turn: other work on the machine delays a
compiler, but makes it work little more. $CXX and $CXXFLAGS choose compiler and flags.
"""
import argparse
import os
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / 'bench' / 'results' / 'compile_time.md'
SPANS = '#include <span>\nusing lowp::bfloat16;\n'
ADAMW = '''void f(std::span<bfloat16> p, std::span<bfloat16 const> g, std::span<float> m,
       std::span<float> v) { lowp::update(p, g, m, v, lowp::adamw{}, 1%s); }'''

# Name, source, and at most how many times the processor time of the standard headers.
UNITS = [
    ('empty', 'int f() { return 1; }', None),
    ('`<string> <span> <stdexcept>`', '#include <string>\n#include <span>\n#include <stdexcept>', None),
    ('a value: `bfloat16(x) + y`',
     '#include <lowp/value.hpp>\nlowp::bfloat16 f(float x, lowp::bfloat16 y) '
     '{ return lowp::bfloat16(x) + y; }', 1.2),
    ('`cast` to bfloat16, nearest',
     '#include <lowp/cast.hpp>\n' + SPANS +
     'void f(std::span<float const> x, std::span<bfloat16> y) { lowp::cast(x, y); }', 6.2),
    ('`cast` to bfloat16, stochastic',
     '#include <lowp/cast.hpp>\n' + SPANS +
     'void f(std::span<float const> x, std::span<bfloat16> y) '
     '{ lowp::cast(x, y, lowp::stochastic{.seed = 1}); }', 8.5),
    ('`update`, AdamW, nearest', '#include <lowp/update.hpp>\n' + SPANS + ADAMW % '', 7.6),
    ('`update`, AdamW, stochastic',
     '#include <lowp/update.hpp>\n' + SPANS + ADAMW % ', lowp::stochastic{.seed = 1}', 11),
    ('`#include <lowp/lowp.hpp>`', '#include <lowp/lowp.hpp>', 4.5),
]


def processor_seconds(command):
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return (after.children_user - before.children_user +
            after.children_system - before.children_system)


def measure(command, runs):
    least = [float('inf')] * len(UNITS)
    sizes = [0] * len(UNITS)
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, source, _) in enumerate(UNITS):
            pathlib.Path(folder, f'{i}.cpp').write_text(source + '\n', encoding='utf-8')
        for _ in range(runs):
            for i in range(len(UNITS)):
                target = pathlib.Path(folder, f'{i}.o')
                seconds = processor_seconds(command + [f'{folder}/{i}.cpp', '-o', str(target)])
                least[i] = min(least[i], seconds)
                sizes[i] = target.stat().st_size
    return least, sizes


def processor_name():
    for line in pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
        if line.startswith('model name'):
            return line.split(':', 1)[1].strip()
    return platform.machine()


def table(command, seconds, sizes):
    version = subprocess.run([command[0], '--version'], capture_output=True, text=True, check=True)
    compiler = version.stdout.splitlines()[0]
    lines = [f'{compiler}, `{" ".join(command[1:-3])}`; {processor_name()}.', '',
             '| unit | seconds | of the standard headers | budget | object, KB |',
             '|---|---|---|---|---|']
    for (name, _, budget), taken, size in zip(UNITS, seconds, sizes):
        lines.append(f'| {name} | {taken:.2f} | {taken / seconds[1]:.1f} | {budget or ""} | '
                     f'{size / 1000:.0f} |')
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='keep the table in bench/results')
    parser.add_argument('--check', action='store_true', help='fail if a unit is over its budget')
    parser.add_argument('--runs', type=int, default=5)
    arguments = parser.parse_args()
    command = (shlex.split(os.environ.get('CXX', 'c++')) + ['-std=c++20'] +
               shlex.split(os.environ.get('CXXFLAGS', '-O2')) + ['-I', str(ROOT / 'include'), '-c'])
    seconds, sizes = measure(command, arguments.runs)
    text = table(command, seconds, sizes)
    print(text)
    if arguments.write:
        KEPT.write_text(text + '\n', encoding='utf-8')
    over = [f'{name}: {taken / seconds[1]:.1f} times the standard headers, its budget is {budget}'
            for (name, _, budget), taken in zip(UNITS, seconds)
            if budget and taken > budget * seconds[1]]
    if arguments.check and over:
        sys.exit('\n'.join(over))


if __name__ == '__main__':
    main()
