# SPDX-License-Identifier: Apache-2.0
"""Compares 8-bit states with bitsandbytes: its two maps, and steps of AdamW8bit that begin with its
states, as a checkpoint has them. The package rounds by 65,536 equal bins on a CPU: a code is then the
nearest or, near zero, up to 3e-5 of absmax away."""

import ctypes
import sys
import warnings

import bitsandbytes as bnb
import lowp_torch
import torch
from bitsandbytes import functional

library = ctypes.CDLL(sys.argv[1])
SIZE = 40 * 256 + 77
MAPS = {signed: functional.create_dynamic_map(signed=signed) for signed in (True, False)}


def pointers(*tensors):
    return [ctypes.c_void_p(t.data_ptr()) for t in tensors]


def check_map():
    """Stores every value of the signed map: it is the one of its own code."""
    x, unused = MAPS[True].clone(), torch.zeros(256)
    codes, absmax = torch.full((256,), 127, dtype=torch.uint8), torch.zeros(1)
    library.quantize(*pointers(x, codes, absmax, unused), ctypes.c_size_t(256))
    assert torch.equal(codes, torch.arange(256, dtype=torch.uint8)) and absmax.item() == 1


def values(codes, absmax, signed):
    blocks = absmax.repeat_interleave(256)[: codes.numel()]
    return MAPS[signed][codes.long()] * blocks, blocks


