#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch and ml_dtypes on what a program here times, and writes JSON as it does.

    python3 bench/peers/peers.py PROGRAM [--repetitions N] [--min-time SECONDS] > peers.json

A library that is not installed is left out. Sizes are those of the level L2 in suite.hpp. PyTorch's
times include its call from Python, of a microsecond or two.
"""
import argparse
import json
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
try:
    import numpy
except ImportError:
    sys.exit("peers.py: no NumPy, so no ml_dtypes and no PyTorch")
from casts import ml_dtypes_casts, torch_additions, torch_casts
from derivatives import derivative_cases
from maps import piece_cases, softmax_cases
from recipes import torchao_recipes
from steps import torch_steps

PEERS = {
    "cast": (("ml_dtypes", ml_dtypes_casts), ("torch", torch_casts)),
    "fused_add": (("torch", torch_additions),),
    "update": (("torch", torch_steps),),
    "softmax": (("torch", softmax_cases),),
    "pieces": (("torch", piece_cases),),
    "quantize": (("torch", list), ("torchao", torchao_recipes)),
    "backward": (("torch", derivative_cases),),
}


def cases_of(program):
    """(name, elements, function) of every peer, and versions."""
    cases, versions = [], {}
    for library, find in PEERS.get(program, ()):
        try:
            module = __import__(library)
        except ImportError:
            print(f"peers.py: no {library}", file=sys.stderr)
            continue
        if library == "torch":
            module.set_num_threads(1)
            module.set_grad_enabled(False)
        versions |= {"numpy": numpy.__version__, library: module.__version__}
        cases += find()
    return cases, versions


def seconds_of(function, repeat):
    """Measures this thread's own time, as Google Benchmark does, without waiting for a neighbour."""
    start = time.thread_time()
    for _ in range(repeat):
        function()
    return max(time.thread_time() - start, 1e-9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--min-time", type=float, default=0.02)
    arguments = parser.parse_args()

    cases, versions = cases_of(arguments.program)
    repeats = []
    for _, _, function in cases:
        once = max(min(seconds_of(function, 1) for _ in range(3)), 1e-7)
        repeats.append(max(1, round(arguments.min_time / once)))
    benchmarks = []
    for repetition in range(arguments.repetitions):  # in turns, as the programs do
        for (name, elements, function), repeat in zip(cases, repeats):
            seconds = seconds_of(function, repeat)
            benchmarks.append({
                "name": f"{name}/L2", "run_name": f"{name}/L2", "run_type": "iteration",
                "repetition_index": repetition, "iterations": repeat,
                "items_per_second": elements * repeat / seconds})
    json.dump({"context": {"versions": versions}, "benchmarks": benchmarks}, sys.stdout, indent=1)


main()
