# SPDX-License-Identifier: Apache-2.0
"""Compares lowp_torch.functional with PyTorch in double, and its random bits with Philox4x32-10 as
written here. Operators pass opcheck, gradcheck and torch.compile. A row's bits depend on nothing else."""

import contextlib
import copy
import warnings
from fractions import Fraction

import torch
from torch.nn import functional as F

import lowp_torch
from lowp_torch import functional as lowp

FLOATS = (torch.float32, torch.bfloat16, torch.float16)
UNIT = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
INTEGER = {1: torch.uint8, 2: torch.int16, 4: torch.int32}
C = 200


def bits(t):
    return t.contiguous().view(INTEGER[t.element_size()])


def assert_same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape, (a.dtype, b.dtype, a.shape, b.shape)
    assert torch.equal(bits(a), bits(b))


def refuses(text, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except (ValueError, RuntimeError) as error:
        assert text in str(error), f"{error} lacks: {text}"
    else:
        raise AssertionError(f"no error: {text}")


def matrices(dtype, rows=13, seed=0):
    """Returns rows, gates, a weight and a bias."""
    torch.manual_seed(seed)
    x, up = (torch.randn(rows, C) * 3 for _ in range(2))
    return [t.to(dtype) for t in (x, up, torch.rand(C) + 0.5, torch.randn(C))]


def labels_of(rows):
    """Returns labels, of which one is ignored."""
    labels = torch.arange(rows) * 7 % C
    labels[3] = -100
    return labels


# Each function of rows, and PyTorch's.
PIECES = {
    "softmax": (lambda x, up, w, b, t: lowp.softmax(x), lambda x, up, w, b, t: F.softmax(x, -1)),
    "log_softmax": (lambda x, up, w, b, t: lowp.log_softmax(x), lambda x, up, w, b, t: F.log_softmax(x, -1)),
    "rms_norm": (lambda x, up, w, b, t: lowp.rms_norm(x, (C,), w, 1e-6),
                 lambda x, up, w, b, t: F.rms_norm(x, (C,), w, 1e-6)),
    "add_rms_norm": (lambda x, up, w, b, t: torch.cat(lowp.add_rms_norm(up, x, w, 1e-6), -1),
                     lambda x, up, w, b, t: torch.cat([x + up, F.rms_norm(x + up, (C,), w, 1e-6)], -1)),
    "add_rms_norm, the norm alone": (lambda x, up, w, b, t: lowp.add_rms_norm(up, x, w, 1e-6)[1],
                                     lambda x, up, w, b, t: F.rms_norm(x + up, (C,), w, 1e-6)),
    "layer_norm": (lambda x, up, w, b, t: lowp.layer_norm(x, (C,), w, b),
                   lambda x, up, w, b, t: F.layer_norm(x, (C,), w, b)),
    "gelu": (lambda x, up, w, b, t: lowp.gelu(x), lambda x, up, w, b, t: F.gelu(x)),
    "gelu_tanh": (lambda x, up, w, b, t: lowp.gelu(x, "tanh"),
                  lambda x, up, w, b, t: F.gelu(x, approximate="tanh")),
    "silu": (lambda x, up, w, b, t: lowp.silu(x), lambda x, up, w, b, t: F.silu(x)),
    "gated_gelu": (lambda x, up, w, b, t: lowp.gated_gelu(x, up), lambda x, up, w, b, t: F.gelu(x) * up),
    "gated_gelu_tanh": (lambda x, up, w, b, t: lowp.gated_gelu(x, up, "tanh"),
                        lambda x, up, w, b, t: F.gelu(x, approximate="tanh") * up),
    "gated_silu": (lambda x, up, w, b, t: lowp.gated_silu(x, up), lambda x, up, w, b, t: F.silu(x) * up),
    "cross_entropy": (
        lambda x, up, w, b, t: lowp.cross_entropy(x, t, reduction="none", label_smoothing=0.1),
        lambda x, up, w, b, t: F.cross_entropy(x, t, reduction="none", label_smoothing=0.1)),
}


def error_of(got, want):
    """Returns the root of the mean square of the error, relative to that of the numbers."""
    return ((got.double() - want).square().mean().sqrt() / want.square().mean().sqrt()).item()


def check_values(name, dtype):
    """Results and derivatives are those in double, rounded about once."""
    mine, theirs = PIECES[name]
    inputs = [t.requires_grad_() for t in matrices(dtype)]
    wide = [t.detach().double().requires_grad_() for t in inputs]
    labels = labels_of(len(inputs[0]))
    got, want = mine(*inputs, labels), theirs(*wide, labels)
    assert got.dtype == (torch.float32 if name == "cross_entropy" else dtype)
    # A loss in float is the sum of a row. float32 has errors of sums beside those of the rounding.
    most = 6 if got.dtype == torch.float32 else 0.9 if "add" in name else 0.6  # a sum is rounded before
    assert error_of(got, want) < most * UNIT[got.dtype], (name, dtype)
    torch.manual_seed(1)
    dy = torch.randn(got.shape).to(got.dtype)
    got.backward(dy)
    want.backward(dy.double())
    for mine_of, want_of in zip(inputs, wide):
        assert (mine_of.grad is None) == (want_of.grad is None)
        if mine_of.grad is not None:
            error = error_of(mine_of.grad, want_of.grad)
            assert mine_of.grad.dtype == dtype
            assert error < (8 if dtype == torch.float32 else 1) * UNIT[dtype], (name, dtype, error)


def check_rows(name, dtype):
    """Returns rows of PyTorch's result that change beside other rows. No row of the library's does: in
    another batch and place, in a wider matrix, on another number of threads, forward and backward."""
    mine, theirs = PIECES[name]
    rows = 1000
    x, up, w, b = matrices(dtype, rows)
    labels = labels_of(rows)

    def with_derivative(x, up, labels):
        x, up = x.detach().requires_grad_(), up.detach().requires_grad_()
        y = mine(x, up, w, b, labels)
        y.backward(torch.ones_like(y) if y.shape != up.shape else up.detach())
        return [y.detach(), x.grad] + ([up.grad] if up.grad is not None else [])

    whole = with_derivative(x, up, labels)
    wider = torch.full((rows, 2 * C + 3), float("nan"), dtype=dtype)
    wider[:, :C], wider[:, C:2 * C] = x, up
    for threads in (2, 1):
        torch.set_num_threads(threads)
        for same in ((x, up), (wider[:, :C], wider[:, C:2 * C]), (wider[:, :C], up)):
            for a, again in zip(whole, with_derivative(*same, labels)):
                assert_same(a, again)
    for first, count in ((0, 1), (3, 1), (17, 2), (500, 3), (999, 1), (128, 32)):
        some = slice(first, first + count)
        for a, alone in zip(whole, with_derivative(x[some], up[some], labels[some])):
            assert_same(a[some], alone)
    of_whole = theirs(x, up, w, b, labels)
    alone = [theirs(x[i:i + 1], up[i:i + 1], w, b, labels[i:i + 1]) for i in range(0, rows, 50)]
    return sum(not torch.equal(each, of_whole[50 * i:50 * i + 1]) for i, each in enumerate(alone))


def check_operators():
    """opcheck of each operator, with and without derivatives."""
    tests = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    ops = torch.ops.lowp
    checked, labels = set(), labels_of(4)

    def check(operator, *arguments):
        checked.add(operator._schema.name.removeprefix("lowp::"))
        # PyTorch cannot compare inputs of 8 bits with what they were.
        compares = all(not torch.is_tensor(each) or each.element_size() > 1 for each in arguments)
        torch.library.opcheck(operator, arguments,
                              test_utils=(*tests, "test_schema") if compares else tests)

    for dtype in FLOATS:
        for needs in (False, True):
            x, up, w, b = (t.requires_grad_(needs) for t in matrices(dtype, 4))
            for is_log in (False, True):
                check(ops.softmax.default, x, is_log)
            check(ops.rms_norm.default, x, w, 1e-5)
            check(ops.add_rms_norm.default, x, up, w, 1e-5)
            check(ops.layer_norm.default, x, w, b, 1e-5)
            check(ops.activation.default, x, "gelu")
            check(ops.gated.default, x, up, "silu")
            check(ops.cross_entropy.default, x, labels, -100, 0.1)
            check(ops.cast.default, x, torch.bfloat16, "stochastic", 5, 6, 7, None)
            check(ops.fused_add.default, x, up, 0.5, "stochastic", 5, 6, 7)
        x, up, w, b = (t.detach() for t in (x, up, w, b))
        row = torch.rand(4)
        check(ops.softmax_backward.default, up, x, False)
        check(ops.rms_norm_backward.default, up, x, w, row)
        check(ops.add_rms_norm_backward.default, x, up, x, w, row)
        check(ops.layer_norm_backward.default, up, x, w, row, row)
        check(ops.activation_backward.default, up, x, "silu")
        check(ops.gated_backward.default, up, x, up, "gelu_tanh")
        check(ops.cross_entropy_backward.default, row, x, labels, -100, 0.1)
        check(ops.fused_add_.default, x.clone(), up, 0.5, "nearest", 0, 0, 0)
        x = torch.randn(4, 256, dtype=dtype)
        check(ops.quantize.default, x, "te_2_20_mx", torch.float8_e5m2, "nearest", 0, 0)
        check(ops.dequantize.default, *lowp.quantize(x, "torchao_0_18_float8_1x128"))
    defined = {name.removeprefix("lowp::") for name in lowp._library._op_defs}
    defined = {name.partition(".")[0] for name in defined} - {"adamw_"}  # optimizer_test.py checks it
    assert checked == defined, checked ^ defined


def check_shortcut():
    """A mode sees the operators that a call without one leaves out: with the same bits. Who asks
    for a second derivative is warned."""
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(str(function))
            return function(*args, **(kwargs or {}))

    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(3, 40).to(dtype).requires_grad_()
        results = []
        for mode in (contextlib.nullcontext(), Seen()):
            names = []
            with mode:
                y = lowp.softmax(x)
                dx, = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)
            assert ("lowp.softmax.default" in names) == ("lowp.softmax_backward.default" in names) == bool(names)
            results.append((y.detach(), dx.detach()))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                torch.autograd.grad(dx.sum(), x, allow_unused=True)
            assert any("softmax_backward" in str(each.message) for each in caught), caught
        assert all(torch.equal(a, b) for a, b in zip(*results))
        assert results[0][1].abs().max() < 1e-3 or dtype != torch.float32


