# SPDX-License-Identifier: Apache-2.0
"""PyTorch's derivatives, on what backward.cpp gives lowp's, beside the same in double precision."""
import numpy
from formats import elements_of, random_floats
from maps import NORM_COLUMNS, NORM_EPS, TYPES, compare, unit_of


def softmax(x, dy):
    import torch
    return lambda: torch._softmax_backward_data(dy, x, -1, x.dtype)


def log_softmax(x, dy):
    import torch
    return lambda: torch._log_softmax_backward_data(dy, x, -1, x.dtype)


def from_graph(function, count):
    """Returns the derivative of a function of x, weight and bias, or the first `count` of them. Only
    the way back is timed."""
    def make(x, dy):
        import torch
        ramp = torch.arange(x.shape[1]) / x.shape[1]
        with torch.enable_grad():
            inputs = [t.to(x.dtype, copy=True).requires_grad_() for t in (x, 1 + ramp, ramp - 0.5)][:count]
            y = function(*inputs)
        return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)[0]
    return make


def rms_norm(x, weight):
    import torch
    return torch.nn.functional.rms_norm(x, x.shape[1:], weight, NORM_EPS)


def layer_norm(x, weight, bias):
    import torch
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, NORM_EPS)


def gelu_tanh(x):
    import torch
    return torch.nn.functional.gelu(x, approximate="tanh")


def gelu(x):
    import torch
    return torch.nn.functional.gelu(x)


def silu(x):
    import torch
    return torch.nn.functional.silu(x)


def cross_entropy(x, _):
    import torch
    x = x.detach().clone().requires_grad_()
    labels = 37 * torch.arange(x.shape[0]) % x.shape[1]

    def run():
        with torch.enable_grad():
            loss = torch.nn.functional.cross_entropy(x, labels)
        return torch.autograd.grad(loss, x)[0]
    return run


def derivative_cases():
    import torch
    for form in ("float", "bfloat16"):
        elements = elements_of(3 * TYPES[form])
        dtype = {"float": torch.float32, "bfloat16": torch.bfloat16}[form]
        z, dy = (torch.from_numpy(random_floats(seed, elements)).view(-1, NORM_COLUMNS)
                 for seed in (4, 5))
        for name, make, x in (("softmax", softmax, z.abs() / NORM_COLUMNS),
                              ("log_softmax", log_softmax, -z.abs() - 6.5),
                              ("rms_norm", from_graph(rms_norm, 2), z),
                              ("layer_norm", from_graph(layer_norm, 3), z),
                              ("gelu_tanh", from_graph(gelu_tanh, 1), z),
                              ("gelu", from_graph(gelu, 1), z),
                              ("silu", from_graph(silu, 1), z),
                              ("cross_entropy", cross_entropy, 3 * z)):
            x, its_dy = x.to(dtype), dy.to(dtype)
            run = make(x, its_dy)
            exact = make(x.double(), its_dy.double())().numpy()
            case = f"backward/{name}/{form}/torch"
            largest = numpy.abs(exact).max(axis=1, keepdims=True)
            # PyTorch rounds statistics and derivatives of losses to the format on the way.
            compare(case, form, run(), exact, largest, unit_of(form, largest))
            yield case, elements, run
