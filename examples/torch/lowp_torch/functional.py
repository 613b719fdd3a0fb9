# SPDX-License-Identifier: Apache-2.0
"""Functions of torch.nn.functional, with the library's rounding: each result is computed in float and
rounded once. A row's bits depend neither on the other rows nor on the number of threads. Tensors are of
float32, bfloat16 or float16, in the memory of the processor or of a GPU.

All are operators of torch.library with derivatives, and torch.compile keeps them in its graph."""

import ctypes
import functools
import glob
import os
from typing import NamedTuple, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor

from lowp_torch import build

_here = os.path.dirname(os.path.realpath(__file__))
FLOATS = (torch.float32, torch.bfloat16, torch.float16)
_FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
# PyTorch 2.5 to 2.7 have no such dtypes: bytes then.
_E8M0 = getattr(torch, "float8_e8m0fnu", torch.uint8)
_FLOAT4 = getattr(torch, "float4_e2m1fn_x2", torch.uint8)
DTYPES = {dtype: i for i, dtype in enumerate((*FLOATS, *_FLOAT8, _FLOAT4))}
_PLAIN = (Tensor, torch.nn.Parameter)
_ROUNDINGS = {"nearest": 0, "stochastic": 1, "stochastic_fast": 2}
_ACTIVATIONS = {"gelu": 0, "gelu_tanh": 1, "silu": 2}

# The functions of rows.cpp, elements.cpp and blocks.cpp, with a letter for each argument.
_TYPES = {"p": ctypes.c_void_p, "n": ctypes.c_uint64, "u": ctypes.c_uint32, "s": ctypes.c_int64,
          "d": ctypes.c_double, "f": ctypes.c_float, "i": ctypes.c_int, "b": ctypes.c_bool,
          "c": ctypes.c_char_p}
_ROWS = {
    "softmax": "pnpnnb", "softmax_backward": "pppnnb",
    "rms_norm": "pnpppnnd", "rms_norm_backward": "pnpppppnnb",
    "add_rms_norm": "ppppppnnd",
    "layer_norm": "pnpppppnnd", "layer_norm_backward": "pnpppppppnn",
    "activation": "ippn", "activation_backward": "ipppn",
    "gated": "ipnpnpnn", "gated_backward": "ipppppn",
    "cross_entropy": "pnpppnnnsf", "cross_entropy_backward": "ppnpppnnsf",
}
_ELEMENTS = {"cast": "pipinisssi", "fused_add": "pipipndisss", "ema": "ppnidnnu"}
_BLOCKED = {"quantize": "pnncippppiss", "dequantize": "pppniip"}
_SCRATCH = 1 << 26  # elements of derivatives that nobody asks for, on a GPU


@functools.cache
def _functions(kind, capability=None):
    """Returns the functions of a library by their name. It is compiled now if pip has not done it."""
    letters_of = {"rows": _ROWS, "elements": _ELEMENTS, "blocks": _BLOCKED}[kind[0]]
    if capability:
        letters_of = {**letters_of, "on_stream": "p"}
    paths = [] if capability else glob.glob(os.path.join(_here, "kernels", "_".join(kind) + ".*so"))
    library = ctypes.CDLL(paths[0] if paths else build.built(kind, capability))
    functions = {name: getattr(library, f"lowp_{name}") for name in letters_of}
    for name, function in functions.items():
        function.argtypes = [_TYPES[letter] for letter in letters_of[name]]
        function.restype = ctypes.c_char_p
    return functions


def functions_for(x, *kind):
    """Returns a library's functions for a tensor, on PyTorch's current stream if a GPU has it."""
    if x.is_cpu:
        return _functions(kind)
    functions = _functions(kind, "".join(map(str, torch.cuda.get_device_capability(x.device))))
    functions["on_stream"](torch.cuda.current_stream(x.device).cuda_stream)
    return functions


def _rows_of(x):
    """Returns the functions for the rows of a tensor."""
    return functions_for(x, "rows", str(x.dtype).partition(".")[2])


def _blocks_of(x, recipe="none"):
    """Returns the functions of blocks.cpp. On a GPU each recipe has a library; none of them dequantizes."""
    return functions_for(x, "blocks", *([] if x.is_cpu else [recipe]))


def _as_taken(x):
    """Returns the elements in row-major order. A GPU takes floats."""
    return (x.float() if x.is_cuda else x).contiguous()


def call(functions, name, *arguments):
    """Calls a function of a library. Raises ValueError with the error text of a refused call."""
    error = functions[name](*arguments)
    if error is not None:
        raise ValueError(error.decode())


