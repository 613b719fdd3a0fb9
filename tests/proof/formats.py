# SPDX-License-Identifier: Apache-2.0
"""Number formats as facts, written from their standards, and the exact values of their codes."""
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Format:
    """A format with sign, exponent and fraction fields. `kind` says which codes are no numbers:

        ieee    exponent all ones: infinity, or NaN
        fn      all ones below the sign: NaN
        fnuz    a sign and nothing else: NaN
        fnu     no sign; all ones: NaN; no zero
        uz      no sign; all ones: NaN; what lies below zero is out of range
        none    every code is a number
    """
    name: str
    exponent_bits: int
    fraction_bits: int
    bias: int
    kind: str = 'ieee'

    @property
    def cpp(self):
        return 'float' if self.name == 'float' else f'lowp::{self.name}'

    @property
    def precision(self):
        return self.fraction_bits + 1

    @property
    def signed(self):
        return self.kind not in ('fnu', 'uz')

    @property
    def magnitude_bits(self):
        return self.exponent_bits + self.fraction_bits

    @property
    def width(self):
        return self.magnitude_bits + self.signed

    @property
    def storage(self):
        return 8 if self.width <= 8 else 16 if self.width <= 16 else 32

    @property
    def sign(self):
        return 1 << self.magnitude_bits if self.signed else 0

    @property
    def least_exponent(self):
        """The exponent of the smallest normal number."""
        return (1 if self.kind != 'fnu' else 0) - self.bias

    @property
    def infinity(self):
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits if self.kind == 'ieee' else None

    @property
    def largest(self):
        """The code of the largest finite value."""
        ones = (1 << self.magnitude_bits) - 1
        return (self.infinity or 0) - 1 if self.kind == 'ieee' else ones - (self.kind in ('fn', 'fnu', 'uz'))

    @property
    def nan(self):
        """The code of the quiet NaN without sign and payload, or None."""
        ones = (1 << self.magnitude_bits) - 1
        return {'ieee': (self.infinity or 0) | 1 << max(self.fraction_bits - 1, 0), 'fn': ones,
                'fnu': ones, 'uz': ones, 'fnuz': self.sign, 'none': None}[self.kind]

    @property
    def is_smt(self):
        """Says that SMT-LIB has a sort of this shape."""
        return self.kind == 'ieee' and self.bias == (1 << self.exponent_bits - 1) - 1

    @property
    def smt(self):
        return self.exponent_bits, self.precision

    def value(self, code):
        """Returns the value of a code without sign. Codes beyond the largest continue its grid."""
        field, fraction = code >> self.fraction_bits, code & (1 << self.fraction_bits) - 1
        if self.kind == 'fnu':
            return Fraction(2) ** (code - self.bias)
        hidden = 1 << self.fraction_bits if field else 0
        return (hidden + fraction) * Fraction(2) ** (max(field, 1) - self.bias - self.fraction_bits)


CATALOGUE = [
    Format('float16', 5, 10, 15),
    Format('bfloat16', 8, 7, 127),
    Format('float8_e5m2', 5, 2, 15),
    Format('float8_e4m3', 4, 3, 7),
    Format('float8_e3m4', 3, 4, 3),
    Format('float8_e4m3fn', 4, 3, 7, 'fn'),
    Format('float8_e4m3fnuz', 4, 3, 8, 'fnuz'),
    Format('float8_e5m2fnuz', 5, 2, 16, 'fnuz'),
    Format('float8_e4m3b11fnuz', 4, 3, 11, 'fnuz'),
    Format('float8_e8m0fnu', 8, 0, 127, 'fnu'),
    Format('float8_ue5m3', 5, 3, 15, 'uz'),
    Format('float6_e2m3fn', 2, 3, 1, 'none'),
    Format('float6_e3m2fn', 3, 2, 3, 'none'),
    Format('float4_e2m1fn', 2, 1, 1, 'none'),
]

# Formats of a program: see generate.py.
OWN = [
    Format('own_e6m9', 6, 9, 31),
    Format('own_e5m6fn', 5, 6, 13, 'fn'),
]

BINARY32 = Format('float', 8, 23, 127)
BY_NAME = {f.name: f for f in CATALOGUE + OWN + [BINARY32]}
