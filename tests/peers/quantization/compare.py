# SPDX-License-Identifier: Apache-2.0
"""Counts where recipes of one name part, and holds the library against each package.

python compare.py table      writes the tables of README.md
python compare.py LIBRARY    compares the library built from quantize.cpp with every package that is here
"""

import contextlib
import ctypes
import io
import pathlib
import re
import sys

import numpy
import torch

import inputs
import packages

BLOCKS, TILES = 512, 64  # tensors, of eight blocks or tiles
MINUS = 0x80000000
BEGIN, END = (f"<!-- {word}: compare.py table -->\n" for word in ("begin", "end"))


def finite(tensors):
    return numpy.array([t % 16 < 14 for t in range(tensors)])


def matrix(title, lines):
    """Prints a table of pairs: scales that differ above the diagonal, codes in blocks of one scale below it."""
    keep = finite(BLOCKS)
    sign = {"e2m1": 8, "e2m3": 32, "e3m2": 32}.get(lines[0].elements, 128)
    print(f"\n{title}: {keep.sum() * inputs.BLOCKS} blocks of {lines[0].size}\n")
    print("| | " + " | ".join(str(i + 1) for i in range(len(lines))) + " |\n|---" + "|---" * len(lines) + "|")
    for i, a in enumerate(lines):
        cells = []
        for j, b in enumerate(lines):
            scales = (a.scales_of != b.scales_of)[keep]
            codes = (a.codes_of != b.codes_of)[keep] & ~scales[..., None]
            zeros = codes & ((a.codes_of[keep] | sign) == sign) & ((b.codes_of[keep] | sign) == sign)
            below = f"{codes.sum() - zeros.sum()} + {zeros.sum()}"
            cells.append("" if i == j else str(scales.sum()) if i < j else below)
        print(f"| {i + 1} {a.name} | " + " | ".join(cells) + " |")


def once(values):
    """Returns the different ones of many codes, few of them in full."""
    found = sorted(set(values))
    return " ".join(f"{v:02x}" for v in found[:4]) + (" ..." if len(found) > 4 else "")


def ends(lines):
    """Prints what recipes make of zeros, small numbers, infinity and NaN."""
    print("\n| recipe | zero block | with infinity | with NaN | smallest scale | largest | code of -0 | of infinity |")
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
              f"{once(line.codes_of[keep][words[keep] == MINUS])} | "
              f"{once(line.codes_of[magnitude == inputs.INFINITY])} |")


def table(lines):
    """Prints README.md's tables."""
    def those(*names):
        return [lines[name] for name in names if name in lines]

    matrix("NVFP4 with a scale for the tensor",
           those("te_2_20_nvfp4_1x16", "torchao_main_nvfp4_training", "torchao_0_18_nvfp4_two_level",
                 "compressed_tensors_0_20_nvfp4", "modelopt_0_47_nvfp4"))
    matrix("NVFP4 without one", those("torchao_0_18_nvfp4_one_level", "ggml_nvfp4"))
    matrix("NVFP4 with a maximum of 4 or 6",
           those("te_2_20_nvfp4_1x16", *(f"te_2_20_nvfp4_1x16_4over6_{error}_{top}"
                                         for error in ("mae", "mse") for top in (448, 256))))
    modes = ("floor", "ceil", "even", "rceil")
    matrix("MXFP4",
           those("te_2_20_mxfp4", "modelopt_0_47_mxfp4", "compressed_tensors_0_20_mxfp4",
                 *(f"torchao_{version}_mxfp4_{mode}" for version in ("0_18", "main") for mode in modes),
                 "microxcaling_mxfp4_nearest", "microxcaling_mxfp4_even", "ggml_mxfp4", "gguf_0_19_mxfp4"))
    for name in ("mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2"):
        matrix(name, those(f"te_2_20_{name}", f"torchao_0_18_{name}_rceil", f"torchao_main_{name}_rceil",
                           f"torchao_0_18_{name}_floor", f"torchao_main_{name}_floor",
                           f"microxcaling_{name}_nearest", f"microxcaling_{name}_even"))
    matrix("FP8 with scales of float", those("torchao_0_18_float8_1x128", "compressed_tensors_0_20_fp8_1x128"))
    ends([line for line in lines.values() if line.size < 256 and line.elements == "e2m1"])


