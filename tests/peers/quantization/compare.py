# SPDX-License-Identifier: Apache-2.0
"""Counts where recipes of one name part, and holds the library against each package.

python compare.py table      prints the tables of README.md
python compare.py LIBRARY    compares the library built from quantize.cpp with every package that is here
"""

import itertools
import sys

import numpy

import inputs
import packages

BLOCKS, TILES = 512, 64  # tensors, of eight blocks or tiles
ZERO, MINUS = 0, 0x80000000


def finite(tensors):
    return numpy.array([t % 16 < 14 for t in range(tensors)])


def pairs(title, lines):
    """Prints how many scales differ, and in blocks of one scale how many codes and codes of zeros."""
    print(f"\n{title}, {finite(BLOCKS).sum() * inputs.BLOCKS} blocks of finite numbers:\n")
    print("| recipe | beside | scales | codes of blocks with one scale | of which zeros |\n|---|---|---|---|---|")
    keep = finite(BLOCKS)
    for a, b in itertools.combinations(lines, 2):
        scales = (a.scales_of != b.scales_of)[keep]
        codes = ((a.codes_of != b.codes_of)[keep]) & ~scales[..., None]
        sign = 8 if a.elements == "e2m1" else 128
        zeros = codes & ((a.codes_of[keep] | sign) == sign) & ((b.codes_of[keep] | sign) == sign)
        print(f"| {a.name} | {b.name} | {scales.sum()} | {codes.sum()} | {zeros.sum()} |")


def once(values):
    """Returns the different ones of many codes, few of them in full."""
    found = sorted(set(values))
    return " ".join(f"{v:02x}" for v in found[:4]) + (" ..." if len(found) > 4 else "")


def ends(lines):
    """Prints what recipes make of zeros, small numbers, infinity and NaN."""
    print("\n| recipe | scale of a zero block | of an infinite block | of a block with NaN | smallest | largest | -0 | infinity |")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        words = numpy.array(line.words).reshape(len(line.words), inputs.BLOCKS, line.size)
        magnitude = words & 0x7FFFFFFF
        keep = finite(len(words))
        zero = (magnitude == 0).all(-1) & keep[:, None] & (magnitude.max((1, 2)) > 0)[:, None]
        infinite, nan = (magnitude == inputs.INFINITY).any(-1), (magnitude > inputs.INFINITY).any(-1)
        rest = line.scales_of[keep].ravel()
        print(f"| {line.name} | {once(line.scales_of[zero])} | {once(line.scales_of[infinite])} | "
              f"{once(line.scales_of[nan])} | {rest.min():02x} | {rest.max():02x} | "
              f"{once(line.codes_of[keep][words[keep] == MINUS])} | {once(line.codes_of[magnitude == inputs.INFINITY])} |")


def table(lines):
    nvfp4 = [lines[name] for name in lines if "nvfp4" in name and lines[name].size == 16]
    two_level = [line for line in nvfp4 if line.amax and "4over6" not in line.name]
    pairs("NVFP4 with a scale for the tensor", two_level)
    pairs("NVFP4 without", [line for line in nvfp4 if not line.amax])
    pairs("4over6", [line for line in nvfp4 if "4over6" in line.name])
    pairs("MXFP4", [line for line in lines.values() if "mxfp4" in line.name])
    for elements in ("mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2"):
        group = [line for line in lines.values() if elements in line.name]
        pairs(elements, [line for line in group if line.name.endswith(("rceil", elements))])
        pairs(elements, [line for line in group if line.name.endswith(("floor", "nearest", elements + "_even"))
                         and not line.name.startswith("torchao") or line.name.endswith("floor")])
    ends([line for line in lines.values() if line.size < 256])


def main():
    lines = packages.collect(BLOCKS, TILES)
    if sys.argv[1] == "table":
        table(lines)


if __name__ == "__main__":
    main()
