# SPDX-License-Identifier: Apache-2.0
"""Conversions of the library built from convert.cpp, and the inputs of comparisons."""
import ctypes
import sys

import numpy as np

BITS = {'float16': 16, 'bfloat16': 16, 'float6_e2m3fn': 6, 'float6_e3m2fn': 6, 'float4_e2m1fn': 4}
library = ctypes.CDLL(sys.argv[1])
for function in (library.encode, library.encode_doubles, library.decode):
    function.restype = ctypes.c_bool


def storage(name):
    return np.uint16 if BITS.get(name) == 16 else np.uint8


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def converted(function, name, x, type, *arguments):
    out = np.empty(x.size, type)
    assert function(name.encode(), pointer(x), pointer(out), ctypes.c_size_t(x.size), *arguments), name
    return out


def encode(name, x, preset, away=False):
    """Returns the codes of an array of floats, or of doubles under the preset ml_dtypes."""
    if x.dtype == np.float64:
        return converted(library.encode_doubles, name, x, storage(name))
    return converted(library.encode, name, x, storage(name), ctypes.c_bool(away),
                     ctypes.c_char_p(preset.encode()))


def all_codes(name):
    return np.arange(1 << BITS.get(name, 8)).astype(storage(name))


def decode(name, codes):
    return converted(library.decode, name, codes, np.float32)


def boundaries(values):
    """Returns the bits of values and of their midpoints, with two floats to either side."""
    finite = np.unique(values[np.isfinite(values)]).astype(np.float64)
    ends = finite[[0, -1]]
    points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, ends * 1.0625, ends * 2])
    with np.errstate(all='ignore'):
        bits = points.astype(np.float32).view(np.uint32)
    return np.concatenate([bits + np.uint32(d & 0xffffffff) for d in (-2, -1, 0, 1, 2)])


def inputs(name):
    """Returns floats at each rounding boundary of a format, and six in every stretch of 2^12."""
    every = np.arange(1 << 20, dtype=np.uint32) << 12
    dense = [every | low for low in (0, 1, 0x7ff, 0x800, 0x801, 0xfff)]
    return np.concatenate([boundaries(decode(name, all_codes(name))), *dense]).view(np.float32)


def stop_at_difference(name, x, ours, theirs, known):
    """Stops at a difference that is not a known one."""
    wrong = (ours != theirs) & ~known
    if wrong.any():
        i = np.flatnonzero(wrong)[0]
        sys.exit(f'{name}: {wrong.sum()} differ; of {x.view(np.uint32)[i]:08x} lowp has '
                 f'{ours[i]:x}, the package {theirs[i]:x}')
