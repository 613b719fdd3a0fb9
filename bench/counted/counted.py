#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that operations execute for 16 elements, and writes counted.json.

    counted.py           all operations
    counted.py CASE      prints the numbers of one, and writes nothing

CXX names the compiler, by default g++.
counted.cpp executes each operation step by step, on AVX-512 and on AVX2. A vector instruction computes
in vector or mask registers. Moves between these and memory count as loads and stores."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BACKENDS = {"avx512_bf16": "AVX-512", "avx2": "AVX2"}
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(\S+)\s*([^#\n]*)")


def disassembled(program):
    """The mnemonic and operands of each address."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], check=True,
                          capture_output=True, text=True).stdout
    return {int(found[1], 16): (found[2], found[3].strip())
            for found in map(INSTRUCTION.match, text.splitlines()) if found}


def kind_of(mnemonic, operands):
    if not re.search(r"%([xyz]mm|k[0-7])", re.sub(r"\{%k\d\}", "", operands)):
        return "others"
    if re.match("k?v?mov", mnemonic.replace("kmov", "mov")) and "(" in operands:
        return "loads and stores"
    return "vector"


def counted(program, backend, only):
    """For each case, or one, the numbers of instructions for 16 elements by kind."""
    code = disassembled(program)
    text = subprocess.run([program, *only], check=True, capture_output=True, text=True,
                          env={**os.environ, "LOWP_ISA": backend}).stdout
    cases, sums = {}, None
    for line in text.splitlines():
        address, _, times = line.partition(" ")
        if not times or not re.fullmatch("[0-9a-f]+", address):
            sums = cases[line] = collections.Counter()
        elif int(address, 16) in code:  # not the C library's
            sums[kind_of(*code[int(address, 16)])] += float(times)
    return {case: {kind: round(sums[kind], 1) for kind in ("vector", "loads and stores", "others")}
            for case, sums in cases.items()}


def main():
    compiler = os.environ.get("CXX", "g++")
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "counted"
        subprocess.run([compiler, "-std=c++20", "-O2", "-no-pie", "-fno-pie", f"-I{ROOT / 'include'}",
                        HERE / "counted.cpp", "-o", program], check=True)
        page = {"compiler": version.splitlines()[0],
                "cases": {name: counted(program, backend, sys.argv[1:2]) for backend, name in BACKENDS.items()}}
    if len(sys.argv) > 1:
        print(json.dumps(page["cases"]))
        return
    (HERE / "counted.json").write_text(json.dumps(page, indent=1) + "\n")


main()