_library = torch.library.Library("lowp", "FRAGMENT")


def _is_watched():
    """Returns whether something of PyTorch looks at the operators that are called: a compiler, a mode, a
    transform or a tracer."""
    return (torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack()
            or torch._C._len_torch_function_stack() or torch._C._get_tracing_state() is not None
            or torch._C._functorch.peek_interpreter_stack() is not None
            or torch.autograd.forward_ad._current_level >= 0)


def _operator(schema, fake, setup=None, backward=None):
    """Registers a kernel of the processor, its shapes and its derivative. Returns a function that calls
    the operator, or its kernel if nothing looks: the wrappers of PyTorch take four times its price."""
    name, _, arguments = schema.partition("(")

    def registered(kernel):
        _library.define(schema)
        _library.impl(name, kernel, "CPU")

        def on_gpu(*inputs):
            with torch.cuda.device(inputs[0].device):
                return kernel(*inputs)

        _library.impl(name, on_gpu, "CUDA")
        torch.library.register_fake(f"lowp::{name}", fake, lib=_library)
        if backward:
            torch.library.register_autograd(f"lowp::{name}", backward, setup_context=setup,
                                            lib=_library)
        operator = getattr(torch.ops.lowp, name).default
        if "!" in arguments:  # PyTorch counts what it writes
            return operator

        class Differentiable(torch.autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                output = kernel(*inputs)
                setup(ctx, inputs, output)
                return output

        Differentiable.backward = staticmethod(backward)

        def called(*inputs):
            if _is_watched():
                return operator(*inputs)
            needs_gradient = False
            for each in inputs:
                if isinstance(each, Tensor):
                    if type(each) not in _PLAIN or not each.is_cpu:
                        return operator(*inputs)
                    needs_gradient = needs_gradient or each.requires_grad
            if not needs_gradient or not torch.is_grad_enabled():
                return kernel(*inputs)
            return Differentiable.apply(*inputs) if backward else operator(*inputs)
        return called
    return registered


def _described(x):
    return f"a tensor of {x.dtype}, sizes {list(x.shape)}"


def _check(function, x, dtypes=FLOATS):
    if x.dtype not in dtypes:
        names = ", ".join(str(dtype) for dtype in dtypes)
        raise ValueError(f"{function}: {_described(x)}: it must be of {names}")


def _check_rows(function, x):
    _check(function, x)
    if x.dim() == 0:
        raise ValueError(f"{function}: {_described(x)}: it has no rows")


def _check_alike(function, a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        raise ValueError(f"{function}: {_described(a)}, and {_described(b)}: they must be equal")


def _number(function, argument, value, table):
    if value not in table:
        raise ValueError(f"{function}: {argument} is {value!r}, not one of {', '.join(table)}")
    return table[value]


def _rows(x):
    """Returns rows, of x itself if they have one stride: the tensor, stride, rows and columns."""
    columns = x.shape[-1]
    rows = x.numel() // columns if columns else 0
    if not x.is_contiguous() and rows:
        try:
            view = x.view(rows, columns)
        except RuntimeError:
            view = x.contiguous().view(rows, columns)
        if rows > 1 and view.stride(0) < columns or view.stride(1) != 1:
            view = view.contiguous()
        return view, view.stride(0) if rows > 1 else columns, rows, columns
    return x, columns, rows, columns


def _empty(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _floats(x, *sizes):
    return torch.empty(sizes, dtype=torch.float32, device=x.device)


def _row_sizes(x):
    return x.shape[:-1]


def _in_one_order(*tensors):
    """Returns an empty tensor like the first, and the tensors in its order in memory."""
    out = torch.empty_like(tensors[0])
    return out, *(t if t.stride() == out.stride() else torch.empty_like(out).copy_(t) for t in tensors)


# Softmax

def _softmax_shape(x, is_log):
    _check_rows("softmax", x)
    return _empty(x)


def _softmax_setup(ctx, inputs, output):
    ctx.save_for_backward(output)
    ctx.is_log = inputs[1]


def _softmax_derivative(ctx, dy):
    return _softmax_backward(dy, ctx.saved_tensors[0], ctx.is_log), None


@_operator("softmax_backward(Tensor dy, Tensor y, bool is_log) -> Tensor",
           lambda dy, y, is_log: _empty(y))
def _softmax_backward(dy, y, is_log):
    y, _, rows, columns = _rows(y)
    dy, dx = dy.contiguous(), _empty(y)
    if y.numel():
        call(_rows_of(y), "softmax_backward", y.data_ptr(), dy.data_ptr(), dx.data_ptr(), rows,
             columns, is_log)
    return dx


@_operator("softmax(Tensor x, bool is_log) -> Tensor", _softmax_shape, _softmax_setup,
           _softmax_derivative)
def _softmax(x, is_log):
    out = _softmax_shape(x, is_log)
    x, stride, rows, columns = _rows(x)
    if x.numel():
        call(_rows_of(x), "softmax", x.data_ptr(), stride, out.data_ptr(), rows, columns, is_log)
    return out


def _softmax_along(input, dim, is_log):
    if dim == -1 or dim == input.dim() - 1:
        return _softmax(input, is_log)
    return _softmax(input.transpose(dim, -1), is_log).transpose(dim, -1)


def softmax(input: Tensor, dim: int = -1) -> Tensor:
    """Returns the softmax along a dimension. Scores of -inf have probability 0, and a row of them gives
    zeros, where PyTorch gives NaN."""
    return _softmax_along(input, dim, False)


def log_softmax(input: Tensor, dim: int = -1) -> Tensor:
    """Returns the logarithm of softmax along a dimension."""
    return _softmax_along(input, dim, True)


# Norms

def _check_columns(function, x, **parameters):
    _check_rows(function, x)
    for name, each in parameters.items():
        if each.dtype != x.dtype or each.shape != x.shape[-1:]:
            raise ValueError(f"{function}: {_described(x)}, and {name}, {_described(each)}: "
                             f"it must have dtype and columns of the rows")


def _rms_norm_shape(x, weight, eps):
    _check_columns("rms_norm", x, weight=weight)
    return _empty(x), _floats(x, *_row_sizes(x))


def _rms_norm_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2], output[1])
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _rms_norm_derivative(ctx, dy, _):
    if dy is None:
        return None, None, None
    return *_rms_norm_backward(dy, *ctx.saved_tensors), None


def _rms_norm_derivatives(dx, dy, x, weight, rms, adds):
    dweight = torch.zeros_like(weight, dtype=torch.float32)
    x, stride, rows, columns = _rows(x)
    dy, weight = dy.contiguous(), weight.contiguous()
    if x.numel():
        call(_rows_of(x), "rms_norm_backward", x.data_ptr(), stride, weight.data_ptr(),
             dy.data_ptr(), rms.data_ptr(), dx.data_ptr(), dweight.data_ptr(), rows, columns, adds)
    return dx, dweight.to(weight.dtype)


@_operator("rms_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor rms) -> (Tensor, Tensor)",
           lambda dy, x, weight, rms: (_empty(x), _empty(weight)))
def _rms_norm_backward(dy, x, weight, rms):
    return _rms_norm_derivatives(_empty(x), dy, x, weight, rms, False)


@_operator("rms_norm(Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)", _rms_norm_shape,
           _rms_norm_setup, _rms_norm_derivative)
def _rms_norm(x, weight, eps):
    out, rms = _rms_norm_shape(x, weight, eps)
    x, stride, rows, columns = _rows(x)
    weight = weight.contiguous()
    if x.numel():
        call(_rows_of(x), "rms_norm", x.data_ptr(), stride, weight.data_ptr(), out.data_ptr(),
             rms.data_ptr(), rows, columns, eps)
    return out, rms


def _add_rms_norm_shape(x, u, weight, eps):
    _check_columns("add_rms_norm", x, weight=weight)
    _check_alike("add_rms_norm", x, u)
    return _empty(x), _empty(x), _floats(x, *_row_sizes(x))


def _add_rms_norm_setup(ctx, inputs, output):
    ctx.save_for_backward(output[0], inputs[2], output[2])
    ctx.mark_non_differentiable(output[2])
    ctx.set_materialize_grads(False)


def _add_rms_norm_derivative(ctx, dsum, dy, _):
    if dy is None:
        return dsum, dsum, None, None
    if dsum is None:
        dx, dweight = _rms_norm_backward(dy, *ctx.saved_tensors)
    else:
        dx, dweight = _add_rms_norm_backward(dsum, dy, *ctx.saved_tensors)
    return dx, dx, dweight, None


@_operator("add_rms_norm_backward(Tensor dsum, Tensor dy, Tensor x, Tensor weight, Tensor rms)"
           " -> (Tensor, Tensor)", lambda dsum, dy, x, weight, rms: (_empty(x), _empty(weight)))
def _add_rms_norm_backward(dsum, dy, x, weight, rms):
    dx = dsum.clone(memory_format=torch.contiguous_format)
    return _rms_norm_derivatives(dx, dy, x, weight, rms, True)


@_operator("add_rms_norm(Tensor x, Tensor u, Tensor weight, float eps) -> (Tensor, Tensor, Tensor)",
           _add_rms_norm_shape, _add_rms_norm_setup, _add_rms_norm_derivative)
def _add_rms_norm(x, u, weight, eps):
    total, out, rms = _add_rms_norm_shape(x, u, weight, eps)
    x, u, weight = x.contiguous(), u.contiguous(), weight.contiguous()
    if x.numel():
        call(_rows_of(x), "add_rms_norm", x.data_ptr(), u.data_ptr(), weight.data_ptr(),
             total.data_ptr(), out.data_ptr(), rms.data_ptr(), x.numel() // x.shape[-1], x.shape[-1], eps)
    return total, out, rms


def _layer_norm_shape(x, weight, bias, eps):
    _check_columns("layer_norm", x, weight=weight, bias=bias)
    return _empty(x), _floats(x, *_row_sizes(x)), _floats(x, *_row_sizes(x))


def _layer_norm_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2], *output[1:])
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _layer_norm_derivative(ctx, dy, *_):
    if dy is None:
        return None, None, None, None
    return *_layer_norm_backward(dy, *ctx.saved_tensors), None