def check_gradients():
    """gradcheck, with finite differences of float32."""
    w, b = torch.rand(7) + 0.5, torch.randn(7)
    torch.manual_seed(2)
    x, up = torch.randn(3, 7), torch.randn(3, 7)
    labels = torch.tensor([2, -100, 6])
    warnings.filterwarnings("ignore", "Input #")  # not of double
    inputs = [t.requires_grad_() for t in (x, up, w, b)]
    for function in (
            lambda x, up, w, b: lowp.softmax(x), lambda x, up, w, b: lowp.log_softmax(x, 0),
            lambda x, up, w, b: lowp.rms_norm(x, 7, w, 1e-3),
            lambda x, up, w, b: lowp.add_rms_norm(up, x, w, 1e-3),
            lambda x, up, w, b: lowp.add_rms_norm(up, x, w, 1e-3)[0],
            lambda x, up, w, b: lowp.layer_norm(x, 7, w, b, 1e-3),
            lambda x, up, w, b: lowp.gelu(x), lambda x, up, w, b: lowp.gelu(x, "tanh"),
            lambda x, up, w, b: lowp.silu(x), lambda x, up, w, b: lowp.gated_gelu(x, up),
            lambda x, up, w, b: lowp.gated_silu(x, up), lambda x, up, w, b: lowp.fused_add(x, up, 0.5),
            lambda x, up, w, b: lowp.cross_entropy(x, labels, label_smoothing=0.1),
            lambda x, up, w, b: lowp.cross_entropy(x, labels, reduction="sum"),
            lambda x, up, w, b: lowp.cross_entropy(x, labels, reduction="none") * up[:, 0]):
        torch.autograd.gradcheck(function, inputs, eps=2e-3, atol=4e-3, rtol=4e-3)


