# SPDX-License-Identifier: Apache-2.0
"""Translation of a loop-free function of LLVM IR to a bit-vector term.

Every value has a poison condition: a flag that does not hold (nsw, disjoint, ...), a shift by the
width or more, and whatever the LLVM language reference calls poison. `undefined` is true where the
function returns poison or reaches undefined behaviour. The proofs show that it is false.
"""
import re
from typing import NamedTuple

from bitwuzla import Kind

import bv
import floats
import ir
from bv import Bits, Bool, any_of, bit, bits, ite, truth
from floats import SHAPES

NO = truth(False)


class Refused(Exception):
    pass


class Value(NamedTuple):
    bits: Bits
    poison: Bool = NO


class Model(NamedTuple):
    inputs: list  # Bits
    result: Bits
    undefined: Bool
    assumed: list  # what defines the patterns of floating-point results
    operands: list  # the patterns of the last floating-point operation's operands
    before: list  # what defines these operands
    products: list  # (factor, factor, product) of each multiplication, if these were to be left open


BINARY = r'(\w+)((?: (?:nuw|nsw|exact|disjoint))*) (\w+) (\S+), (\S+)'
CAST = r'(\w+)((?: (?:nuw|nsw|nneg))*) (\w+) (\S+) to (\w+)'
COMPARISONS = {
    'eq': lambda a, b: a == b, 'ne': lambda a, b: a != b,
    'ult': lambda a, b: a < b, 'ule': lambda a, b: a <= b,
    'ugt': lambda a, b: a > b, 'uge': lambda a, b: a >= b,
    'slt': lambda a, b: a.slt(b), 'sle': lambda a, b: a.sle(b),
    'sgt': lambda a, b: b.slt(a), 'sge': lambda a, b: b.sle(a),
}
OPERATIONS = {
    'add': lambda a, b: a + b, 'sub': lambda a, b: a - b, 'mul': lambda a, b: a * b,
    'and': lambda a, b: a & b, 'or': lambda a, b: a | b, 'xor': lambda a, b: a ^ b,
    'shl': lambda a, b: a << b, 'lshr': lambda a, b: a >> b, 'ashr': lambda a, b: a.ashr(b),
}
OVERFLOWS = {
    ('add', 'nuw'): Kind.BV_UADD_OVERFLOW, ('add', 'nsw'): Kind.BV_SADD_OVERFLOW,
    ('sub', 'nuw'): Kind.BV_USUB_OVERFLOW, ('sub', 'nsw'): Kind.BV_SSUB_OVERFLOW,
    ('mul', 'nuw'): Kind.BV_UMUL_OVERFLOW, ('mul', 'nsw'): Kind.BV_SMUL_OVERFLOW,
}


def width_of(type):
    if type in SHAPES:
        return sum(SHAPES[type])
    if not re.fullmatch(r'i\d+', type):
        raise Refused(f'type {type}')
    return int(type[1:])


