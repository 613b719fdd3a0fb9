# SPDX-License-Identifier: Apache-2.0
"""Theorems about the value types' operators and functions: exact results rounded once, order, and
neighbours."""
from dataclasses import dataclass

from bitwuzla import Kind

import bv
import formats
import presets
import sources
import spec
import tables
from bv import bits, ite, truth, unknown

ARITHMETIC = {'plus': ('+', Kind.FP_ADD), 'minus': ('-', Kind.FP_SUB), 'times': ('*', Kind.FP_MUL),
              'over': ('/', Kind.FP_DIV), 'fma': ('', Kind.FP_FMA)}


def is_nan(target, code):
    code = code.trunc(target.width)
    magnitude = code.trunc(target.magnitude_bits)
    return {'ieee': lambda: magnitude > target.infinity, 'fn': lambda: magnitude == target.nan,
            'none': lambda: truth(False)}.get(target.kind, lambda: code == target.nan)()


def canonical_nan(target):
    return target.sign if target.nan is None else target.nan


def has_sign(target, code):
    return code.is_set(target.width - 1) if target.signed else truth(False)


def rank(target, code, zeros_differ=False):
    """Returns a signed number that orders as the values do."""
    magnitude = code.trunc(target.magnitude_bits).zext(target.width + 2)
    below = -magnitude - 1 if zeros_differ else -magnitude
    return ite(has_sign(target, code), below, magnitude)


@dataclass(frozen=True)
class Function:
    """A function of codes. `name` is also the C++ function, or the name of an operator."""
    target: formats.Format
    function: str
    unit = 'operators'

    @property
    def name(self):
        return f'{self.target.name}_{self.function}'

    count = 2

    @property
    def arguments(self):
        return [f'std::uint{self.target.storage}_t'] * self.count

    @property
    def space(self):
        return self.count * self.target.storage

    @property
    def result(self):
        return self.target.storage

    @property
    def operands(self):
        return [f'{self.target.cpp}::from_bits(a{i})' for i in range(self.count)]

    def cpp(self):
        return f'return code_of({self.function}({", ".join(self.operands)}));'


class Arithmetic(Function):
    """T op T: the exact result rounded once to nearest even."""
    def cpp(self):
        x, y = self.operands
        return f'return code_of({x} {ARITHMETIC[self.function][0]} {y});'

    def wanted(self, inputs):
        f = self.target
        if not f.is_smt:
            decoded = [spec.decoded(f, code) for code in inputs]
            answer, assumed = self.rounded([pattern for pattern, _ in decoded], 10, f.precision + 4)
            return answer, sum((definition for _, definition in decoded), assumed)
        fps = [bv.fp_of_pattern(code.trunc(f.width), *f.smt) for code in inputs]
        exact = bv.fp_op(ARITHMETIC[self.function][1], bv.RNE, *fps)
        code = unknown(f.width, 'rounded')
        nan = bv.fp_is(Kind.FP_IS_NAN, exact)
        return (ite(nan, bits(f.nan, f.width), code).fit(f.storage),
                [bv.fp_same(bv.fp_of_pattern(code, *f.smt), exact)])

    def rounded(self, patterns, *shape):
        """Returns the answer for operands that are floats. Rounding to odd in a wide shape keeps all
        that a second rounding asks."""
        f, kind = self.target, ARITHMETIC[self.function][1]
        fps = [bv.fp_round(bv.RNE, bv.fp_of_pattern(x, 8, 24), *shape) if shape != (8, 24)
               else bv.fp_of_pattern(x, 8, 24) for x in patterns]
        zero, up, down = (bv.fp_op(kind, mode, *fps) for mode in (bv.RTZ, bv.RTP, bv.RTN))
        inexact = ~bv.Bool(bv.tm.mk_term(Kind.FP_EQUAL, [up, down]))
        pattern = unknown(sum(shape), 'wide')
        wide = sources.FloatSource('wide', '', *shape)
        x = wide.number([pattern | ite(inexact & ~bv.fp_is(Kind.FP_IS_INF, zero),
                                       bits(1, pattern.width), 0)])
        x.nan = bv.fp_is(Kind.FP_IS_NAN, zero)
        answer, assumed = spec.converted(f, wide, 'nearest_even', presets.default(f), x)
        return (ite(x.nan, bits(canonical_nan(f), f.storage), answer),
                [*assumed, bv.fp_same(bv.fp_of_pattern(pattern, *shape), zero)])


class SharedArithmetic(Arithmetic):
    """The same for formats whose multiplier or divider is too large to compare.

    A lemma says that the code's operands are the codes' values. Then the specification computes with
    these operands, in binary32: the solver finds one multiplier in both.
    """
    def lemmas(self, m):
        for operand, code in zip(m.operands, m.inputs, strict=True):
            pattern, definition = spec.decoded(self.target, code)
            yield definition + m.before, operand != pattern

    def wanted_from(self, m):
        return self.rounded(m.operands, 8, 24)


class Fma(Arithmetic):
    """fma of three codes: one rounding of the exact a * b + c."""
    count = 3

    def cpp(self):
        return f'return code_of(fma({", ".join(self.operands)}));'


