#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of faults.py in the headers; a test of the default suite must fail for each.

    python3 tests/mutation/plant.py FOLDER [WORD]
    python3 tests/mutation/plant.py FOLDER --delete-lines HEADER PROGRAM
    python3 tests/mutation/plant.py FOLDER --delete-statements PROGRAM,... PATH...

FOLDER is for its files. With WORD it plants only faults whose line has that word. It prints a line for
each fault, and fails if one survives. CXX names the compiler, and LAUNCH what starts a program, such as
"mpirun -n 4".

A compiled program has all faults: the variable LOWP_FAULT says at run time which one is active. Only
expressions and statements that run can be planted so, not constant evaluation.

--delete-lines deletes each line of HEADER (below include/lowp) in turn, with a compilation for each.
--delete-statements plants the deletion of each statement in the headers below PATHs, and compiles each
program once. A PATH may be HEADER:LINE. A program gets the deletions that it reaches and none before it has found."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from faults import FAULTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
# A test program runs on the machine's own backend alone if tests/CMakeLists.txt lists it as such a
# test.
LISTS = (TESTS / "CMakeLists.txt").read_text()
ONCE = re.search(r"set\(on_once\n(.*?)\)\n", LISTS, re.S)[1]
ONCE = re.compile("|".join(word.strip('"') for word in ONCE.split()))
ON_ALL = re.search(r"set\(on_backends_all_the_same (.*?)\)\n", LISTS)[1].split()
SLOWEST = 300  # seconds; a test that takes longer hangs
# The beginning of a statement that is no declaration. A statement after `else` waits for its `if`.
STATEMENT = re.compile(r"""\s*(?!using|static_assert|alignas|requires|else|asm)(
    (if\ (constexpr\ )?|for\ |while\ )\( | \+\+ | -- | (break|continue|return); |
    \*?[\w:.]+(->\w+)*(\[[^;]*?\])*(\.\w+)*\s*([-+*/&|^%]|<<|>>)?=(?!=) | [\w:.]+(->\w+)*(<[^;=]*>)?\()""", re.X)
# BITS has the bits of every operation, and no test framework: 13 s to compile.
BITS = ("project/flags/unit.cpp", "project/sapphire/conformance.cpp")
# The numbers that a program reaches are in the file LOWP_REACHED, a byte for each. Forks share it.
SWITCH = """#pragma once
extern int lowp_planted_fault;
extern unsigned char* lowp_reached;
#define LOWP_FAULT(number) \\
  (!__builtin_is_constant_evaluated() && ((lowp_reached[number] = 1), lowp_planted_fault == (number)))
"""
SWITCH_DEFINITION = """#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
static unsigned char unrecorded[1 << 16];
int lowp_planted_fault = 0;
unsigned char* lowp_reached = unrecorded;
__attribute__((constructor(101))) static void choose() {
  if (char const* number = std::getenv("LOWP_FAULT")) lowp_planted_fault = std::atoi(number);
  if (char const* name = std::getenv("LOWP_REACHED")) {
    int const file = open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof unrecorded) != 0) std::abort();
    void* const bytes = mmap(nullptr, sizeof unrecorded, PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) std::abort();
    lowp_reached = static_cast<unsigned char*>(bytes);
  }
}
"""


def planted(text, others):
    """Returns code that is TEXT, or that of the active fault among OTHERS, pairs of number and text."""
    if text.startswith("if (") and text.endswith(")"):  # a condition
        return f"if {planted(text[3:], [(number, other[3:]) for number, other in others])}"
    code = text
    for number, other in others:
        if text.rstrip().endswith(";"):
            code = f"{{ if (LOWP_FAULT({number})) {{ {other} }} else {{ {code} }} }}"
        else:
            code = f"(LOWP_FAULT({number}) ? ({other}) : ({code}))"
    return code


