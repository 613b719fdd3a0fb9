# SPDX-License-Identifier: Apache-2.0
"""Inputs that peers.py gives the libraries that it times, and the results that it expects."""
import sys

import numpy


def elements_of(bytes_of_each):
    """Counts elements of this many bytes, all arrays together, at the level L2 of suite.hpp."""
    fit = min(128 << 10, (768 << 10) // bytes_of_each)
    return 1 << (fit.bit_length() - 1)


def random_floats(seed, elements):
    return numpy.random.default_rng(seed).standard_normal(elements, dtype=numpy.float32)


class Format:
    """Values of codes, and the code nearest to a number: the peers are checked against both."""

    def __init__(self, exponent_bits, significand_bits, finite_codes):
        self.significand_bits = significand_bits
        codes = numpy.arange(finite_codes)
        exponent = codes >> significand_bits
        significand = codes & ((1 << significand_bits) - 1)
        bias = (1 << (exponent_bits - 1)) - 1
        significand = significand + (exponent > 0) * (1 << significand_bits)
        scale = numpy.maximum(exponent, 1) - bias - significand_bits
        self.values = numpy.ldexp(significand.astype(numpy.float64), scale)
        self.sign = 1 << (exponent_bits + significand_bits)
        self.code_type = numpy.uint8 if self.sign <= 0x80 else numpy.uint16

    def encode(self, floats):
        magnitudes = numpy.abs(floats.astype(numpy.float64))
        below = numpy.searchsorted(self.values, magnitudes, side="right") - 1
        above = numpy.minimum(below + 1, len(self.values) - 1)
        middle = (self.values[below] + self.values[above]) / 2
        is_up = (magnitudes > middle) | ((magnitudes == middle) & (below % 2 == 1))
        codes = numpy.where(is_up, above, below) + numpy.signbit(floats) * self.sign
        return codes.astype(self.code_type)

    def decode(self, codes):
        values = self.values[codes & (self.sign - 1)].astype(numpy.float32)
        return numpy.where(codes & self.sign, -values, values)


FORMATS = {
    "bfloat16": Format(8, 7, 0x7F80),
    "float16": Format(5, 10, 0x7C00),
    "float8_e5m2": Format(5, 2, 0x7C),
    "float8_e4m3fn": Format(4, 3, 0x7F),
}


def check(name, found, expected):
    if not numpy.array_equal(found, expected):
        sys.exit(f"peers.py: {name} computes something else")


def check_close(name, found, expected, allowed):
    """`allowed` has the size of `expected`, or is one number for all."""
    error = numpy.abs(found.astype(numpy.float64) - expected)
    if not numpy.all(error <= allowed):
        worst = numpy.nanargmax(error / allowed)
        sys.exit(f"peers.py: {name} computes something else: element {worst} is "
                 f"{found.flat[worst]}, not {expected.flat[worst]}")
