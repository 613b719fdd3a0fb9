#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what a unit that uses the library takes to compile, beside an empty one.

    python3 bench/report/compile_time.py            prints the table
    python3 bench/report/compile_time.py --write    keeps it for bench/README.md, which table.py writes
    python3 bench/report/compile_time.py --check    fails if a unit is over its budget of memory

Processor time, user and system, the least of some runs in turn: other work on the machine delays a
compiler, but makes it work little more. Processors still differ in how many empty units a unit takes,
so the check holds no time. It holds the memory that g++ allocates in all for a unit, which is the
same on every machine. $CXX and $CXXFLAGS choose compiler and flags. Units of CUDA,
which nvcc compiles if it is installed, take too long for the check.
"""
import argparse
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / 'bench' / 'results' / 'compile_time.md'
SPANS = '#include <span>\nusing lowp::bfloat16;\n'
CAST = ('#include <lowp/cast.hpp>\n' + SPANS +
        'void f(std::span<float const> x, std::span<bfloat16> y) { lowp::cast(x, y); }')
ADAMW = ('#include <lowp/update.hpp>\n' + SPANS + '''
void f(std::span<bfloat16> p, std::span<bfloat16 const> g, std::span<float> m, std::span<float> v,
       lowp::update_report& report) {
  lowp::update(p, g, m, v, lowp::adamw{}, 1, lowp::stochastic{.seed = 1}, report);
}''')
TEN = '#include <lowp/lowp.hpp>\n' + SPANS + '''
using F = std::span<float>;
using B = std::span<bfloat16>;
lowp::stochastic const mode{.seed = 1};
void f(F x, B y, std::span<lowp::float8_e4m3fn> z, B g, F m, F v, lowp::update_report& report) {
  lowp::cast(x, y);
  lowp::cast(y, x);
  lowp::cast(x, y, mode);
  lowp::cast(x, z);
  lowp::fused_add(y, 1.0f, x);
  lowp::update(y, g, m, v, lowp::adamw{}, 1, mode, report);
  lowp::update(y, g, y, lowp::lion{}, 1, mode);
  lowp::update(y, g, lowp::sgd{}, 1);
  lowp::softmax(y, y, 64);
  lowp::rms_norm(y, g, y, 64, 1e-5f);
}'''
ON_STREAM = '#include <lowp/cuda/{}.cuh>\n' + SPANS + 'namespace on_gpu = lowp::cuda;\n'
CUDA_CAST = ON_STREAM.format('cast') + ('void f(cudaStream_t stream, std::span<float const> x, std::span<bfloat16> y) '
                         '{ on_gpu::cast(stream, x, y); }')
CUDA_ADAMW = ON_STREAM.format('update') + '''
void f(cudaStream_t stream, std::span<bfloat16> p, std::span<bfloat16 const> g, std::span<float> m,
       std::span<float> v, lowp::update_report& report) {
  on_gpu::update(stream, p, g, m, v, lowp::adamw{}, 1, lowp::stochastic{.seed = 1}, report);
}'''
CUDA_ELEVEN = ON_STREAM.format('lowp') + '''
using F = std::span<float>;
using B = std::span<bfloat16>;
lowp::stochastic const mode{.seed = 1};
void f(cudaStream_t stream, B x, B w, B y, F f, F rms, F m, F v,
       std::span<int const> labels, lowp::gradient_report& gradients, lowp::update_report& report) {
  on_gpu::rms_norm(stream, x, w, y, 64, 1e-5f, rms);
  on_gpu::scale_mask_softmax(stream, y, lowp::causal_mask{.queries = 64}, y, 64, .125f);
  on_gpu::gated_silu(stream, x, w, y);
  on_gpu::fused_add(stream, x, 1.0f, y);
  on_gpu::cross_entropy(stream, y, labels, 64, {}, f, y);
  on_gpu::gated_silu_backward(stream, x, w, y, x, w);
  on_gpu::scale_mask_softmax_backward(stream, x, y, y, 64, .125f);
  on_gpu::rms_norm_backward(stream, x, w, y, rms, y, f, 64);
  on_gpu::measure(stream, y, gradients);
  on_gpu::update(stream, w, y, m, v, lowp::adamw{}, 1, mode, report);
  on_gpu::cast(stream, f, y);
}'''
CALLS = (('`cast` to bfloat16', CAST), ('AdamW, stochastic, with a report', ADAMW), ('ten calls', TEN))
COMPILED, ONE_ISA = ['-DLOWP_COMPILED'], ['-march=sapphirerapids']
SANITIZED = ['-fsanitize=address,undefined']
CUDA = ['-arch=sm_90']

# Name, source, options, asked, held. Asked is a budget of time, in empty units. A sanitized unit is
# measured by the same source without sanitizers, one of CUDA by an empty unit of CUDA. Held is a
# budget of memory, in MB of g++ 12.
UNITS = [
    ('an empty unit: `<vector>`, `<cmath>`', '#include <vector>\n#include <cmath>', [], None, None),
    ('a value: `bfloat16(x) + y`',
     '#include <lowp/value.hpp>\nlowp::bfloat16 f(float x, lowp::bfloat16 y) '
     '{ return lowp::bfloat16(x) + y; }', [], None, 24),
    ('`#include <lowp/lowp.hpp>`', '#include <lowp/lowp.hpp>', [], None, 125),
    ('`examples/whole_model.cpp`, `lowp::compiled`', '#include "examples/whole_model.cpp"',
     COMPILED + ['-DLOWP_COMPILED_CHECKPOINTS', '-fopenmp', f'-I{ROOT}'], 20, 322),
]
for options, suffix, asked, held in (
    ([], '', (6, 12, 40), (98, 190, 630)),
    (COMPILED, ', `lowp::compiled`', (2.5, 3, 6), (61, 90, 148)),
    (ONE_ISA, ', `-march=sapphirerapids`', (3, 6, 20), (75, 139, 330)),
    (SANITIZED, ', sanitizers', (6, 6, None), (100, 249, None))):
    for (name, source), *budgets in zip(CALLS, asked, held):
        if budgets[0]:
            UNITS.append((name + suffix, source, options, *budgets))
PLAIN = len(UNITS)
if shutil.which('nvcc'):
    UNITS += [('an empty unit of CUDA, nvcc', '', CUDA, None, None),
              ('`cast` to bfloat16, nvcc', CUDA_CAST, CUDA, 4, None),
              ('AdamW, stochastic, with a report, nvcc', CUDA_ADAMW, CUDA, 8, None),
              ('eleven calls of a step and a block, nvcc', CUDA_ELEVEN, CUDA, 14, None)]


def processor_seconds(command):
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    return (after.children_user - before.children_user +
            after.children_system - before.children_system)


def suffix_of(i):
    return 'cu' if UNITS[i][2] == CUDA else 'cpp'


def allocated_mb(command):
    """Returns the megabytes that g++ allocates, freed or not, from its report of times."""
    report = subprocess.run(command + ['-ftime-report'], check=True, capture_output=True, text=True).stderr
    return int(re.search(r'^ TOTAL .* (\d+)M$', report, re.MULTILINE).group(1))


def measure(command, runs):
    """Compiles each unit `runs` times for its seconds, and once for its memory."""
    least = [float('inf')] * len(UNITS)
    sizes = [0] * len(UNITS)
    memory = [0] * len(UNITS)
    with tempfile.TemporaryDirectory() as folder:
        for i, (_, source, *_) in enumerate(UNITS):
            pathlib.Path(folder, f'{i}.{suffix_of(i)}').write_text(source + '\n', encoding='utf-8')
        for run in range(runs + 1):
            for i in range(len(UNITS) if run else PLAIN):
                target = pathlib.Path(folder, f'{i}.o')
                compile_unit = ((['nvcc'] + command[1:] if UNITS[i][2] == CUDA else command) + UNITS[i][2] +
                                [f'{folder}/{i}.{suffix_of(i)}', '-o', str(target)])
                if not run:
                    memory[i] = allocated_mb(compile_unit)
                    continue
                least[i] = min(least[i], processor_seconds(compile_unit))
                sizes[i] = target.stat().st_size
    return least, sizes, memory


def processor_name():
    lines = pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines()
    of = {key.strip(): value.strip() for key, _, value in (line.partition(':') for line in lines)}
    if 'cpu family' not in of:
        return platform.machine()
    return f'{of["model name"]}, family {of["cpu family"]}, model {of["model"]}'


def ratios(seconds):
    """Returns the seconds in empty units; of a sanitized unit in units without sanitizers; of CUDA
    in empty units of CUDA."""
    plain = {unit[1]: taken for unit, taken in zip(UNITS, seconds) if not unit[2]}
    return [taken / (plain[unit[1]] if unit[2] == SANITIZED else
                     seconds[PLAIN] if unit[2] == CUDA else seconds[0])
            for unit, taken in zip(UNITS, seconds)]


def table(command, runs, seconds, sizes, memory):
    version = subprocess.run([command[0], '--version'], capture_output=True, text=True, check=True)
    compiler = version.stdout.splitlines()[0]
    lines = [f'{compiler}, `{" ".join(command[1:-3])}`; {processor_name()}; {time.strftime("%Y-%m-%d")}.',
             f'The least of {runs} runs. nvcc: `{" ".join(CUDA)}`.', '',
             '| unit | seconds | in empty units | asked | allocated, MB | held | object, KB |',
             '|---|---|---|---|---|---|---|']
    for unit, taken, times, size, megabytes in zip(UNITS, seconds, ratios(seconds), sizes, memory):
        lines.append(f'| {unit[0]} | {taken:.2f} | {times:.1f} | {unit[3] or ""} | {megabytes or ""} | '
                     f'{unit[4] or ""} | {size / 1000:.0f} |')
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='keep the table in bench/results')
    parser.add_argument('--check', action='store_true', help='fail if a unit is over its budget of memory')
    parser.add_argument('--runs', type=int, default=5)
    arguments = parser.parse_args()
    command = (shlex.split(os.environ.get('CXX', 'c++')) + ['-std=c++20'] +
               shlex.split(os.environ.get('CXXFLAGS', '-O2')) + ['-I', str(ROOT / 'include'), '-c'])
    if not arguments.check:
        text = table(command, arguments.runs, *measure(command, arguments.runs))
        print(text)
        if arguments.write:
            KEPT.write_text(text + '\n', encoding='utf-8')
        return
    _, _, memory = measure(command, 0)
    over = []
    for unit, megabytes in zip(UNITS, memory[:PLAIN]):
        line = f'{unit[0]}: g++ allocates {megabytes} MB, its budget is {unit[4] or "none"}'
        print(line)
        if unit[4] and megabytes > unit[4]:
            over.append(line)
    if over:
        sys.exit('\n'.join(over))


if __name__ == '__main__':
    main()
