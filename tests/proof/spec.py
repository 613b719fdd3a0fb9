# SPDX-License-Identifier: Apache-2.0
"""The specification of a conversion: one rounding of the exact value, overflow decided after it.

It is written from the design's arithmetic, and takes nothing from the library.

A rounded magnitude is a code on a grid without upper end. Three ways find it, and share nothing:

    smt     SMT-LIB's floating point
    table   thresholds in exact fractions
    wide    integers that hold every digit (wide.py)
"""
import struct
from fractions import Fraction

import bv
import wide
from bv import bits, ite, truth, unknown

MODES = ['nearest_even', 'nearest_away', 'toward_zero', 'upward', 'downward', 'to_odd']
SMT_MODES = {'nearest_even': bv.RNE, 'nearest_away': bv.RNA, 'toward_zero': bv.RTZ, 'upward': bv.RTP,
             'downward': bv.RTN, 'to_odd': bv.RTZ}


def by_smt(target, mode, x):
    """Returns the rounded magnitude and the assumption that defines it."""
    exact = x.fp(SMT_MODES[mode], *target.smt)
    code = unknown(target.width, f'rounded_{mode}')
    assumed = bv.fp_same(bv.fp_of_pattern(code, *target.smt), exact)
    magnitude = code[target.magnitude_bits - 1:0]
    if mode == 'to_odd':
        inexact = ~bv.fp_same(x.fp(bv.RTP, *target.smt), x.fp(bv.RTN, *target.smt))
        magnitude = magnitude | ite(inexact, bits(1, magnitude.width), 0)
    return magnitude, assumed


def threshold(target, rule, code):
    """Returns the bound that a magnitude reaches, or exceeds, if it rounds to this code or beyond."""
    below, value = target.value(code - 1), target.value(code)
    middle = (below + value) / 2
    return {'nearest_even': (middle, code % 2 == 1), 'nearest_away': (middle, False),
            'toward_zero': (value, False), 'away': (below, True),
            'to_odd': (below, True) if code % 2 else (value, False)}[rule]


def table(target, source, rule, magnitude):
    """Returns the code of the last threshold that a magnitude passes, by bisection."""
    limits = [None] + [source.least(*threshold(target, rule, code))
                       for code in range(1, target.largest + 2)]
    width = target.magnitude_bits + 1

    def search(first, last):
        if first == last:
            return bits(first, width)
        middle = (first + last + 1) // 2
        if limits[middle] is None:
            return search(first, middle - 1)
        return ite(magnitude >= limits[middle], search(middle, last), search(first, middle - 1))

    return search(0, target.largest + 1)


def by_table(target, source, mode, x):
    if mode in ('upward', 'downward'):
        away = x.negative if mode == 'downward' else ~x.negative
        return ite(away, table(target, source, 'away', x.magnitude),
                   table(target, source, 'toward_zero', x.magnitude))
    return table(target, source, mode, x.magnitude)


def inward(mode, negative):
    """Says if an overflow gives the largest finite value, whatever the policy."""
    return {'toward_zero': truth(True), 'to_odd': truth(True), 'upward': negative,
            'downward': ~negative}.get(mode, truth(False))


def special_codes(target, policy):
    """Returns four facts: the code of a finite overflow and the code of an infinity, both without
    sign; the codes of a NaN by sign, without payload; true if a NaN keeps its payload."""
    if target.infinity is not None:
        beyond = target.infinity
    elif target.nan is not None:
        beyond = target.nan
    else:
        beyond = target.largest
    if policy == 'saturate':
        beyond = target.largest
    if target.kind in ('fnuz', 'fnu', 'uz'):
        nans = (target.nan, target.nan)
    elif target.kind == 'none':
        nans = (target.sign, target.sign)
    else:
        nans = (target.nan, target.nan | target.sign)
    return beyond, beyond, nans, target.kind == 'ieee'