class Translation:
    def __init__(self, function, any_product=False):
        self.function, self.any_product, self.products = function, any_product, []
        self.values = {}
        self.assumed = []
        self.operands, self.before = [], []
        self.unknowns = 0

    def fresh(self, width):
        self.unknowns += 1
        return bv.unknown(width, f'fresh{self.unknowns}')

    def operand(self, type, text):
        if text[0] == '%':
            return self.values[text]
        width = width_of(type)
        if text in ('true', 'false'):
            return Value(bits(text == 'true', 1))
        if text in ('undef', 'poison'):
            return Value(self.fresh(width), truth(text == 'poison'))
        if type in SHAPES:
            return Value(bits(floats.constant(type, text), width))
        if not re.fullmatch(r'-?\d+', text):
            raise Refused(f'operand {text}')
        return Value(bits(int(text), width))

    def pattern_of(self, fp, type):
        """Returns any pattern of fp: LLVM leaves the payload of a NaN open."""
        pattern = self.fresh(width_of(type))
        self.assumed.append(bv.fp_same(bv.fp_of_pattern(pattern, *SHAPES[type]), fp))
        return pattern

    def binary(self, op, flags, type, a, b):
        a, b = self.operand(type, a), self.operand(type, b)
        poison = [a.poison, b.poison]
        x, y = a.bits, b.bits
        result = OPERATIONS[op](x, y)
        if op == 'mul' and self.any_product:
            result = self.fresh(x.width)
            self.products.append((x, y, result))
            return Value(result, merged(poison))
        if op in ('shl', 'lshr', 'ashr'):
            poison.append(y >= x.width)
        for flag in flags.split():
            if flag == 'disjoint':
                poison.append((x & y) != 0)
            elif flag == 'exact' or op == 'shl':
                back = result.ashr(y) if flag == 'nsw' or op == 'ashr' else result >> y
                poison.append((result << y if flag == 'exact' else back) != x)
            else:
                poison.append(x.overflows(OVERFLOWS[op, flag], y))
        return Value(result, merged(poison))

    def cast(self, op, flags, source, text, target):
        value = self.operand(source, text)
        x, width = value.bits, width_of(target)
        poison = [value.poison]
        if op == 'zext':
            result = x.zext(width)
            if flags:
                poison.append(x.is_set(x.width - 1))
        elif op == 'sext':
            result = x.sext(width)
        elif op == 'trunc':
            result = x.trunc(width)
            poison += [(result.zext(x.width) if flag == 'nuw' else result.sext(x.width)) != x
                       for flag in flags.split()]
        elif op == 'bitcast':
            result = x
        elif op in ('uitofp', 'sitofp'):
            if 'nneg' in flags:
                poison.append(x.is_set(x.width - 1))
            fp, inexact = floats.of_integer(op, x, target)
            poison.append(inexact)
            result = self.pattern_of(fp, target)
        elif op in ('fptosi', 'fptoui'):
            result, impossible = floats.to_integer(op, floats.fp(source, x), width)
            poison.append(impossible)
        elif op in ('fpext', 'fptrunc'):
            fp = bv.fp_round(bv.RNE, floats.fp(source, x), *SHAPES[target])
            result = self.pattern_of(fp, target)
        else:
            raise Refused(op)
        return Value(result, merged(poison))

    def call(self, name, arguments):
        values = [self.operand(*argument.split()) for argument in split(arguments)]
        x, poison = values[0].bits, [value.poison for value in values]
        y = values[1].bits if len(values) > 1 else None
        if name in ('umin', 'umax', 'smin', 'smax'):
            less = x < y if name[0] == 'u' else x.slt(y)
            result = ite(less, x, y) if name.endswith('min') else ite(less, y, x)
        elif name in ('ctlz', 'cttz'):
            result = bv.leading_zeros(x) if name == 'ctlz' else trailing_zeros(x)
            poison.append((y == 1) & (x == 0))
        elif name == 'abs':
            result = ite(x.slt(0), -x, x)
            poison.append((y == 1) & (x == 1 << x.width - 1))
        elif name == 'usub.sat':
            result = ite(x < y, 0, x - y)
        elif name == 'uadd.sat':
            result = ite(x.overflows(Kind.BV_UADD_OVERFLOW, y), -1, x + y)
        elif name in ('fshl', 'fshr'):
            shift = (values[2].bits & (x.width - 1)).zext(2 * x.width)
            both = bv.concat(x, y)
            result = ((both << shift)[2 * x.width - 1:x.width] if name == 'fshl'
                      else (both >> shift).trunc(x.width))
        else:
            raise Refused(f'call of {name}')
        return Value(result, merged(poison))

    def instruction(self, text):
        op = text.split(None, 1)[0]
        if op in OPERATIONS and (m := re.fullmatch(BINARY, text)):
            return self.binary(*m.groups())
        if m := re.fullmatch(CAST, text):
            return self.cast(*m.groups())
        if m := re.fullmatch(r'icmp (\w+) (\w+) (\S+), (\S+)', text):
            a, b = (self.operand(m[2], name) for name in m.groups()[2:])
            return Value(bit(COMPARISONS[m[1]](a.bits, b.bits)), merged([a.poison, b.poison]))
        if m := re.fullmatch(r'select i1 (\S+), (\w+) (\S+), \w+ (\S+)', text):
            c, a, b = self.operand('i1', m[1]), self.operand(m[2], m[3]), self.operand(m[2], m[4])
            chosen = c.bits == 1
            poison = NO if a.poison is NO and b.poison is NO else ite(chosen, a.poison, b.poison)
            return Value(ite(chosen, a.bits, b.bits), merged([c.poison, poison]))
        if m := re.fullmatch(r'freeze (\w+) (\S+)', text):
            value = self.operand(*m.groups())
            if value.poison is NO:
                return value
            return Value(ite(value.poison, self.fresh(value.bits.width), value.bits))
        if m := re.fullmatch(r'call \w+ @llvm\.([a-z.]+)\.i\d+\((.*)\)', text):
            return self.call(*m.groups())
        if m := re.fullmatch(r'(fadd|fsub|fmul|fdiv) (\w+) (\S+), (\S+)', text):
            a, b = (self.operand(m[2], name) for name in m.groups()[2:])
            self.operands, self.before = [a.bits, b.bits], self.assumed[:]
            fp = bv.fp_op(floats.ARITHMETIC[op], bv.RNE, floats.fp(m[2], a.bits),
                          floats.fp(m[2], b.bits))
            return Value(self.pattern_of(fp, m[2]), merged([a.poison, b.poison]))
        if m := re.fullmatch(r'fcmp (\w+) (\w+) (\S+), (\S+)', text):
            a, b = (self.operand(m[2], name) for name in m.groups()[2:])
            holds = floats.compared(m[1], floats.fp(m[2], a.bits), floats.fp(m[2], b.bits))
            return Value(bit(holds), merged([a.poison, b.poison]))
        if m := re.fullmatch(r'(?:fneg|call \w+ @llvm\.fabs\.f\d+\()\s*(\w+) ([^\s)]+)\)?', text):
            value = self.operand(m[1], m[2])
            return Value(floats.unary(op, value.bits), value.poison)
        raise Refused(text)