@_operator("layer_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor mean, Tensor deviation)"
           " -> (Tensor, Tensor, Tensor)",
           lambda dy, x, weight, mean, deviation: (_empty(x), _empty(weight), _empty(weight)))
def _layer_norm_backward(dy, x, weight, mean, deviation):
    dx = _empty(x)
    dweight, dbias = (torch.zeros_like(weight, dtype=torch.float32) for _ in range(2))
    x, stride, rows, columns = _rows(x)
    dy, weight = dy.contiguous(), weight.contiguous()
    if x.numel():
        call(_rows_of(x), "layer_norm_backward", x.data_ptr(), stride, weight.data_ptr(),
             dy.data_ptr(), mean.data_ptr(), deviation.data_ptr(), dx.data_ptr(), dweight.data_ptr(),
             dbias.data_ptr(), rows, columns)
    return dx, dweight.to(weight.dtype), dbias.to(weight.dtype)


@_operator("layer_norm(Tensor x, Tensor weight, Tensor bias, float eps) -> (Tensor, Tensor, Tensor)",
           _layer_norm_shape, _layer_norm_setup, _layer_norm_derivative)
def _layer_norm(x, weight, bias, eps):
    out, mean, deviation = _layer_norm_shape(x, weight, bias, eps)
    x, stride, rows, columns = _rows(x)
    weight, bias = weight.contiguous(), bias.contiguous()
    if x.numel():
        call(_rows_of(x), "layer_norm", x.data_ptr(), stride, weight.data_ptr(), bias.data_ptr(),
             out.data_ptr(), mean.data_ptr(), deviation.data_ptr(), rows, columns, eps)
    return out, mean, deviation


