# SPDX-License-Identifier: Apache-2.0
"""Writes a bit-vector term as a C function. It reads the term, so it sees what the solver sees."""
from bitwuzla import Kind

TYPES = ((64, 'uint64_t'), (128, 'unsigned __int128'))
INFIX = {Kind.BV_ADD: '+', Kind.BV_SUB: '-', Kind.BV_MUL: '*', Kind.BV_AND: '&', Kind.BV_OR: '|',
         Kind.BV_XOR: '^', Kind.BV_ULT: '<', Kind.BV_ULE: '<=', Kind.BV_UGT: '>', Kind.BV_UGE: '>=',
         Kind.EQUAL: '==', Kind.AND: '&', Kind.OR: '|', Kind.XOR: '^'}
SIGNED = {Kind.BV_SLT: '<', Kind.BV_SLE: '<=', Kind.BV_SGT: '>', Kind.BV_SGE: '>='}


def width(term):
    return term.sort().bv_size() if term.sort().is_bv() else 1


def c_type(bits):
    return next(name for limit, name in TYPES if bits <= limit)


def mask(bits):
    return f'((({c_type(bits)})~({c_type(bits)})0) >> {(64 if bits <= 64 else 128) - bits})'


def signed(name, bits):
    full = 64 if bits <= 64 else 128
    kind = 'int64_t' if bits <= 64 else '__int128'
    return f'(({kind})({name} << {full - bits}) >> {full - bits})'


def expression(term, kind, names, bits):
    """Returns an expression of the operands' names, before it is cut to its width."""
    operand = width(term[0]) if names else 0
    if kind == Kind.VALUE:
        value = int(term.value(10)) if term.sort().is_bv() else int(term.is_true())
        return f'((({c_type(bits)}){value >> 64:#x}ull << {64 if bits > 64 else 0}) | {value & (1 << 64) - 1:#x}ull)'
    if kind in INFIX:
        return f' {INFIX[kind]} '.join(names)
    if kind in SIGNED:
        return f'{signed(names[0], operand)} {SIGNED[kind]} {signed(names[1], operand)}'
    if kind == Kind.NOT:
        return f'!{names[0]}'
    if kind == Kind.BV_NOT:
        return f'~{names[0]}'
    if kind == Kind.BV_NEG:
        return f'0 - {names[0]}'
    if kind == Kind.ITE:
        return f'{names[0]} ? {names[1]} : {names[2]}'
    if kind in (Kind.BV_SHL, Kind.BV_SHR):
        sign = '<<' if kind == Kind.BV_SHL else '>>'
        return f'{names[1]} < {operand} ? {names[0]} {sign} {names[1]} : 0'
    if kind == Kind.BV_ASHR:
        return (f'({c_type(bits)})({signed(names[0], operand)} >> '
                f'({names[1]} < {operand} ? {names[1]} : {operand - 1}))')
    if kind == Kind.BV_EXTRACT:
        return f'{names[0]} >> {term.indices()[1]}'
    if kind == Kind.BV_ZERO_EXTEND:
        return names[0]
    if kind == Kind.BV_SIGN_EXTEND:
        return f'({c_type(bits)}){signed(names[0], operand)}'
    if kind == Kind.BV_CONCAT:
        text = f'({c_type(bits)}){names[0]}'
        for name, part in zip(names[1:], term.children()[1:]):
            text = f'(({text}) << {width(part)} | {name})'
        return text
    overflow = {Kind.BV_UADD_OVERFLOW: '+', Kind.BV_SADD_OVERFLOW: '+', Kind.BV_USUB_OVERFLOW: '-',
                Kind.BV_SSUB_OVERFLOW: '-', Kind.BV_UMUL_OVERFLOW: '*', Kind.BV_SMUL_OVERFLOW: '*'}
    if kind in overflow and operand <= 64:
        is_signed = kind in (Kind.BV_SADD_OVERFLOW, Kind.BV_SSUB_OVERFLOW, Kind.BV_SMUL_OVERFLOW)
        a, b = (f'(__int128){signed(name, operand) if is_signed else name}' for name in names)
        limit = f'((__int128)1 << {operand - 1 if is_signed else operand})'
        low = f'-{limit}' if is_signed else '0'
        return (f'({a} {overflow[kind]} {b}) < {low} || ({a} {overflow[kind]} {b}) >= {limit}')
    raise ValueError(f'no C for {kind}')


def c_function(name, inputs, result):
    """Returns a C function of a term.

    A constant that is no input is 0. LLVM leaves its value open, and no proved result depends on it.
    """
    names = {x.term.id(): f'a{i}' for i, x in enumerate(inputs)}
    lines = []
    stack = [result.term]
    while stack:
        term = stack[-1]
        if term.id() in names:
            stack.pop()
            continue
        missing = [child for child in term.children() if child.id() not in names]
        if missing:
            stack += missing
            continue
        stack.pop()
        bits = width(term)
        operands = [names[child.id()] for child in term.children()]
        text = '0' if term.kind() == Kind.CONSTANT else expression(term, term.kind(), operands, bits)
        names[term.id()] = f't{len(lines)}'
        lines.append(f'  {c_type(bits)} t{len(lines)} = ({text}) & {mask(bits)};')
    arguments = ', '.join(f'uint64_t a{i}' for i in range(len(inputs)))
    return (f'static uint64_t {name}({arguments}) {{\n' + '\n'.join(lines) +
            f'\n  return {names[result.term.id()]};\n}}\n')