def split(text):
    return [part for part in text.split(', ') if part]


def merged(poison):
    """Joins conditions, and drops those that are always false."""
    return any_of(p for p in poison if p is not NO) if any(p is not NO for p in poison) else NO


def trailing_zeros(x):
    count = bits(x.width, x.width)
    for place in reversed(range(x.width)):
        count = ite(x.is_set(place), place, count)
    return count


def edges_of(t, line, reached):
    """Returns the condition of each edge that the block's last line makes, and the poison of its
    choice."""
    if line.startswith('br label'):
        return [(ir.successors(line)[0], reached)], NO
    if m := re.match(r'br i1 (\S+),', line):
        choice = t.operand('i1', m[1])
        yes, no = ir.successors(line)
        return [(yes, reached & (choice.bits == 1)), (no, reached & (choice.bits == 0))], choice.poison
    if m := re.match(r'switch (\w+) (\S+), label', line):
        choice = t.operand(m[1], m[2])
        default, *labels = ir.successors(line)
        cases = [choice.bits == int(c) for c in re.findall(m[1] + r' (-?\d+), label', line)]
        edges = [(label, reached & case) for label, case in zip(labels, cases)]
        return edges + [(default, reached & ~any_of(cases))], choice.poison
    raise Refused(line)


def translate(function, any_product=False):
    """Returns the Model of a function on unknown inputs. With `any_product`, products are unknown."""
    t = Translation(function, any_product)
    inputs = [bv.unknown(width_of(type), f'input{i}')
              for i, (type, _) in enumerate(function.parameters)]
    t.values = {name: Value(x) for (_, name), x in zip(function.parameters, inputs)}
    order = ir.ordered(function)
    incoming = {label: [] for label in order}  # (from, condition)
    undefined, results = [], []
    for label in order:
        conditions = [condition for _, condition in incoming[label]]
        reached = any_of(conditions) if conditions else truth(True)
        for line in function.blocks[label]:
            if m := re.fullmatch(f'({ir.NAME}) = (.*)', line):
                name, text = m.groups()
                phi = re.fullmatch(r'phi (\w+) (.*)', text)
                t.values[name] = (choice_of(t, phi, incoming[label]) if phi
                                  else t.instruction(text))
            elif m := re.fullmatch(r'ret (\w+) (\S+)', line):
                results.append((reached, t.operand(*m.groups())))
            elif line == 'unreachable':
                undefined.append(reached)
            else:
                edges, poison = edges_of(t, line, reached)
                if poison is not NO:
                    undefined.append(reached & poison)
                for target, condition in edges:
                    incoming[target].append((label, condition))
    result = results[-1][1].bits
    for condition, value in results[:-1]:
        result = ite(condition, value.bits, result)
    undefined += [condition & value.poison for condition, value in results if value.poison is not NO]
    return Model(inputs, result, any_of(undefined), t.assumed, t.operands, t.before,
                 t.products)


def choice_of(t, phi, incoming):
    arms = {label[1:]: t.operand(phi[1], text) for text, label in
            re.findall(r'\[ (\S+), (' + ir.NAME + r') \]', phi[2])}
    *firsts, last = incoming
    value, poison = arms[last[0]]
    for label, condition in firsts:
        arm = arms[label]
        value = ite(condition, arm.bits, value)
        if arm.poison is not NO or poison is not NO:
            poison = ite(condition, arm.poison, poison)
    return Value(value, poison)
