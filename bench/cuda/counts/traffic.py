#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what each kernel's accesses cost on an emulated GPU, and holds that against its budget.

    python3 bench/cuda/counts/traffic.py COMMAND...

COMMAND runs the program of kernels.cu on a device that counts if GPUEMU_TRAFFIC is 1. The budgets:

    writes    the share of their sectors of 32 bytes that they need: all
    reads     bytes, as a multiple of those of an element: each once, a row's length for each row
    turns     of the busiest bank of shared memory, for each sector: one; an H100's copy has time for 2.7
    blocks    on tensors of 2^28 elements: two for each of 132 multiprocessors

A case of counts.py names a budget that differs. Each planted kernel must miss one of a case."""
import dataclasses
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # beside the sources
from counts import CASES

BUDGET = {"writes": 1.0, "reads": 1.0, "turns": 1.0, "blocks": 2 * 132}
FAULTS = {"split": "writes", "second_read": "reads", "few_blocks": "blocks", "conflicts": "turns"}
# By the shape of a planted kernel: the case whose budget it must miss. A shape has each fault.
SHAPES = {"stream": "cast_bf16", "short_rows": "softmax_short", "states": "adamw_dynamic"}
PLANTED = {f"planted_{shape}_{fault}": (missed, SHAPES[shape])
           for shape in SHAPES for fault, missed in FAULTS.items()}
NAME = re.compile(r"counted::named<counted::(\w+), ")


@dataclasses.dataclass
class Kernel:
    elements: int = 0  # of all launches
    blocks: int = 0  # the fewest on large tensors
    bytes: dict = dataclasses.field(default_factory=dict)  # of reads, writes
    sectors: int = 0
    turns: int = 0
    needed: float = 1.0  # share of the sectors of writes


def same_for_all(symbol):
    """Drops last members that are false: of two compilers, one does not write them."""
    return symbol.replace(", false}", "}")


def kernels_of(command):
    """Runs the program, and returns its kernels by name."""
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=os.environ | {"GPUEMU_TRAFFIC": "1"})
    if done.returncode != 0 or "complaints" in done.stderr:
        sys.exit(f"{' '.join(command)} fails\n{done.stdout[-2000:]}{done.stderr[-8000:]}")
    found = {}
    for what, number, name in re.findall(r"^(launch|blocks) (\d+) (.*)$", done.stdout, re.M):
        kernel = found.setdefault(same_for_all(name), Kernel())
        if what == "launch":
            kernel.elements += int(number)
        else:
            kernel.blocks = min(kernel.blocks or int(number), int(number))
    for text in done.stderr.split("traffic: ")[1:]:
        symbol, *lines = text.splitlines()
        name = same_for_all(symbol.split("kernel<", 1)[1])
        kernel = next(each for key, each in found.items() if name.startswith(key))
        for line in lines:
            if match := re.match(r"  (\w+) +(\d+) bytes, \d+ requests, (\d+) (\w+), ([0-9.]+) of", line):
                way, size, units, unit, needed = match.groups()
                if unit == "turns":
                    kernel.turns = int(units)
                else:
                    kernel.bytes[way] = int(size)
                    kernel.sectors += int(units)
                if way == "writes":
                    kernel.needed = float(needed)
    return found


def case_of(name, symbol):
    """Returns the name of a kernel's case: its words are those of a mangled symbol."""
    return next((key for key in CASES if key.split("/")[0] == name and
                 all(word.replace("ILi", "<") in symbol for word in key.split("/")[1:])), None)


def figures_of(kernel, reads, writes):
    """Returns the figures that have budgets. Bytes are those of an element."""
    found = {"writes": kernel.needed, "turns": kernel.turns / kernel.sectors, "blocks": kernel.blocks}
    for way, size in ("reads", reads), ("written", writes):
        found[way] = kernel.bytes.get(way.replace("written", "writes"), 0) / (size * kernel.elements or 1)
    return found


def misses(found, budget):
    """Lists the budgets that are missed."""
    beyond = {"writes": found["writes"] < budget["writes"] - 0.005,
              "reads": found["reads"] > budget["reads"] + 0.01,
              "turns": found["turns"] > budget["turns"] + 0.005,
              "blocks": found["blocks"] < budget["blocks"]}
    return [name for name, is_beyond in beyond.items() if is_beyond]


def main():
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    faults = 0
    seen = set()
    for symbol, kernel in sorted(kernels_of(sys.argv[1:]).items(), key=lambda item: item[0]):
        name = NAME.match(symbol)[1]
        team = re.search(r"row_kernel_call<(\d+)", symbol)
        if name in PLANTED:
            missed, of_case = PLANTED[name]
            found, budget, expected = figures_of(kernel, 4, 4), BUDGET | CASES[of_case].traffic, [missed]
        else:
            name = case_of(name, symbol)
            case = CASES[name]
            reads = sum(case.reads) + sum(case.columns) + case.more_bytes
            found = figures_of(kernel, reads, sum(case.writes) + sum(case.sums))
            budget, expected = BUDGET | case.traffic, []
        seen.add(name)
        wrong = misses(found, budget)
        faults += wrong != expected
        print(f"{name:32}{team[1] if team else '':4}" +
              ", ".join(f"{what} {found[what]:.{0 if what == 'blocks' else 2}f}" for what in found) +
              "".join(f"; {what}: the budget is {budget[what]}" for what in wrong), flush=True)
    if lost := (CASES.keys() | PLANTED.keys()) - seen:
        sys.exit(f"no kernel ran for {', '.join(sorted(lost))}")
    sys.exit(f"{faults} kernels are not within their budgets" if faults else 0)


if __name__ == "__main__":
    main()
