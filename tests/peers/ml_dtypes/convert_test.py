# SPDX-License-Identifier: Apache-2.0
"""Compares conversions of every format with ml_dtypes, under the preset of its name.

Inputs are all codes, each rounding boundary with its neighbours, and floats in every stretch of
2^12. Five disagreements are known; each is asserted where it lies, so that it cannot drift:

- numpy's float16 leaves a signalling NaN signalling; the library makes every NaN quiet.
- float8_e8m0fnu is rounded with ties away from zero, which is `nearest_away`.
- ml_dtypes before 0.7 rounds float8_e8m0fnu up to 2^-126 from anywhere between 2^-127 and 1.5 * 2^-127.
- ml_dtypes makes a float8_e8m0fnu of 1.5 * 2^127 and more NaN; there is no preset for this format.
- ml_dtypes before 0.7 rounds a double to float first, so twice.
"""
import ml_dtypes
import numpy as np

import convert

FORMATS = ['float16', 'bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'float8_e4m3', 'float8_e3m4',
           'float8_e4m3fnuz', 'float8_e5m2fnuz', 'float8_e4m3b11fnuz', 'float8_e8m0fnu',
           'float6_e2m3fn', 'float6_e3m2fn', 'float4_e2m1fn']

IS_BEFORE_0_7 = tuple(map(int, ml_dtypes.__version__.split('.')[:2])) < (0, 7)


def lowp_codes(name, x, away=False):
    return convert.encode(name, x, 'ml_dtypes', away)


def peer_codes(type, x):
    with np.errstate(all='ignore'):
        y = x.astype(type)
    return y.view(np.uint16 if y.itemsize == 2 else np.uint8)


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
        known = IS_BEFORE_0_7 & (bits > 0x00400000) & (bits < 0x00600000)
        assert (theirs[known] == 1).all() and (ours[known] == 0).all() and known.any() == IS_BEFORE_0_7, name
        above = (bits >= 0x7f400000) & (bits <= 0x7f800000)
        assert (theirs[above] == 0xff).all() and (ours[above] == 0xfe).all() and above.any(), name
        known |= above
    convert.stop_at_difference(name, x, ours, theirs, known)
    return x.size


def compare_doubles(name, type, values):
    """A double just above a tie must go up; ml_dtypes before 0.7 sees the tie alone."""
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
        expected = (upper % 2 == 1).sum() if IS_BEFORE_0_7 else 0
        assert lost == expected and (upper % 2 == 1).any(), f'{name}: ml_dtypes rounds {lost} doubles twice'


def main():
    count = 0
    for name in FORMATS:
        type = np.float16 if name == 'float16' else np.dtype(getattr(ml_dtypes, name))
        codes = convert.all_codes(name)
        ours, theirs = convert.decode(name, codes), codes.view(type).astype(np.float32)
        assert np.array_equal(ours, theirs, equal_nan=True), f'{name}: codes'
        assert (np.signbit(ours) == np.signbit(theirs))[~np.isnan(ours)].all(), f'{name}: zeros'
        count += ours.size + compare_floats(name, type, convert.inputs(name))
        compare_doubles(name, type, ours)
    print(f'SUMMARY: {count} conversions beside ml_dtypes {ml_dtypes.__version__}: 0 differ')


main()