def _normalized(function, operator, input, normalized_shape, parameters, eps):
    """Calls a norm over the last dimensions. Parameters that are None get their default."""
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or tuple(input.shape[-len(shape):]) != shape:
        raise ValueError(f"{function}: {_described(input)}: it does not end with normalized_shape, "
                         f"{list(shape)}")
    rows = input if len(shape) == 1 else input.flatten(-len(shape))
    given = []
    for parameter, value in parameters:
        if parameter is None:
            given.append(torch.full(rows.shape[-1:], value, dtype=input.dtype, device=input.device))
        elif tuple(parameter.shape) != shape:
            raise ValueError(f"{function}: {_described(parameter)} beside normalized_shape, "
                             f"{list(shape)}")
        else:
            given.append(parameter if len(shape) == 1 else parameter.flatten())
    out = operator(rows, *given, eps)[0]
    return out if len(shape) == 1 else out.view(input.shape)


def rms_norm(input: Tensor, normalized_shape: Union[int, Sequence[int]],
             weight: Optional[Tensor] = None, eps: Optional[float] = None) -> Tensor:
    """Returns input / sqrt(mean of input^2 + eps) * weight over the last dimensions. Large elements
    do not overflow."""
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    return _normalized("rms_norm", _rms_norm, input, normalized_shape, [(weight, 1)], eps)


def add_rms_norm(input: Tensor, residual: Tensor, weight: Tensor,
                 eps: Optional[float] = None) -> Tuple[Tensor, Tensor]:
    """Returns residual + input, rounded once, and rms_norm of that sum over the last dimension. Memory
    is read and written once. The sum's gradient and that of the norm are added in float."""
    eps = torch.finfo(residual.dtype).eps if eps is None else eps
    return _add_rms_norm(residual, input, weight, eps)[:2]


