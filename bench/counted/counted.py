#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that operations execute for 16 elements, and writes counted.json.

    counted.py             all operations
    counted.py PATTERN     those whose case matches the regular expression; other numbers stay

CXX names the compiler, by default g++; for NEON it is aarch64-linux-gnu-g++.
counted.cpp executes each operation step by step, on AVX-512 and on AVX2, and for NEON under qemu. A vector
instruction computes in vector or mask registers. Moves between these and memory count as loads and stores.
Numbers of a backend that this machine lacks stay as they are. For processors with NEON, llvm-mca estimates the
cycles that the counted instructions take: no such machine has run them."""
import collections
import datetime
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
ARM_BACKENDS = ["neon", "neon_bf16"]
# The other kernels are those of NEON.
WRITES_BFLOAT16 = re.compile("(->|^fused_add/|^update/adamw/|^softmax/(scale_mask/)?|^pieces/(gelu_tanh|gelu|silu|gated_silu|layer_norm|add_rms_norm)/|^backward/(gelu|silu)/)bfloat16")
ARM = "aarch64-linux-gnu-"
QEMU = ["qemu-aarch64", "-cpu", "max", "-singlestep", "-d", "exec,nochain"]
OPTIONS = ("-O2", "-fno-math-errno")  # errno keeps the compiled loops from square roots of vectors
ELEMENTS = 2048  # n of counted.cpp
MCA = ["llvm-mca-19", "-march=aarch64", "-mattr=+bf16", "-iterations=1", "-resource-pressure=0", "-instruction-info=0"]
NO_DIVISION = {"apple-m1"}  # its model gives a vector division 2 cycles, and one of a scalar 17
DIVISION = re.compile(r"(fdiv|fsqrt) v")
BRANCH = re.compile(r"(b|bl|br|blr|ret|cbn?z|tbn?z|adrp?|b\..*)$")
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


def stepped(program, case, backend):
    """Counts by address how often each instruction ran for 16 elements. There is no trace."""
    lines = output_of(program, case, LOWP_ISA=backend).splitlines()[1:]
    return {int(address, 16): float(n) for address, n in map(str.split, lines)}, None


def emulated(program, case, backend):
    """The same under qemu. The traces are addresses in the order of execution, of n elements and of twice as many."""
    symbols = [line.split() for line in output_of(ARM + "nm", "-S", program).splitlines()]
    mark, = (int(s[0], 16) for s in symbols if s[-1] == "counted_mark")
    ranges = ",".join(f"0x{s[0]}+0x{s[1]}" for s in symbols
                      if len(s) == 4 and s[2] in "tTwW" and (s[3].startswith("_ZN4lowp") or "loop_" in s[3] or s[3] == "counted_mark"))
    with tempfile.NamedTemporaryFile() as log:
        output_of(*QEMU, "-dfilter", ranges, "-D", log.name, program, case, LOWP_ISA=backend)
        traces = []
        for line in log.read().decode().splitlines():
            address = int(line.split("/")[1], 16)
            if address == mark:
                traces.append([])
            elif traces:
                traces[-1].append(address)
    times = collections.Counter(traces[1])
    times.subtract(traces[0])
    return {address: n * 16 / ELEMENTS for address, n in times.items() if n}, traces[:2]


def for_mca(mnemonic, operands):
    """An instruction for llvm-mca, without branches. A store that moves its base becomes two: its model moves the base when
    the data are there, and the next pass would wait for them."""
    if BRANCH.match(mnemonic):
        return ""
    if mnemonic.startswith("st") and (moved := re.fullmatch(r"(.*\[(\w+))(?:, (#-?\w+)\]!|\], (#?-?\w+))", operands)):
        store, add = f"{mnemonic} {moved[1]}]\n", f"add {moved[2]}, {moved[2]}, {moved[3] or moved[4]}\n"
        return add + store if moved[3] else store + add
    return f"{mnemonic} {operands}\n"


def estimate(code, traces, processor):
    """The cycles that llvm-mca gives 16 elements, in the order of execution. It predicts all branches, and no load waits
    for a store. None if the model lacks the divisions."""
    if processor in NO_DIVISION and sum(DIVISION.match(" ".join(code[address])) is not None for address in traces[0]) >= ELEMENTS / 16:
        return None
    cycles = []
    for trace in traces:
        text = "".join(for_mca(*code[address]) for address in trace)
        said = subprocess.run([*MCA, f"-mcpu={processor}"], input=text, check=True, stdout=subprocess.PIPE, text=True).stdout
        cycles.append(int(re.search(r"Total Cycles: +(\d+)", said)[1]))
    return round((cycles[1] - cycles[0]) * 16 / ELEMENTS, 1)


def counted(program, case, backend, code):
    """The numbers of instructions for 16 elements by kind."""
    times, traces = (emulated if backend in ARM_BACKENDS else stepped)(program, case, backend)
    sums = collections.Counter()
    for address, n in times.items():
        if address in code:  # not the C library's
            sums[kind_of(*code[address])] += n
    numbers = {kind: round(sums[kind], 1) for kind in ("vector", "loads and stores", "others")}
    if traces and shutil.which(MCA[0]):
        numbers["estimated cycles"] = {name: estimate(code, traces, processor) for name, processor in PROCESSORS.items()}
    return numbers


def first_line(*command):
    return output_of(*command).splitlines()[0]


def processor_here():
    """The name and the numbers of this processor."""
    fact = dict(re.findall(r"^([^\t:]+)\t*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text().partition("\n\n")[0], re.M))
    return f"{fact['model name'].strip()}, family {fact['cpu family']}, model {fact['model']}", fact["flags"].split()


def main():
    pattern = re.compile(sys.argv[1] if len(sys.argv) > 1 else "")
    page = json.loads((HERE / "counted.json").read_text())
    processor, flags = processor_here()
    with tempfile.TemporaryDirectory() as folder:
        for tools, compiler, option, emulator, backends in (
                ("", os.environ.get("CXX", "g++"), "-no-pie", [], [backend for backend in BACKENDS if backend in flags]),
                (ARM, ARM + "g++", "-static", QEMU[:1], ARM_BACKENDS if shutil.which(ARM + "g++") and shutil.which(QEMU[0]) else [])):
            if not backends:
                continue
            program = pathlib.Path(folder) / (tools + "counted")
            subprocess.run([compiler, "-std=c++20", *OPTIONS, option, "-fno-pie",
                            f"-I{ROOT / 'include'}", HERE / "counted.cpp", "-o", program], check=True)
            code = disassembled(program, tools)
            names = [name for name in output_of(*emulator, program, "names").splitlines() if pattern.search(name)]
            for backend in backends:
                cases = page["cases"].setdefault(BACKENDS[backend], {})
                for name in names:
                    if backend != "neon_bf16" or WRITES_BFLOAT16.search(name):
                        cases[name] = counted(program, name, backend, code)
                page["counted"][BACKENDS[backend]] = {
                    "compiler": first_line(compiler, "--version"), "options": " ".join(OPTIONS),
                    "on": first_line(QEMU[0], "--version").partition(" (")[0] if emulator else processor,
                    "date": datetime.date.today().isoformat()}
                if emulator and shutil.which(MCA[0]):
                    page["counted"][BACKENDS[backend]]["estimated by"] = "llvm-mca " + re.search(r"LLVM version (\S+)", output_of(MCA[0], "--version"))[1]
                (HERE / "counted.json").write_text(json.dumps(page, indent=1) + "\n")


main()
