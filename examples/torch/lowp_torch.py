# SPDX-License-Identifier: Apache-2.0
"""AdamW for PyTorch on the processor, in narrow types, with stochastic rounding. The first import
compiles it, which takes a minute."""

import os

import torch
from torch.utils import cpp_extension

_here = os.path.dirname(os.path.realpath(__file__))
cpp_extension.load(
    "lowp_torch",
    [os.path.join(_here, "lowp_torch.cpp")],
    extra_include_paths=[os.path.join(_here, "..", "..", "include")],
    extra_cflags=["-O2", "-fopenmp"],
    extra_ldflags=["-fopenmp"],
    with_cuda=False,
    is_python_module=False,
)


class AdamW(torch.optim.Optimizer):
    """A drop-in for torch.optim.AdamW. It steps parameters in place, each tensor in one pass.

    Each of these may differ between parameter groups:

        storage      "plain": parameters of float32 or bfloat16;
                     "kahan": of bfloat16, with a compensation of bfloat16;
                     "master": of bfloat16, which are a copy of float32 weights in the state
        state_dtype  torch.float32 or torch.bfloat16: the type of both moments
        rounding     "stochastic", "nearest", or "stochastic_fast": other bits for less work
        seed         of the random bits. They also depend on the parameter's index and step, so
                     state_dict() is all that a run needs to resume

    Parameters without a gradient are skipped. A tensor that cannot be stepped raises ValueError
    with the parameter's name. No parameter of its group and dtype has changed then.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, *,
                 storage="plain", state_dtype=torch.bfloat16, rounding="stochastic", seed=0):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                                      storage=storage, state_dtype=state_dtype,
                                      rounding=rounding, seed=seed))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        first = 0
        for group in self.param_groups:
            self._step_group(group, first)
            first += len(group["params"])
        return loss

    def _step_group(self, group, first):
        """Takes one call for each dtype and step number: nearly always one in all."""
        params = group["params"]
        names = group.get("param_names") or [f"parameter {first + i}" for i in range(len(params))]
        states = [None if p.grad is None else self._state_of(p, group) for p in params]
        kinds = {(p.dtype, int(s["step"]) + 1): None for p, s in zip(params, states) if s}
        for dtype, step in kinds:
            chosen = [s if s and (p.dtype, int(s["step"]) + 1) == (dtype, step) else None
                      for p, s in zip(params, states)]
            slots = [[s and s.get(name) for s in chosen]
                     for name in ("exp_avg", "exp_avg_sq", group["storage"])]
            gradients = [s and p.grad for p, s in zip(params, chosen)]
            torch.ops.lowp.adamw_(
                params, gradients, *slots, names, dtype, group["storage"], group["state_dtype"],
                group["rounding"], group["seed"], first, float(group["lr"]),
                *map(float, group["betas"]), group["eps"], group["weight_decay"], step)
            for s in filter(None, chosen):
                s["step"] = step

    def _state_of(self, p, group):
        state = self.state[p]
        if not state:
            state["step"] = 0
            for name in ("exp_avg", "exp_avg_sq"):
                state[name] = torch.zeros_like(p, dtype=group["state_dtype"])
            if group["storage"] == "master":
                state["master"] = p.detach().to(torch.float32, copy=True)
            elif group["storage"] == "kahan":
                state["kahan"] = torch.zeros_like(p)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:  # of a checkpoint of torch.optim.AdamW
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def load_state_dict(self, state_dict):
        """Loads a state with its own types: PyTorch gives all of it the parameter's."""
        super().load_state_dict(state_dict)
        saved = (i for group in state_dict["param_groups"] for i in group["params"])
        params = (p for group in self.param_groups for p in group["params"])
        for i, p in zip(saved, params):
            for name, value in state_dict["state"].get(i, {}).items():
                if torch.is_tensor(value):
                    self.state[p][name] = value.to(p.device, copy=True)
