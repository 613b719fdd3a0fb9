# SPDX-License-Identifier: Apache-2.0
"""Theorems about fma of 16-bit formats: all 2^48 triples.

A multiplier within an adder is too hard for the solver. So the theorem has two parts. The code
multiplies the two significands, scaled to 16 bits, and nothing else. And for every product P that
such numbers can have, it returns the rounded sum of P and the addend.
"""
from bitwuzla import Kind

import bv
import formats
import model
import operators
import presets
import sources
import spec
from bv import bit, bits, concat, ite, truth

SHAPE = 11, 34  # of the product and the sum: 32 digits and two more for rounding to odd
SIGNIFICAND = 16


class Fma16(operators.Fma):
    def numbers(self, inputs):
        f = self.target
        source = sources.FloatSource('code', '', f.exponent_bits, f.precision)
        return [source.number([code.trunc(f.width)]) for code in inputs]

    def scaled(self, x):
        """Returns a significand of 16 bits whose leading bit is set, and that bit's exponent."""
        zeros = bv.leading_zeros(x.significand)
        p = x.significand.width
        return ((x.significand << zeros).zext(SIGNIFICAND) << (SIGNIFICAND - p),
                x.exponent + (p - 1) - zeros.zext(32))

    def lemmas(self, m):
        (x, y, _), = m.products
        a, b, _ = self.numbers(m.inputs)
        ends = a.nan | b.nan | a.infinite | b.infinite | a.zero | b.zero
        sa, sb = (self.scaled(number)[0].zext(x.width) for number in (a, b))
        same = ((x == sa) & (y == sb)) | ((x == sb) & (y == sa))
        yield m.assumed, ~(ends | same)
        zero = (a.zero | b.zero) & ~(a.nan | b.nan | a.infinite | b.infinite)
        yield m.assumed, zero & (x != 0) & (y != 0)
        yield m.assumed, (x >= 1 << 31) | (y >= 1 << 31)  # so no product overflows
        # A product of two numbers of 16 bits has 31 or 32.
        u, v = (bv.unknown(SIGNIFICAND, name).zext(32) for name in 'uv')
        yield [u >= 1 << 15, v >= 1 << 15], ~(u * v >= 1 << 30)

    def wanted_from(self, m):
        f = self.target
        (_, _, product), = m.products
        a, b, c = self.numbers(m.inputs)
        negative = a.negative ^ b.negative
        nan = a.nan | b.nan | ((a.infinite | b.infinite) & (a.zero | b.zero))
        infinite, zero = a.infinite | b.infinite, a.zero | b.zero
        P = product.trunc(32)
        possible = (product == P.zext(product.width)) & ite(
            infinite | nan, truth(True), ite(zero, P == 0, P >= 1 << 30))
        long = P.is_set(31)
        exponent = (self.scaled(a)[1] + self.scaled(b)[1] + ite(long, bits(1, 32), 0)).trunc(11) + 1023
        fraction = concat(ite(long, P.trunc(31), P.trunc(30).zext(31) << 1), bits(0, 2))
        pattern = concat(bit(negative), ite(infinite | nan, bits(2047, 11), ite(zero, 0, exponent)),
                         ite(nan, bits(1, 33), ite(infinite | zero, 0, fraction)))
        addend = bv.fp_round(bv.RNE, bv.fp_of_pattern(m.inputs[2].trunc(f.width), *f.smt), *SHAPE)
        fps = bv.fp_of_pattern(pattern, *SHAPE), addend
        down, up, low = (bv.fp_op(Kind.FP_ADD, mode, *fps) for mode in (bv.RTZ, bv.RTP, bv.RTN))
        inexact = ~bv.Bool(bv.tm.mk_term(Kind.FP_EQUAL, [up, low]))
        exact = bv.unknown(sum(SHAPE), 'sum')
        x = sources.FloatSource('sum', '', *SHAPE).number(
            [exact | ite(inexact, bits(1, exact.width), 0)])
        x.nan = bv.fp_is(Kind.FP_IS_NAN, down)
        answer, assumed = spec.converted(f, sources.BY_NAME['float'], 'nearest_even',
                                         presets.default(f), x)
        return (ite(x.nan, bits(f.nan, f.storage), answer), assumed +
                [possible, bv.fp_same(bv.fp_of_pattern(exact, *SHAPE), down)])

    def translate(self, function):
        """The product is any number, so that its multiplier is not part of the second query."""
        m = model.translate(function, any_product=True)
        if len(m.products) != 1:
            raise model.Refused(f'{len(m.products)} products')
        return m


def queries():
    for f in formats.CATALOGUE + formats.OWN:
        if f.width == 16:
            yield Fma16(f, 'fma')