def check_compile():
    """A graph without a break gives the bits of the eager functions."""
    def loss(x, up, w, b, labels):
        x, normed = lowp.add_rms_norm(lowp.rms_norm(x, (C,), w), x, w)
        x = x + normed
        x = lowp.gated_silu(x, up) + lowp.gelu(lowp.layer_norm(x, (C,), w, b))
        x = lowp.fused_add(x, lowp.cast(lowp.cast(x, torch.float8_e5m2), x.dtype), 0.5, "stochastic", seed=3)
        x = x + lowp.dequantize(*lowp.quantize(x.detach()[:, :192]), dtype=x.dtype).sum()
        return lowp.cross_entropy(lowp.softmax(x) + lowp.log_softmax(x), labels)

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for dtype in FLOATS:
        results = []
        for function in (loss, compiled):
            inputs = [t.requires_grad_() for t in matrices(dtype)]
            value = function(*inputs, labels_of(13))
            value.backward()
            results.append([value.detach(), *(t.grad for t in inputs)])
        for a, b in zip(*results):
            assert_same(a, b)


def check_shapes():
    x, up, w, b = matrices(torch.bfloat16, 24)
    deep = x.view(2, 3, 4, C)
    for dim in range(-4, 4):
        want = F.softmax(deep.double(), dim)
        assert error_of(lowp.softmax(deep, dim), want) < 2.0**-8
        assert lowp.log_softmax(deep, dim).shape == deep.shape
    assert_same(lowp.layer_norm(deep, (4, C), w.expand(4, C), b.expand(4, C)).flatten(2),
                lowp.layer_norm(deep.flatten(2), 4 * C, w.repeat(4), b.repeat(4)))
    assert_same(lowp.rms_norm(x, C), lowp.rms_norm(x, C, torch.ones_like(w), 2.0**-7))
    total, normed = lowp.add_rms_norm(up, x, w)
    assert_same(total, lowp.fused_add(x, up))
    assert_same(normed, lowp.rms_norm(total, C, w))
    assert_same(lowp.gelu(x.t()), lowp.gelu(x).t())
    last = deep.movedim(1, 3).contiguous(memory_format=torch.channels_last)
    assert lowp.silu(last).stride() == last.stride()
    assert_same(lowp.silu(last), lowp.silu(last.contiguous()))
    images, labels = deep.movedim(3, 1).float(), torch.randint(0, C, (2, 3, 4))
    for reduction in ("none", "sum", "mean"):
        got = lowp.cross_entropy(images, labels, reduction=reduction)
        assert torch.allclose(got, F.cross_entropy(images, labels, reduction=reduction), rtol=1e-6)
    assert abs(lowp.cross_entropy(x[0], labels[0, 0, 0]) - F.cross_entropy(x[0].float(), labels[0, 0, 0])) < 1e-5
    for function in (lowp.softmax, lowp.silu, lambda t: lowp.rms_norm(t, C)):
        assert function(x[:0]).shape == (0, C)
    assert lowp.softmax(torch.full((1, C), -torch.inf)).sum() == 0  # PyTorch gives NaN

    refuses("softmax: a tensor of torch.float64, sizes [2], on cpu"[:40], lowp.softmax, torch.ones(2).double())
    refuses("it has no rows", lowp.softmax, torch.tensor(1.0))
    refuses("weight, a tensor of torch.float32, sizes [200]", lowp.rms_norm, x, C, w.float())
    refuses("it does not end with normalized_shape, [7]", lowp.layer_norm, x, 7)
    refuses("eps", lowp.rms_norm, x, C, w, -1.0)
    refuses("sizes [24, 200], and a tensor of torch.bfloat16, sizes [3, 200]", lowp.gated_silu, x, up[:3])
    refuses("approximate is 'erf', not one of none, tanh", lowp.gelu, x, "erf")
    refuses("the label of row 1 is 200, not from 0 to 199", lowp.cross_entropy, x[:2], torch.tensor([1, 200]))
    refuses("reduction is 'max'", lowp.cross_entropy, x[:2], torch.tensor([1, 2]), reduction="max")
    refuses("it must be of torch.int64", lowp.cross_entropy, x, x)
    refuses("label_smoothing", lowp.cross_entropy, x, labels_of(24), label_smoothing=2.0)
    refuses("dtype is torch.float64", lowp.cast, x, torch.float64)
    refuses("rounding is 'up', not one of nearest, stochastic", lowp.cast, x, torch.float16, "up")
    refuses("alpha", lowp.fused_add, x, up, float("inf"))
    refuses("sizes differ", lowp.fused_add, x, up[0])
    refuses("no whole number of blocks of 32", lowp.quantize, x)
    refuses("recipe is 'int3'", lowp.quantize, x, "int3")
    refuses("are of no recipe", lowp.dequantize, x, w)
    refuses("decay is 1", lowp_torch.ema_multi_avg_fn, 1)


