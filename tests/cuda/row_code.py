#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a kernel over rows issues for an element of a long row: python3 row_code.py nvdisasm's-text

Prints for each kernel the least instructions from one round of a loop to the same place of the
next. The path leads through the accesses that mark the round. They are executed while whole groups
are read, folded and written with accesses of 16 bytes. The rest of a kernel (ends of rows, other
widths, NaN) lies beside that way."""

import collections
import re
import sys


def kernels(lines):
    """Lists the kernels of row_code.cu: element type, team, instructions, and the places of labels."""
    found, instructions, labels = [], None, None
    for line in lines:
        if match := re.match(r"\.text\.(\S+):", line):
            instructions, labels = [], {}
            team = int(re.search(r"row_kernel_callILj(\d+)E", match[1])[1])
            type_name = "float" if "14kernel_operandIf" in match[1] else "bfloat16"
            found.append((type_name, team, instructions, labels))
        elif match := re.match(r"(\.L_x_\d+):", line):
            if labels is not None:
                labels[match[1]] = len(instructions)
        elif match := re.match(r"\s*/\*[0-9a-f]{4,}\*/\s*(.*?)\s*;", line):
            instructions.append(match[1])
    return found


def next_of(instructions, labels, i):
    """Lists the instructions to which a thread may go from instruction i."""
    predicate, operation = re.match(r"(@\S+\s+)?(.*)", instructions[i]).groups()
    if operation.startswith("EXIT"):
        return [i + 1] if predicate else []
    if operation.startswith("BRA"):
        conditional = predicate or re.match(r"BRA\S*\s+!?U?P\d", operation)
        target = labels[re.search(r"`\((\S+)\)", operation)[1]]
        return [target, i + 1] if conditional else [target]
    return [i + 1]


def shortest(instructions, labels, passed):
    """The instructions of the shortest way from the entry that passes these, in this order."""
    start = (0, 0)
    before, queue = {start: None}, collections.deque([start])
    while queue:
        here = queue.popleft()
        i, done = here
        if re.search(passed[done], instructions[i]):
            done += 1
        if done == len(passed):
            way = []
            while here is not None:
                way.append(here[0])
                here = before[here]
            return way[::-1]
        for j in next_of(instructions, labels, i):
            if j < len(instructions) and (j, done) not in before:
                before[(j, done)] = here
                queue.append((j, done))
    sys.exit(f"no way through {passed}")


def main():
    with open(sys.argv[1], encoding="ascii") as text:
        found = kernels(text)
    for type_name, team, instructions, labels in found:
        accesses = 2 if type_name == "float" else 1  # of 16 bytes, for a group of eight
        groups = 2 if type_name == "float" else 4  # that a thread reads at once
        own = [r"LDS R"] * 8 + [r"STS \["] * 8 if team == 256 else [r"LDS\.128"] * 2 + [r"STS\.128"] * 2
        rounds = {
            "read": ([r"LDG\.E\.128"] * (accesses * groups) + [r"STS\.128"] * (2 * groups), 8 * groups),
            "fold": (own, 8),
            "write": ([r"LDS\.128"] * 2 + [r"STG\.E\.128"] * accesses, 8),
        }
        passed, total, parts = [], 0, []
        for name, (accessed, elements) in rounds.items():
            once = shortest(instructions, labels, passed + accessed)
            twice = shortest(instructions, labels, passed + accessed * 2)
            issued = (len(twice) - len(once)) / elements
            passed += accessed
            total += issued
            parts.append(f"{name} {issued:.2f}")
        print(f"{type_name} {team}: {total:.2f} ({', '.join(parts)})")


main()
