# SPDX-License-Identifier: Apache-2.0
"""PyTorch's softmax, GELU, SiLU, norms and sums, on what maps.hpp gives lowp's.

Each is compared with the same formula in double precision, as lowp's tests compare lowp. It may
differ by RELATIVE of the magnitudes that float rounds on the way. One unit in the last place of the
result's format is allowed too: the rounded number may lie on the other side of a tie. PyTorch's
log_softmax also rounds the sum to that format, of which the logarithm is taken.
"""
import math

import numpy
from casts import tensor_of
from formats import FORMATS, elements_of, random_floats, check_close

TYPES = {"float": 4, "bfloat16": 2, "float16": 2}
SIGNIFICANT_BITS = {"float": 24, "bfloat16": 8, "float16": 11}
SMALLEST = {"float": 2.0**-149, "bfloat16": 2.0**-133, "float16": 2.0**-24}
RELATIVE = 2.0**-17
NORM_COLUMNS, NORM_EPS = 1024, 1e-6


def input_of(form, elements, deviation):
    """A tensor of normal numbers, and the same in double precision."""
    import torch
    floats = random_floats(4, elements) * numpy.float32(deviation)
    if form == "float":
        return torch.from_numpy(floats), floats.astype(numpy.float64)
    codes = FORMATS[form].encode(floats)
    return (tensor_of(codes, getattr(torch, form)),
            FORMATS[form].decode(codes).astype(numpy.float64))


def unit_of(form, x):
    """In the last place, or twice that."""
    return numpy.maximum(numpy.abs(x) * 2.0**(1 - SIGNIFICANT_BITS[form]), SMALLEST[form])


def compare(name, form, found, exact, scale, more=0):
    """`scale` is the magnitude of what float rounds on the way; `more` is allowed too."""
    import torch
    allowed = RELATIVE * scale + unit_of(form, exact) + more
    check_close(name, found.to(torch.float64).numpy(), exact, allowed)


def masked_softmax_case(form, size):
    """Three calls, for one of lowp's."""
    import torch
    columns, queries, scale = 1024, 64, 0.5
    elements = elements_of(2 * size)
    x, wide = input_of(form, elements, 3)
    x, wide = x.view(-1, queries, columns), wide.reshape(-1, queries, columns)
    mask = (torch.arange(queries * columns) % 4 == 0).view(queries, columns)
    scores, out = torch.empty_like(x), torch.empty_like(x)

    def run():
        torch.mul(x, scale, out=scores)
        scores.masked_fill_(mask, -math.inf)
        torch.softmax(scores, -1, out=out)

    run()
    wide = numpy.where(mask.numpy(), -numpy.inf, wide * scale)
    e = numpy.exp(wide - wide.max(axis=-1, keepdims=True))
    exact = e / e.sum(axis=-1, keepdims=True)
    name = f"softmax/scale_mask/{form}/{columns}/torch"
    compare(name, form, out, exact, numpy.abs(exact))
    return name, elements, run


def softmax_cases():
    import torch
    for form, size in TYPES.items():
        yield masked_softmax_case(form, size)
        for columns in (128, 1024, 8192):
            elements = elements_of(2 * size)
            x, wide = input_of(form, elements, 3)
            x, wide = x.view(-1, columns), wide.reshape(-1, columns)
            out = torch.empty_like(x)
            shifted = wide - wide.max(axis=1, keepdims=True)
            total = numpy.exp(shifted).sum(axis=1, keepdims=True)
            for path, function, exact, more in (
                    ("", torch.softmax, numpy.exp(shifted) / total, 0),
                    ("log/", torch.log_softmax, shifted - numpy.log(total), unit_of(form, 1))):
                name = f"softmax/{path}{form}/{columns}/torch"

                def run(function=function, x=x, out=out):
                    function(x, -1, out=out)

                run()
                compare(name, form, out, exact, numpy.abs(exact), more)
                yield name, elements, run