def plant(include, faults):
    """Plants faults, pairs of number and fault, in the headers below `include`."""
    places = {}
    for number, (header, text, other, _) in faults:
        source = (include / "lowp" / header).read_text()
        if source.count(text) != 1:
            sys.exit(f"{header} has {source.count(text)} times, not once: {text}")
        places.setdefault(header, {}).setdefault(text, []).append((number, other))
    for header, texts in places.items():
        path = include / "lowp" / header
        source = path.read_text()
        for text, others in sorted(texts.items(), key=lambda each: -len(each[0])):  # around shorter ones
            if source.count(text) != 1:
                sys.exit(f"{header}: two faults overlap in: {text}")
            source = source.replace(text, planted(text, others))
        path.write_text(source)


def end(ran):
    """Ends a program that hangs. What started it, such as mpirun, may first end what it started."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        os.killpg(ran.pid, how)
        try:
            return ran.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            pass


class Bench:
    def __init__(self, folder):
        self.folder, self.include, self.programs = folder, folder / "include", {}
        self.compiler, self.launch = (shlex.split(os.environ.get(*each)) for each in (("CXX", "g++"), ("LAUNCH", "")))
        folder.mkdir(parents=True, exist_ok=True)
        self.restore()
        (folder / "switch.hpp").write_text(SWITCH)
        (folder / "switch.cpp").write_text(SWITCH_DEFINITION)
        self.kernels = []
        self.support = [self.compile(folder / "switch.cpp", "switch.o")]
        self.backends = self.backends_here()
        # A kernel that no processor here can run would take as long to compile as the others.
        listed = ",".join(f"lowp::simd::{backend}" for backend in self.backends)
        self.kernels = [f"-DLOWP_TEST_BACKENDS={listed}", "-include", TESTS / "support/backends.hpp"]
        self.support.append(self.compile(TESTS / "support/main.cpp", "main.o"))

    def backends_here(self):
        """Returns the backends that this machine has."""
        made = self.folder / "backends_here"
        listed = self.compile(TESTS / "support/backends_here.cpp", "backends_here.o")
        subprocess.run([*self.compiler, listed, self.support[0], "-o", made], check=True)
        return subprocess.run([made], check=True, capture_output=True, text=True).stdout.split(";")

    def backends_of(self, program):
        once = ONCE.fullmatch(program) or program.startswith("distributed/")
        return [""] if once and program not in ON_ALL else self.backends

    def restore(self):
        shutil.rmtree(self.include, ignore_errors=True)
        shutil.copytree(ROOT / "include", self.include)

    def compile(self, source, name, *more):
        """Returns the object NAME, or None if SOURCE does not compile."""
        made = self.folder / name
        if "lowp/openmp.hpp" in source.read_text():
            more += ("-fopenmp",)
        ran = subprocess.run(
            [*self.compiler, "-std=c++20", "-O1", "-w", "-DLOWP_TEST_SOME", "-DFMT_HEADER_ONLY", "-DUNIT=o2", f'-DLOWP_TESTS="{TESTS}"',
             f"-I{self.include}", f"-I{TESTS}", "-include", self.folder / "switch.hpp", *self.kernels, *more, "-c", source, "-o", made],
            capture_output=True, text=True)
        self.said = ran.stderr
        return made if ran.returncode == 0 else None

    def build(self, program):
        """Returns the test program of this name with the headers as they are, or None."""
        sources = BITS if program == "bits" else [f"{program}_test.cpp"]
        name = program.replace("/", ".")
        objects = []
        for i, source in enumerate(sources):
            objects.append(self.compile(TESTS / source, f"{name}.{i}.o"))
            if objects[-1] is None:
                return None
        support = [o for o in self.support if program != "bits" or o.stem != "main"]
        made = self.folder / name
        subprocess.run([*self.compiler, "-fopenmp", *objects, *support, "-o", made, "-lgtest", "-lpthread"], check=True)
        return made

    def kills(self, program, made, fault=0, slowest=SLOWEST, backends=None):
        """Returns how the program fails with this fault, or an empty text."""
        for backend in self.backends_of(program) if backends is None else backends:
            variables = {**os.environ, "LOWP_FAULT": str(fault), "GTEST_FAIL_FAST": "1", "GTEST_BRIEF": "1"}
            if backend:
                variables["LOWP_ISA"] = backend
            on = backend and f" on {backend}"
            if fault == 0:
                variables["LOWP_REACHED"] = self.folder / f"reached.{backend}"
                variables["LOWP_REACHED"].unlink(missing_ok=True)
            ran = subprocess.Popen([*self.launch, made], env=variables, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
            try:
                said = ran.communicate(timeout=slowest)[0]
            except subprocess.TimeoutExpired:
                end(ran)
                return f"hangs{on}"
            if ran.returncode != 0:
                failed = re.search(r"\[  FAILED  \] ([\w./]+)", said)
                return f"{failed[1] if failed else f'status {ran.returncode}'}{on}"
        return ""


def plant_all(bench, word):
    faults = [(number, fault) for number, fault in enumerate(FAULTS, 1) if word in str(fault)]
    plant(bench.include, faults)
    survivors, begin = 0, time.time()
    for program in sorted({fault[3] for _, fault in faults}):
        made = bench.build(program)
        how = bench.said if made is None else bench.kills(program, made)
        if how:
            print(f"{program} fails without a fault: {how[:4000]}", flush=True)
            survivors += sum(of == program for _, (*_, of) in faults)
            continue
        for number, (header, text, other, of) in faults:
            if of == program:
                how = bench.kills(program, made, number)
                survivors += not how
                line = f"{header}: {text} -> {other or 'nothing'} | {program}: {how or 'SURVIVED'}"
                print(re.sub(r"\s+", " ", line), flush=True)
    print(f"{len(faults) - survivors} of {len(faults)} faults found ({time.time() - begin:.0f} s)")
    return survivors


def delete_lines(bench, header, program):
    path = bench.include / "lowp" / header
    lines = path.read_text().splitlines(keepends=True)
    unit = bench.folder / "unit.cpp"
    unit.write_text(f"#include <lowp/{header}>\n")
    survivors, counts = 0, {}
    for i, line in enumerate(lines):
        # Neither comments, nor what only ends a block.
        if re.fullmatch(r"\s*(//.*|#.*|[{}();,]*|(public|private):|.*// (clang-format|namespace).*)\s*", line):
            continue
        path.write_text("".join(lines[:i] + lines[i + 1:]))
        how = ""
        if not bench.compile(unit, "unit.o", "-fsyntax-only"):
            how = "does not compile"
        for test in ("bits", program):
            if not how:
                made = bench.build(test)
                how = "does not compile" if made is None else bench.kills(test, made)
        kind = how if how == "does not compile" else "a test fails" if how else "SURVIVED"
        counts[kind] = counts.get(kind, 0) + 1
        print(f"{header}:{i + 1}: {line.strip()} | {how or 'SURVIVED'}", flush=True)
    bench.restore()
    print(header, counts)
    return counts.get("SURVIVED", 0)


def statements(lines):
    """Returns the statements that a deletion may leave out: the first line of each, and the last."""
    found, i, before = [], 0, ""
    for i, line in enumerate(lines):
        code = re.sub(r"\s*//.*", "", line).rstrip()
        if code and re.search(r"(^|[{};:)]|else)$", before) and not before.startswith("#") and STATEMENT.match(code):
            last, text = i, code
            while not text.endswith((";", "{", "}", "\\")) and last + 1 < len(lines):
                last += 1
                text += re.sub(r"\s*//.*", "", lines[last]).rstrip()
            following = lines[last + 1].lstrip() if last + 1 < len(lines) else ""
            if text.endswith(";") and text.count("(") == text.count(")") and text.count("{") == text.count("}") and not following.startswith("else"):
                if not found or found[-1][1] < i:
                    found.append((i, last))
        if code:
            before = code
    return found


def plant_deletions(bench, program, sources, faults):
    """Plants deletions, pairs of number and place. Returns the program, and the numbers that do not compile."""
    refused, made = set(), None
    while made is None:
        for h, source in sources.items():
            lines = list(source)
            for number, (of, first, last) in faults:
                if of == h and number not in refused:
                    code = [re.sub(r"\s*//.*", "", line) for line in lines[first:last + 1]]
                    text = planted("".join(code).rstrip(), [(number, "")])
                    lines[first:last + 1] = f"{text}\n".splitlines(keepends=True)
            h.write_text("".join(lines))
        made = bench.build(program)
        if made is None:
            errors = {(pathlib.Path(at), int(line) - 1) for at, line in re.findall(r"(\S+):(\d+):\d+: error:", bench.said)}
            # A name that lacks its declaration, which was taken for a call, is some lines after it.
            for reach in (0, 16):
                more = {n for n, (h, first, last) in faults
                        if any((h, i) in errors for i in range(first, last + 1 + reach))}
                if more - refused:
                    break
            else:
                sys.exit(bench.said[:4000] or "the compiler failed and said nothing")
            refused |= more
    return made, refused


def delete_statements(bench, programs, paths):
    below = bench.include / "lowp"
    lines = {(below / h, int(line) - 1) for h, _, line in (path.partition(":") for path in paths) if line}
    paths = [path.partition(":")[0] for path in paths]
    headers = sorted({h for path in paths for h in [*(below / path).rglob("*.hpp"), below / path] if h.is_file()})
    sources = {h: h.read_text().splitlines(keepends=True) for h in headers}
    whole = [h for h in headers if h not in {of for of, _ in lines}]
    left = list(enumerate(((h, *ends) for h in headers for ends in statements(sources[h])
                           if h in whole or (h, ends[0]) in lines), 1))
    many, never_planted, ever_reached = len(left), {number for number, _ in left}, set()

    def line(place, how):
        header, first, last = place
        text = " ".join("".join(sources[header][first:last + 1]).split())
        print(f"{header.relative_to(below)}:{first + 1}: {text} | {how}", flush=True)

    for program in programs.split(","):
        made, refused = plant_deletions(bench, program, sources, left)
        begin = time.time()
        if how := bench.kills(program, made):
            sys.exit(f"{program} fails without a fault: {how}")
        slowest = 5 + 10 * (time.time() - begin)
        reached = {b: (bench.folder / f"reached.{b}").read_bytes() for b in bench.backends_of(program)}
        survivors = []
        for number, place in left:
            # All backends that run a statement run it alike; two of them see what there is to see.
            backends = [b for b in reached if reached[b][number]] if number not in refused else []
            backends = backends[:1] + backends[1:][-1:]
            if backends:
                ever_reached.add(number)
            how = bench.kills(program, made, number, slowest, backends)
            if how:
                line(place, f"{program}: {how}")
            else:
                survivors.append((number, place))
        never_planted &= refused
        print(f"{program}: found {len(left) - len(survivors)} of {len(left)}", flush=True)
        left = survivors
    for number, place in left:
        line(place, "DOES NOT COMPILE BEHIND A SWITCH" if number in never_planted
             else "SURVIVED" if number in ever_reached else "NEVER REACHED")
    print(f"{many - len(left)} of {many} deletions found; {len(never_planted)} do not compile behind a switch")
    return len(left) - len(never_planted)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    bench = Bench(pathlib.Path(sys.argv[1]).resolve())
    if sys.argv[2:3] == ["--delete-lines"]:
        sys.exit(1 if delete_lines(bench, *sys.argv[3:5]) else 0)
    if sys.argv[2:3] == ["--delete-statements"]:
        sys.exit(1 if delete_statements(bench, sys.argv[3], sys.argv[4:]) else 0)
    sys.exit(1 if plant_all(bench, "".join(sys.argv[2:3])) else 0)


if __name__ == "__main__":
    main()
