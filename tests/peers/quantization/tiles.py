# SPDX-License-Identifier: Apache-2.0
"""Compares the tiles of scales of the library built from quantize.cpp with torchao's to_blocked: python tiles.py LIBRARY"""

import ctypes
import sys

import numpy
import torch


def main():
    try:
        from torchao.prototype.mx_formats.utils import to_blocked
    except ImportError as error:
        print(f"without torchao: {error}")
        return
    library = ctypes.CDLL(sys.argv[1])
    wrong = 0
    shapes = [(1, 1), (128, 4), (129, 5), (300, 11), (1000, 64)]
    for rows, columns in shapes:
        scales = (numpy.arange(rows * columns) * 31 % 126 + 1).astype(numpy.uint8)
        theirs = to_blocked(torch.from_numpy(scales).view(rows, columns)).numpy()
        mine = numpy.full(theirs.shape, 255, numpy.uint8)
        library.tile_scales(*(array.ctypes.data_as(ctypes.c_void_p) for array in (scales, mine)),
                            *map(ctypes.c_size_t, (rows, columns)))
        wrong += int((mine != theirs).sum())
    print(f"{len(shapes)} matrices of scales in tiles: {wrong} scales differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