def layer_norm(input: Tensor, normalized_shape: Union[int, Sequence[int]],
               weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               eps: float = 1e-5) -> Tensor:
    """Returns (input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions."""
    return _normalized("layer_norm", _layer_norm, input, normalized_shape, [(weight, 1), (bias, 0)],
                       eps)


# Activations

def _activation_shape(x, name):
    _check(name, x)
    _number("activation", "name", name, _ACTIVATIONS)
    return torch.empty_like(x)


def _activation_setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])
    ctx.name = inputs[1]


def _activation_derivative(ctx, dy):
    return _activation_backward(dy, *ctx.saved_tensors, ctx.name), None


@_operator("activation_backward(Tensor dy, Tensor x, str name) -> Tensor",
           lambda dy, x, name: torch.empty_like(x))
def _activation_backward(dy, x, name):
    dx, x, dy = _in_one_order(x, dy)
    call(_rows_of(x), "activation_backward", _ACTIVATIONS[name], x.data_ptr(), dy.data_ptr(),
         dx.data_ptr(), x.numel())
    return dx


@_operator("activation(Tensor x, str name) -> Tensor", _activation_shape, _activation_setup,
           _activation_derivative)
def _activation(x, name):
    _activation_shape(x, name)
    out, x = _in_one_order(x)
    call(_rows_of(x), "activation", _ACTIVATIONS[name], x.data_ptr(), out.data_ptr(), x.numel())
    return out


def _gated_shape(gate, up, name):
    _check_rows(f"gated_{name}", gate)
    _check_alike(f"gated_{name}", gate, up)
    _number("gated", "name", name, _ACTIVATIONS)
    return _empty(gate)


def _gated_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.name = inputs[2]


def _gated_derivative(ctx, dy):
    return *_gated_backward(dy, *ctx.saved_tensors, ctx.name), None


@_operator("gated_backward(Tensor dy, Tensor gate, Tensor up, str name) -> (Tensor, Tensor)",
           lambda dy, gate, up, name: (_empty(gate), _empty(gate)))
def _gated_backward(dy, gate, up, name):
    gate, up, dy = gate.contiguous(), up.contiguous(), dy.contiguous()
    dgate, dup = _empty(gate), _empty(gate)
    call(_rows_of(gate), "gated_backward", _ACTIVATIONS[name], gate.data_ptr(), up.data_ptr(),
         dy.data_ptr(), dgate.data_ptr(), dup.data_ptr(), gate.numel())
    return dgate, dup


@_operator("gated(Tensor gate, Tensor up, str name) -> Tensor", _gated_shape, _gated_setup,
           _gated_derivative)
def _gated(gate, up, name):
    out = _gated_shape(gate, up, name)
    gate, gate_stride, rows, columns = _rows(gate)
    up, up_stride, _, _ = _rows(up)
    if gate.is_cuda:
        gate, up, gate_stride, up_stride = gate.contiguous(), up.contiguous(), columns, columns
    if out.numel():
        call(_rows_of(out), "gated", _ACTIVATIONS[name], gate.data_ptr(), gate_stride,
             up.data_ptr(), up_stride, out.data_ptr(), rows, columns)
    return out


def _gelu_name(approximate):
    return ("gelu", "gelu_tanh")[_number("gelu", "approximate", approximate, {"none": 0, "tanh": 1})]


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Returns x Phi(x), or its approximation by "tanh"."""
    return _activation(input, _gelu_name(approximate))


def silu(input: Tensor) -> Tensor:
    """Returns x / (1 + e^-x)."""
    return _activation(input, "silu")


def gated_gelu(gate: Tensor, up: Tensor, approximate: str = "none") -> Tensor:
    """Returns gelu(gate) * up, rounded once: GEGLU. Both may be halves of one tensor's rows."""
    return _gated(gate, up, _gelu_name(approximate))


def gated_silu(gate: Tensor, up: Tensor) -> Tensor:
    """Returns silu(gate) * up, rounded once: SwiGLU. Both may be halves of one tensor's rows."""
    return _gated(gate, up, "silu")


# Cross-entropy

def _losses_shape(logits, labels, ignore_index, label_smoothing):
    _check_rows("cross_entropy", logits)
    if labels.dtype != torch.int64 or labels.shape != logits.shape[:-1]:
        raise ValueError(f"cross_entropy: {_described(logits)}, and target, {_described(labels)}: "
                         "it must be of torch.int64, one for each row")
    return _floats(logits, *labels.shape)


