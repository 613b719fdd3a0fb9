# SPDX-License-Identifier: Apache-2.0
"""Compares the errors of derivatives with those of PyTorch on the processor, against PyTorch in
double from the same numbers. They are as small or smaller. EXCESS is let pass
and printed if PyTorch is within a unit of the last place: the order of a sum decides.

In few rows of layer norm, the rounding of each row's reciprocal deviation decides. It is as large as
PyTorch's, but common to the row. Over DRAWS of many rows the errors are held to OF_DRAWS."""

import ctypes
import math
import sys

import torch
from torch.nn import functional as F

library = ctypes.CDLL(sys.argv[1])
EPS, SMOOTHING, IGNORED = 1e-5, 0.1, -100
SIZES = [(64, 1000), (7, 4096), (300, 33), (2, 50257)]
EXCESS = {torch.float32: 1.25, torch.bfloat16: 1.001}
DRAWS, SIZES_OF_DRAWS = 16, [(300, 33), (64, 1024)]
OF_DRAWS = {torch.float32: 1.02, torch.bfloat16: 1.001}
aten = torch.ops.aten


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in (
        "x", "dy", "dx", "weight", "dweight", "dbias", "losses", "labels", "batch")] + [
        ("rows", ctypes.c_size_t), ("columns", ctypes.c_size_t), ("eps", ctypes.c_float),
        ("label_smoothing", ctypes.c_float)]


def of_output(function):
    """Returns a function that computes the derivatives of a forward function."""
    def derivatives(x, weight, bias, dy, labels):
        inputs = [t.detach().requires_grad_() for t in (x, weight, bias)]
        function(*inputs, labels).backward(dy)
        return [t.grad for t in inputs if t.grad is not None]
    return derivatives


def cross_entropy(x, weight, bias, dy, labels):
    x = x.detach().requires_grad_()
    loss = F.cross_entropy(x, labels, ignore_index=IGNORED, label_smoothing=SMOOTHING)
    loss.backward()
    losses = F.cross_entropy(x, labels, ignore_index=IGNORED, label_smoothing=SMOOTHING,
                             reduction="none")
    return [x.grad, losses.detach()]


# Names of the library's results, and PyTorch's function.
PIECES = {
    "softmax": (["dx"], lambda x, w, b, dy, _: [aten._softmax_backward_data(dy, x, -1, x.dtype)]),
    "log_softmax": (["dx"], lambda x, w, b, dy, _: [aten._log_softmax_backward_data(dy, x, -1, x.dtype)]),
    "rms_norm": (["dx", "dweight"],
                 of_output(lambda x, w, b, _: F.rms_norm(x, x.shape[1:], w, EPS))),
    "layer_norm": (["dx", "dweight", "dbias"],
                   of_output(lambda x, w, b, _: F.layer_norm(x, x.shape[1:], w, b, EPS))),
    "gelu_tanh": (["dx"], of_output(lambda x, w, b, _: F.gelu(x, approximate="tanh"))),
    "gelu": (["dx"], of_output(lambda x, w, b, _: F.gelu(x))),
    "silu": (["dx"], of_output(lambda x, w, b, _: F.silu(x))),
    "value_of_gelu": (["dx"], lambda x, *_: [F.gelu(x)]),
    "value_of_silu": (["dx"], lambda x, *_: [F.silu(x)]),
    "cross_entropy": (["dx", "losses"], cross_entropy),
}


def error_of(got, want):
    """Returns the root of the mean square of the error, relative to that of the numbers."""
    return ((got.double() - want).square().mean().sqrt() / want.square().mean().sqrt()).item()


def errors(name, dtype, rows, columns, seed):
    """Yields each result's name, the library's error and PyTorch's."""
    results, theirs = PIECES[name]
    torch.manual_seed(seed)
    x, dy = (torch.randn(rows, columns) for _ in range(2))
    x *= 3
    if name == "softmax":
        x = x.softmax(-1)
    if name == "log_softmax":
        x = x.log_softmax(-1)
    x, dy = x.to(dtype), dy.to(dtype)
    weight, bias = (1 + 0.1 * torch.randn(columns)).to(dtype), torch.zeros(columns, dtype=dtype)
    labels = torch.randint(columns, (rows,))
    labels[1::3] = IGNORED
    out = {"dx": torch.empty_like(x), "dweight": torch.empty(columns), "dbias": torch.empty(columns),
           "losses": torch.empty(rows), "batch": torch.empty(2, dtype=torch.double)}
    inputs = {"x": x, "dy": dy, "weight": weight, "labels": labels, **out}
    call = Call(**{key: t.data_ptr() for key, t in inputs.items()}, rows=rows, columns=columns,
                eps=EPS, label_smoothing=SMOOTHING)
    getattr(library, f"{name}_{str(dtype).removeprefix('torch.')}")(ctypes.byref(call))
    in_their_type = theirs(x, weight, bias, dy, labels)
    exact = theirs(*(t.double() for t in (x, weight, bias, dy)), labels)
    if name == "cross_entropy":
        assert (out["dx"][1::3] == 0).all() and (out["losses"][1::3] == 0).all()
        mean = F.cross_entropy(x.double(), labels, ignore_index=IGNORED, label_smoothing=SMOOTHING).item()
        assert abs(out["batch"][0] - mean) < 1e-6 * mean, (out["batch"], mean)
        assert out["batch"][1] == rows - len(labels[1::3]), (out["batch"], rows)
    for result, their, want in zip(results, in_their_type, exact):
        yield result, error_of(out[result], want), error_of(their, want)


def check(name, dtype):
    worst = 0.0
    for seed, (rows, columns) in enumerate(SIZES):
        for result, ours, beside in errors(name, dtype, rows, columns, seed):
            limit = EXCESS[dtype] if beside < torch.finfo(dtype).eps else 1
            assert ours <= beside * limit, (name, dtype, rows, columns, result, ours, beside)
            worst = max(worst, ours / beside)
    of_draws = 0.0
    for rows, columns in SIZES_OF_DRAWS:
        squares = {}
        for seed in range(100, 100 + DRAWS):
            for result, *both in errors(name, dtype, rows, columns, seed):
                sums = squares.setdefault(result, [0.0, 0.0])
                sums[:] = [s + e * e for s, e in zip(sums, both)]
        for result, (ours, beside) in squares.items():
            ratio = math.sqrt(ours / beside)
            assert ratio <= OF_DRAWS[dtype], (name, dtype, rows, columns, result, ratio)
            of_draws = max(of_draws, ratio)
    print(f"{name} {dtype}: at most {worst:.4f} of PyTorch {torch.__version__}'s error,"
          f" {of_draws:.4f} over {DRAWS} draws")


for name in PIECES:
    for dtype in (torch.float32, torch.bfloat16):
        check(name, dtype)
