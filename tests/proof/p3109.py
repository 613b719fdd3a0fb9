# SPDX-License-Identifier: Apache-2.0
"""IEEE P3109, report 4.0 (an unapproved draft), from its own formulas in exact fixed point.

The library implements two of its formats and its stochastic rounding StochasticB with 16 bits. In a
finite format all three saturation modes are the same: they clamp.
"""
import struct
from dataclasses import dataclass

import bv
import formats
import spec
from bv import bits, concat, ite, truth

POINT = 149  # bits after the point: a float is a multiple of 2^-149
WHOLE = 277  # bits of the largest float in such units


@dataclass(frozen=True)
class Binary:
    """BinaryKpPsf of the draft, or one of its external formats."""
    draft: str
    target: formats.Format
    K: int
    P: int
    B: int
    finite: bool = True

    @property
    def largest(self):
        return (1 << self.K - 1) - 1 if self.finite else self.target.largest

    def decode(self, code):
        """Returns the float of a code, by the draft's formula for every code."""
        def pattern(x):
            T, E = x % 2 ** (self.P - 1), x // 2 ** (self.P - 1)
            value = (T * 2 ** (1 - self.P) * 2 ** (1 - self.B) if E == 0 else
                     (1 + T * 2 ** (1 - self.P)) * 2.0 ** (E - self.B))
            return int.from_bytes(struct.pack('>f', value), 'big')

        half = 2 ** (self.K - 1)
        result = bits(0x7fc00000, 32)
        for x in range(2 ** self.K):
            if x != half:
                result = ite(code == x, bits(pattern(x % half) | (x // half << 31), 32), result)
        return result


FORMATS = [
    Binary('Binary8p4sf', formats.BY_NAME['float8_e4m3fnuz'], 8, 4, 8),
    Binary('Binary8p3sf', formats.BY_NAME['float8_e5m2fnuz'], 8, 3, 16),
    Binary('binary16', formats.BY_NAME['float16'], 16, 11, 15, False),
    Binary('BFloat16', formats.BY_NAME['bfloat16'], 16, 8, 127, False),
]


def round_away(mode, negative, part, rest, is_even, draw):
    """Evaluates the draft's RoundAway. nu has the 17 digits `part`, and `rest` is true if more digits
    follow."""
    positive = ~negative
    inexact = (part != 0) | rest
    half = 1 << 16
    if mode == 'stochastic':  # floor(nu * 2^17) + (2 * R + 1) >= 2^17
        return part.zext(32) + ((draw.zext(32) << 1) + 1) >= 1 << 17
    return {'nearest_even': (part > half) | ((part == half) & (rest | ~is_even)),
            'nearest_away': part >= half, 'toward_zero': truth(False),
            'upward': inexact & positive, 'downward': inexact & negative,
            'to_odd': inexact & is_even}[mode]


def projected(f, mode, pattern, draw):
    """Returns the draft's Convert of a binary32 pattern."""
    negative, field, fraction = pattern.is_set(31), pattern[30:23], pattern[22:0]
    width = WHOLE + 24 + 17
    normal = field != 0
    significand = concat(bv.bit(normal), fraction).zext(width)
    X = significand << ite(normal, field - 1, bits(0, 8)).zext(width)  # |X| * 2^149
    log = bits(width - 1 - POINT, width) - bv.leading_zeros(X)  # floor(log2(|X|)), modulo 2^width
    low = log.slt(bits(1 - f.B, width))
    E = ite(low, bits(1 - f.B, width), log)
    # X * 2^(P - 1 + 17) / 2^(E + 149) is S~ with 17 digits after its point.
    shift = E + POINT
    scaled = X << (f.P - 1 + 17)
    steps = scaled >> shift
    rest = (steps << shift) != scaled
    floor, part = steps >> 17, steps.trunc(17)
    away = round_away(mode, negative, part, rest, ~floor.is_set(0), draw)
    S = floor + ite(away, bits(1, width), 0)
    # Encoding: T if S < 2^(P - 1), else T + (E + B) * 2^(P - 1). S = 2^P is the next binade's first.
    carried = S == 1 << f.P
    E, S = ite(carried, E + 1, E), ite(carried, bits(1 << f.P - 1, width), S)
    T = S & (1 << f.P - 1) - 1
    code = ite(S < 1 << f.P - 1, T, T + ((E + f.B) << f.P - 1))
    beyond = f.largest if f.finite else f.target.infinity
    inward = spec.inward(mode, negative)
    code = ite(code > f.largest, ite(inward, bits(f.largest, width), beyond), code)
    code = code.fit(f.target.storage)
    infinite = (field == -1) & (fraction == 0)
    code = ite(infinite, bits(beyond, code.width), code)
    signed = ite(negative, code + (1 << f.K - 1), code)
    if not f.finite:  # NaN and signed zeros of external formats are IEEE's: spec.py has them
        return signed, (field == -1) & (fraction != 0)
    signed = ite(code == 0, code, signed)
    return ite((field == -1) & (fraction != 0), bits(1 << f.K - 1, code.width), signed), truth(False)


@dataclass(frozen=True)
class Convert:
    """Convert of binary32 under StochasticB, 16 bits, or another mode of the draft."""
    format: Binary
    mode: str
    unit = 'p3109'

    @property
    def name(self):
        rounding = 'StochasticB16' if self.mode == 'stochastic' else self.mode
        return f'p3109_binary32_to_{self.format.draft}_{rounding}'

    @property
    def result(self):
        return self.format.target.storage

    @property
    def arguments(self):
        return ['std::uint32_t'] + ['std::uint16_t'] * (self.mode == 'stochastic')

    @property
    def space(self):
        return 32 + 16 * (self.mode == 'stochastic')

    def cpp(self):
        mode = 'stochastic_bits{a1}' if self.mode == 'stochastic' else f'{self.mode}{{}}'
        return (f'return code_of(lowp::convert<{self.format.target.cpp}>(value_of<float>(a0), '
                f'lowp::{mode}));')

    def wanted(self, inputs):
        draw = inputs[1] if len(inputs) > 1 else None
        answer, left_out = projected(self.format, self.mode, inputs[0], draw)
        return answer, [~left_out]


@dataclass(frozen=True)
class Decode:
    format: Binary
    unit = 'p3109'
    result = 32
    space = 8
    arguments = ('std::uint8_t',)

    @property
    def name(self):
        return f'p3109_decode_{self.format.draft}'

    def cpp(self):
        return f'return code_of(float({self.format.target.cpp}::from_bits(a0)));'

    def wanted(self, inputs):
        return self.format.decode(inputs[0]), []


def queries():
    for f in FORMATS:
        # The draft lets ToOdd overflow to infinity where there is one; the library follows IEEE's
        # inward modes there.
        modes = spec.MODES if f.finite else [mode for mode in spec.MODES if mode != 'to_odd']
        for mode in [*modes, 'stochastic']:
            yield Convert(f, mode)
        if f.finite:
            yield Decode(f)
