# SPDX-License-Identifier: Apache-2.0
"""Cases of PyTorch and Triton. No recipe moves more than it must: results are converted as they
are stored."""
import torch

from peer_case import CHECKED, ELEMENTS, SETS, TOLERANCE, expect

DEVICE = "cuda"
SCALE, ALPHA = 64.0, 2.0**-7


def normal(dtype, deviation=1.0, elements=ELEMENTS, sets=SETS):
    def one():
        return torch.randn(elements, device=DEVICE).mul_(deviation).to(dtype)

    if sets == SETS:
        return [one() for _ in range(sets)]
    all_ = torch.empty(sets, elements, device=DEVICE, dtype=dtype)
    for row in all_:
        row.copy_(one())
    return list(all_)


def empty(dtype):
    return [torch.empty(ELEMENTS, device=DEVICE, dtype=dtype) for _ in range(SETS)]


def expect_nearest(exact, result):
    """That no finite value of the result's type is nearer."""
    exact, result = exact[:CHECKED].double(), result[:CHECKED]
    codes = torch.arange(1 << (8 * result.element_size()), device=DEVICE, dtype=torch.int32)
    codes = codes.to({1: torch.uint8, 2: torch.int16}[result.element_size()])
    values = codes.view(result.dtype).float().double()
    values = values[values.isfinite()].sort().values
    above = torch.searchsorted(values, exact).clamp(1, len(values) - 1)
    least = torch.minimum((exact - values[above - 1]).abs(), (exact - values[above]).abs())
    distance = (result.float().double() - exact).abs()
    expect((distance <= least * 1.001 + 1e-30).all(), "not the nearest")


def expect_stochastic(exact, result):
    """Checks that each float went to a neighbour, and as often upward as the fractions say."""
    bits = exact[:CHECKED].view(torch.int32)
    found = result[:CHECKED].view(torch.int16).to(torch.int32) & 0xFFFF
    up = (found - ((bits >> 16) & 0xFFFF)).double()
    fraction = (bits & 0xFFFF).double() / 65536
    expect(((up == 0) | (up == 1)).all(), "not a neighbour")
    expect((up.mean() - fraction.mean()).abs() < TOLERANCE, "biased")


def cast(from_dtype, to_dtype):
    def build(case):
        x, y = normal(getattr(torch, from_dtype)), empty(getattr(torch, to_dtype))

        def launch(i):
            y[i % SETS].copy_(x[i % SETS])

        launch(0)
        if to_dtype == "float32":
            expect((y[0][:CHECKED].to(x[0].dtype) == x[0][:CHECKED]).all(), "not exact")
        else:
            expect_nearest(x[0], y[0])
        return launch

    return build


def rounded(x):
    """Floats that bfloat16 can hold: stochastic rounding in PyTorch's own operations."""
    random = torch.randint(0, 1 << 16, x.shape, dtype=torch.int32, device=x.device)
    return ((x.view(torch.int32) + random) & -65536).view(torch.float32)


def round_into(y, x):
    y.copy_(rounded(x))


def add_rounded(p, u):
    p.copy_(rounded(p.float() + ALPHA * u.float()))


def scale_into(y, x, amax):
    """With a power of two as scale, the product is exact in bfloat16."""
    amax.copy_(x.abs().amax())
    y.copy_((x * SCALE).clamp(-448.0, 448.0))


def stochastic_cast(how):
    def build(case):
        x, y = normal(torch.float32), empty(torch.bfloat16)
        function = how(round_into)

        def launch(i):
            function(y[i % SETS], x[i % SETS])

        launch(0)
        expect_stochastic(x[0], y[0])
        return launch

    return build


def add(case):
    p, u = normal(torch.bfloat16), normal(torch.bfloat16)
    exact = p[0][:CHECKED].double() + ALPHA * u[0][:CHECKED].double()

    def launch(i):
        p[i % SETS].add_(u[i % SETS], alpha=ALPHA)

    launch(0)
    expect_nearest(exact, p[0])
    return launch


def stochastic_add(how):
    def build(case):
        p, u = normal(torch.bfloat16), normal(torch.bfloat16)
        exact = p[0][:CHECKED].float() + ALPHA * u[0][:CHECKED].float()
        function = how(add_rounded)

        def launch(i):
            function(p[i % SETS], u[i % SETS])

        launch(0)
        expect_stochastic(exact, p[0])
        return launch

    return build


def scaled_cast(how):
    def build(case):
        x, y = normal(torch.bfloat16), empty(torch.float8_e4m3fn)
        amax = torch.zeros((), device=DEVICE, dtype=torch.bfloat16)
        function = how(scale_into)

        def launch(i):
            function(y[i % SETS], x[i % SETS], amax)

        launch(0)
        expect_nearest((x[0][:CHECKED].double() * SCALE).clamp(-448, 448), y[0])
        expect(amax == x[0].abs().max(), "amax")
        return launch

    return build


def adamw(case):
    sizes = case.tensors or [case.elements]
    p = normal(torch.bfloat16, 2e-2, case.elements, case.sets)
    g = normal(torch.bfloat16, 1e-2, case.elements, case.sets)
    optimizers = []
    for values, gradients in zip(p, g):
        parameters = []
        for part, gradient in zip(values.split(sizes), gradients.split(sizes)):
            parameter = torch.nn.Parameter(part)
            parameter.grad = gradient
            parameters.append(parameter)
        optimizers.append(torch.optim.AdamW(parameters, lr=1e-3, weight_decay=1e-2, fused=True,
                                            capturable=True))

    def launch(i):
        optimizers[i % case.sets].step()

    before = p[0].clone()
    launch(0)
    expect(p[0].isfinite().all() and (p[0] != before).any(), "no step")
    return launch