def philox(seed, block, stream):
    """Philox4x32-10 of J. Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", 2011."""
    low = 2**32 - 1
    key = [seed & low, seed >> 32]
    c = [block & low, block >> 32, stream & low, stream >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ key[0], b & low, a >> 32 ^ c[3] ^ key[1], a & low]
        key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
    return c


def draw(seed, index, stream):
    """The 16 random bits of an element: DESIGN's Philox, eight elements a block."""
    word = philox(seed, index // 8, stream)[index % 4]
    return word >> (0 if index % 8 < 4 else 16) & 0xFFFF


def stochastic_bfloat16(values, seed, stream, offset=0):
    """Rounds finite floats: the 16 bits that bfloat16 lacks, plus the random ones, may carry."""
    codes = [int(code) & 0xFFFFFFFF for code in bits(values.float())]
    return torch.tensor([code + draw(seed, offset + i, stream) >> 16 for i, code in enumerate(codes)])


def check_elements():
    torch.manual_seed(4)
    x = torch.cat([torch.randn(9000) * 3, torch.tensor([0.0, -0.0, 448.0, 2.0**-9, 1e-30])])
    for dtype in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2):
        assert_same(lowp.cast(x, dtype), x.to(dtype))
        for source in (torch.bfloat16, torch.float16):
            assert_same(lowp.cast(x.to(source), dtype), x.to(source).float().to(dtype))
        assert_same(lowp.cast(lowp.cast(x, dtype), torch.float32), x.to(dtype).float())
        whole = lowp.cast(x, dtype, "stochastic_fast", seed=9)
        assert_same(torch.cat([lowp.cast(x[:5000], dtype, "stochastic_fast", seed=9),
                               lowp.cast(x[5000:], dtype, "stochastic_fast", seed=9, offset=5000)]), whole)
        assert not torch.equal(bits(whole), bits(lowp.cast(x, dtype, "stochastic_fast", seed=10)))
    far = torch.tensor([1e6, -torch.inf])
    assert lowp.cast(far, torch.float8_e5m2).float().isinf().all()
    assert lowp.cast(far, torch.float8_e5m2, saturate=True).float().tolist() == [57344, -57344]
    some, seed = x[4990:5090], 2**63 + 12345
    got = lowp.cast(some, torch.bfloat16, "stochastic", seed=seed, stream=7, offset=4093)
    assert torch.equal(bits(got).long() & 0xFFFF, stochastic_bfloat16(some, seed, 7, 4093))
    assert_same(lowp.cast(x.view(-1, 5).t(), torch.bfloat16, "stochastic"),  # by row-major place
                lowp.cast(x.view(-1, 5).t().contiguous(), torch.bfloat16, "stochastic"))

    p, u = (torch.randn(9000).bfloat16() for _ in range(2))
    exact = p.double() + 0.37 * u.double()
    got = lowp.fused_add(p, u, 0.37)
    assert error_of(got, exact) < 2.0**-9
    in_place = p.clone()
    assert lowp.fused_add_(in_place, u.float(), 0.37) is in_place
    assert_same(in_place, got)
    strided = torch.zeros(9000, 2, dtype=p.dtype)[:, 0].copy_(p)
    assert_same(lowp.fused_add_(strided, u, 0.37), got)
    shifted = p.clone()
    want = lowp.fused_add(p[1:], p[:-1])
    assert_same(lowp.fused_add_(shifted[1:], shifted[:-1]), want)
    quarter = lowp.fused_add(torch.ones(80000).bfloat16(), torch.full((80000,), 2.0**-9), 1, "stochastic")
    assert abs((quarter > 1).double().mean() - 0.25) < 0.01
    got = lowp.fused_add(torch.ones(64).bfloat16(), torch.full((64,), 2.0**-9), 1, "stochastic", seed=3)
    assert torch.equal(bits(got).long(), stochastic_bfloat16(torch.full((64,), 1 + 2.0**-9), 3, 0))


