# SPDX-License-Identifier: Apache-2.0
"""Tests lowp_torch.AdamW of examples/torch: the bits of the library's own spans (optimizer.cpp), and
the behaviour of a torch.optim.Optimizer."""

import copy
import ctypes
import io
import sys

import torch
from torch import nn

import lowp_torch

library = ctypes.CDLL(sys.argv[1])
F32, BF16 = torch.float32, torch.bfloat16
NAMES = {F32: "float32", BF16: "bfloat16"}
SETTINGS = [  # storage, parameters, moments, rounding
    ("plain", F32, F32, "nearest"),
    ("plain", F32, BF16, "stochastic"),
    ("plain", BF16, BF16, "stochastic"),
    ("kahan", BF16, F32, "nearest"),
    ("master", BF16, F32, "nearest"),
    ("master", BF16, BF16, "stochastic_fast"),
]
SEED = 2**40 + 7


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("p", "g", "m", "v", "extra")] + [
        ("n", ctypes.c_size_t), ("lr", ctypes.c_double), ("weight_decay", ctypes.c_double),
        ("seed", ctypes.c_uint64), ("step", ctypes.c_uint64), ("tensor", ctypes.c_uint32)]


def equal_bits(a, b):
    codes = [t.detach().view(torch.uint8) for t in (a, b)]
    return a.dtype == b.dtype and torch.equal(*codes)


def make_model(dtype):
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(90, 300), nn.Tanh(), nn.LayerNorm(300), nn.Linear(300, 7)).to(dtype)


def give_gradients(model, step):
    """Gradients of every parameter; the last weight has none in every third step."""
    torch.manual_seed(100 + step)
    for p in model.parameters():
        p.grad = torch.randn(p.shape).to(p.dtype)
    if step % 3 == 0:
        model[3].weight.grad = None


def groups_of(model):
    return [{"params": list(model[0].parameters())},
            {"params": [p for layer in model[2:] for p in layer.parameters()],
             "lr": 3e-3, "weight_decay": 0.0}]


def optimizer_of(model, storage, state, rounding):
    return lowp_torch.AdamW(groups_of(model), lr=1e-2, storage=storage, state_dtype=state,
                            rounding=rounding, seed=SEED)


def states_of(optimizer):
    return [(name, value) for group in optimizer.param_groups for p in group["params"]
            for name, value in sorted(optimizer.state[p].items())]


def check_same(a, b):
    """Compares parameters and states of two optimizers, bit for bit."""
    for one, other in zip(a.param_groups, b.param_groups, strict=True):
        for p, q in zip(one["params"], other["params"], strict=True):
            assert equal_bits(p, q)
    for (name, x), (other_name, y) in zip(states_of(a), states_of(b), strict=True):
        assert name == other_name
        assert equal_bits(x, y) if torch.is_tensor(x) else x == y, name


def check_bits(storage, dtype, state, rounding):
    """Steps beside the library's spans, a tensor at a time, on one thread."""
    model = make_model(dtype)
    reference = copy.deepcopy(model)
    optimizer = optimizer_of(model, storage, state, rounding)
    function = getattr(library, f"{storage}_{NAMES[dtype]}_{NAMES[state]}_{rounding}")
    slots = [[torch.zeros_like(p, dtype=state), torch.zeros_like(p, dtype=state),
              p.detach().float() if storage == "master" else torch.zeros_like(p)]
             for p in reference.parameters()]
    steps = [0] * len(slots)
    for step in range(1, 6):
        give_gradients(model, step)
        optimizer.step()
        for i, (p, q) in enumerate(zip(model.parameters(), reference.parameters())):
            if p.grad is None:
                continue
            steps[i] += 1
            lr, decay = (1e-2, 1e-2) if i < 2 else (3e-3, 0.0)
            tensors = [q, p.grad, *slots[i]]
            function(ctypes.byref(Call(*[t.data_ptr() for t in tensors], q.numel(), lr, decay,
                                       SEED, steps[i], i)))
    moved = 0
    for p, q, start, (m, v, extra), n in zip(
            model.parameters(), reference.parameters(), make_model(dtype).parameters(), slots, steps):
        ours = optimizer.state[p]
        assert equal_bits(p, q) and equal_bits(ours["exp_avg"], m)
        assert equal_bits(ours["exp_avg_sq"], v) and ours["step"] == n
        if storage != "plain":
            assert equal_bits(ours[storage], extra)
        moved += (p != start).sum().item()
    assert moved > 1000
    print(f"{storage} {dtype} {state} {rounding}: the bits of spans, {moved} parameters moved")