def softmax(case):
    form, columns = case.name.split("/")[1:3]
    dtype = getattr(torch, {"float": "float32"}.get(form, form))
    x = [each.view(-1, int(columns)) for each in normal(dtype, 3.0)]
    y = [each.view(-1, int(columns)) for each in empty(dtype)]

    def launch(i):
        torch.softmax(x[i % SETS], -1, out=y[i % SETS])

    launch(0)
    rows = CHECKED // int(columns)
    exact = torch.softmax(x[0][:rows].double(), -1)
    # The last place of the smallest numbers, too.
    near = exact * 2 ** (-17 if dtype == torch.float32 else -7) + torch.finfo(dtype).smallest_normal
    expect(((y[0][:rows].double() - exact).abs() <= near).all(), "not the softmax")
    return launch


# function(x, dy, weight, bias), of a case's name, for rows of normal numbers.
ROWS = {
    "log_softmax": lambda x, dy, w, b: torch.log_softmax(x, -1),
    "softmax_backward": lambda x, dy, w, b: torch.ops.aten._softmax_backward_data(dy, x, -1, x.dtype),
    "rms_norm": lambda x, dy, w, b: torch.rms_norm(x, x.shape[-1:], w, 1e-6),
    "layer_norm": lambda x, dy, w, b: torch.layer_norm(x, x.shape[-1:], w, b, 1e-6),
    "rms_norm_backward": lambda x, dy, w, b: gradients(
        lambda x, w: torch.rms_norm(x, x.shape[-1:], w, 1e-6), dy, x, w),
    "layer_norm_backward": lambda x, dy, w, b: gradients(
        lambda x, w, b: torch.layer_norm(x, x.shape[-1:], w, b, 1e-6), dy, x, w, b),
    "gelu": lambda x, dy, w, b: torch.nn.functional.gelu(x),
    "gelu_tanh": lambda x, dy, w, b: torch.nn.functional.gelu(x, approximate="tanh"),
}


def gradients(function, dy, *leaves):
    """All gradients of leaves. PyTorch computes the function first, so its time is in the figure, too."""
    leaves = [each.detach().requires_grad_() for each in leaves]
    return torch.autograd.grad(function(*leaves), leaves, dy)


def rows(case):
    name, form, *columns = case.name.split("/")[:-1]
    dtype = getattr(torch, {"float": "float32"}.get(form, form))
    n = int(columns[0]) if columns else 1024
    x, dy = ([each.view(-1, n) for each in normal(dtype)] for _ in range(2))
    weight, bias = (torch.randn(n, device=DEVICE).to(dtype) for _ in range(2))
    function = ROWS[name]

    def launch(i):
        function(x[i % SETS], dy[i % SETS], weight, bias)

    few = CHECKED // n

    def first(results):
        return results[0] if isinstance(results, tuple) else results

    got = first(function(x[0][:few], dy[0][:few], weight, bias)).double()
    want = first(function(*(each.double() for each in (x[0][:few], dy[0][:few], weight, bias))))
    near = 2**-6 * (want.abs() + want.abs().mean())
    expect(((got - want).abs() <= near).all(), "another function")
    return launch


def cross_entropy(case):
    """Losses and the derivative, which PyTorch makes in several passes."""
    form, classes = case.name.split("/")[1:3]
    n = int(classes)
    count = ELEMENTS // n
    x = [each[:count * n].view(count, n) for each in normal(getattr(torch, form), 3.0)]
    labels = torch.randint(0, n, (count,), device=DEVICE)

    def launch(i):
        logits = x[i % SETS].detach().requires_grad_()
        torch.nn.functional.cross_entropy(logits, labels, reduction="sum").backward()

    expect(count > 0, "no rows")
    return launch


def triton_cast(case):
    import triton_cast as kernel

    x, y = normal(torch.float32), empty(torch.int16)

    def launch(i):
        kernel.cast(x[i % SETS], y[i % SETS], 20110516)

    launch(0)
    expect_stochastic(x[0], y[0])
    return launch


def plain(function):
    return function


def compiled(function):
    return torch.compile(function, dynamic=False)


SR_CAST = "cast/float->bfloat16/stochastic/"
SR_ADD = "fused_add/bfloat16,bfloat16/stochastic/"
SCALED = "scaled_cast/bfloat16->float8_e4m3fn/nearest_even,amax/"
BUILDERS = {
    "cast/float->bfloat16/nearest_even/torch": cast("float32", "bfloat16"),
    "cast/bfloat16->float/exact/torch": cast("bfloat16", "float32"),
    "cast/float->float16/nearest_even/torch": cast("float32", "float16"),
    "cast/float->float8_e4m3fn/nearest_even/torch": cast("float32", "float8_e4m3fn"),
    "fused_add/bfloat16,bfloat16/nearest_even/torch": add,
    SR_CAST + "torch_eager": stochastic_cast(plain),
    SR_CAST + "torch_compile": stochastic_cast(compiled),
    SR_CAST + "triton_randint4x": triton_cast,
    SR_ADD + "torch_eager": stochastic_add(plain),
    SR_ADD + "torch_compile": stochastic_add(compiled),
    SCALED + "torch_eager": scaled_cast(plain),
    SCALED + "torch_compile": scaled_cast(compiled),
}


def build(case):
    """launch(i), which has shown that it computes what it says."""
    if case.name.startswith("softmax/"):
        return softmax(case)
    if case.name.startswith("cross_entropy/"):
        return cross_entropy(case)
    if case.name.split("/")[0] in ROWS:
        return rows(case)
    return (adamw if case.name.endswith("/torch_fused") else BUILDERS[case.name])(case)
