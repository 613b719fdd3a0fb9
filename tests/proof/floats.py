# SPDX-License-Identifier: Apache-2.0
"""Floating-point instructions of LLVM IR on patterns, in the default environment."""
import struct

from bitwuzla import Kind

import bv
from bv import Bool

SHAPES = {'float': (8, 24), 'double': (11, 53)}
ARITHMETIC = {'fadd': Kind.FP_ADD, 'fsub': Kind.FP_SUB, 'fmul': Kind.FP_MUL, 'fdiv': Kind.FP_DIV}
RELATIONS = {'eq': Kind.FP_EQUAL, 'ne': Kind.FP_EQUAL, 'lt': Kind.FP_LT, 'le': Kind.FP_LEQ,
             'gt': Kind.FP_GT, 'ge': Kind.FP_GEQ}


def fp(type, pattern):
    return bv.fp_of_pattern(pattern, *SHAPES[type])


def constant(type, text):
    """Returns the pattern of a constant, which LLVM writes as a double's, in hexadecimal or not."""
    value = (struct.unpack('>d', bytes.fromhex(text[2:]))[0] if text.startswith('0x')
             else float(text))
    return int.from_bytes(struct.pack('>f' if type == 'float' else '>d', value), 'big')


def compared(predicate, a, b):
    nan = bv.fp_is(Kind.FP_IS_NAN, a) | bv.fp_is(Kind.FP_IS_NAN, b)
    if predicate in ('uno', 'ord'):
        return nan if predicate == 'uno' else ~nan
    holds = Bool(bv.tm.mk_term(RELATIONS[predicate[1:]], [a, b]))
    if predicate[1:] == 'ne':
        holds = ~holds
    return holds | nan if predicate[0] == 'u' else holds & ~nan


def of_integer(op, x, type):
    """Returns the value of an integer, and if it depends on the caller's rounding."""
    down, up = (bv.fp_of_integer(mode, x, op == 'sitofp', *SHAPES[type])
                for mode in (bv.RTN, bv.RTP))
    return down, ~bv.fp_same(down, up)


def to_integer(op, value, width):
    """Returns the integer toward zero, and true if it does not fit: LLVM's result is poison then."""
    signed = op == 'fptosi'
    kind = Kind.FP_TO_SBV if signed else Kind.FP_TO_UBV
    result = bv.Bits(bv.tm.mk_term(kind, [bv.RTZ, value], [width]))
    eb, precision = value.sort().fp_exp_size(), value.sort().fp_sig_size()
    whole = bv.tm.mk_term(Kind.FP_RTI, [bv.RTZ, value])
    back = bv.fp_of_integer(bv.RTZ, result, signed, eb, precision)
    return result, ~Bool(bv.tm.mk_term(Kind.FP_EQUAL, [whole, back]))


def unary(name, x):
    """Returns fneg and llvm.fabs, which are operations on the sign bit."""
    sign = 1 << x.width - 1
    return x ^ sign if name == 'fneg' else x & (sign - 1)
