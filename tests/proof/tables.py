# SPDX-License-Identifier: Apache-2.0
"""Tables in exact fractions, as bit-vector terms."""
import struct

from bv import bits, ite

NAN, INFINITY = 0x7fc00000, 0x7f800000


def float_pattern(value):
    """Returns the pattern of a fraction that is a float."""
    pattern = int.from_bytes(struct.pack('>f', float(value)), 'big')
    assert struct.unpack('>f', pattern.to_bytes(4, 'big'))[0] == value
    return pattern


def lookup(entries, index, width):
    """Returns entries[index], by bisection; equal neighbours share a leaf."""
    ends = [0] * len(entries)  # the end of the run of equal entries that begins here
    for place in reversed(range(len(entries))):
        same = place + 1 < len(entries) and entries[place + 1] == entries[place]
        ends[place] = ends[place + 1] if same else place + 1

    def search(first, last):
        if ends[first] > last:
            return bits(entries[first], width)
        middle = (first + last + 1) // 2
        return ite(index >= middle, search(middle, last), search(first, middle - 1))

    return search(0, len(entries) - 1)


def distance(target, function, code):
    """Returns the float pattern of ulp, gap_above or gap_below of a code."""
    magnitude = code & (1 << target.magnitude_bits) - 1
    negative = code >= target.sign > 0
    if magnitude > target.largest or (target.kind == 'fnuz' and code == target.nan):
        return NAN
    if function == 'ulp':
        return float_pattern(target.value(magnitude + 1) - target.value(magnitude))
    outward = negative == (function == 'gap_below')
    if magnitude == 0 and target.signed:  # both neighbours of zero are the smallest numbers
        return float_pattern(target.value(1))
    if not outward:
        return (float_pattern(target.value(magnitude) - target.value(magnitude - 1))
                if magnitude else NAN)
    if magnitude == target.largest:
        return INFINITY if target.infinity is not None else NAN
    return float_pattern(target.value(magnitude + 1) - target.value(magnitude))
