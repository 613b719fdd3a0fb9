# SPDX-License-Identifier: Apache-2.0
"""Bit-vectors and Booleans of bitwuzla with Python's operators.

A comparison with < <= > >= is unsigned; signed ones are functions. Integers become constants.
"""
from bitwuzla import Kind, RoundingMode, TermManager

tm = TermManager()


class Bool:
    def __init__(self, term):
        self.term = term

    def __and__(self, other):
        return Bool(tm.mk_term(Kind.AND, [self.term, truth(other).term]))

    def __or__(self, other):
        return Bool(tm.mk_term(Kind.OR, [self.term, truth(other).term]))

    def __xor__(self, other):
        return Bool(tm.mk_term(Kind.XOR, [self.term, truth(other).term]))

    def __invert__(self):
        return Bool(tm.mk_term(Kind.NOT, [self.term]))

    def same(self, other):
        return Bool(tm.mk_term(Kind.EQUAL, [self.term, truth(other).term]))


class Bits:
    def __init__(self, term):
        self.term = term
        self.width = term.sort().bv_size()

    def _with(self, kind, other):
        return tm.mk_term(kind, [self.term, self.like(other).term])

    def like(self, x):
        return x if isinstance(x, Bits) else bits(x, self.width)

    def __add__(self, other):
        return Bits(self._with(Kind.BV_ADD, other))

    def __sub__(self, other):
        return Bits(self._with(Kind.BV_SUB, other))

    def __mul__(self, other):
        return Bits(self._with(Kind.BV_MUL, other))

    def __and__(self, other):
        return Bits(self._with(Kind.BV_AND, other))

    def __or__(self, other):
        return Bits(self._with(Kind.BV_OR, other))

    def __xor__(self, other):
        return Bits(self._with(Kind.BV_XOR, other))

    def __lshift__(self, other):
        return Bits(self._with(Kind.BV_SHL, other))

    def __rshift__(self, other):
        return Bits(self._with(Kind.BV_SHR, other))

    def __invert__(self):
        return Bits(tm.mk_term(Kind.BV_NOT, [self.term]))

    def __neg__(self):
        return Bits(tm.mk_term(Kind.BV_NEG, [self.term]))

    def __lt__(self, other):
        return Bool(self._with(Kind.BV_ULT, other))

    def __le__(self, other):
        return Bool(self._with(Kind.BV_ULE, other))

    def __gt__(self, other):
        return Bool(self._with(Kind.BV_UGT, other))

    def __ge__(self, other):
        return Bool(self._with(Kind.BV_UGE, other))

    def __eq__(self, other):
        return Bool(self._with(Kind.EQUAL, other))

    def __ne__(self, other):
        return ~(self == other)

    __hash__ = None

    def __getitem__(self, place):
        """Returns bit `place`, or bits high:low, both included."""
        high, low = (place.start, place.stop) if isinstance(place, slice) else (place, place)
        return Bits(tm.mk_term(Kind.BV_EXTRACT, [self.term], [high, low]))

    def is_set(self, place):
        return self[place] == 1

    def zext(self, width):
        return self if width == self.width else Bits(
            tm.mk_term(Kind.BV_ZERO_EXTEND, [self.term], [width - self.width]))

    def sext(self, width):
        return self if width == self.width else Bits(
            tm.mk_term(Kind.BV_SIGN_EXTEND, [self.term], [width - self.width]))

    def trunc(self, width):
        return self if width == self.width else self[width - 1:0]

    def fit(self, width):
        return self.trunc(width) if width < self.width else self.zext(width)

    def ashr(self, other):
        return Bits(self._with(Kind.BV_ASHR, other))

    def slt(self, other):
        return Bool(self._with(Kind.BV_SLT, other))

    def sle(self, other):
        return Bool(self._with(Kind.BV_SLE, other))

    def overflows(self, kind, other):
        """Returns true if the operation of one of bitwuzla's overflow predicates overflows."""
        return Bool(self._with(kind, other))


def bits(value, width):
    return Bits(tm.mk_bv_value(tm.mk_bv_sort(width), value % (1 << width)))


def truth(value):
    if isinstance(value, Bool):
        return value
    return Bool(tm.mk_true() if value else tm.mk_false())


def unknown(width, name):
    return Bits(tm.mk_const(tm.mk_bv_sort(width), name))


def ite(condition, yes, no):
    """Selects between two Bits, one of which may be an integer, or between two Bools."""
    if isinstance(yes, (Bool, bool)):
        yes, no = truth(yes), truth(no)
    elif isinstance(yes, Bits):
        no = yes.like(no)
    else:
        yes = no.like(yes)
    return type(yes)(tm.mk_term(Kind.ITE, [condition.term, yes.term, no.term]))


def concat(*parts):
    return Bits(tm.mk_term(Kind.BV_CONCAT, [part.term for part in parts]))


def any_of(conditions):
    result = None
    for condition in conditions:
        result = condition if result is None else result | condition
    return truth(False) if result is None else result


def bit(condition):
    """Returns a Boolean as a bit-vector of width 1."""
    return ite(condition, bits(1, 1), 0)


def leading_zeros(x):
    """Returns the number of zeros above the highest set bit, in a vector of the width of x."""
    count = bits(x.width, x.width)
    for place in range(x.width):
        count = ite(x.is_set(place), x.width - 1 - place, count)
    return count


# Floating point of SMT-LIB. An `fp` is a raw term.

RNE, RNA, RTZ, RTP, RTN = (
    tm.mk_rm_value(mode) for mode in (RoundingMode.RNE, RoundingMode.RNA, RoundingMode.RTZ,
                                      RoundingMode.RTP, RoundingMode.RTN))


def fp_of_pattern(pattern, exponent_bits, precision):
    return tm.mk_term(Kind.FP_TO_FP_FROM_BV, [pattern.term], [exponent_bits, precision])


def fp_round(mode, fp, exponent_bits, precision):
    return tm.mk_term(Kind.FP_TO_FP_FROM_FP, [mode, fp], [exponent_bits, precision])


def fp_of_integer(mode, x, signed, exponent_bits, precision):
    kind = Kind.FP_TO_FP_FROM_SBV if signed else Kind.FP_TO_FP_FROM_UBV
    return tm.mk_term(kind, [mode, x.term], [exponent_bits, precision])


def fp_same(a, b):
    """Returns SMT-LIB's equality: zeros differ by sign, NaN is NaN."""
    return Bool(tm.mk_term(Kind.EQUAL, [a, b]))


def fp_is(kind, fp):
    return Bool(tm.mk_term(kind, [fp]))


def fp_op(kind, mode, *fps):
    return tm.mk_term(kind, [mode, *fps])