def finish(target, mode, codes, x, magnitude):
    """Returns the code of a number whose magnitude is rounded."""
    overflowed, infinite, nans, keeps_payload = codes
    width = target.storage
    sign = ite(x.negative, bits(target.sign, width), 0)
    magnitude = magnitude.fit(64)
    beyond = ite(inward(mode, x.negative), bits(target.largest, 64), overflowed)
    finite = ite(magnitude > target.largest, beyond, magnitude).fit(width)
    nan = ite(x.negative, bits(nans[1], width), nans[0])
    if keeps_payload:
        have, want = x.fraction.width, target.fraction_bits
        payload = x.fraction[have - 1:have - want] if have >= want else bv.concat(
            x.fraction, bits(0, want - have))
        nan = nan | payload.zext(width)
    if target.kind == 'fnu':
        return ite(x.nan | x.zero | x.negative, bits(target.nan, width),
                   ite(x.infinite, bits(infinite, width), finite))
    if target.kind == 'uz':
        below = 0 if overflowed == target.largest else target.nan
        inside = (magnitude == 0) | truth(mode in ('toward_zero', 'upward'))
        finite = ite(x.negative, ite(inside, bits(0, width), below), finite)
        infinity = ite(x.negative, bits(below, width), infinite)
        return ite(x.nan, bits(target.nan, width), ite(x.infinite, infinity, finite))
    if target.kind == 'fnuz':  # zero and NaN have one code
        finite = ite(finite == 0, finite, finite | sign)
    else:
        finite = finite | sign
    return ite(x.nan, nan, ite(x.infinite, bits(infinite, width) | sign, finite))


def way_of(target):
    """Chooses how a deterministic mode is specified."""
    return 'smt' if target.is_smt else 'table' if target.width <= 8 else 'wide'


def converted(target, source, mode, codes, x, draw=None, way=None):
    """Returns the code that a number becomes, and what defines it."""
    way = way or way_of(target)
    assumed = []
    if mode == 'stochastic':
        magnitude = wide.stochastic(target, x, draw)
    elif way == 'smt':
        magnitude, definition = by_smt(target, mode, x)
        assumed.append(definition)
    elif way == 'table':
        magnitude = by_table(target, source, mode, x)
    else:
        magnitude = wide.rounded(target, mode, x)
    return finish(target, mode, codes, x, magnitude), assumed



def decoded(target, code):
    """Returns the pattern of the float with the value of a code, and what defines it."""
    magnitude = code[target.magnitude_bits - 1:0]
    negative = code.is_set(target.width - 1) if target.signed else truth(False)
    sign = ite(negative, bits(1 << 31, 32), 0)
    assumed = []
    if target.is_smt:
        finite = unknown(32, 'widened')
        assumed.append(bv.fp_same(bv.fp_of_pattern(finite, 8, 24), bv.fp_round(
            bv.RNE, bv.fp_of_pattern(code.trunc(target.width), *target.smt), 8, 24)))
    else:
        finite = value_table(target, magnitude) | sign
    if target.kind == 'none':
        return finite, assumed
    if target.kind == 'ieee':
        nan = magnitude > target.infinity
        payload = magnitude.zext(32) << (23 - target.fraction_bits)
        quiet = 0 if target.name == 'bfloat16' else 1 << 22
        return ite(nan, payload | 0x7f800000 | quiet | sign, finite), assumed
    nan = code.trunc(target.width) == target.nan
    if target.kind == 'fn':
        nan = magnitude == target.nan
        return ite(nan, sign | 0x7fc00000, finite), assumed
    return ite(nan, bits(0x7fc00000, 32), finite), assumed


def value_table(target, magnitude):
    """Returns the float pattern of every magnitude of a format, by bisection."""
    def search(first, last):
        if first == last:
            value = min(target.value(first), Fraction(2) ** 127)  # a NaN's place may lie beyond
            return bits(int.from_bytes(struct.pack('>f', float(value)), 'big'), 32)
        middle = (first + last + 1) // 2
        return ite(magnitude >= middle, search(middle, last), search(first, middle - 1))

    return search(0, (1 << target.magnitude_bits) - 1)