def check_nearest():
    """No value of the map is nearer than the chosen one."""
    torch.manual_seed(1)
    x = torch.randn(SIZE) * 10 ** (-6 * torch.rand(SIZE))
    codes = torch.full((SIZE,), 127, dtype=torch.uint8)
    absmax, unused = torch.zeros((SIZE + 255) // 256), torch.zeros(SIZE)
    library.quantize(*pointers(x, codes, absmax, unused), ctypes.c_size_t(SIZE))
    got, blocks = values(codes, absmax, True)
    best = ((x / blocks)[:, None] - MAPS[True][None, :]).abs().min(dim=1).values
    assert ((got / blocks - x / blocks).abs() <= best + 1e-7).all()


def check_steps():
    """Steps of the package, and of the library from the package's states before each."""
    torch.manual_seed(2)
    start = torch.randn(SIZE)
    theirs = torch.nn.Parameter(start.clone())
    betas = tuple(torch.tensor([0.9, 0.999]).tolist())  # a step takes floats
    optimizer = bnb.optim.AdamW8bit([theirs], lr=1e-2, betas=betas, weight_decay=0.1)
    worst_p = worst_m = worst_v = 0.0
    for step in range(1, 21):
        gradient = torch.randn(SIZE) * 0.1
        if step > 1:
            state = optimizer.state[theirs]
            ours = [theirs.detach().clone(), gradient.clone()]
            ours += [state[name].clone() for name in ("state1", "absmax1", "state2", "absmax2")]
            library.adamw_8bit(*pointers(*ours), ctypes.c_size_t(SIZE), ctypes.c_double(1e-2),
                               ctypes.c_double(0.1), ctypes.c_uint64(step))
        theirs.grad = gradient
        optimizer.step()
        if step == 1:
            continue
        state = optimizer.state[theirs]
        for codes, absmax, their_codes, their_absmax, signed in (
                (ours[2], ours[3], state["state1"], state["absmax1"], True),
                (ours[4], ours[5], state["state2"], state["absmax2"], False)):
            assert ((absmax - their_absmax).abs() <= 2e-6 * their_absmax).all()
            mine, blocks = values(codes, absmax, signed)
            other, _ = values(their_codes, their_absmax, signed)
            difference = ((mine - other).abs() / blocks).max().item()
            # Neighbours, where both round a middle: the widest gap is 0.9 / 64 or 0.9 / 128.
            assert difference <= 0.0142, difference
            far = (codes.int() - their_codes.int()).abs() > 1
            assert ((mine - other).abs() / blocks)[far].max().item() <= 3e-5 if far.any() else True
            worst_m, worst_v = (difference, worst_v) if signed else (worst_m, difference)
        worst_p = max(worst_p, (ours[0] - theirs.detach()).abs().max().item())
    assert worst_p <= 1e-6, worst_p
    print(f"bitsandbytes {bnb.__version__}: p within {worst_p:.1e} after a step from its states,"
          f" m within {worst_m:.1e} and v within {worst_v:.1e} of absmax")


def check_checkpoints():
    """Opens checkpoints of the package in lowp_torch, and goes on from them."""
    for theirs, ours, settings in [(bnb.optim.AdamW8bit, lowp_torch.AdamW, {"weight_decay": 0.1}),
                                   (bnb.optim.Lion8bit, lowp_torch.Lion, {"weight_decay": 0.1})]:
        torch.manual_seed(3)
        p, q = ([torch.nn.Parameter(torch.ones(n)) for n in (SIZE, 100)] for _ in range(2))
        optimizer = theirs(p, lr=1e-3, **settings)

        def step(optimizer, params, seed):
            torch.manual_seed(seed)
            for each in params:
                each.grad = torch.randn(each.shape)
            optimizer.step()

        for seed in range(5):
            step(optimizer, p, seed)
        for one, other in zip(q, p):
            one.data.copy_(other)
        opened = ours(q, state_dtype=torch.uint8, rounding="nearest")
        opened.load_state_dict(optimizer.state_dict())
        for one, other in zip(q, p):
            state, saved = opened.state[one], optimizer.state[other]
            assert torch.equal(state["exp_avg"], saved["state1"]) and state["step"] == 5
            assert not any(name in state for name in ("state1", "absmax1", "qmap1"))
        assert opened.state[q[1]]["exp_avg"].dtype == torch.float32  # too small for 8 bits
        step(optimizer, p, 9)
        step(opened, q, 9)
        for one, other in zip(q, p):
            # Lion's sign differs where the interpolation is a rounding from 0.
            far = (one - other).abs() > 1e-6
            assert far.float().mean() < (1e-3 if ours is lowp_torch.Lion else 1e-9), far.sum()
    saved = optimizer.state_dict()
    state = saved["state"][0]["__bnb_optimizer_quant_state__"]
    for name in list(state):
        if name.startswith("absmax"):
            del state[name]
    try:
        opened.load_state_dict(saved)
    except ValueError as error:
        assert "state1 has 8 bits without absmax" in str(error)
    else:
        raise AssertionError("a state without absmax")


def check_rows():
    """Takes over states of matrices: the bits where rows are whole blocks, else the values."""
    for columns in (512, 300):
        torch.manual_seed(4)
        p = torch.nn.Parameter(torch.ones(30, columns))
        theirs = bnb.optim.AdamW8bit([p], lr=1e-3)
        for _ in range(3):
            p.grad = torch.randn(p.shape)
            theirs.step()
        q = torch.nn.Parameter(p.detach().clone())
        ours = lowp_torch.AdamW([q], state_dtype=torch.uint8)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ours.load_state_dict(theirs.state_dict())
        assert len([each for each in caught if "cross rows of 300" in str(each.message)]) == (columns == 300)
        state, saved = ours.state[q], theirs.state[p]
        for slot, i, signed in (("exp_avg", 1, True), ("exp_avg_sq", 2, False)):
            want, blocks = values(saved[f"state{i}"].view(-1), saved[f"absmax{i}"], signed)
            scales = state[f"{slot}_absmax"]
            assert scales.shape == (30, 2)
            got = MAPS[signed][state[slot].long()] * scales.repeat_interleave(256, 1)[:, :columns]
            if columns == 512:
                assert torch.equal(got.view(-1), want)
            largest = want.view(30, columns)[:, :256].abs().amax(1)
            assert torch.equal(scales[:, 0], largest) or columns == 512
            assert ((got.view(-1) - want).abs() <= 0.0142 * blocks.max()).all()
            far = (got.view(-1) - want).abs() > 0.08 * want.abs() + 1e-3 * blocks
            assert far.float().mean() < 1e-2, far.sum()
        q.grad = torch.randn(q.shape)
        ours.step()


def check_back():
    """Saves for bitsandbytes, and goes on there: its optimizer has the codes, or the values, of ours."""
    for kind, theirs, states in ((lowp_torch.AdamW, bnb.optim.AdamW8bit, 2), (lowp_torch.Lion, bnb.optim.Lion8bit, 1)):
        torch.manual_seed(5)
        params = [torch.nn.Parameter(torch.randn(shape)) for shape in ((30, 512), (30, 300), (SIZE,), (10, 10))]
        ours = kind(params, lr=1e-3, weight_decay=0.1, state_dtype=torch.uint8, rounding="nearest")
        for _ in range(3):
            for p in params:
                p.grad = torch.randn(p.shape)
            ours.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            saved = lowp_torch.exported_state(ours, "bitsandbytes")
        assert len(caught) == 1 and "parameter 1, exp_avg is rounded anew" in str(caught[0].message)
        mine = [torch.nn.Parameter(p.detach().clone()) for p in params]
        optimizer = theirs(mine, lr=1.0)
        optimizer.load_state_dict(saved)
        assert optimizer.param_groups[0]["lr"] == 1e-3 and optimizer.param_groups[0]["weight_decay"] == 0.1
        for p, q in zip(params, mine):
            state, other = ours.state[p], optimizer.state[q]
            assert other["step"] == 3
            for i, slot in enumerate(("exp_avg", "exp_avg_sq")[:states], 1):
                if p.numel() < 4096:
                    assert torch.equal(other[f"state{i}"], state[slot])
                    continue
                got, blocks = values(other[f"state{i}"].view(-1), other[f"absmax{i}"], i == 1)
                assert torch.equal(other[f"qmap{i}"], MAPS[i == 1])
                want = MAPS[i == 1][state[slot].long()] * state[f"{slot}_absmax"].repeat_interleave(256, -1)[
                    ..., :p.shape[-1]]
                assert torch.equal(got.view(p.shape), want) or p.shape[-1] == 300
                assert ((got - want.view(-1)).abs() <= 0.0142 * blocks).all()
        for p, q in zip(params, mine):  # both go on: a code is rounded otherwise in seldom cases
            p.grad = torch.randn(p.shape)
            q.grad = p.grad.clone()
        ours.step()
        optimizer.step()
        for p, q in zip(params, mine):
            far = (p - q).abs() > (1e-6 if p.shape[-1] != 300 else 1e-4)
            assert far.float().mean() < (2e-3 if states == 1 else 1e-9), (p.shape, far.sum())


check_map()
check_rows()
check_back()
check_nearest()
check_steps()
check_checkpoints()
