# SPDX-License-Identifier: Apache-2.0
"""Every theorem: a C++ function, and the answer that the specification gives for its inputs."""
from dataclasses import dataclass

import formats
import fused
import lanes
import operators
import p3109
import presets
import sources
import spec
from bv import truth


@dataclass(frozen=True)
class Conversion:
    """convert<target>(source, mode, policy); stochastic rounding takes the draw as an argument."""
    source: object
    target: formats.Format
    mode: str
    policy: str

    @property
    def name(self):
        return f'{self.source.name}_to_{self.target.name}_{self.mode}_{self.policy}'

    @property
    def unit(self):
        return self.source.name

    @property
    def arguments(self):
        return self.source.arguments + ['std::uint16_t'] * (self.mode == 'stochastic')

    @property
    def space(self):
        return self.source.space + 16 * (self.mode == 'stochastic')

    def cpp(self):
        parts = ', '.join(f'a{i}' for i in range(len(self.source.arguments)))
        draw = f'a{len(self.source.arguments)}'
        mode = f'stochastic_bits{{{draw}}}' if self.mode == 'stochastic' else f'{self.mode}{{}}'
        policy = '' if self.policy == 'default' else f', lowp::overflow::{self.policy}'
        return (f'return code_of(lowp::convert<{self.target.cpp}>('
                f'value_of<{self.source.cpp}>({parts}), lowp::{mode}{policy}));')

    @property
    def result(self):
        return self.target.storage

    def codes(self):
        if self.policy == 'default':
            return presets.default(self.target)
        if self.policy in presets.NAMES:
            return presets.codes(self.target, self.policy)
        return spec.special_codes(self.target, self.policy)

    def wanted(self, inputs):
        """Returns the answer, what defines it, and the inputs that count."""
        x = self.source.number(inputs[:len(self.source.arguments)])
        draw = inputs[-1] if self.mode == 'stochastic' else None
        answer, assumed = spec.converted(self.target, self.source, self.mode, self.codes(), x, draw)
        return answer, assumed + [x.valid]


@dataclass(frozen=True)
class Decoding:
    """float(target::from_bits(code)); a byte may have more bits than its format."""
    target: formats.Format
    unit = 'decode'
    result = 32

    @property
    def name(self):
        return f'{self.target.name}_to_float'

    @property
    def arguments(self):
        return [f'std::uint{self.target.storage}_t']

    @property
    def space(self):
        return self.target.storage

    def cpp(self):
        return f'return code_of(float({self.target.cpp}::from_bits(a0)));'

    def wanted(self, inputs):
        return spec.decoded(self.target, inputs[0])


@dataclass(frozen=True)
class Agreement:
    """No function: two ways of the specification give one answer."""
    source: object
    target: formats.Format
    mode: str
    unit = None

    @property
    def name(self):
        return f'specification_{self.source.name}_to_{self.target.name}_{self.mode}'

    @property
    def arguments(self):
        return self.source.arguments

    @property
    def space(self):
        return self.source.space

    def ways(self, inputs):
        x = self.source.number(inputs)
        codes = spec.special_codes(self.target, 'infinity')
        first, assumed = spec.converted(self.target, self.source, self.mode, codes, x)
        second, more = spec.converted(self.target, self.source, self.mode, codes, x, way='wide')
        return first, second, assumed + more + [x.valid]


@dataclass(frozen=True)
class Narrow:
    """convert between two narrow formats, with the default policy."""
    source: formats.Format
    target: formats.Format
    mode: str
    unit = 'narrow'

    @property
    def name(self):
        return f'{self.source.name}_to_{self.target.name}_{self.mode}'

    @property
    def arguments(self):
        draw = ['std::uint16_t'] * (self.mode == 'stochastic')
        return [f'std::uint{self.source.storage}_t'] + draw

    @property
    def space(self):
        return self.source.storage + 16 * (self.mode == 'stochastic')

    @property
    def result(self):
        return self.target.storage

    def cpp(self):
        mode = 'stochastic_bits{a1}' if self.mode == 'stochastic' else f'{self.mode}{{}}'
        return (f'return code_of(lowp::convert<{self.target.cpp}>('
                f'{self.source.cpp}::from_bits(a0), lowp::{mode}));')

    def wanted(self, inputs):
        binary32 = sources.BY_NAME['float']
        pattern, assumed = spec.decoded(self.source, inputs[0])
        answer, more = spec.converted(self.target, binary32, self.mode, presets.default(self.target),
                                      binary32.number([pattern]), inputs[-1])
        return answer, assumed + more


def narrow_conversions():
    for source in formats.CATALOGUE + formats.OWN:
        for target in formats.CATALOGUE + formats.OWN:
            for mode in ('nearest_even', 'to_odd', 'stochastic'):
                if source != target:
                    yield Narrow(source, target, mode)


def agreements():
    for target in formats.CATALOGUE:
        for mode in spec.MODES:
            yield Agreement(sources.BY_NAME['float'], target, mode)
        yield Agreement(sources.BY_NAME['double'], target, 'nearest_even')


def conversions():
    targets = formats.CATALOGUE + formats.OWN
    for source in sources.SOURCES:
        float_too = [] if source.name == 'float' else [formats.BINARY32]
        for target in targets + float_too:
            for mode in spec.MODES + ['stochastic']:
                for policy in ('infinity', 'saturate'):
                    yield Conversion(source, target, mode, policy)
    for source in ('float', 'double'):
        for target in targets:
            for policy in presets.NAMES + ['default']:
                yield Conversion(sources.BY_NAME[source], target, 'nearest_even', policy)


def all_queries():
    return [*conversions(), *map(Decoding, formats.CATALOGUE + formats.OWN), *narrow_conversions(),
            *lanes.queries(), *operators.queries(), *fused.queries(), *p3109.queries(), *agreements()]
