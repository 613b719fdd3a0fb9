#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that operations execute for 16 elements, and writes counted.json.

    counted.py           all operations
    counted.py CASE      prints the numbers of one, and writes nothing

CXX names the compiler, by default g++; for NEON it is aarch64-linux-gnu-g++.
counted.cpp executes each operation step by step, on AVX-512 and on AVX2, and for NEON under qemu. A vector
instruction computes in vector or mask registers. Moves between these and memory count as loads and stores.
Numbers of a backend that this machine lacks stay as they are. For processors with NEON, llvm-mca estimates the
cycles that the counted instructions take: no such machine has run them."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BACKENDS = {"avx512_bf16": "AVX-512", "avx2": "AVX2", "neon": "NEON", "neon_bf16": "NEON with BF16"}
ARM = "aarch64-linux-gnu-"
QEMU = ["qemu-aarch64", "-cpu", "max", "-singlestep", "-d", "exec,nochain"]
ELEMENTS = 2048  # n of counted.cpp
MCA = ["llvm-mca-19", "-march=aarch64", "-iterations=100"]
PROCESSORS = {"Neoverse V2": "neoverse-v2", "Apple M1": "apple-m1"}
INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\t(\S+)\s*(.*?)\s*(//|<|# |$)")


def output_of(*command, **environment):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          env={**os.environ, **environment}).stdout


def disassembled(program, tools):
    """The mnemonic and operands of each address."""
    return {int(found[1], 16): (found[2], found[3].strip())
            for found in map(INSTRUCTION.match, output_of(tools + "objdump", "-d", "--no-show-raw-insn", program).splitlines())
            if found}


def kind_of(mnemonic, operands):
    if re.search(r"%([xyz]mm|k[0-7])", re.sub(r"\{%k\d\}", "", operands)):
        moves = re.match("k?v?mov", mnemonic.replace("kmov", "mov")) and "(" in operands
    elif re.search(r"\b([vqds]\d+)\b", operands):
        moves = re.match("(ld|st)", mnemonic)
    else:
        return "others"
    return "loads and stores" if moves else "vector"


def steps(program, backend, case):
    """Lines of the program: names of cases, addresses and times."""
    if not backend.startswith("neon"):
        return output_of(program, *case, LOWP_ISA=backend).splitlines()
    symbols = [line.split() for line in output_of(ARM + "nm", "-S", program).splitlines()]
    mark, = (int(s[0], 16) for s in symbols if s[-1] == "counted_mark")
    ranges = ",".join(f"0x{s[0]}+0x{s[1]}" for s in symbols
                      if len(s) == 4 and s[2] in "tTwW" and (s[3].startswith("_ZN4lowp") or "loop_" in s[3] or s[3] == "counted_mark"))
    lines = []
    # Without an argument the program runs all cases, one after the other; the log would be too long.
    for name in case or output_of("qemu-aarch64", program, "names").splitlines():
        with tempfile.NamedTemporaryFile() as log:
            output_of(*QEMU, "-dfilter", ranges, "-D", log.name, program, name, LOWP_ISA=backend)
            times, marks = collections.Counter(), 0
            for line in log.read().decode().splitlines():
                address = int(line.split("/")[1], 16)
                marks += address == mark
                if marks in (1, 2):
                    times[address] += 2 * marks - 3
        lines += [name, *(f"{address:x} {n * 16 / ELEMENTS}" for address, n in times.items() if n)]
    return lines


def estimate(code, times, processor):
    """The cycles of 16 elements, by llvm-mca: passes over the instructions, each as often as it runs, less branches."""
    loop = [(round(n), *code[address]) for address, n in sorted(times.items())
            if not re.match(r"(b|bl|br|blr|ret|cbn?z|tbn?z|adrp?|b\..*)$", code[address][0])]
    text = "".join(f"{mnemonic} {operands}\n" for turn in range(max(n for n, *_ in loop))
                   for n, mnemonic, operands in loop if turn < n)
    said = subprocess.run([*MCA, f"-mcpu={processor}", "-mattr=+bf16"], input=text, check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    return round(int(re.search(r"Total Cycles: +(\d+)", said)[1]) / 100, 1)


def counted(program, backend, only):
    """For each case, or one, the numbers of instructions for 16 elements by kind."""
    is_arm = backend.startswith("neon")
    code = disassembled(program, ARM if is_arm else "")
    cases, times = {}, None
    for line in steps(program, backend, only):
        address, _, n = line.partition(" ")
        if not n or not re.fullmatch("[0-9a-f]+", address):
            times = cases[line] = {}
        elif int(address, 16) in code:  # not the C library's
            times[int(address, 16)] = float(n)
    for case, times in cases.items():
        sums = collections.Counter()
        for address, n in times.items():
            sums[kind_of(*code[address])] += n
        cases[case] = {kind: round(sums[kind], 1) for kind in ("vector", "loads and stores", "others")}
        if is_arm and shutil.which(MCA[0]):
            cases[case]["estimated cycles"] = {name: estimate(code, times, processor)
                                               for name, processor in PROCESSORS.items()}
    return cases


def main():
    compiler = os.environ.get("CXX", "g++")
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    page = json.loads((HERE / "counted.json").read_text())
    page["compiler"] = version.splitlines()[0]
    processor = pathlib.Path("/proc/cpuinfo").read_text()
    with tempfile.TemporaryDirectory() as folder:
        for tools, option, has in (("", "-no-pie", lambda backend: backend in processor),
                                   (ARM, "-static", lambda backend: backend.startswith("neon") and shutil.which(ARM + "g++"))):
            backends = [backend for backend in BACKENDS if has(backend)]
            if not backends:
                continue
            program = pathlib.Path(folder) / (tools + "counted")
            subprocess.run([tools + "g++" if tools else compiler, "-std=c++20", "-O2", option, "-fno-pie",
                            f"-I{ROOT / 'include'}", HERE / "counted.cpp", "-o", program], check=True)
            for backend in backends:
                page["cases"][BACKENDS[backend]] = counted(program, backend, sys.argv[1:2])
    if len(sys.argv) > 1:
        print(json.dumps(page["cases"]))
        return
    (HERE / "counted.json").write_text(json.dumps(page, indent=1) + "\n")


main()
