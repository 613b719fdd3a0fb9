# SPDX-License-Identifier: Apache-2.0
"""Types from which a conversion starts: their arguments, parts and exact values."""
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import bv
from bv import bit, bits, concat, ite, truth


def floor_log2(value):
    """Returns the exponent of a positive fraction's leading bit."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent if value >= Fraction(2) ** exponent else exponent - 1


@dataclass
class Number:
    """A source's value in parts. Zero, infinity and NaN are told by conditions."""
    negative: bv.Bool
    nan: bv.Bool
    infinite: bv.Bool
    zero: bv.Bool
    magnitude: bv.Bits  # grows with the absolute value
    significand: bv.Bits  # |x| = significand * 2^exponent
    exponent: bv.Bits  # 32 bits, signed
    fraction: bv.Bits  # of a NaN, leading bit first
    fp: object  # in SMT-LIB: mode, shape -> the rounded value
    valid: bv.Bool = truth(True)


@dataclass(frozen=True)
class FloatSource:
    name: str
    cpp: str
    exponent_bits: int
    precision: int
    explicit_one: bool = False  # the leading bit of the significand is stored

    @property
    def arguments(self):
        if self.explicit_one:
            return ['std::uint64_t', 'std::uint16_t']
        return [f'std::uint{self.exponent_bits + self.precision}_t']

    @property
    def space(self):
        return self.exponent_bits + self.precision

    @property
    def least_exponent(self):
        return 2 - (1 << self.exponent_bits - 1)

    def least(self, bound, strictly):
        """Returns the least magnitude at or above a bound, or above it. None stands for no number."""
        if bound == 0:
            return int(strictly)
        exponent = max(floor_log2(bound), self.least_exponent)
        steps = bound / Fraction(2) ** (exponent - self.precision + 1)
        count = floor(steps) + 1 if strictly else ceil(steps)
        place = (exponent - self.least_exponent << self.precision - 1) + count
        infinity = (1 << self.exponent_bits) - 1 << self.precision - 1
        return place if place < infinity else None

    def number(self, inputs):
        p = self.precision
        if self.explicit_one:
            stored, head = inputs
            pattern = concat(head, stored[p - 2:0])
        else:
            pattern, = inputs
        magnitude = pattern[pattern.width - 2:0]
        field, fraction = magnitude[magnitude.width - 1:p - 1], magnitude[p - 2:0]
        ones = field == -1
        normal = field != 0
        lowest = self.least_exponent - p + 1
        exponent = ite(normal, field.zext(32) + (lowest - 1), lowest)
        fp = bv.fp_of_pattern(pattern, self.exponent_bits, p)
        # The codes that x87 calls invalid are no values: their leading bit contradicts the exponent.
        valid = stored[63].is_set(0).same(normal) if self.explicit_one else truth(True)
        return Number(
            negative=pattern.is_set(pattern.width - 1), nan=ones & (fraction != 0),
            infinite=ones & (fraction == 0), zero=magnitude == 0, magnitude=magnitude,
            significand=concat(bit(normal), fraction), exponent=exponent, fraction=fraction,
            fp=lambda mode, *shape: bv.fp_round(mode, fp, *shape), valid=valid)


@dataclass(frozen=True)
class IntegerSource:
    name: str
    cpp: str
    width: int
    signed: bool

    @property
    def arguments(self):
        return [f'std::uint{self.width}_t']

    @property
    def space(self):
        return self.width

    def least(self, bound, strictly):
        place = floor(bound) + 1 if strictly else ceil(bound)
        return place if place < 1 << self.width else None

    def number(self, inputs):
        x, = inputs
        negative = x.slt(0) if self.signed else truth(False)
        magnitude = ite(negative, -x, x)
        return Number(
            negative=negative, nan=truth(False), infinite=truth(False), zero=x == 0,
            magnitude=magnitude, significand=magnitude, exponent=bits(0, 32),
            fraction=bits(0, 32), fp=lambda mode, *shape: bv.fp_of_integer(mode, x, self.signed, *shape))


SOURCES = [
    FloatSource('float', 'float', 8, 24),
    FloatSource('double', 'double', 11, 53),
    FloatSource('long_double', 'long double', 15, 64, explicit_one=True),
    IntegerSource('int32', 'std::int32_t', 32, True),
    IntegerSource('uint32', 'std::uint32_t', 32, False),
    IntegerSource('int64', 'std::int64_t', 64, True),
    IntegerSource('uint64', 'std::uint64_t', 64, False),
]
BY_NAME = {source.name: source for source in SOURCES}