FLOAT4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def check_quantize():
    torch.manual_seed(5)
    for dtype in FLOATS:
        x = (torch.randn(6, 512) * 3).to(dtype)
        for recipe, (block, dtypes, _) in lowp.RECIPES.items():
            for codes_dtype in dtypes:
                if "x16" in recipe[-4:] or "128x128" in recipe:
                    continue  # tiles
                q = lowp.quantize(x, recipe, codes_dtype)
                if q.codes.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
                    values = q.codes.float()
                else:
                    low_first = q.codes.view(torch.uint8).int()
                    values = FLOAT4[torch.stack([low_first & 15, low_first >> 4], -1).flatten(-2)]
                want = values.view(6, -1, block) * q.scales.float()[..., None] * q.tensor_scale
                assert_same(lowp.dequantize(*q), want.view(6, 512))
                gap = 0.3 if codes_dtype not in (torch.float8_e4m3fn, torch.float8_e5m2) else 0.13
                largest = x.float().abs().view(6, -1, block).amax(-1, keepdim=True)
                assert ((want - x.float().view(6, -1, block)).abs() <= gap * largest).all(), recipe
        for recipe in ("te_2_20_nvfp4_16x16", "torchao_0_18_float8_128x128"):
            x = torch.randn(128, 256).to(dtype)
            assert error_of(lowp.dequantize(*lowp.quantize(x, recipe)), x.double()) < 0.15
        q = lowp.quantize(x[:6])
        for i in range(6):
            for whole, alone in zip(q[:2], lowp.quantize(x[i:i + 1])[:2]):
                assert_same(whole[i:i + 1].view(torch.uint8), alone.view(torch.uint8))
    q = lowp.quantize(x, rounding="stochastic", seed=1)
    assert_same(q.codes, lowp.quantize(x, rounding="stochastic", seed=1).codes)
    assert not torch.equal(bits(q.codes), bits(lowp.quantize(x, rounding="stochastic", seed=2).codes))


