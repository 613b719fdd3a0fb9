# SPDX-License-Identifier: Apache-2.0
"""Tests the optimizers of examples/torch: the bits of the library's own spans (optimizer.cpp), and
the behaviour of a torch.optim.Optimizer."""

import contextlib
import copy
import ctypes
import gc
import io
import math
import pickle
import sys
import warnings
import weakref

import torch
import torch.distributed.checkpoint.state_dict
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode

import lowp_torch

library = ctypes.CDLL(sys.argv[1])
F32, BF16, F16, CODE = torch.float32, torch.bfloat16, torch.float16, torch.uint8
COMPANDED = "companded"
NAMES = {F32: "float32", BF16: "bfloat16", F16: "float16", CODE: "uint8", COMPANDED: COMPANDED, None: "none"}
ADAMW, LION, DIRECTION = lowp_torch.AdamW, lowp_torch.Lion, lowp_torch.Direction
SETTINGS = [  # storage, parameters, moments, rounding
    ("plain", F32, F32, "nearest"),
    ("plain", F32, BF16, "stochastic"),
    ("plain", BF16, BF16, "stochastic"),
    ("plain", F16, BF16, "stochastic"),
    ("kahan", BF16, F32, "nearest"),
    ("kahan", F16, BF16, "stochastic"),
    ("master", BF16, F32, "nearest"),
    ("master", BF16, BF16, "stochastic_fast"),
    ("master", F16, BF16, "stochastic"),
    ("corrected8", BF16, BF16, "stochastic"),
    ("corrected16", BF16, F32, "nearest"),
]
ALL = [(ADAMW, *setting) for setting in SETTINGS] + [  # the class before
    (ADAMW, "plain", BF16, CODE, "stochastic"),
    (ADAMW, "master", BF16, CODE, "nearest"),
    (ADAMW, "plain", F32, COMPANDED, "stochastic"),
    (ADAMW, "corrected8", F16, COMPANDED, "nearest"),
    (LION, "plain", F32, F32, "nearest"),
    (LION, "plain", BF16, CODE, "stochastic_fast"),
    (LION, "kahan", BF16, BF16, "stochastic"),
    (LION, "corrected16", BF16, COMPANDED, "stochastic_fast"),
    (DIRECTION, "plain", BF16, None, "stochastic"),
    (DIRECTION, "master", BF16, None, "nearest"),
]
REMEMBERING = [setting for setting in SETTINGS if setting[0] != "plain"]
SEED = 2**40 + 7


class Call(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("p", "g", "m", "v", "extra", "m_scales", "v_scales")] + [
        ("n", ctypes.c_size_t), ("lr", ctypes.c_double), ("weight_decay", ctypes.c_double),
        ("seed", ctypes.c_uint64), ("step", ctypes.c_uint64), ("tensor", ctypes.c_uint32),
        ("first", ctypes.c_uint64), ("stalled", ctypes.c_uint64), ("applied", ctypes.c_double), ("requested", ctypes.c_double)]


def equal_bits(a, b):
    codes = [t.detach().contiguous().view(-1).view(torch.uint8) for t in (a, b)]
    return a.dtype == b.dtype and torch.equal(*codes)


def refused(function, *words):
    """Calls a function that must raise ValueError with these words."""
    try:
        function()
    except ValueError as error:
        assert all(word in str(error) for word in words), (words, str(error))
    else:
        raise AssertionError(f"accepted, without {words}")


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
    named = list(model.named_parameters())
    return [{"params": named[:2]}, {"params": named[2:], "lr": 3e-3, "weight_decay": 0.0}]


def optimizer_of(model, storage, state, rounding, kind=ADAMW, **settings):
    if state is not None:
        settings["state_dtype"] = state
    if state is CODE:
        settings["min_8bit_size"] = 0
    return kind(groups_of(model), lr=1e-2, storage=storage, rounding=rounding, seed=SEED,
                weight_decay=1e-2, **settings)


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


