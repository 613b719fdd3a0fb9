# SPDX-License-Identifier: Apache-2.0
"""Reads the machine code of kernels, and finds the shortest way through given accesses to memory."""
import bisect
import collections
import heapq
import itertools
import math
import operator
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig


def tool(name):
    """Returns a program of the toolkit: from PATH, from its folder, or from a Python package."""
    folders = [pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin")]
    folders += pathlib.Path(sysconfig.get_path("purelib"), "nvidia").glob("cu*/bin")
    return shutil.which(name) or next((found for folder in folders
                                       if (found := shutil.which(name, path=folder))), None)


def printed_by(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def version_of(name):
    return re.search(r"\bV(\d+\.\d+\.\d+)", printed_by(tool(name), "--version"))[1]


class Kernel:
    """The instructions of a kernel in basic blocks, by the number of a block's first instruction."""

    def __init__(self, symbol):
        self.symbol = symbol
        self.instructions = []
        self.labels = {}
        self.found = {}  # sets of instructions by pattern
        self.next = {}  # lists of instructions by the one before
        self.registers = self.shared_bytes = None  # what ptxas says

    def name_after(self, prefix):
        """Returns the next name of the mangled symbol: digits tell its length."""
        match = re.search(re.escape(prefix) + r"N?(?:S\d*_)?(\d+)", self.symbol)
        return self.symbol[match.end():match.end() + int(match[1])] if match else None

    def number_after(self, prefix):
        match = re.search(re.escape(prefix) + r"(\d+)", self.symbol)
        return int(match[1]) if match else None

    def operation(self, i):
        return re.match(r"(?:@\S+\s+)?(\w+)", self.instructions[i])[1]

    def after(self, i):
        """Lists the instructions to which a thread may go from instruction i."""
        if i not in self.next:
            self.next[i] = self.read_after(i)
        return self.next[i]

    def read_after(self, i):
        predicate, operation = re.match(r"(@\S+\s+)?(.*)", self.instructions[i]).groups()
        if re.match(r"(EXIT|RET)\b", operation):
            return [i + 1] if predicate else []
        if match := re.match(r"CALL\S* `\((\.L_\S+)\)", operation):  # a jump, for sm_80
            return [self.labels[match[1]], i + 1]
        if operation.startswith("BRA"):
            target = self.labels[re.search(r"`\((\S+)\)", operation)[1]]
            if predicate or re.match(r"BRA\.(DIV|CONV)|BRA\S*\s+!?U?P\d", operation):
                return [target, i + 1]
            return [target]
        if targets := re.match(r'BRX .*"BRANCH_TARGETS (\S+)"', operation):
            return [self.labels[label] for label in targets.group(1).split(",")] + [i + 1] * bool(predicate)
        if re.match(r"BRX|JMP", operation):
            sys.exit(f"{self.symbol}: cannot follow {operation}")
        return [i + 1]

    def matches(self, pattern):
        """Returns the set of instructions that match a pattern, less their predicates."""
        if pattern not in self.found:
            expression = re.compile(r"(?:@\S+\s+)?(?:" + pattern + ")")
            self.found[pattern] = {i for i, text in enumerate(self.instructions) if expression.match(text)}
        return self.found[pattern]

    def blocks(self, *more):
        """Returns the ends of basic blocks by their beginnings, `more` among these."""
        starts = {0, len(self.instructions), *self.labels.values(), *more}
        starts.update(i + 1 for i in self.matches("BRA|EXIT|RET|BRX|JMP|CALL"))
        return dict(itertools.pairwise(sorted(starts)))

    def leading_to(self, goals, blocks, avoided):
        """Returns the blocks from which a way leads to a goal."""
        before = {}
        for begin, end in blocks.items():
            if avoided.isdisjoint(range(begin, end)):
                for target in self.after(end - 1):
                    before.setdefault(target, []).append(begin)
        begins = sorted(blocks)
        waiting = [begins[bisect.bisect_right(begins, goal) - 1] for goal in goals]
        found = set(waiting)
        while waiting:
            more = [begin for begin in set(before.get(waiting.pop(), ())) if begin not in found]
            found.update(more)
            waiting += more
        return found

    def shortest(self, needed, start=0, goal=None, avoided=frozenset()):
        """Returns the instructions on the shortest way that has those needed, in any order.

        `needed` is a dict from a pattern to the times that instructions match it. The way ends at
        instruction `goal`, without one at the kernel's exit."""
        marks = [(self.matches(pattern), times) for pattern, times in needed.items()]
        complete = tuple(times for _, times in marks)
        goals = self.matches("EXIT") if goal is None else {goal}
        blocks = self.blocks(start)
        matter = sorted(goals.union(avoided, *(found for found, _ in marks)))  # others are steps alone
        leading = self.leading_to(goals, blocks, avoided)
        stops = goals.union(avoided)
        passed = {}  # of a block: instructions that matter, if one is a stop, how often each is needed
        for found, _ in marks:
            if all(found.isdisjoint(range(begin, blocks[begin])) for begin in leading):
                return None
        seen = collections.defaultdict(list)  # counts at a block's beginning
        first = (start, (0,) * len(marks))
        before, queue = {first: (0, None)}, [(0, first)]
        while queue:
            length, state = heapq.heappop(queue)
            if length > before[state][0]:
                continue
            begin, counts = state
            if any(all(map(operator.ge, other, counts)) for other in seen[begin]):
                continue  # a way that is no longer has as many
            seen[begin].append(counts)
            end = blocks[begin]
            if begin not in passed:
                inside = matter[bisect.bisect_left(matter, begin):bisect.bisect_left(matter, end)]
                passed[begin] = inside, not stops.isdisjoint(inside), tuple(
                    len(found.intersection(inside)) for found, _ in marks)
            inside, has_stop, more = passed[begin]
            if not has_stop:  # the instructions of the block at once
                if inside:
                    counts = tuple(map(min, map(int.__add__, counts, more), complete))
                inside = ()
            for i in inside:
                if i in avoided:
                    break
                counts = tuple(min(count + (i in found), times)
                               for count, (found, times) in zip(counts, marks))
                if i in goals and counts == complete:
                    parts = [range(begin, i + 1)]
                    while (state := before[state][1]) is not None:
                        parts.append(range(state[0], blocks[state[0]]))
                    return [i for part in reversed(parts) for i in part]
            else:
                for target in self.after(end - 1):
                    there = (target, counts)
                    far = length + end - begin
                    if target in leading and far < before.get(there, (math.inf,))[0]:
                        before[there] = far, state
                        heapq.heappush(queue, (far, there))
        return None

    def loops(self, needed, avoided=()):
        """Returns the instructions of the shortest round of each loop that has those needed."""
        avoided = self.matches("|".join(avoided)) if avoided else frozenset()
        places = self.matches(next(iter(needed)))
        rounds = [self.shortest(needed, i + 1, i, avoided) for i in sorted(places)]
        found = []
        for new in sorted((way for way in rounds if way), key=len):
            if not any(set(new) & set(old) for old in found):
                found.append(new)
        return sorted(found, key=min)


def ptx_of(program, arch, file):
    """Writes the PTX for a target that lies in a program, not compressed, and returns the file."""
    texts = re.findall(rb"\.version [^\0]*\n\.target " + arch.encode() + rb"\n[^\0]*", program.read_bytes())
    if not texts:
        sys.exit(f"{program} has no PTX for {arch}")
    file.write_bytes(max(texts, key=len))
    return file


def kernels_of(nvcc_arguments, cubin):
    """Compiles to a cubin and lists its kernels."""
    nvcc, disassembler = tool("nvcc"), tool("nvdisasm")
    said = printed_by(nvcc, "--resource-usage", "-cubin", "-o", cubin, *nvcc_arguments)
    if spilled := re.findall(r"[1-9]\d* bytes spill stores", said):
        sys.exit(f"{len(spilled)} kernels keep registers in memory")
    used = {}
    for symbol, registers, rest in re.findall(
            r"Compiling entry function '(\S+)'.*\n(?:.*\n)*?.*Used (\d+) registers(.*)", said):
        shared = re.search(r"(\d+) bytes smem", rest)
        used[symbol] = int(registers), int(shared[1]) if shared else 0
    found = []
    for line in printed_by(disassembler, cubin).splitlines():
        if match := re.match(r"\.text\.(\S+):", line):
            found.append(Kernel(match[1]))
        elif match := re.match(r"(\.L_x_\d+):", line):
            if found:
                found[-1].labels[match[1]] = len(found[-1].instructions)
        elif match := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s*(.*?)\s*;", line):
            found[-1].instructions.append(match[1])
    for kernel in found:
        kernel.registers, kernel.shared_bytes = used[kernel.symbol]
    return found