class Comparison(Function):
    """Compares by rank; NaN is unordered."""
    symbols = {'equal': '==', 'less': '<', 'less_equal': '<=', 'greater': '>', 'greater_equal': '>='}
    result = 8

    def cpp(self):
        x, y = self.operands
        return f'return {x} {self.symbols[self.function]} {y};'

    def wanted(self, inputs):
        x, y = (rank(self.target, code) for code in inputs)
        holds = {'equal': x == y, 'less': x.slt(y), 'less_equal': x.sle(y), 'greater': y.slt(x),
                 'greater_equal': y.sle(x)}[self.function]
        ordered = ~(is_nan(self.target, inputs[0]) | is_nan(self.target, inputs[1]))
        return bv.bit(holds & ordered).zext(8), []


class Pair(Function):
    """fmin, fmax and copysign."""
    def wanted(self, inputs):
        f = self.target
        x, y = (code.trunc(f.width) for code in inputs)
        nan_x, nan_y = is_nan(f, x), is_nan(f, y)
        if self.function == 'copysign':
            if not f.signed:
                return inputs[0], []
            fixed = (x.trunc(f.width - 1) == 0) & truth(f.kind == 'fnuz')  # zero and NaN
            sign = has_sign(f, y) & ~(nan_y & truth(f.kind == 'fnuz'))
            bare = x & ((1 << f.width - 1) - 1)
            return ite(fixed, x, ite(sign, bare | f.sign, bare)).fit(f.storage), []
        a, b = (rank(f, code, zeros_differ=True) for code in (x, y))
        smaller = a.slt(b) if self.function == 'fmin' else b.slt(a)
        chosen = ite(nan_x, y, ite(nan_y, x, ite(smaller, x, y)))
        return ite(nan_x & nan_y, bits(canonical_nan(f), f.width), chosen).fit(f.storage), []


class NextAfter(Function):
    """Returns the code next to x: no third value lies between."""
    def holds(self, inputs, got):
        f = self.target
        x, y = (code.trunc(f.width) for code in inputs)
        r, between = got.trunc(f.width), unknown(f.width, 'between')
        rx, ry, rr, rb = (rank(f, code) for code in (x, y, r, between))
        nan = is_nan(f, x) | is_nan(f, y)
        none_between = is_nan(f, between) | ~((rx.slt(rb) & rb.slt(rr)) | (rr.slt(rb) & rb.slt(rx)))
        toward = ite(rx.slt(ry), rx.slt(rr), rr.slt(rx)) & none_between & ~is_nan(f, r)
        # The zero on the way from a negative number has its sign, if there are two.
        sign = (has_sign(f, r).same(has_sign(f, x)) | (r.trunc(f.magnitude_bits) != 0) |
                truth(f.kind == 'fnuz'))
        return ite(nan, r == canonical_nan(f), ite(rx == ry, r == y, toward & sign)), []


class Unary(Function):
    """-x, abs and the predicates."""
    count = 1

    @property
    def result(self):
        return self.target.storage if self.function in ('negated', 'abs') else 8

    def cpp(self):
        if self.function == 'negated':
            return f'return code_of(-{self.operands[0]});'
        return super().cpp()

    def wanted(self, inputs):
        f = self.target
        x = inputs[0].trunc(f.width)
        nan, magnitude = is_nan(f, x), x.trunc(f.magnitude_bits)
        infinite = magnitude == f.infinity if f.infinity is not None else truth(False)
        sign = has_sign(f, x) & ~(nan & truth(f.kind == 'fnuz'))
        if self.function in ('negated', 'abs'):
            fixed = (magnitude == 0) & truth(f.kind in ('fnuz', 'uz'))
            changed = x ^ f.sign if self.function == 'negated' else magnitude.zext(f.width)
            if not f.signed:
                changed = bits(f.nan, f.width) if self.function == 'negated' else x
            return ite(fixed, x, changed).fit(f.storage), []
        return bv.bit({'isnan': nan, 'isinf': infinite, 'isfinite': ~(nan | infinite),
                       'signbit': sign}[self.function]).zext(8), []


class Distance(Function):
    """ulp, gap_above and gap_below, from the exact values of all codes."""
    count = 1
    result = 32

    def wanted(self, inputs):
        f = self.target
        places = [tables.distance(f, self.function, code) for code in range(1 << f.width)]
        return tables.lookup(places, inputs[0].trunc(f.width), 32), []


def queries():
    for f in formats.CATALOGUE + formats.OWN:
        for name in ('plus', 'minus', 'times', 'over'):
            small = f.width <= 8 or f.name == 'bfloat16'
            yield (Arithmetic if small else SharedArithmetic)(f, name)
        if f.width <= 8:
            yield Fma(f, 'fma')
        for name in Comparison.symbols:
            yield Comparison(f, name)
        for name in ('fmin', 'fmax', 'copysign'):
            yield Pair(f, name)
        yield NextAfter(f, 'nextafter')
        for name in ('negated', 'abs', 'isnan', 'isinf', 'isfinite', 'signbit'):
            yield Unary(f, name)
        for name in ('ulp', 'gap_above', 'gap_below'):
            yield Distance(f, name)