def _losses_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.options = inputs[2:]


def _losses_derivative(ctx, dlosses):
    return _losses_backward(dlosses, *ctx.saved_tensors, *ctx.options), None, None, None


@_operator("cross_entropy_backward(Tensor dlosses, Tensor logits, Tensor labels, int ignore_index, "
           "float label_smoothing) -> Tensor", lambda dlosses, logits, *_: _empty(logits))
def _losses_backward(dlosses, logits, labels, ignore_index, label_smoothing):
    out = _empty(logits)
    logits, stride, rows, columns = _rows(logits)
    dlosses, labels, losses = dlosses.contiguous(), labels.contiguous(), torch.empty_like(dlosses)
    if out.numel():
        call(_rows_of(logits), "cross_entropy_backward", dlosses.data_ptr(), logits.data_ptr(), stride,
             labels.data_ptr(), losses.data_ptr(), out.data_ptr(), rows, columns, ignore_index, label_smoothing)
    return out


@_operator("cross_entropy(Tensor logits, Tensor labels, int ignore_index, float label_smoothing)"
           " -> Tensor", _losses_shape, _losses_setup, _losses_derivative)
def _losses(logits, labels, ignore_index, label_smoothing):
    out = _losses_shape(logits, labels, ignore_index, label_smoothing)
    logits, stride, rows, columns = _rows(logits)
    labels = labels.contiguous()
    if logits.numel():
        some = 0 if logits.is_cpu else min(rows, max(1, _SCRATCH // columns))
        scratch = logits.new_empty(some * columns)
        call(_rows_of(logits), "cross_entropy", logits.data_ptr(), stride, labels.data_ptr(), out.data_ptr(),
             scratch.data_ptr(), some, rows, columns, ignore_index, label_smoothing)
    return out


def cross_entropy(input: Tensor, target: Tensor, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """Returns the cross-entropy of logits with labels, in float32. Classes are the last dimension of
    one or two, else the second, as in PyTorch. The derivative is rounded once."""
    _number("cross_entropy", "reduction", reduction, {"none": 0, "sum": 0, "mean": 0})
    rows = input.movedim(1, -1) if input.dim() > 2 else input
    losses = _losses(rows, target, ignore_index, label_smoothing)
    if reduction == "none":
        return losses
    total = losses.sum()
    return total if reduction == "sum" else total / (target != ignore_index).sum()


# Elements

def _as_int64(number):
    """Returns the number of 64 bits that an operator's int can hold: the bits are the same."""
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def _cast_shape(x, dtype, rounding, seed, stream, offset, saturate):
    _check("cast", x, FLOATS + _FLOAT8)
    if dtype not in FLOATS + _FLOAT8:
        raise ValueError(f"cast: dtype is {dtype}, not of " +
                         ", ".join(str(each) for each in FLOATS + _FLOAT8))
    _number("cast", "rounding", rounding, _ROUNDINGS)
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def _cast_setup(ctx, inputs, output):
    ctx.dtype = inputs[0].dtype


def _cast_derivative(ctx, dy):
    return dy.to(ctx.dtype), None, None, None, None, None, None


@_operator("cast(Tensor x, ScalarType dtype, str rounding, int seed, int stream, int offset, "
           "bool? saturate) -> Tensor", _cast_shape, _cast_setup, _cast_derivative)
def _cast(x, dtype, rounding, seed, stream, offset, saturate):
    out = _cast_shape(x, dtype, rounding, seed, stream, offset, saturate)
    x = _as_taken(x)
    call(functions_for(x, "elements"), "cast", x.data_ptr(), DTYPES[x.dtype], out.data_ptr(), DTYPES[dtype], x.numel(),
         _ROUNDINGS[rounding], seed, stream, offset, -1 if saturate is None else saturate)
    return out


def cast(input: Tensor, dtype: torch.dtype, rounding: str = "nearest", *, seed: int = 0,
         stream: int = 0, offset: int = 0, saturate: Optional[bool] = None) -> Tensor:
    """Returns the tensor in another dtype, of 8 bits too, rounded once.

    `rounding` is "nearest", "stochastic" or "stochastic_fast". An element draws by seed, stream,
    and `offset` plus its place in row-major order. `saturate` gives the largest finite value in place of
    infinity, by default where a dtype has no infinity."""
    return _cast(input, dtype, rounding, _as_int64(seed), _as_int64(stream), _as_int64(offset), saturate)


def _check_addends(p, u, rounding):
    _check("fused_add", p)
    _check("fused_add", u)
    if p.shape != u.shape:
        raise ValueError(f"fused_add: {_described(p)}, and {_described(u)}: sizes differ")
    _number("fused_add", "rounding", rounding, _ROUNDINGS)


def _sum_into(out, p, u, alpha, rounding, seed, stream, offset):
    call(functions_for(p, "elements"), "fused_add", p.data_ptr(), DTYPES[p.dtype], u.data_ptr(),
         DTYPES[u.dtype], out.data_ptr(), p.numel(), alpha, _ROUNDINGS[rounding], seed, stream, offset)


def _fused_add_shape(p, u, alpha, rounding, seed, stream, offset):
    _check_addends(p, u, rounding)
    return _empty(p)


def _fused_add_setup(ctx, inputs, output):
    ctx.dtype, ctx.alpha = inputs[1].dtype, inputs[2]


def _fused_add_derivative(ctx, dy):
    return dy, (dy.float() * ctx.alpha).to(ctx.dtype), None, None, None, None, None


@_operator("fused_add(Tensor p, Tensor u, float alpha, str rounding, int seed, int stream, int offset)"
           " -> Tensor", _fused_add_shape, _fused_add_setup, _fused_add_derivative)
def _fused_add(p, u, alpha, rounding, seed, stream, offset):
    out = _fused_add_shape(p, u, alpha, rounding, seed, stream, offset)
    _sum_into(out, p.contiguous(), _as_taken(u), alpha, rounding, seed, stream, offset)
    return out


@_operator("fused_add_(Tensor(a!) p, Tensor u, float alpha, str rounding, int seed, int stream, "
           "int offset) -> ()", lambda p, u, alpha, rounding, *_: _check_addends(p, u, rounding))
def _fused_add_in_place(p, u, alpha, rounding, seed, stream, offset):
    _check_addends(p, u, rounding)
    out, u = p.contiguous(), _as_taken(u)
    if u.data_ptr() != out.data_ptr() or u.dtype != out.dtype:
        if u.untyped_storage().data_ptr() == out.untyped_storage().data_ptr():
            u = u.clone()  # it may be shifted elements of p
    _sum_into(out, out, u, alpha, rounding, seed, stream, offset)
    if out is not p:
        p.copy_(out)


def fused_add(p: Tensor, u: Tensor, alpha: float = 1.0, rounding: str = "nearest", *, seed: int = 0,
              stream: int = 0, offset: int = 0) -> Tensor:
    """Returns p + alpha * u in p's dtype, rounded once, with the rounding of `cast`."""
    return _fused_add(p, u, alpha, rounding, _as_int64(seed), _as_int64(stream), _as_int64(offset))


def fused_add_(p: Tensor, u: Tensor, alpha: float = 1.0, rounding: str = "nearest", *, seed: int = 0,
               stream: int = 0, offset: int = 0) -> Tensor:
    """Adds alpha * u to p in place, otherwise as fused_add. Returns p. It has no derivative."""
    _fused_add_in_place(p, u, alpha, rounding, _as_int64(seed), _as_int64(stream), _as_int64(offset))
    return p


# Quantization

class Quantized(NamedTuple):
    """The result of quantize: codes * scales * tensor_scale, with a scale for each block of a row."""

    codes: Tensor
    scales: Tensor
    tensor_scale: Tensor


# Elements of a block, dtypes of codes, dtype of scales.
_NVFP4 = 16, (_FLOAT4,), torch.float8_e4m3fn
_MXFP4 = 32, (_FLOAT4,), _E8M0
_MX = 32, _FLOAT8, _E8M0
_FP8 = 128, (torch.float8_e4m3fn,), torch.float32
# By the names of lowp::recipes.
RECIPES = {
    "te_2_20_nvfp4_1x16": _NVFP4, "te_2_20_nvfp4_16x16": _NVFP4,
    "torchao_0_18_nvfp4_two_level": _NVFP4, "torchao_0_18_nvfp4_one_level": _NVFP4,
    "modelopt_0_47_nvfp4": _NVFP4, "nvfp4_unbiased": _NVFP4,
    "te_2_20_mxfp4": _MXFP4, "modelopt_0_47_mxfp4": _MXFP4,
    "te_2_20_mx": _MX, "torchao_0_18_floor": _MX, "torchao_0_18_rceil": _MX,
    "torchao_0_18_float8_1x128": _FP8, "torchao_0_18_float8_128x128": _FP8,
}


def _quantize_shape(x, recipe, dtype, rounding, seed, stream):
    _check_rows("quantize", x)
    block, dtypes, scale = _number("quantize", "recipe", recipe, RECIPES)
    _number("quantize", "rounding", rounding, _ROUNDINGS)
    if dtype not in dtypes:
        raise ValueError(f"quantize: dtype is {dtype}; {recipe} has {' or '.join(map(str, dtypes))}")
    columns = x.shape[-1]
    if columns % block:
        raise ValueError(f"quantize: {_described(x)}: a row is no whole number of blocks of {block}, "
                         f"which {recipe} has")
    lead = x.shape[:-1]
    codes = (*lead, columns // 2 if dtype == _FLOAT4 else columns)
    return (torch.empty(codes, dtype=dtype, device=x.device),
            torch.empty((*lead, columns // block), dtype=scale, device=x.device), _floats(x))


@_operator("quantize(Tensor x, str recipe, ScalarType dtype, str rounding, int seed, int stream)"
           " -> (Tensor, Tensor, Tensor)", _quantize_shape)
def _quantize(x, recipe, dtype, rounding, seed, stream):
    codes, scales, tensor_scale = _quantize_shape(x, recipe, dtype, rounding, seed, stream)
    x = x.to(torch.float32).contiguous()
    tensor_scale.fill_(1)
    if x.numel():
        largest = None  # a GPU's kernel does not look for it
        if x.is_cuda and scales.dtype == torch.float8_e4m3fn:
            largest = x.abs().nan_to_num(0, torch.inf).max()
        call(_blocks_of(x, recipe), "quantize", x.data_ptr(), x.numel(), x.shape[-1], recipe.encode(), DTYPES[dtype], codes.data_ptr(), scales.data_ptr(), tensor_scale.data_ptr(),
             None if largest is None else largest.data_ptr(), _ROUNDINGS[rounding], seed, stream)
    return codes, scales, tensor_scale


def quantize(input: Tensor, recipe: str = "te_2_20_mx", dtype: Optional[torch.dtype] = None,
             rounding: str = "nearest", *, seed: int = 0, stream: int = 0) -> Quantized:
    """Returns codes and scales of the rows by a recipe, whose bits are those of its package. RECIPES
    has their names. `dtype` is that of codes, by default the recipe's first. 4-bit codes lie two in a
    byte. The result has no derivative."""
    if dtype is None:
        dtype = _number("quantize", "recipe", recipe, RECIPES)[1][0]
    return Quantized(*_quantize(input, recipe, dtype, rounding, _as_int64(seed), _as_int64(stream)))


_SIZES = {torch.float8_e4m3fn: 16, _E8M0: 32, torch.float32: 128}  # by the dtype of scales


def _dequantize_shape(codes, scales, tensor_scale):
    block = _SIZES.get(scales.dtype)
    columns = codes.shape[-1] * (2 if codes.dtype == _FLOAT4 else 1)
    kinds = {(block, dtype) for block, dtypes, _ in RECIPES.values() for dtype in dtypes}
    if (block, codes.dtype) not in kinds or scales.shape != (*codes.shape[:-1], columns // block) or \
            columns % block or tensor_scale.numel() != 1 or tensor_scale.dtype != torch.float32:
        raise ValueError(f"dequantize: codes, {_described(codes)}, scales, {_described(scales)}, and "
                         f"tensor_scale, {_described(tensor_scale)}, are of no recipe")
    return _floats(codes, *codes.shape[:-1], columns)


@_operator("dequantize(Tensor codes, Tensor scales, Tensor tensor_scale) -> Tensor", _dequantize_shape)
def _dequantize(codes, scales, tensor_scale):
    out = _dequantize_shape(codes, scales, tensor_scale)
    codes, scales = codes.contiguous(), scales.contiguous()
    if out.numel():
        call(_blocks_of(codes), "dequantize", codes.data_ptr(), scales.data_ptr(), tensor_scale.data_ptr(),
             out.numel(), _SIZES[scales.dtype], DTYPES[codes.dtype], out.data_ptr())
    return out


def dequantize(codes: Tensor, scales: Tensor, tensor_scale: Optional[Tensor] = None,
               dtype: torch.dtype = torch.float32) -> Tensor:
    """Returns codes * scales * tensor_scale: dequantize(*quantize(x)). The dtype of scales tells the
    size of a block: 16 elements for float8_e4m3fn, 32 for float8_e8m0fnu, 128 for float32."""
    if tensor_scale is None:
        tensor_scale = torch.ones((), dtype=torch.float32, device=codes.device)
    out = _dequantize(codes, scales, tensor_scale)
    return out if dtype == torch.float32 else cast(out, dtype)