def check_resume(storage, dtype, state, rounding):
    """Saves in the middle, loads into new objects, and compares with the whole run."""
    model = make_model(dtype)
    optimizer = optimizer_of(model, storage, state, rounding)
    for step in range(1, 8):
        if step == 4:
            file = io.BytesIO()
            torch.save([model.state_dict(), optimizer.state_dict()], file)
        give_gradients(model, step)
        optimizer.step()
    file.seek(0)
    weights, saved = torch.load(file)
    resumed = make_model(dtype)
    resumed.load_state_dict(weights)
    other = lowp_torch.AdamW(groups_of(resumed))  # the saved groups have all settings
    other.load_state_dict(saved)
    for step in range(4, 8):
        give_gradients(resumed, step)
        other.step()
    check_same(optimizer, other)


def check_threads():
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        model = make_model(BF16)
        results.append(optimizer_of(model, "plain", BF16, "stochastic"))
        for step in range(1, 4):
            give_gradients(model, step)
            results[-1].step()
    for other in results[1:]:
        check_same(results[0], other)


def check_beside_torch():
    """Float32 throughout: a step lies within 4 ulp of torch's in float64, a run stays close. Parameters
    are of size 1, so that the step is smaller."""
    model = make_model(F32)
    for p in model.parameters():
        nn.init.normal_(p)
    exact = copy.deepcopy(model).double()
    betas = tuple(torch.tensor([0.9, 0.999]).tolist())  # a step takes floats
    ours = lowp_torch.AdamW(model.parameters(), lr=1e-2, betas=betas, state_dtype=F32)
    theirs = torch.optim.AdamW(exact.parameters(), lr=1e-2, betas=betas)
    for step in range(1, 101):
        before = [p.detach().clone() for p in model.parameters()]
        for p, q in zip(model.parameters(), exact.parameters()):
            p.grad = torch.randn(p.shape)
            q.grad = p.grad.double()
        ours.step()
        theirs.step()
        worst = 0.0
        for p, q, old in zip(model.parameters(), exact.parameters(), before):
            larger = torch.maximum(q.abs().float(), old.abs())
            gap = torch.nextafter(larger, torch.tensor(torch.inf)) - larger
            worst = max(worst, ((p.double() - q).abs() / gap).max().item())
        if step == 1:
            print(f"torch.optim.AdamW in float64: {worst:.2f} ulp after a step", end="")
            assert worst <= 4
    difference = max((p - q).abs().max().item() for p, q in zip(model.parameters(), exact.parameters()))
    print(f", {difference:.1e} after 100 steps of 1e-2")
    assert difference < 1e-5


def check_continues_torch():
    """Continues a run of torch.optim.AdamW."""
    torch.manual_seed(3)
    p, q = (nn.Parameter(torch.linspace(-1, 1, 1000)) for _ in range(2))
    theirs = torch.optim.AdamW([p])
    gradients = [torch.randn(1000) for _ in range(20)]
    for g in gradients[:10]:
        p.grad = g
        theirs.step()
    q.data.copy_(p)
    ours = lowp_torch.AdamW([q], state_dtype=F32)
    ours.load_state_dict(theirs.state_dict())
    for g in gradients[10:]:
        p.grad, q.grad = g, g
        theirs.step()
        ours.step()
    assert ours.state[q]["step"] == 20
    assert (p - q).abs().max() < 1e-6


