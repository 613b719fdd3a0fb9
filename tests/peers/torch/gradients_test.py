# SPDX-License-Identifier: Apache-2.0
"""Compares the library (gradients.cpp) with torch.amp.GradScaler and
torch.nn.utils.clip_grad_norm_. It must repeat GradScaler's every scale, counter and unscaled
gradient bit for bit."""

import ctypes
import sys

import torch

library = ctypes.CDLL(sys.argv[1])
library.scaler_new.restype = ctypes.c_void_p
library.scaler_new.argtypes = [ctypes.c_float, ctypes.c_double, ctypes.c_double, ctypes.c_uint32]
library.scaler_delete.argtypes = library.scaler_update.argtypes = [ctypes.c_void_p]
library.scaler_scale.restype = ctypes.c_float
library.scaler_scale.argtypes = library.scaler_growth_tracker.argtypes = [ctypes.c_void_p]
library.scaler_unscale.restype = ctypes.c_bool
library.clip.restype = ctypes.c_double

SIZES = [1, 1000, 37]


def arguments(tensors):
    """Pointers, sizes and number."""
    pointers = (ctypes.c_void_p * len(tensors))(*[t.data_ptr() for t in tensors])
    sizes = (ctypes.c_size_t * len(tensors))(*[t.numel() for t in tensors])
    return pointers, sizes, ctypes.c_size_t(len(tensors))


def bits(tensor):
    return tensor.view(torch.int32)


def check_scaler(settings, steps):
    """Steps of which some overflow, until the scale has reached both ends."""
    parameters = [torch.zeros(n, requires_grad=True) for n in SIZES]
    optimizer = torch.optim.SGD(parameters, lr=0.0)
    theirs = torch.amp.GradScaler("cpu", **settings)
    theirs.scale(torch.tensor(1.0))
    ours = library.scaler_new(*settings.values())
    seen = set()
    for step in range(steps):
        share = 0.7 if step % 100 < 20 else 0.02
        gradients = [torch.randn(n) * theirs.get_scale() for n in SIZES]
        overflowed = torch.rand(()).item() < share
        if overflowed:
            where = gradients[step % len(SIZES)]
            bad = [float("inf"), -float("inf"), float("nan")][step % 3]
            where[step % len(where)] = bad
        mine = [g.clone() for g in gradients]
        found = library.scaler_unscale(ctypes.c_void_p(ours), *arguments(mine))
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        theirs.unscale_(optimizer)
        assert found == (theirs._found_inf_per_device(optimizer)[torch.device("cpu")].item() != 0)
        for a, b in zip(mine, gradients):
            is_nan = b.isnan()
            assert torch.equal(a.isnan(), is_nan)
            assert torch.equal(bits(a)[~is_nan], bits(b)[~is_nan])
        theirs.step(optimizer)
        theirs.update()
        library.scaler_update(ours)
        assert library.scaler_scale(ours) == theirs.get_scale(), step
        assert library.scaler_growth_tracker(ours) == theirs._get_growth_tracker(), step
        seen.add(theirs.get_scale())
    library.scaler_delete(ours)
    print(f"GradScaler {settings}: {steps} steps, {len(seen)} scales, {min(seen):g} to {max(seen):g}")
    assert len(seen) > 5


def check_clip(scale, max_norm):
    """Norms and gradients: PyTorch adds squares in float32."""
    gradients = [torch.randn(n) * scale for n in SIZES]
    mine = [g.clone() for g in gradients]
    norm = library.clip(*arguments(mine), ctypes.c_double(max_norm))
    parameters = [torch.zeros(n, requires_grad=True) for n in SIZES]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient
    expected = torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()
    worst = abs(norm / expected - 1)
    for a, parameter in zip(mine, parameters):
        worst = max(worst, (a / parameter.grad - 1).abs().max().item())
    print(f"clip_grad_norm_ of gradients of {scale:g} to {max_norm:g}: within {worst:.1e}")
    assert worst < 2e-6


torch.manual_seed(1)
DEFAULTS = {"init_scale": 65536.0, "growth_factor": 2.0, "backoff_factor": 0.5}
check_scaler({**DEFAULTS, "growth_interval": 2000}, 500)
check_scaler({**DEFAULTS, "growth_interval": 5}, 500)
check_scaler({**DEFAULTS, "init_scale": 3.0, "growth_factor": 1.7, "backoff_factor": 0.3,
              "growth_interval": 2}, 500)
check_scaler({**DEFAULTS, "init_scale": 2.0**120, "growth_interval": 1}, 99)
for scale, max_norm in [(1.0, 1.0), (1e-3, 1.0), (1e4, 0.5), (1.0, 1e9), (1e-8, 1e-7)]:
    check_clip(scale, max_norm)
