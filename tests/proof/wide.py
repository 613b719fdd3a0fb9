# SPDX-License-Identifier: Apache-2.0
"""Rounding in integers that hold every digit of the position between two neighbours.

With q the distance of the neighbours, |x| = nu * q. The lower neighbour is floor(nu) * q.
"""
import bv
from bv import bits, concat, ite


def position(target, x, digits):
    """Returns the code toward zero, `digits` digits of the fraction of nu, and if any digit after
    them is set. A number below the smallest value of a format without zero has no position."""
    zeros = bv.leading_zeros(x.significand)
    p = x.significand.width
    leading = x.significand << zeros
    exponent = ite(x.zero, bits(-40000, 32), x.exponent + (p - 1) - zeros.fit(32))
    small = exponent.slt(target.least_exponent)
    grid = ite(small, bits(target.least_exponent, 32), exponent)
    depth = grid - exponent
    # nu * 2^digits = leading * 2^(digits + target.precision - p - depth)
    room = digits + target.precision
    width = max(p + room, 33)
    whole = leading.zext(width) << room
    shift = depth.zext(width) + p
    steps = whole >> shift
    rest = (steps << shift) != whole
    rest = ite(shift >= width, whole != 0, rest)
    base = (grid - target.least_exponent).sext(64) << target.fraction_bits
    lower = base + (steps >> digits).fit(64)
    if target.kind == 'fnu':
        lower = lower - 1
    return lower, steps.fit(digits), rest, small


def without_zero(target, small, code):
    """A format without zero rounds what lies below its smallest value to that value."""
    return ite(small, bits(0, 64), code) if target.kind == 'fnu' else code


def rounded(target, mode, x):
    lower, fraction, rest, small = position(target, x, 2)
    odd = lower.is_set(0)
    inexact = (fraction != 0) | rest
    above_half = (fraction == 3) | ((fraction == 2) & rest)
    half = (fraction == 2) & ~rest
    up = {'nearest_even': above_half | (half & odd), 'nearest_away': above_half | half,
          'toward_zero': bv.truth(False), 'upward': inexact & ~x.negative,
          'downward': inexact & x.negative, 'to_odd': inexact & ~odd}[mode]
    return without_zero(target, small, lower + ite(up, bits(1, 64), 0))


def stochastic(target, x, draw):
    """Rounds the fraction to the nearest multiple of 2^-16, half up, and adds the draw."""
    lower, fraction, _, small = position(target, x, 17)
    nearest = (fraction.zext(32) + 1) >> 1
    up = nearest + draw.zext(32) >= 65536
    return without_zero(target, small, lower + ite(up, bits(1, 64), 0))