def check_optimizer():
    """Closures, schedulers, new groups, gradients in any order, and autograd."""
    p = nn.Parameter(torch.ones(4, 6))
    optimizer = lowp_torch.AdamW([("w", p)], lr=0.5, state_dtype=F32)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 24
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] == 0.25
    version = p._version
    optimizer.step(closure)
    assert p._version > version

    q = nn.Parameter(torch.zeros(3, dtype=BF16))
    optimizer.add_param_group({"params": [("q", q)], "state_dtype": BF16})
    q.grad = torch.ones(3, dtype=BF16)
    optimizer.step()
    assert optimizer.state[q]["step"] == 1 and optimizer.state[q]["exp_avg"].dtype == BF16
    assert (q < 0).all() and optimizer.state[p]["step"] == 3

    results = []
    gradient = torch.randn(4, 6)
    for g in (gradient, gradient.t().contiguous().t(), torch._neg_view(-gradient)):
        r = nn.Parameter(torch.ones(4, 6))
        r.grad = g
        lowp_torch.AdamW([r]).step()
        results.append(r)
    assert equal_bits(results[0], results[1]) and equal_bits(results[0], results[2])


def refusal(change, **settings):
    """Returns the error of a step after `change` of the second parameter; nothing is written."""
    first, second = (nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    first.grad, second.grad = torch.ones(2, 3), torch.ones(2, 3)
    second = change(second) if change else second
    try:
        lowp_torch.AdamW([("one", first), ("two", second)], state_dtype=F32, **settings).step()
    except ValueError as error:
        assert (first == 1).all()
        return str(error)
    return "accepted"


def check_refusals():
    def sparse(p):
        p.grad = p.grad.to_sparse()
        return p

    def other_type(dtype):
        p = nn.Parameter(torch.ones(2, 3, dtype=dtype))
        p.grad = torch.ones_like(p)
        return p

    def transposed(p):
        p = nn.Parameter(torch.ones(3, 2).t())
        p.grad = torch.ones(2, 3)
        return p

    def half_gradient(p):
        p.grad_dtype = None
        p.grad = torch.ones(2, 3, dtype=torch.float16)
        return p

    for words, change, settings in [
        (["two, gradient", "layout is not strided"], sparse, {}),
        (["two, gradient", "Half", "it must be of Float"], half_gradient, {}),
        (["two, value", "[2, 3], strides [1, 2]", "must be contiguous"], transposed, {}),
        (["one, value", "Float", "BFloat16"], None, {"storage": "master"}),
        (["storage is fp8", "plain, kahan or master"], None, {"storage": "fp8"}),
        (["rounding is up", "nearest, stochastic"], None, {"rounding": "up"}),
        (["lr", "-1"], None, {"lr": -1}),
        (["beta2", "1"], None, {"betas": (0.9, 1.0)}),
    ]:
        text = refusal(change, **settings)
        assert all(word in text for word in words), (words, text)
    for dtype in (torch.complex64, torch.float16, torch.float64):
        p = other_type(dtype)
        try:
            lowp_torch.AdamW([("c", p)]).step()
        except ValueError as error:
            assert "c, value: lowp::view: a tensor of" in str(error), error
        else:
            raise AssertionError(dtype)
    whole = torch.ones(10)
    shared = [nn.Parameter(whole[:6]), nn.Parameter(whole[5:])]
    for p in shared:
        p.grad = torch.ones_like(p)
    try:
        lowp_torch.AdamW(shared).step()
    except ValueError as error:
        assert "share memory" in str(error) and (whole == 1).all(), error
    else:
        raise AssertionError("shared memory")


for setting in SETTINGS:
    check_bits(*setting)
    check_resume(*setting)
check_threads()
check_beside_torch()
check_continues_torch()
check_optimizer()
check_refusals()