def name_of(line):
    """Returns the library's name of a recipe, less the elements if that is a template of them."""
    if line.name.startswith("gguf"):
        return "ggml_mxfp4"
    short = re.sub(r"mxfp[468](_e\dm\d)?_?", "", line.name)
    if short == line.name or line.name.startswith("compressed") or short.endswith("_") and line.elements == "e2m1":
        return line.name
    return short + "mx" if short.endswith("_") else short


def as_given(words, name):
    """Returns the bits of the floats that a package gets, whose type ends its recipe's name."""
    x = torch.from_numpy(words.view(numpy.float32))
    dtype = next((t for t in (torch.bfloat16, torch.float16) if name.endswith(f"_{str(t)[6:]}")), torch.float32)
    return x.to(dtype).float().numpy().view(numpy.uint32)


def wrong_blocks(line, magnitude, scales, codes):
    """Tells which blocks differ. What a NaN becomes is no recipe's promise."""
    def is_nan(scales):
        if line.scales == "float":
            return scales & 0x7FFFFFFF > inputs.INFINITY
        nan_scale = 255 if line.scales == "e8m0" else 127
        return scales & nan_scale == nan_scale

    # 0 * infinity is NaN too.
    nan_code = (magnitude == 0) & (line.codes_of & (7 if line.elements == "e2m1" else 31) != 0)
    if "mxfp4" in line.name or line.scales == "float":  # infinity over an infinite scale
        nan_code |= magnitude == inputs.INFINITY
    codes = ((codes != line.codes_of) & ~nan_code).any(-1) & ~is_nan(line.scales_of)
    scales = (scales != line.scales_of) & ~(is_nan(scales) & is_nan(line.scales_of))
    top = magnitude.max(-1)
    promised = top <= inputs.INFINITY
    if line.name.startswith("gg") and "mxfp4" in line.name:  # C leaves the conversion of a negative or infinite exponent undefined
        promised &= (top == 0) | ((top >= 0x01000000) & (top < inputs.INFINITY))
    return (scales | codes) & promised


def beside(path, lines):
    """Compares all scales and codes. Prints a block of each recipe that differs."""
    library = ctypes.CDLL(path)
    library.quantize_by_name.restype = ctypes.c_bool
    total, missing, wrong, texts = 0, [], 0, []
    for line in lines.values():
        words = numpy.array(line.words, numpy.uint32)
        scales, codes = (numpy.zeros_like(array) for array in (line.scales_of, line.codes_of))
        arrays = [[array[i].ctypes.data_as(ctypes.c_void_p) for array in (words, scales, codes)]
                  for i in range(len(words))]
        sizes = ctypes.c_size_t(inputs.BLOCKS), ctypes.c_size_t(line.size)
        if not all(library.quantize_by_name(name_of(line).encode(), line.elements.encode(), x, *sizes, s, c)
                   for x, s, c in arrays):
            missing.append(line.name)
            continue
        magnitude = as_given(words, line.name).reshape(codes.shape) & 0x7FFFFFFF
        different = wrong_blocks(line, magnitude, scales, codes)
        total += different.size
        wrong += different.sum()
        for tensor, block in numpy.argwhere(different)[:1]:
            bits = words.reshape(codes.shape)[tensor, block]
            lowp, theirs = (f"{scale[tensor, block]:02x} {code[tensor, block].tobytes().hex()}"
                            for scale, code in ((scales, codes), (line.scales_of, line.codes_of)))
            texts.append(f"{line.name}: {different.sum()} blocks differ; of tensor {tensor}, block {block}\n"
                         f"  {' '.join(f'{word:08x}' for word in bits)}\n  lowp   {lowp}\n  theirs {theirs}")
    for line in lines.values():
        for dtype, differ in line.by_type.items():
            wrong += differ
            if differ != 0:
                texts.append(f"{line.name}: {differ} codes of a tensor of {dtype} are not those of its floats")
    print("not compared:", " ".join(missing) or "none")
    print(*texts, sep="\n")
    print(f"{total} blocks beside packages, {len(lines) - len(missing)} recipes: {wrong} differ")
    sys.exit(bool(wrong))


def main():
    lines = packages.collect(BLOCKS, TILES)
    if sys.argv[1] != "table":
        beside(sys.argv[1], lines)
    else:
        with contextlib.redirect_stdout(io.StringIO()) as text:
            table(lines)
        page = pathlib.Path(__file__).with_name("README.md")
        before, rest = page.read_text().split(BEGIN)
        after = rest.split(END)[1]
        page.write_text(f"{before}{BEGIN}{text.getvalue()}\n{END}{after}")


if __name__ == "__main__":
    main()