def averaged(model, fn, steps):
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=fn)
    average.update_parameters(model)
    start = copy.deepcopy(average.module)
    with torch.no_grad():
        for p in model.parameters():  # as after some training: half its size away
            p.add_(p * 0.5)
    for _ in range(steps):
        average.update_parameters(model)
    return list(start.parameters()), list(average.module.parameters())


def check_average():
    """An average in bfloat16 moves, and lies around one in float32."""
    decay, steps = 0.999, 200
    own = torch.optim.swa_utils.get_ema_multi_avg_fn(decay)
    mine = lowp_torch.ema_multi_avg_fn(decay, seed=11)
    torch.manual_seed(6)
    model = torch.nn.Linear(300, 300).bfloat16()
    wide = copy.deepcopy(model).float()
    _, exact = averaged(wide, own, steps)
    results = {}
    for name, fn in (("PyTorch", own), ("lowp", mine)):
        start, end = averaged(copy.deepcopy(model), fn, steps)
        stayed = torch.cat([(a == b).flatten() for a, b in zip(start, end)]).double().mean().item()
        moves = sum((e - s.float()).double().square().sum() for e, s in zip(exact, start))
        share = sum(((b.float() - s.float()).double() * (e - s.float())).sum()
                    for s, b, e in zip(start, end, exact)) / moves
        results[name] = stayed, share.item()
        print(f"an average in bfloat16 by {name}: {stayed:.2%} of the weights stayed, "
              f"{share:.1%} of float32's way")
    assert results["PyTorch"][0] > 0.9 and results["lowp"][0] < 0.1
    assert abs(results["lowp"][1] - 1) < 0.01

    # The bits are the step's, rounded by (seed, step, number, element). One number serves one dtype.
    parameters = [torch.randn(100).bfloat16(), torch.randn(7).bfloat16()]
    averages = [torch.randn(100).bfloat16(), torch.randn(7).bfloat16()]
    start = [a.clone() for a in averages]
    mine(averages, parameters, torch.tensor(5))
    rate = Fraction(torch.tensor(1 - decay).item())
    for number, (before, weight, after) in enumerate(zip(start, parameters, averages)):
        change = weight.float() - before.float()
        exact = [float(Fraction(b.item()) + rate * Fraction(c.item())) for b, c in zip(before, change)]
        stream = (2**31 + 2**28 + number << 32) + 5
        assert torch.equal(bits(after).long() & 0xFFFF,
                           stochastic_bfloat16(torch.tensor(exact), 11, stream))
    for dtype in (torch.float32, torch.float16, torch.float64, torch.int64):
        mixed = torch.full((50,), 3.0).to(dtype)
        mine([mixed], [torch.zeros(50).to(dtype)], 1)
        assert abs(mixed.double().mean() - (2 if dtype == torch.int64 else 2.997)) < 2e-3
    whole = torch.randn(8, 16).bfloat16()
    turned, target = whole.t().contiguous().t(), torch.zeros(8, 16).bfloat16()
    mine([turned], [target], 1)
    mine([whole], [target], 1)
    assert_same(turned, whole)  # by row-major place


torch.set_num_threads(1)
for name in PIECES:
    for dtype in FLOATS:
        check_values(name, dtype)
        changed = check_rows(name, dtype)
        print(f"{name}, {dtype}: {changed} of 20 rows of PyTorch change beside others, none of lowp")
check_shapes()
check_elements()
check_quantize()
check_average()
check_gradients()
check_operators()
check_shortcut()
check_compile()
