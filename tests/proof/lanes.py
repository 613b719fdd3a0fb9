# SPDX-License-Identifier: Apache-2.0
"""Theorems about the codec in a lane: what packs and GPU threads run when they store and load.

The upper bit of a result tells that the number overflowed, as reports count it.
"""
from dataclasses import dataclass

import formats
import operators
import sources
import spec
import wide
from bv import bits, ite

MODES = spec.MODES + ['stochastic']


@dataclass(frozen=True)
class Encoding:
    """Encodes a float in a lane. `lane` is pack, or slot: a mode chosen at run time on the integer
    code of scalars."""
    lane: str
    target: formats.Format
    mode: str
    policy: str
    nans: str
    unit = 'lanes'
    result = 32

    @property
    def name(self):
        return f'{self.lane}_{self.target.name}_{self.mode}_{self.policy}_{self.nans}'

    @property
    def arguments(self):
        return ['std::uint32_t'] + ['std::uint16_t'] * (self.mode == 'stochastic')

    @property
    def space(self):
        return 32 + 16 * (self.mode == 'stochastic')

    def cpp(self):
        draw = 'a1' if self.mode == 'stochastic' else '0'
        mode = 'stochastic{1}' if self.mode == 'stochastic' else f'{self.mode}{{}}'
        mode = f'lowp::rounding_mode(lowp::{mode})' if self.lane == 'slot' else f'lowp::{mode}'
        word = 'std::uint32_t' if self.lane == 'slot' else 'word_of_pack'
        return (f'return encode_lane<{self.target.cpp}, {word}>(a0, {draw}, {mode}, '
                f'lowp::overflow::{self.policy}, lowp::detail::nans::{self.nans});')

    def wanted(self, inputs):
        f = self.target
        x = sources.BY_NAME['float'].number(inputs[:1])
        overflowed, infinite, nans, keeps = spec.special_codes(f, self.policy)
        if self.nans == 'canonical':
            canonical = operators.canonical_nan(f)
            nans, keeps = (canonical, canonical), False
        magnitude = (wide.stochastic(f, x, inputs[1]) if self.mode == 'stochastic' else
                     wide.rounded(f, self.mode, x))
        code = spec.finish(f, self.mode, (overflowed, infinite, nans, keeps), x, magnitude)
        beyond = (magnitude > f.largest) & ~(x.nan | x.infinite | x.zero)
        return code.zext(32) | ite(beyond, bits(1 << 31, 32), 0), []


@dataclass(frozen=True)
class LaneDecoding:
    target: formats.Format
    unit = 'lanes'
    result = 32

    @property
    def name(self):
        return f'pack_{self.target.name}_to_float'

    @property
    def arguments(self):
        return [f'std::uint{self.target.storage}_t']

    @property
    def space(self):
        return self.target.storage

    def cpp(self):
        mask = (1 << self.target.width) - 1
        return f'return decode_lane<{self.target.cpp}>(a0 & {mask:#x}u);'

    def wanted(self, inputs):
        return spec.decoded(self.target, inputs[0])


def queries():
    for f in formats.CATALOGUE + formats.OWN:
        for mode in MODES:
            for nans in ('kept', 'canonical'):
                for policy in ('infinity', 'saturate'):
                    yield Encoding('pack', f, mode, policy, nans)
            yield Encoding('slot', f, mode, 'infinity', 'canonical')
        yield LaneDecoding(f)
