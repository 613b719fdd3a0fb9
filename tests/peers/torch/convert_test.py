# SPDX-License-Identifier: Apache-2.0
"""Compares conversions of PyTorch's formats, under the preset of its name.

Inputs are all codes, each rounding boundary with its neighbours, and floats in every stretch of
2^12. The known disagreements are asserted where they lie, so that they cannot drift:

- a bfloat16 NaN is 7fc0 in c10, which the preset follows, and ffff in the AVX kernels.
- float8_e8m0fnu: ties go away from zero, which is `nearest_away`; what lies between 2^-127 and
  1.5 * 2^-127 becomes 2^-126; 1.5 * 2^127 and more is NaN; a negative value loses its sign, and
  zero becomes 2^-127. No preset exists for this format.
"""
import numpy as np
import torch

import convert

FORMATS = ['float16', 'bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'float8_e4m3fnuz',
           'float8_e5m2fnuz', 'float8_e8m0fnu']


def peer_codes(name, x):
    y = torch.from_numpy(x).to(getattr(torch, name))
    return y.view(torch.uint16 if y.itemsize == 2 else torch.uint8).numpy()


def compare_e8m0(name, x):
    magnitude = np.abs(x)
    bits = magnitude.view(np.uint32)
    ours, theirs = convert.encode(name, magnitude, 'torch', away=True), peer_codes(name, x)
    known = np.zeros(x.size, bool)
    for where, lowp, torchs in (((bits > 0x00400000) & (bits < 0x00600000), 0, 1), (bits == 0, 255, 0),
                                ((bits >= 0x7f400000) & (bits <= 0x7f800000), 254, 255)):
        assert where.any() and (ours[where] == lowp).all() and (theirs[where] == torchs).all(), name
        known |= where
    convert.stop_at_difference(name, x, ours, theirs, known)


def compare(name, x):
    ours, theirs = convert.encode(name, x, 'torch'), peer_codes(name, x)
    known = np.isnan(x) if name == 'bfloat16' else np.zeros(x.size, bool)
    assert (ours[known] == 0x7fc0).all() and np.isin(theirs[known], [0x7fc0, 0xffff]).all(), name
    convert.stop_at_difference(name, x, ours, theirs, known)


def main():
    count = 0
    for name in FORMATS:
        codes = convert.all_codes(name)
        ours = convert.decode(name, codes)
        theirs = torch.from_numpy(codes).view(getattr(torch, name)).float().numpy()
        assert np.array_equal(ours, theirs, equal_nan=True), f'{name}: codes'
        x = convert.inputs(name)
        (compare_e8m0 if name == 'float8_e8m0fnu' else compare)(name, x)
        count += codes.size + x.size
    print(f'SUMMARY: {count} conversions beside PyTorch {torch.__version__}: 0 differ')


main()