def slots_of(p, storage, state):
    """Returns both moments, what lies beside the parameter, and the scales, as a first step has them."""
    first = torch.int8 if state is COMPANDED else state
    second = CODE if state is COMPANDED else state
    extra = {"corrected8": torch.int8, "corrected16": torch.int16}.get(storage, BF16)
    block, scale = (32, F16) if state is COMPANDED else (256, F32)
    return [torch.full_like(p, 127 if state is CODE else 0, dtype=first), torch.zeros_like(p, dtype=second),
            p.detach().float() if storage == "master" else torch.zeros_like(p, dtype=extra),
            *torch.zeros(2, *p.shape[:-1], -(-p.shape[-1] // block), dtype=scale)]


def check_bits(kind, storage, dtype, state, rounding):
    """Steps beside the library's spans, a tensor at a time, on one thread."""
    model = make_model(dtype)
    reference = copy.deepcopy(model)
    optimizer = optimizer_of(model, storage, state, rounding, kind, report=True)
    name = kind.__name__.lower()
    function = getattr(library, f"{name}_{storage}_{NAMES[dtype]}_{NAMES[state]}_{rounding}")
    slots = [slots_of(p, storage, state) for p in reference.parameters()]
    scales = {CODE: "absmax", COMPANDED: "scales"}.get(state)
    names = [name for name, _ in model.named_parameters()]
    steps = [0] * len(slots)
    for step in range(1, 6):
        give_gradients(model, step)
        optimizer.step()
        for i, (p, q) in enumerate(zip(model.parameters(), reference.parameters())):
            if p.grad is None:
                assert names[i] not in optimizer.reports
                continue
            steps[i] += 1
            lr, decay = (1e-2, 1e-2) if i < 2 else (3e-3, 0.0)
            tensors = [q.data, p.grad, *slots[i]]
            if scales and q.dim() == 2:  # no block crosses a row
                calls = zip(*tensors)
            else:
                calls = [tensors]
            for row, each in enumerate(calls):
                call = Call(*[t.data_ptr() for t in each], each[0].numel(), lr, decay, SEED, steps[i], i,
                            row * each[0].numel())
                function(ctypes.byref(call))
            report = optimizer.reports[names[i]]
            assert (report.count, report.stalled) == (q.numel(), call.stalled)
            assert (report.applied, report.requested) == (call.applied, call.requested)
    moved = 0
    for p, q, start, (m, v, extra, m_scales, v_scales), n in zip(
            model.parameters(), reference.parameters(), make_model(dtype).parameters(), slots, steps):
        ours = optimizer.state[p]
        assert equal_bits(p, q) and ours["step"] == n
        held = {"exp_avg": m, "exp_avg_sq": v, f"exp_avg_{scales}": m_scales, f"exp_avg_sq_{scales}": v_scales}
        wanted = list(kind._moments) + [f"{each}_{scales}" for each in kind._moments if scales]
        assert {each for each in ours if each.startswith("exp_avg")} == set(wanted)
        assert all(equal_bits(ours[each], held[each]) for each in wanted)
        if storage != "plain":
            assert equal_bits(ours[storage], extra)
        moved += (p != start).sum().item()
    assert moved > 1000
    print(f"{name} {storage} {dtype} {state} {rounding}: the bits of spans, {moved} parameters moved")


def check_resume(kind, storage, dtype, state, rounding):
    """Saves in the middle, loads into new objects, and compares with the whole run."""
    model = make_model(dtype)
    optimizer = optimizer_of(model, storage, state, rounding, kind)
    for step in range(1, 8):
        if step == 4:
            file = io.BytesIO()
            torch.save([model.state_dict(), optimizer.state_dict()], file)
        give_gradients(model, step)
        optimizer.step()
    file.seek(0)
    weights, saved = torch.load(file, weights_only=True)
    resumed = make_model(dtype)
    resumed.load_state_dict(weights)
    other = kind(groups_of(resumed))  # the saved groups have all settings
    other.load_state_dict(saved)
    twin = copy.deepcopy((resumed, other))
    for each, its in ((resumed, other), twin):
        for step in range(4, 8):
            give_gradients(each, step)
            its.step()
        check_same(optimizer, its)
        assert not its.resyncs


def check_threads():
    for setting in [("plain", BF16, "stochastic"), ("kahan", F32, "nearest"), ("master", F32, "nearest")]:
        results = []
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            model = make_model(BF16)
            optimizer = optimizer_of(model, *setting, report=True)
            reports = []
            for step in range(1, 4):
                give_gradients(model, step)
                optimizer.step()
                reports.append(dict(optimizer.reports))
            results.append((optimizer, reports))
        first, its = results[0]
        assert [len(each) for each in its] == [6, 6, 5]
        for other, reports in results[1:]:
            check_same(first, other)
            assert reports == its


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


def check_loading():
    """A state that is refused changes nothing, and one without entries makes none."""
    def stepped():
        p = nn.Parameter(torch.ones(3, dtype=BF16))
        p.grad = torch.ones_like(p)
        optimizer = lowp_torch.AdamW([p], state_dtype=F32)
        optimizer.step()
        return p, optimizer

    p, saved = stepped()
    fresh = lowp_torch.AdamW([p])
    fresh.load_state_dict({**lowp_torch.AdamW([p]).state_dict(), "state": {}})
    assert not fresh.state

    p, optimizer = stepped()
    before = optimizer.state[p]["exp_avg"]
    saved = saved.state_dict()
    saved["state"][0].update(step=9, state1=torch.ones(3, dtype=CODE))
    saved["param_groups"][0]["lr"] = 9.0
    refused(lambda: optimizer.load_state_dict(saved), "state1 has 8 bits without absmax")
    assert optimizer.state[p]["exp_avg"] is before and optimizer.state[p]["step"] == 1
    assert optimizer.param_groups[0]["lr"] == 1e-3


def check_optimizer():
    """Closures, schedulers, new groups, gradients in any order, and autograd."""
    p = nn.Parameter(torch.ones(4, 6))
    optimizer = lowp_torch.AdamW([("w", p)], lr=0.5, state_dtype=F32)
    for optimizer.report in (None, "yes"):
        assert copy.deepcopy(optimizer).report == optimizer.report
        optimizer.step(lambda: p.sum().backward())
        assert len(optimizer.reports) == bool(optimizer.report)
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
        lowp_torch.AdamW([r], seed=SEED).step()
        results.append(r)
    assert equal_bits(results[0], results[1]) and equal_bits(results[0], results[2])


def check_lion():
    """Steps of google/automl's Lion in double."""
    torch.manual_seed(8)
    p = nn.Parameter(torch.randn(5000))
    optimizer = LION([p], lr=1e-3, weight_decay=0.1, state_dtype=F32)
    want, m = p.detach().double(), torch.zeros(5000, dtype=torch.float64)
    beta1, beta2 = torch.tensor([0.9, 0.99]).double()  # a step takes floats
    for _ in range(30):
        p.grad = torch.randn(5000)
        g = p.grad.double()
        optimizer.step()
        want = want * (1 - 1e-3 * 0.1) - 1e-3 * torch.sign(m * beta1 + g * (1 - beta1))
        m = m * beta2 + g * (1 - beta2)
    assert (optimizer.state[p]["exp_avg"] - m).abs().max() < 1e-6
    assert (p - want).abs().max() < 5e-6


def muon(p, state):
    """Returns the direction of torch.optim.Muon with its defaults."""
    momentum = state.setdefault("momentum", torch.zeros_like(p))
    momentum.lerp_(p.grad, 0.05)
    x = p.grad.lerp(momentum, 0.95).bfloat16()
    x = x.T if p.size(0) > p.size(1) else x
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    x = x.T if p.size(0) > p.size(1) else x
    return x.to(p.dtype) * max(1, p.size(0) / p.size(1)) ** 0.5


def check_directions():
    """Muon beside torch.optim.Muon, with its state in a checkpoint, and what a direction must be."""
    for shape in [(30, 50), (60, 20)]:
        torch.manual_seed(9)
        p, q = (nn.Parameter(torch.linspace(-1, 1, shape[0] * shape[1]).reshape(shape)) for _ in range(2))
        ours = DIRECTION([p], muon, lr=0.02, weight_decay=0.1)
        theirs = torch.optim.Muon([q], lr=0.02, weight_decay=0.1)
        for step in range(10):
            p.grad = q.grad = torch.randn(shape)
            if step == 5:
                saved = copy.deepcopy(ours.state_dict())
                ours = DIRECTION([p], muon)
                ours.load_state_dict(saved)
            ours.step()
            theirs.step()
        assert equal_bits(ours.state[p]["momentum"], theirs.state[q]["momentum_buffer"])
        assert (p - q).abs().max() < 1e-6
        ours.report = True
        twin = copy.deepcopy(ours)
        twin.step()
        assert twin.report
    p = nn.Parameter(torch.ones(4, dtype=BF16))
    p.grad = torch.ones_like(p)
    for given, words in [(None, "NoneType"), (torch.ones(4).double(), "must be of torch.float32 or"),
                         (torch.ones(3, dtype=BF16), "must be [4]")]:
        refused(DIRECTION([("w", p)], lambda *_: given).step, "w, direction", words)
        assert (p == 1).all()

    def factors(p, state):
        state.setdefault("factors", [torch.full((2,), 1.001), {"rank": torch.tensor(301)}])
        state["step"] += 1
        return p.grad

    first, second = DIRECTION([p], factors), DIRECTION([p], factors)
    first.step()
    assert first.state[p]["step"] == 1
    second.load_state_dict(first.state_dict())
    vector, inner = second.state[p]["factors"]
    assert equal_bits(vector, torch.full((2,), 1.001)) and inner["rank"].item() == 301


def check_codes():
    """Small parameters keep float32 moments beside bitsandbytes' codes. Blocks keep their order in
    memory, and their scales."""
    for state_dtype, of_small, scales, scale, blocks in [(CODE, F32, "exp_avg_absmax", F32, (64, 1)),
                                                         (COMPANDED, CODE, "exp_avg_scales", F16, (64, 2))]:
        small, large = nn.Parameter(torch.ones(10)), nn.Parameter(torch.ones(64, 64))
        optimizer = ADAMW([("small", small), ("large", large)], state_dtype=state_dtype, rounding="nearest")
        for p in (small, large):
            p.grad = torch.ones_like(p)
        optimizer.step()
        states = [optimizer.state[p] for p in (small, large)]
        assert [state["exp_avg_sq"].dtype for state in states] == [of_small, CODE]
        assert states[1][scales].shape == blocks and states[1][scales].dtype == scale
        assert (large < 1).all() and (small < 1).all()
        for wrong, words in [(torch.zeros(63, dtype=scale), f"must be {list(blocks)}"),
                             (torch.zeros(blocks, dtype=BF16), f"must be of {scale}"),
                             (torch.zeros(blocks, dtype=scale, device="meta"), "must be on cpu")]:
            states[1][scales] = wrong
            refused(optimizer.step, f"large, {scales}", words)
        del states[1][scales]
        refused(optimizer.step, "large, exp_avg", f"its state has no {scales}")
        states[1]["exp_avg"] = torch.zeros(64, 64)
        refused(optimizer.step, "large, exp_avg", "torch.float32", "must be of torch.")


def foreach_copy(p, new):
    with torch.no_grad():
        torch._foreach_copy_([p], [new])


def copy_in_memory(p, new):
    """Writes as a broadcast of another library does: PyTorch counts no version."""
    ctypes.memmove(p.data_ptr(), new.data_ptr(), p.nbytes)


def exchange(p, new):
    p.data = new.clone()


WAYS = [lambda p, new: nn.Module.load_state_dict(nn.ParameterList([p]), {"0": new}),
        lambda p, new: p.data.copy_(new), foreach_copy, copy_in_memory, exchange]


def given_gradient(p, seed):
    torch.manual_seed(seed)
    p.grad = torch.randn(p.shape).to(p.dtype)


def value_of(optimizer, p):
    """Returns the sum of a storage's parts, or its master."""
    state, value = optimizer.state[p], p.detach().float()
    if "master" in state:
        return state["master"]
    if "kahan" in state:
        return value + state["kahan"].float()
    half_ulp = torch.finfo(p.dtype).eps / 4 * torch.exp2(torch.frexp(value).exponent)
    width = 8 if "corrected8" in state else 16
    return value + state[f"corrected{width}"] / (2.0 ** (width - 1) - 1) * half_ulp


def steps_of(optimizer, p, count, lr):
    for group in optimizer.param_groups:
        group["lr"] = lr
    for seed in range(count):
        given_gradient(p, seed)
        optimizer.step()


def check_written(storage, dtype, state, rounding):
    """Weights that come back from outside stay: in a step with lr 0, and in all that follow."""
    for way in WAYS:
        torch.manual_seed(5)
        p = nn.Parameter(torch.randn(70, 100).to(dtype))
        best = p.detach().clone()
        optimizer = lowp_torch.AdamW([("w", p)], storage=storage, state_dtype=state,
                                     rounding=rounding, weight_decay=0.0)
        steps_of(optimizer, p, 50, 1e-3)
        assert not torch.equal(p, best) and not optimizer.resyncs
        way(p, best)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            steps_of(optimizer, p, 1, 0.0)
            assert equal_bits(p, best)
            assert equal_bits(value_of(optimizer, p), best.float())
            steps_of(optimizer, p, 3, 1e-3)
            assert optimizer.resyncs == {"w": 1}
            way(p, best)
            steps_of(optimizer, p, 1, 0.0)
        assert equal_bits(p, best) and optimizer.resyncs == {"w": 2}
        assert len(caught) == 1 and "w was written" in str(caught[0].message)
        assert storage in str(caught[0].message) and "resync()" in str(caught[0].message)

        # On request, and with a state from a file, there is no warning.
        steps_of(optimizer, p, 3, 1e-3)
        assert optimizer.resync() == []
        saved = copy.deepcopy(optimizer.state_dict())
        way(p, best)
        assert optimizer.resync() == ["w"] and optimizer.resync() == []
        steps_of(optimizer, p, 1, 0.0)
        assert equal_bits(p, best) and optimizer.resyncs == {"w": 3}

        # A checkpoint beside weights that are not its own.
        other = lowp_torch.AdamW([("w", p)])
        other.load_state_dict(saved)
        assert other.resync() == ["w"]
        steps_of(other, p, 1, 0.0)
        assert equal_bits(p, best)


def check_written_in_part(storage, dtype, state, rounding):
    """Blocks of 256 restart; what the others know stays."""
    torch.manual_seed(6)
    p = nn.Parameter(torch.randn(40, 1000).to(dtype))
    optimizer = lowp_torch.AdamW([p], storage=storage, state_dtype=state, rounding=rounding)
    steps_of(optimizer, p, 5, 1e-3)
    before = value_of(optimizer, p).clone()
    mask = torch.zeros(p.shape, dtype=torch.bool)
    mask[3, :100] = mask[39, 999] = True
    p.data[mask] = 0.5
    assert optimizer.resync() == ["parameter 0"]
    after = value_of(optimizer, p)
    assert (after[mask] == 0.5).all()
    mask.view(-1)[2816:3328] = mask.view(-1)[39936:] = True
    assert torch.equal(after[~mask], before[~mask]) and torch.equal(after[mask], p[mask].float())
    assert not torch.equal(before, p.float())


def check_first_written():
    """A step that was refused leaves nothing that a later one could bring back."""
    for storage in ("kahan", "master", "corrected8"):
        p = nn.Parameter(torch.ones(300, dtype=BF16))
        optimizer = lowp_torch.AdamW([p], lr=0.0, storage=storage)
        p.grad = p.data  # shares memory
        refused(optimizer.step, "share memory")
        p.data.fill_(2)
        assert optimizer.resync() == ["parameter 0"]
        p.grad = torch.zeros(300, dtype=BF16)
        optimizer.step()
        assert (p == 2).all() and (value_of(optimizer, p) == 2).all()


def check_other_storage():
    """Takes steps in another storage between: the first one's old weights do not come back. The first
    step of a storage says what becomes of the other's state."""
    p = nn.Parameter(torch.zeros(300, dtype=BF16))
    optimizer = lowp_torch.AdamW([p], lr=1.0, weight_decay=0.0, storage="master", state_dtype=F32,
                                 rounding="nearest")
    for storage, said in [("master", ""), ("kahan", '"master" kept is dropped'), ("kahan", ""),
                          ("plain", '"kahan" kept is not used'), ("plain", ""), ("kahan", ""),
                          ("master", '"kahan" kept is dropped')]:
        optimizer.param_groups[0]["storage"] = storage
        before = p.detach().clone()
        p.grad = torch.ones_like(p)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimizer.step()
        assert (p < before).all()
        caught = [str(each.message) for each in caught if "was written" not in str(each.message)]
        assert len(caught) == bool(said) and said in "".join(caught), caught


def check_reports():
    """Frozen, faithful and not finite updates, by name."""
    def stepped(lr, rounding, g=1.0, dtype=BF16, state=BF16):
        p = nn.Parameter(torch.linspace(1, 1.9, 40000).to(dtype))
        p.grad = torch.full_like(p, g)
        optimizer = lowp_torch.AdamW([("layer.w", p)], lr=lr, rounding=rounding, state_dtype=state,
                                     weight_decay=0.0, report=True)
        optimizer.step()
        assert list(optimizer.reports) == ["layer.w"]
        return optimizer, optimizer.reports["layer.w"]

    optimizer, frozen = stepped(1e-4, "nearest")
    assert (frozen.count, frozen.stalled, frozen.applied_ratio) == (40000, 40000, 0)
    assert abs(frozen.requested - 4) < 1e-2
    _, faithful = stepped(1e-4, "stochastic")  # one in 78 moves by 2^-7
    assert abs(faithful.applied_ratio - 1) < 0.2 and 39600 > faithful.stalled > 39400
    _, exact = stepped(1e-3, "stochastic", dtype=F32, state=F32)
    assert exact.stalled == 0 and abs(exact.applied_ratio - 1) < 1e-4
    _, nothing = stepped(1e-5, "stochastic", g=0.0)
    assert nothing.stalled == 0 and nothing.applied_ratio == 1
    _, nan = stepped(1e-5, "stochastic", g=math.nan)
    assert nan.nonfinite == nan.count == 40000
    _, large = stepped(1e6, "stochastic", dtype=F16)
    assert large.overflowed == large.count and large.nonfinite == large.count

    total = sum([frozen, exact], lowp_torch.Report())
    assert total.count == 80000 and total.stalled == 40000
    assert total.applied_ratio == exact.applied / (frozen.requested + exact.requested)
    optimizer.report = False
    optimizer.step()
    assert optimizer.reports == {}


def orders_of(shape):
    """Yields functions that give a tensor another order in memory."""
    yield lambda x: x.clone()
    yield lambda x: x.transpose(0, 1).contiguous().transpose(0, 1)
    if len(shape) == 4:
        yield lambda x: x.contiguous(memory_format=torch.channels_last)
        yield lambda x: x.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0)


def check_orders():
    """Parameters and gradients of every dense order: the bits of the contiguous ones."""
    for storage, dtype, state, rounding in [
            ("plain", F32, F32, "nearest"), ("plain", BF16, BF16, "stochastic"), ("plain", BF16, CODE, "stochastic"),
            ("master", BF16, BF16, "stochastic_fast"), ("kahan", BF16, F32, "nearest"),
            ("corrected8", BF16, BF16, "stochastic")]:
        for shape in [(30, 50), (6, 5, 9, 7), (1, 300), (8, 1, 3, 3)]:
            torch.manual_seed(7)
            start = torch.randn(shape).to(dtype)
            gradients = [torch.randn(shape).to(dtype) for _ in range(4)]
            results = []
            for order in orders_of(shape):
                for gradient_order in orders_of(shape):
                    p = nn.Parameter(order(start.clone()))
                    optimizer = lowp_torch.AdamW([p], lr=1e-2, storage=storage, state_dtype=state,
                                                 rounding=rounding, seed=SEED, min_8bit_size=0)
                    for i, g in enumerate(gradients):
                        p.grad = gradient_order(g)
                        optimizer.step()
                        if i == 1:  # another order in the middle of a run: masters stay
                            p.data = gradient_order(p.data)
                    states = [value for name, value in states_of(optimizer)
                              if torch.is_tensor(value) and name != "written"]
                    assert all(value.is_contiguous() for value in states)
                    assert not optimizer.resyncs
                    results.append([x.contiguous() for x in (p.detach(), *states)])
            for other in results[1:]:
                assert all(equal_bits(x, y) for x, y in zip(results[0], other, strict=True))

    # A convolution in channels_last. A resumed run may have another order: the masters stay.
    conv = nn.Conv2d(3, 8, 3).to(dtype=BF16, memory_format=torch.channels_last)
    optimizer = lowp_torch.AdamW(conv.named_parameters(), storage="master", rounding="stochastic")
    for _ in range(3):
        optimizer.zero_grad()
        conv(torch.randn(2, 3, 9, 9, dtype=BF16).contiguous(memory_format=torch.channels_last)
             ).square().mean().backward()
        optimizer.step()
    before = optimizer.state[conv.weight]["master"].clone()
    other = nn.Conv2d(3, 8, 3).to(BF16)
    other.load_state_dict(conv.state_dict())
    resumed = lowp_torch.AdamW(other.named_parameters())
    resumed.load_state_dict(optimizer.state_dict())
    assert resumed.resync() == []
    after = resumed.state[other.weight]["master"]
    assert after.is_contiguous() and torch.equal(after, before) and before.is_contiguous()

    for wrong in (torch.ones(6, 4)[:, :2], torch.ones(3, 1).expand(3, 2)):
        p = nn.Parameter(torch.ones(1))
        p.data = wrong
        p.grad = torch.ones_like(wrong)
        refused(lowp_torch.AdamW([("w", p)]).step, "w, value", f"strides {list(wrong.stride())}")


def check_compile():
    """torch.compile of the step, and of a function around it, gives the bits of the step alone."""
    def train(compiled):
        model = make_model(BF16)
        optimizer = optimizer_of(model, "master", BF16, "stochastic_fast")
        x = torch.linspace(-1, 1, 8 * 90, dtype=BF16).reshape(8, 90)

        def whole():
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        step = torch.compile(optimizer.step) if compiled else optimizer.step
        whole = torch.compile(whole, backend="eager") if compiled else whole
        for seed in range(3):
            give_gradients(model, seed + 1)
            step()
            whole()
        return optimizer

    check_same(train(False), train(True))
    torch.compiler.reset()


def check_operator():
    """The operator of a step has the bits of AdamW, alone and in a graph that torch.compile takes whole."""
    def start(state):
        torch.manual_seed(4)
        params = [torch.randn(40, 700).to(BF16), torch.randn(33), torch.randn(0, 5).to(BF16)]
        first, second = [[torch.full_like(p, zero if state is CODE else 0, dtype=state) for p in params]
                         for zero in (127, 0)]
        scales = [[torch.zeros(*p.shape[:-1], -(-p.shape[-1] // 256)) for p in params] for _ in range(2)]
        return params, first, second, scales if state is CODE else [[], []]

    def loop(params, first, second, scales, grads, rate, count):
        for g in grads:
            count = count + 1
            lowp_torch.adamw_(params, g, first, second, rate, count, seed=SEED, absmax=scales[0], absmax_sq=scales[1])
            rate = rate * 0.5
        return params[0].float().sum()

    for state in (F32, BF16, CODE):
        want, *_ = start(state)
        params = [nn.Parameter(p) for p in want]
        optimizer = ADAMW(params, state_dtype=state, min_8bit_size=0, seed=SEED)
        grads = [[torch.randn(p.shape) for p in params] for _ in range(3)]
        for step, each in enumerate(grads):
            optimizer.param_groups[0]["lr"] = torch.tensor(0.01 * 0.5**step)
            for p, g in zip(params, each):
                p.grad_dtype = None
                p.grad = g
            optimizer.step()
        for compiled in (False, True):
            held = start(state)
            run = torch.compile(loop, backend="aot_eager", fullgraph=True) if compiled else loop
            run(*held, grads, torch.tensor(0.01), torch.tensor(0))
            for i, p in enumerate(params):
                assert equal_bits(held[0][i], p), (state, compiled, i)
                assert equal_bits(held[1][i], optimizer.state[p]["exp_avg"])
                assert equal_bits(held[2][i], optimizer.state[p]["exp_avg_sq"])
        params, first, second, scales = start(state)
        rest = (torch.tensor(0.01), torch.tensor(1), 0.9, 0.99, 1e-8, 0.1, "stochastic", SEED, 3)
        torch.library.opcheck(torch.ops.lowp.adamw_.default, (params, grads[0], first, second, *scales, *rest))
    p, g, m, v = [torch.ones(4, 6)], [torch.ones(4, 6)], [torch.zeros(4, 6)], [torch.zeros(4, 6)]
    for change, words in [(dict(grads=[]), "1 params, and 0 grads"), (dict(rounding="up"), "rounding is 'up'"),
                          (dict(grads=[torch.ones(3)]), "grads[0]: a tensor of torch.float32, sizes [3]"),
                          (dict(exp_avgs=[torch.zeros(6, 4).t()]), "it must be contiguous"),
                          (dict(exp_avgs=[torch.zeros(4, 6, dtype=CODE)]), "there is no absmax"),
                          (dict(lr=torch.tensor(-1.0)), "lr is -1")]:
        given = {**dict(params=p, grads=g, exp_avgs=m, exp_avg_sqs=v, lr=torch.tensor(0.1), step=torch.tensor(1)), **change}
        refused(lambda: lowp_torch.adamw_(**given), words)
        assert (p[0] == 1).all()


def check_first_states():
    """States are made with the optimizer, and follow a parameter until its first step. That takes no more
    for a weight that was written from outside."""
    p = nn.Parameter(torch.ones(600, dtype=BF16))
    unused = nn.Parameter(torch.ones(4, dtype=BF16), requires_grad=False)
    optimizer = ADAMW([p, unused], lr=0.0, storage="master", rounding="nearest")
    assert optimizer.state[p]["step"] == 0 and (optimizer.state[p]["master"] == 1).all()
    assert unused not in optimizer.state
    p.data.fill_(2.0)  # a checkpoint of the model
    p.grad = torch.zeros_like(p)
    optimizer.step()  # warnings are errors
    assert (optimizer.state[p]["master"] == 2).all() and (p == 2).all() and not optimizer.resyncs
    before = copy.deepcopy(optimizer.state[p])
    torch.distributed.checkpoint.state_dict.get_optimizer_state_dict(nn.ParameterList([p, unused]), optimizer)
    assert all(equal_bits(before[key], value) if torch.is_tensor(value) else before[key] == value
               for key, value in optimizer.state[p].items())


def check_settings():
    """The arguments of torch.optim.AdamW, each taken or refused by its name."""
    def step(g, **settings):
        p = nn.Parameter(torch.linspace(-1, 1, 500))
        p.grad = g
        optimizer = lowp_torch.AdamW([p], lr=1e-2, state_dtype=F32, **settings)
        optimizer.step()
        return p

    g = torch.randn(500)
    plain = step(g)
    for settings in ({"fused": True}, {"fused": False}, {"foreach": True}, {"foreach": False},
                     {"amsgrad": False, "capturable": False, "differentiable": False}):
        assert equal_bits(step(g, **settings), plain)
    assert equal_bits(step(-g, maximize=True), plain)
    theirs = nn.Parameter(torch.linspace(-1, 1, 500))
    theirs.grad = g
    torch.optim.AdamW([theirs], lr=1e-2, maximize=True).step()
    assert (theirs - step(g, maximize=True)).abs().max() < 1e-6

    p = [nn.Parameter(torch.ones(3))]
    for settings, words in [
        ({"lr": -1.0}, "lr is -1"), ({"lr": math.nan}, "lr is nan"), ({"lr": math.inf}, "lr is inf"),
        ({"lr": 1e39}, "lr is 1e+39"), ({"eps": 1e39}, "eps is 1e+39"),
        ({"weight_decay": 1e300}, "weight_decay is 1e+300"), ({"betas": (1 - 1e-9, 0.9)}, "beta1 is 0.999999999"),
        ({"lr": torch.tensor(-1.0)}, "lr is -1.0"), ({"eps": -1e-8}, "eps is -1e-08"),
        ({"weight_decay": math.nan}, "weight_decay is nan"), ({"betas": (0.9, 1.0)}, "beta2 is 1.0"),
        ({"betas": (-0.1, 0.9)}, "beta1 is -0.1"), ({"betas": (0.9,)}, "must be two numbers"),
        ({"lr": "1e-3"}, "lr is '1e-3', and must be a number"), ({"eps": None}, "eps is None, and must be a number"),
        ({"betas": 0.9}, "betas is 0.9, and must be two"), ({"betas": (0.9, "b")}, "beta2 is 'b', and must be a number"),
        ({"betas": (torch.ones(2), 0.9)}, "beta1 is tensor([1., 1.]), and must be a number"),
        ({"amsgrad": True}, "amsgrad is True: lowp_torch.AdamW does not have it, so leave it False"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"differentiable": True}, "differentiable is True"), ({"storage": "fp8"}, "storage is fp8"),
        ({"rounding": "up"}, "rounding is up"), ({"storage": "split"}, 'here that is "corrected16"'),
        ({"first_tensor": -1}, "first_tensor is -1"),
        ({"lr": torch.ones(2)}, "must be one number: give parameters with another one a group of their own"),
        ({"state_dtype": F16}, "state_dtype is torch.float16"),
        ({"state_dtype": torch.int8}, "torch.uint8, companded"), ({"storage": "corrected"}, "corrected8"),
        ({"min_8bit_size": 0.5}, "min_8bit_size is 0.5"),
        ({"foreach": True, "fused": True}, "fused and foreach"),
    ]:
        refused(lambda: lowp_torch.AdamW(p, **settings), words)
        optimizer = lowp_torch.AdamW(p)
        refused(lambda: optimizer.add_param_group({"params": [nn.Parameter(torch.ones(1))], **settings}),
                words)
        assert len(optimizer.param_groups) == 1
    for kind in (LION, DIRECTION):
        refused(lambda: kind([{"params": p, "capturable": True}]), f"lowp_torch.{kind.__name__} does not have it")
    # Each is right, and their product is beyond float32: the step refuses it.
    p[0].grad = torch.ones(3)
    refused(lowp_torch.AdamW(p, lr=1e20, weight_decay=1e20, state_dtype=F32).step,
            "lr * weight_decay is 1e+40")
    assert torch.equal(p[0], torch.ones(3))
    for theirs, word in [(torch.optim.AdamW(p, amsgrad=True), "amsgrad"),
                         (torch.optim.Adam(p, weight_decay=0.1), "decoupled_weight_decay")]:
        refused(lambda: lowp_torch.AdamW(p).load_state_dict(theirs.state_dict()), word)

    # A state names its generator. Those of stochastic_fast without a name drew with another one.
    for rounding, is_old_refused in [("stochastic", False), ("stochastic_fast", True)]:
        saved = lowp_torch.AdamW(p, rounding=rounding).state_dict()
        lowp_torch.AdamW(p).load_state_dict(saved)
        saved["param_groups"][0].pop("generator", None)
        if is_old_refused:
            refused(lambda: lowp_torch.AdamW(p).load_state_dict(saved), "Philox4x32-7", "stochastic_fast")
        else:
            lowp_torch.AdamW(p).load_state_dict(saved)
        saved["param_groups"][0]["generator"] = "dice"
        refused(lambda: lowp_torch.AdamW(p).load_state_dict(saved), "dice")
    lowp_torch.AdamW(p, rounding="stochastic_fast").load_state_dict(torch.optim.AdamW(p).state_dict())


def check_hooks():
    """Hooks of a state change what is loaded, see all of it loaded, and see all of it saved."""
    p = nn.Parameter(torch.ones(500, dtype=BF16))
    p.grad = torch.ones_like(p)
    optimizer = lowp_torch.AdamW([p], state_dtype=F32)
    optimizer.step()
    saved, loaded = optimizer.state_dict(), []

    def change(_, state):
        return {**state, "state": {0: {**state["state"][0], "exp_avg": torch.full((500,), 1 / 3)}}}

    optimizer.register_load_state_dict_pre_hook(change)
    optimizer.register_load_state_dict_post_hook(lambda _: loaded.append(optimizer.state[p]["exp_avg"]))
    for _ in range(2):
        optimizer.load_state_dict(saved)
        assert equal_bits(loaded.pop(), torch.full((500,), 1 / 3)) and not loaded
    optimizer.register_load_state_dict_pre_hook(lambda _, state: state["param_groups"][0].update(lr=-1))
    refused(lambda: optimizer.load_state_dict(saved), "lr is -1")
    optimizer.register_state_dict_post_hook(lambda _, state: {"other": state})
    assert optimizer.state_dict()["other"]["param_groups"][0]["generator"] == "Philox4x32-10"


def transposed(x):
    return x.t().contiguous().t()


def exchange_values(p, _):
    p.data = p.data * 2


def exchange_order(p, _):
    p.data = transposed(p.data)


def negate_lazily(p, _):
    p.data = torch._neg_view(p.data)


def exchange_state(p, optimizer):
    optimizer.state[p] = dict(optimizer.state[p])


def exchange_moment(p, optimizer):
    optimizer.state[p]["exp_avg"] = torch.full_like(p, 0.5)


def move_moment(p, optimizer):
    moment = optimizer.state[p]["exp_avg"]
    moment.set_(torch.full_like(moment, 0.25))


def remove_moment(p, optimizer):
    del optimizer.state[p]["exp_avg"]


def count_again(p, optimizer):
    optimizer.state[p]["step"] = 40


def forget_state(p, optimizer):
    optimizer.state.pop(p)


def forget_gradient(p, _):
    p.grad = None


def gradient_of_other_order(p, _):
    p.grad = transposed(p.grad)


def gradient_that_is_negated(p, _):
    p.grad = torch._neg_view(p.grad)


def other_rate(_, optimizer):
    optimizer.param_groups[0]["lr"] = torch.tensor(0.25)


def other_rounding(_, optimizer):
    optimizer.param_groups[0]["rounding"] = "stochastic_fast"


def other_direction(_, optimizer):
    optimizer.param_groups[0]["maximize"] = True


def other_parameters(_, optimizer):
    optimizer.param_groups[0]["params"].reverse()


# A change, and whether the arrays of a step must be made anew.
CHANGES = [(lambda *_: None, False), (exchange_values, True), (exchange_order, True), (exchange_state, True),
           (exchange_moment, True), (move_moment, True), (remove_moment, True), (count_again, True),
           (forget_state, True), (forget_gradient, True), (gradient_of_other_order, True),
           (gradient_that_is_negated, True), (other_rate, False), (other_rounding, True),
           (other_direction, True), (other_parameters, True)]


def check_table():
    """Steps that keep their arrays have the bits of steps that make all anew, after every change."""
    made = []
    make = lowp_torch.optimizer._Table.__init__

    def counted(self, optimizer):
        made.append(optimizer)
        make(self, optimizer)

    lowp_torch.optimizer._Table.__init__ = counted
    has_host = lowp_torch.optimizer._host() is not None
    for storage, state, rounding in [("plain", BF16, "stochastic"), ("master", BF16, "stochastic_fast")]:
        for change, is_stale in CHANGES:
            if rounding == "stochastic_fast" and change is other_rounding:
                continue
            results = []
            for keeps in (True, False):
                torch.manual_seed(1)
                params = [nn.Parameter(torch.randn(30, 50).to(BF16)) for _ in range(4)]
                optimizer = ADAMW(params, lr=1e-2, storage=storage, state_dtype=state, rounding=rounding,
                                  seed=SEED)
                counts = []
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of values that come from outside
                    for step in range(8):
                        for p in params:
                            p.grad = torch.randn(30, 50).to(BF16)
                        if step == 4:
                            change(params[1], optimizer)
                        if not keeps:
                            optimizer._table = None
                        made.clear()
                        optimizer.step()
                        counts.append(len(made))
                results.append(optimizer)
                if keeps and has_host:
                    assert counts[:5] == [1, 0, 0, 0, int(is_stale)], (change, counts)
                    assert counts[6:] == [0, 0] or change is other_direction, (change, counts)
            check_same(*results)
    lowp_torch.optimizer._Table.__init__ = make
    if not has_host:
        print("this PyTorch has no function to look at a tensor: every step makes its arrays")

    # Refusals of a step whose arrays stand.
    def stepped():
        params = [nn.Parameter(torch.ones(6, 4)) for _ in range(3)]
        optimizer = ADAMW([("a", params[0]), ("b", params[1]), ("c", params[2])], state_dtype=F32)
        for _ in range(2):
            for p in params:
                p.grad = torch.ones(6, 4)
            optimizer.step()
        return params, optimizer

    for change, words in [
        (lambda p, _: setattr(p, "grad", p.data), "b and b: their tensors or states share memory"),
        (lambda p, o: setattr(p, "grad", o.state[p]["exp_avg"]), "share memory"),
        (lambda p, _: p.grad.untyped_storage().resize_(0), "b, gradient"),
        (lambda p, _: setattr(p, "grad", torch.ones(6, 4).to_sparse()), "its layout is not strided"),
        (lambda p, o: o.state[p].update(exp_avg=torch.ones(5)), "b, exp_avg: "),
        (lambda p, o: o.state[p]["exp_avg"].untyped_storage().resize_(0), "b, exp_avg: "),
        (negate_lazily, "its elements are negated lazily"),
        (lambda p, o: o.param_groups[0].update(lr=-1.0), "lr is -1.0"),
        (lambda p, o: o.param_groups[0].update(amsgrad=True), "amsgrad is True"),
        (lambda p, o: o.param_groups[0].update(lr=torch.ones(2)), "lr is tensor([1., 1.])"),
    ]:
        params, optimizer = stepped()
        before = [p.detach().clone() for p in params]
        change(params[1], optimizer)
        refused(optimizer.step, words)
        for p, q in zip(params, before):
            assert change is negate_lazily or equal_bits(p, q)

    # No memory of gradients is kept, and a parameter that knows its optimizer is collected.
    params, optimizer = stepped()
    gradient = weakref.ref(params[0].grad.untyped_storage())
    p = nn.Parameter(torch.ones(6))
    own = ADAMW([p])
    p.optimizer = own
    for _ in range(3):
        p.grad = torch.ones(6)
        own.step()
    leaks = weakref.ref(p), weakref.ref(own)
    del p, own
    gc.collect()
    assert [leak() for leak in leaks] == [None, None]
    optimizer.zero_grad()
    gc.collect()
    assert gradient() is None


def check_gradient_types():
    """Gradients of another dtype are taken unrounded."""
    start = torch.randn(40000).to(BF16)

    def stepped(g, start=start):
        p = nn.Parameter(start.clone())
        p.grad_dtype = None  # of PyTorch 2.10: a gradient may have another dtype
        optimizer = ADAMW([p], seed=SEED)
        for _ in range(3):
            p.grad = g
            optimizer.step()
        return p, optimizer.state[p]["exp_avg"]

    g = torch.randn(40000).to(BF16)
    for one, other in ((start, g.float()), (start.float(), g)):
        results = stepped(other, one), stepped(g.to(one.dtype), one)
        assert all(equal_bits(x, y) for x, y in zip(*results))
    _, m = stepped(torch.full((40000,), 1 + 2.0**-10))  # 1 in bfloat16
    assert abs(m.float().mean().item() / (1 - 0.9**3) - 1 - 2.0**-10) < 1e-4


class NoHostReads(TorchDispatchMode):
    """Refuses to make numbers of Python from tensors, which waits for a GPU."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert function not in (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.equal.default), function
        return function(*args, **(kwargs or {}))


def check_scaler():
    """GradScaler: gradients are unscaled, and a step with an infinite one is skipped. If the optimizer is
    capturable, the host does not ask."""
    for dtype in (BF16, F32):
        models = [make_model(dtype) for _ in range(3)]
        optimizers = [optimizer_of(model, "plain", BF16, "stochastic", capturable=i == 2)
                      for i, model in enumerate(models)]
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16, growth_interval=10**6)
        for step in range(1, 7):
            torch.manual_seed(step)
            x = torch.randn(8, 90).to(dtype)
            for model, optimizer in zip(models, optimizers):
                optimizer.zero_grad()
                loss = model(x).square().mean()
                if optimizer is optimizers[1]:
                    loss.backward()
                    if step != 4:
                        optimizer.step()
                    continue
                scaler.scale(loss).backward()
                if step == 4:
                    model[0].weight.grad[3, 4] = math.inf
                elif step == 5:
                    scaler.unscale_(optimizer)
                # The first step with a scale, or without one, makes arrays.
                with NoHostReads() if optimizer is optimizers[2] and step in (2, 3, 4) else contextlib.nullcontext():
                    scaler.step(optimizer)
            scaler.update(2.0**16)
        check_same(*optimizers[:2])
        check_same(*optimizers[1:])
        for p, q, r in zip(*(model.parameters() for model in models)):
            assert equal_bits(p.grad, q.grad) and equal_bits(r.grad, q.grad)
            assert optimizers[0].state[p]["step"] == 5 == optimizers[2].state[r]["step"]
        assert not hasattr(optimizers[0], "found_inf")

    # The scaler sets this for infinite gradients, and no scale for gradients that are unscaled.
    p = nn.Parameter(torch.ones(5))
    p.grad = torch.full_like(p, 2.0)
    optimizer = ADAMW([p], lr=0.5, weight_decay=0.0, state_dtype=F32)
    assert optimizer._step_supports_amp_scaling
    for found, scale, moment in [(1.0, 4.0, 0.0), (0.0, None, 0.2), (0.0, 4.0, 0.9 * 0.2 + 0.05)]:
        optimizer.found_inf, optimizer.grad_scale = torch.tensor(found), scale and torch.tensor(scale)
        optimizer.step()
        assert torch.allclose(optimizer.state[p]["exp_avg"], torch.tensor(moment)), (found, scale)
        assert (p == 1).all() or not found
    assert (p.grad == 0.5).all()


def check_capturable():
    """The learning rate and the step's number lie in tensors: the bits of a step that reads numbers."""
    for storage, state, rounding in [("plain", BF16, "stochastic"), ("master", F32, "nearest"),
                                     ("kahan", CODE, "stochastic_fast")]:
        rates = [torch.tensor(0.01), torch.tensor(0.003)]
        results, files = [], []
        for capturable in (False, True):
            model = make_model(BF16)
            optimizer = optimizer_of(model, storage, state, rounding, capturable=capturable)
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate.clone()
            scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
            held = [group["lr"] for group in optimizer.param_groups]
            for step in range(1, 8):
                give_gradients(model, step)
                optimizer.step()
                scheduler.step()
                if step == 4:
                    files.append(io.BytesIO())
                    torch.save([model.state_dict(), optimizer.state_dict()], files[-1])
            assert all(group["lr"] is each for group, each in zip(optimizer.param_groups, held))
            results.append(optimizer)
        check_same(*results)
        last = list(model.parameters())[-1]
        number = optimizer.state[last]["step"]
        assert torch.is_tensor(number) and number.dtype == torch.int64 and number == 7
        give_gradients(model, 8)
        for group in optimizer.param_groups:
            group["lr"].fill_(-1.0)
        refused(optimizer.step, "lr is -1")
        assert number == 7 and optimizer.state[last]["step"] == 7
        for file, other in zip(files, (True, False)):  # each goes on as the other kind
            file.seek(0)
            weights, saved = torch.load(file, weights_only=True)
            resumed = make_model(BF16)
            resumed.load_state_dict(weights)
            optimizer = ADAMW(groups_of(resumed))
            for group in saved["param_groups"]:
                group["capturable"] = other
            optimizer.load_state_dict(saved)
            scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
            for group, rate in zip(optimizer.param_groups, rates):
                group["lr"] = rate.clone()
                for _ in range(4):
                    group["lr"].fill_(group["lr"] * 0.9)
            for step in range(5, 8):
                give_gradients(resumed, step)
                optimizer.step()
                scheduler.step()
            for p, q in zip(resumed.parameters(), results[0].param_groups[0]["params"]
                            + results[0].param_groups[1]["params"]):
                assert equal_bits(p, q), (storage, other)
                assert torch.is_tensor(optimizer.state[p]["step"]) == other
    # A number stands in the device's memory as long as the group has it.
    p = nn.Parameter(torch.zeros(4))
    p.grad = torch.ones_like(p)
    optimizer = ADAMW([p], lr=0.5, weight_decay=0.0, state_dtype=F32, capturable=True)
    for rate, want in ((0.5, -0.5), (0.25, -0.75)):
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        assert torch.allclose(p, torch.tensor(want))


def check_seeds():
    """Optimizers without a seed draw different bits, and the same after one manual_seed. A loaded state
    brings its seed. first_tensor numbers the parameters of several with one seed."""
    def errors(*settings):
        torch.manual_seed(3)
        results = []
        for each in settings:
            p = nn.Parameter(torch.linspace(1, 2, 20000).to(BF16))
            optimizer = ADAMW([p], lr=1e-3, weight_decay=0.0, **each)
            p.grad = torch.ones_like(p)
            optimizer.step()
            results.append(p.detach().float() - torch.linspace(1, 2, 20000).to(BF16).float())
        return results

    def correlation(x, y):
        return torch.corrcoef(torch.stack([x, y]))[0, 1].item()

    one, other = errors({}, {})
    assert abs(correlation(one, other)) < 0.05
    again, _ = errors({}, {})
    assert torch.equal(one, again)
    same = errors({"seed": 5}, {"seed": 5}, {"seed": 5, "first_tensor": 1})
    assert torch.equal(same[0], same[1]) and abs(correlation(same[0], same[2])) < 0.05

    def both(*groups):
        params = [nn.Parameter(torch.ones(500, dtype=BF16)) for _ in range(4)]
        for p in params:
            p.grad = torch.ones_like(p)
        for first, last in groups:
            ADAMW(params[first:last], seed=5, first_tensor=first).step()
        return torch.cat(params)

    assert equal_bits(both((0, 4)), both((0, 1), (1, 3), (3, 4)))
    p = nn.Parameter(torch.ones(3, dtype=BF16))
    saved, other = ADAMW([p]), ADAMW([p])
    assert saved.param_groups[0]["seed"] != other.param_groups[0]["seed"]
    other.load_state_dict(saved.state_dict())
    assert saved.param_groups[0]["seed"] == other.param_groups[0]["seed"]


def check_copies():
    """A pickled optimizer, and hooks around a step."""
    model = make_model(BF16)
    optimizer = optimizer_of(model, "master", BF16, "stochastic_fast")
    other_model, other = pickle.loads(pickle.dumps((model, optimizer)))
    called = []
    everywhere = register_optimizer_step_post_hook(lambda *_: called.append("global"))
    optimizer.register_step_pre_hook(lambda *_: called.append("before"))
    optimizer.register_step_post_hook(lambda *_: called.append("after"))
    for step in range(1, 4):
        give_gradients(model, step)
        optimizer.step()
    assert called == ["before", "after", "global"] * 3
    everywhere.remove()
    for step in range(1, 4):
        give_gradients(other_model, step)
        other.step()
    check_same(optimizer, other)


def refusal(change, **settings):
    """Checks the error of a step after `change` of the second parameter; nothing is written."""
    first, second = (nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    first.grad, second.grad = torch.ones(2, 3), torch.ones(2, 3)
    optimizer = lowp_torch.AdamW([("one", first), ("two", second)], state_dtype=F32, **settings)
    change(second, optimizer)
    try:
        optimizer.step()
    except ValueError as error:
        assert (first == 1).all()
        return str(error)
    return "accepted"


def check_refusals():
    def sparse(p, _):
        p.grad = p.grad.to_sparse()

    def double_gradient(p, _):
        p.grad_dtype = None
        p.grad = torch.ones(2, 3, dtype=torch.float64)

    def freed_gradient(p, _):
        p.grad.untyped_storage().resize_(0)

    def late_rate(_, optimizer):
        optimizer.param_groups[0]["lr"] = math.nan

    def other_state(p, optimizer):
        optimizer.state[p].update(step=1, exp_avg=torch.ones(2), exp_avg_sq=torch.ones(2, 3))

    def nothing(*_):
        pass

    for words, change, settings in [
        (["two, gradient", "layout is not strided"], sparse, {}),
        (["two, gradient", "float64", "it must be of torch.float32"], double_gradient, {}),
        (["two, gradient", "it has no memory"], freed_gradient, {}),
        (["one, value", "float32", "it must be of torch.bfloat16"], nothing, {"storage": "master"}),
        (["one, value", "float32", "it must be of torch.bfloat16"], nothing, {"storage": "corrected8"}),
        (["lr is nan"], late_rate, {}),
        (["two, exp_avg: ", "sizes [2]", "must be [2, 3]"], other_state, {}),
    ]:
        text = refusal(change, **settings)
        assert all(word in text for word in words), (words, text)
    for p in (torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.float64),
              torch.ones(3, device="meta")):
        p = nn.Parameter(p)
        p.grad = torch.ones_like(p)
        refused(lowp_torch.AdamW([("c", p)]).step, "c, value: a tensor of", str(p.dtype))
    whole = torch.ones(10)
    for shared in ([whole[:6], whole[5:]], [whole[2:3], whole], [whole, whole[9:]]):
        shared = [nn.Parameter(each) for each in shared]
        for p in shared:
            p.grad = torch.ones_like(p)
        refused(lowp_torch.AdamW([("a", shared[0]), ("b", shared[1])]).step, "share memory", "a", "b")
        assert (whole == 1).all()
    p = nn.Parameter(torch.ones(4))
    p.grad = p.data
    refused(lowp_torch.AdamW([("a", p)]).step, "share memory")


warnings.simplefilter("error")
for setting in ALL:
    check_bits(*setting)
    check_resume(*setting)
for setting in REMEMBERING:
    check_written(*setting)
    check_written_in_part(*setting)
check_first_written()
check_other_storage()
check_lion()
check_directions()
check_codes()
check_reports()
check_orders()
check_first_states()
check_operator()
check_settings()
check_hooks()
check_threads()
check_beside_torch()
check_continues_torch()
check_table()
check_gradient_types()
check_scaler()
check_capturable()
check_seeds()
check_copies()
check_loading()
check_optimizer()
check_refusals()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch's own, after any graph break
    check_compile()
