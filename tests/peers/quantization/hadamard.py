# SPDX-License-Identifier: Apache-2.0
"""Transformer Engine's random Hadamard transform of bfloat16, and what it quantizes then.

python hadamard.py           writes tests/quantization/vectors/te_2_20_hadamard.txt
python hadamard.py LIBRARY   compares the library built from quantize.cpp with the package
"""

import ctypes
import pathlib
import sys

import numpy
import torch

import inputs
import packages

FILE = pathlib.Path(__file__).parents[2] / "quantization" / "vectors" / "te_2_20_hadamard.txt"
HEAD = """# package: transformer-engine 2.20.2: pytorch/custom_recipes/reference_nvfp4.py
# call: NVFP4QuantizerRef._apply_rht(x), with_rht, with_random_sign_mask; quantized as te_2_20_nvfp4_1x16
# line: 16 bfloat16, those 16 transformed, the scale's code, the elements' codes: one tensor
"""


def blocks(count):
    """Returns bfloat16 numbers whose sums float holds: 8 bits, over 12 octaves of a block."""
    draws = numpy.array([[inputs.draw(9, b, e, 0) for e in range(16)] for b in range(count)], numpy.uint64)
    significands = (draws & 0xFF).astype(numpy.float32) * numpy.where(draws >> 8 & 1, -1, 1)
    octaves = (draws >> 9 & 0xFFFF) % 13 + (draws[:, :1] >> 32) % 12
    return torch.from_numpy((significands * 2.0 ** (octaves.astype(numpy.float64) - 16)).astype(numpy.float32)).bfloat16()


def answers(x):
    """Returns the transformed numbers, the scales' codes and the elements' codes."""
    packages.transformer_engine()
    reference = sys.modules["transformer_engine.pytorch.custom_recipes.reference_nvfp4"].NVFP4QuantizerRef
    quantizer = reference.__new__(reference)
    quantizer.with_rht = quantizer.with_random_sign_mask = True
    quantizer.quant_tile_shape = (1, 16)
    y = quantizer._apply_rht(x)
    codes, scales = packages.RECIPES["te_2_20_nvfp4_1x16"].function(y.float(), y.abs().max().float().view(1))[::-1]
    return y, scales.view(torch.uint8), codes


def words(x):
    return x.view(torch.int16).numpy().view(numpy.uint16)


def main():
    x = blocks(32 if len(sys.argv) == 1 else 4096)
    try:
        y, scales, codes = answers(x)
    except ImportError as error:
        print(f"without transformer_engine: {error}")
        return
    codes = codes.to(torch.uint8).numpy()
    if len(sys.argv) == 1:
        lines = [f"{a.astype('>u2').tobytes().hex()} {b.astype('>u2').tobytes().hex()} {int(s):02x} "
                 f"{(c[::2] | c[1::2] << 4).tobytes().hex()}" for a, b, s, c in zip(words(x), words(y), scales, codes)]
        FILE.write_text(HEAD + "\n".join(lines) + "\n")
        return
    library = ctypes.CDLL(sys.argv[1])
    mine = [numpy.zeros_like(words(y)), numpy.zeros(len(x), numpy.uint8), numpy.zeros_like(codes)]
    library.transform_and_quantize(*(array.ctypes.data_as(ctypes.c_void_p) for array in (words(x), *mine)),
                                   ctypes.c_size_t(len(x)))
    theirs = (words(y), scales.numpy().reshape(-1), codes)
    wrong = [int((a != b).sum()) for a, b in zip(mine, theirs)]
    print(f"{len(x)} blocks transformed: {wrong[0]} elements, {wrong[1]} scales and {wrong[2]} codes differ")
    sys.exit(any(wrong))


if __name__ == "__main__":
    main()