def activation_cases(form, x, wide):
    import torch
    u = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    share = torch.special.ndtr(torch.from_numpy(wide)).numpy()
    for name, function, exact in (
            ("gelu_tanh", lambda out: torch._C._nn.gelu(x, approximate="tanh", out=out),
             wide / 2 * (1 + numpy.tanh(u))),
            ("gelu", lambda out: torch._C._nn.gelu(x, out=out), wide * share),
            ("silu", lambda out: torch._C._nn.silu(x, out=out), wide / (1 + numpy.exp(-wide)))):
        out = torch.empty_like(x)

        def run(function=function, out=out):
            function(out)

        run()
        yield name, run, out, exact, numpy.abs(wide)


def norm_cases(form, x, wide, is_behind_sum=False):
    """Two calls behind a residual sum, for one of lowp's; the norm is that of the rounded sum."""
    import torch
    x, wide = x.view(-1, NORM_COLUMNS), wide.reshape(-1, NORM_COLUMNS)
    prefix, stream, addend = "", (lambda: x), None
    if is_behind_sum:
        addend, total = x.flip(0), torch.empty_like(x)
        prefix, stream = "add_", (lambda: torch.add(x, addend, out=total))
        wide = stream().to(torch.float64).numpy()
    ramp = torch.arange(NORM_COLUMNS) / NORM_COLUMNS
    weight, bias = (1 + ramp).to(x.dtype), (ramp - 0.5).to(x.dtype)
    w, b = (t.to(torch.float64).numpy() for t in (weight, bias))
    functional = torch.nn.functional

    def layer_norm():
        return functional.layer_norm(stream(), (NORM_COLUMNS,), weight, bias, NORM_EPS)

    def rms_norm():
        return functional.rms_norm(stream(), (NORM_COLUMNS,), weight, NORM_EPS)

    centred = wide - wide.mean(axis=1, keepdims=True)
    root = numpy.sqrt((centred**2).mean(axis=1, keepdims=True) + NORM_EPS)
    y = centred / root * w
    yield prefix + "layer_norm", layer_norm, layer_norm(), y + b, numpy.abs(y) + numpy.abs(b)
    y = wide / numpy.sqrt((wide**2).mean(axis=1, keepdims=True) + NORM_EPS) * w
    yield prefix + "rms_norm", rms_norm, rms_norm(), y, numpy.abs(y)


def sum_norm_cases(form, x, wide):
    return norm_cases(form, x, wide, is_behind_sum=True)


def embedding_cases(form, x, wide):
    """Two rows have an id. PyTorch's derivative fills a new table, lowp's adds to one."""
    import torch
    x, wide = x.view(-1, NORM_COLUMNS), wide.reshape(-1, NORM_COLUMNS)
    rows = len(x)
    ids = torch.arange(rows) * 7919 % max(1, rows // 2)

    def gather():
        return torch.nn.functional.embedding(ids, x)

    def scatter():
        return torch.ops.aten.embedding_dense_backward(x, ids, rows, -1, False)

    yield "gather_rows", gather, gather(), wide[ids], numpy.abs(wide[ids])
    total, size = numpy.zeros_like(wide), numpy.zeros_like(wide)
    numpy.add.at(total, ids.numpy(), wide)
    numpy.add.at(size, ids.numpy(), numpy.abs(wide))
    yield "scatter_add_rows", scatter, scatter(), total, size


def sum_case(form, elements):
    """In float, whatever the elements are; lowp's sum is double's."""
    import torch
    x, wide = input_of(form, elements, 2)

    def run():
        return torch.sum(x, dtype=torch.float32)

    name = f"pieces/sum/{form}/torch"
    compare(name, "float", run(), wide.sum(), numpy.abs(wide).sum())
    return name, elements, run


def piece_cases():
    for form, size in TYPES.items():
        for streams, cases in ((2, activation_cases), (2, norm_cases), (4, sum_norm_cases),
                               (2, embedding_cases)):
            elements = elements_of(streams * size)
            x, wide = input_of(form, elements, 2)
            for case, run, found, exact, scale in cases(form, x, wide):
                name = f"pieces/{case}/{form}/torch"
                compare(name, form, found.view(-1), exact.reshape(-1), scale.reshape(-1))
                yield name, elements, run
        yield sum_case(form, elements_of(size))
