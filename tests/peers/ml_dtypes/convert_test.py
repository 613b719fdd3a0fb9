# SPDX-License-Identifier: Apache-2.0
"""Compares conversions of every format with ml_dtypes, under the preset of its name.

Inputs are all codes, each rounding boundary with its neighbours, and floats in every stretch of
2^12. Five disagreements are known; each is asserted where it lies, so that it cannot drift:

- numpy's float16 leaves a signalling NaN signalling; the library makes every NaN quiet.
- float8_e8m0fnu is rounded with ties away from zero, which is `nearest_away`.
- ml_dtypes rounds float8_e8m0fnu up to 2^-126 from anywhere between 2^-127 and 1.5 * 2^-127.
- ml_dtypes makes a float8_e8m0fnu of 1.5 * 2^127 and more NaN; there is no preset for this format.
- ml_dtypes rounds a double to float first, so twice.
"""
import ctypes
import sys

import ml_dtypes
import numpy as np

FORMATS = ['float16', 'bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'float8_e4m3', 'float8_e3m4',
           'float8_e4m3fnuz', 'float8_e5m2fnuz', 'float8_e4m3b11fnuz', 'float8_e8m0fnu',
           'float6_e2m3fn', 'float6_e3m2fn', 'float4_e2m1fn']
BITS = {'float16': 16, 'bfloat16': 16, 'float6_e2m3fn': 6, 'float6_e3m2fn': 6, 'float4_e2m1fn': 4}
library = ctypes.CDLL(sys.argv[1])
for function in (library.encode, library.encode_doubles, library.decode):
    function.restype = ctypes.c_bool


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def lowp_codes(name, x, away=False):
    out = np.empty(x.size, np.uint16 if BITS.get(name) == 16 else np.uint8)
    if x.dtype == np.float32:
        arguments = (library.encode, ctypes.c_bool(away))
    else:
        arguments = (library.encode_doubles,)
    assert arguments[0](name.encode(), pointer(x), pointer(out), ctypes.c_size_t(x.size),
                        *arguments[1:]), name
    return out


def peer_codes(type, x):
    with np.errstate(all='ignore'):
        y = x.astype(type)
    return y.view(np.uint16 if y.itemsize == 2 else np.uint8)


def all_values(name, type):
    """Returns the values of all codes in both packages."""
    codes = np.arange(1 << BITS.get(name, 8)).astype(np.uint16 if BITS.get(name) == 16 else np.uint8)
    ours = np.empty(codes.size, np.float32)
    assert library.decode(name.encode(), pointer(codes), pointer(ours), ctypes.c_size_t(codes.size))
    return ours, codes.view(type).astype(np.float32)


def boundaries(values):
    """Returns values and their midpoints, with two floats to either side."""
    finite = np.unique(values[np.isfinite(values)]).astype(np.float64)
    ends = finite[[0, -1]] * 1.0625
    points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, ends, finite[[0, -1]] * 2])
    with np.errstate(all='ignore'):
        bits = points.astype(np.float32).view(np.uint32)
    return np.concatenate([(bits + np.uint32(d & 0xffffffff)) for d in (-2, -1, 0, 1, 2)])


def inputs(values):
    every = np.arange(1 << 20, dtype=np.uint32) << 12
    dense = [every | low for low in (0, 1, 0x7ff, 0x800, 0x801, 0xfff)]
    return np.concatenate([boundaries(values), *dense]).view(np.float32)


def compare_floats(name, type, x):
    """Returns the number of inputs; stops at a difference that is not a known one."""
    bits = x.view(np.uint32)
    away = name == 'float8_e8m0fnu'
    ours, theirs = lowp_codes(name, x, away), peer_codes(type, x)
    known = np.zeros(x.size, bool)
    if name == 'float16':
        known = (bits & 0x7fffffff > 0x7f800000) & (bits & 0x400000 == 0)
        # A payload that numpy would lose becomes 1, so that the NaN does not become infinity.
        kept = theirs == np.where(bits & 0x007fe000 == 0, theirs & 0xfc00 | 1, ours & ~np.uint16(0x200))
        assert kept[known].all() and known.any(), 'float16: signalling NaN'
    if away:
        known = (bits > 0x00400000) & (bits < 0x00600000)
        assert (theirs[known] == 1).all() and (ours[known] == 0).all() and known.any(), name
        above = (bits >= 0x7f400000) & (bits <= 0x7f800000)
        assert (theirs[above] == 0xff).all() and (ours[above] == 0xfe).all() and above.any(), name
        known |= above
    wrong = (ours != theirs) & ~known
    if wrong.any():
        i = np.flatnonzero(wrong)[0]
        sys.exit(f'{name}: {wrong.sum()} differ; of {bits[i]:08x} lowp has {ours[i]:x}, '
                 f'ml_dtypes {theirs[i]:x}')
    return x.size


def compare_doubles(name, type, values):
    """A double just above a tie must go up; ml_dtypes sees the tie alone."""
    finite = np.unique(values[np.isfinite(values) & (values > 0)]).astype(np.float64)
    ties = (finite[1:] + finite[:-1]) / 2
    ties = ties[ties > 2.0**-120]
    x = np.nextafter(ties, np.inf)
    ours, theirs = lowp_codes(name, x), peer_codes(type, x)
    upper = lowp_codes(name, finite[1:][-ties.size:].astype(np.float32))
    assert (ours == upper).all(), f'{name}: doubles are rounded twice'
    if name == 'float16':
        assert (theirs == ours).all(), 'numpy rounds a double to float16 once'
    elif name != 'float8_e8m0fnu':
        lost = (theirs != ours).sum()
        assert 0 < lost == (upper % 2 == 1).sum(), f'{name}: ml_dtypes rounds {lost} doubles twice'


def main():
    count = 0
    for name in FORMATS:
        type = np.float16 if name == 'float16' else np.dtype(getattr(ml_dtypes, name))
        ours, theirs = all_values(name, type)
        assert np.array_equal(ours, theirs, equal_nan=True), f'{name}: codes'
        assert (np.signbit(ours) == np.signbit(theirs))[~np.isnan(ours)].all(), f'{name}: zeros'
        count += ours.size + compare_floats(name, type, inputs(ours))
        compare_doubles(name, type, ours)
    print(f'SUMMARY: {count} conversions beside ml_dtypes {ml_dtypes.__version__}: 0 differ')


main()
