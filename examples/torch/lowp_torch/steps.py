# SPDX-License-Identifier: Apache-2.0
"""A step of AdamW as an operator of torch.library, for loops that torch.compile takes whole."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor

from lowp_torch import functional, optimizer, shards

_SCHEMA = ("adamw_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] exp_avgs, Tensor(c!)[] exp_avg_sqs, "
           "Tensor(d!)[] absmax, Tensor(e!)[] absmax_sq, Tensor lr, Tensor step, float beta1, float beta2, float eps, "
           "float weight_decay, str rounding, int seed, int first_tensor) -> ()")


def _check(params, grads, exp_avgs, exp_avg_sqs, absmax, absmax_sq, rounding):
    lists = {"grads": grads, "exp_avgs": exp_avgs, "exp_avg_sqs": exp_avg_sqs, "absmax": absmax, "absmax_sq": absmax_sq}
    for name, each in lists.items():
        if len(each) != len(params) and (each or not name.startswith("absmax")):
            raise ValueError(f"adamw_: {len(params)} params, and {len(each)} {name}")
    if rounding not in optimizer._ROUNDINGS:
        raise ValueError(f"adamw_: rounding is {rounding!r}, not one of {', '.join(optimizer._ROUNDINGS)}")
    for i, p in enumerate(params):
        codes = exp_avgs[i].dtype == torch.uint8
        if codes and not absmax:
            raise ValueError(f"adamw_: exp_avgs[{i}] has codes, and there is no absmax")
        for name, each, dtypes, shape in [
                ("params", p, tuple(optimizer._NAMES), p.shape), ("grads", grads[i], tuple(optimizer._NAMES), p.shape),
                ("exp_avgs", exp_avgs[i], (torch.float32, torch.bfloat16, torch.uint8), p.shape),
                ("exp_avg_sqs", exp_avg_sqs[i], (exp_avgs[i].dtype,), p.shape),
                *((name, lists[name][i], (torch.float32,), shards.blocks_shape(p.shape, 256))
                  for name in ("absmax", "absmax_sq") if codes)]:
            optimizer._check_tensor(f"adamw_, {name}[{i}]", each, dtypes, shape, p.device)
            if not each.is_contiguous() or each.is_neg():
                optimizer._refuse(f"adamw_, {name}[{i}]", each, "it must be contiguous")


def _step(params, grads, exp_avgs, exp_avg_sqs, absmax, absmax_sq, lr, step, beta1, beta2, eps, weight_decay, rounding,
          seed, first_tensor):
    _check(params, grads, exp_avgs, exp_avg_sqs, absmax, absmax_sq, rounding)
    calls = {}
    for i, (p, g, m) in enumerate(zip(params, grads, exp_avgs)):
        calls.setdefault((p.device, p.dtype, g.dtype, m.dtype), []).append(i)
    for (device, dtype, of_gradient, of_moment), indices in calls.items():
        tensors, is_code = (optimizer._Tensor * len(indices))(), of_moment == torch.uint8
        places = []  # held until the call is done
        for t, i in zip(tensors, indices):
            state = {"exp_avg": exp_avgs[i], "exp_avg_sq": exp_avg_sqs[i]}
            if is_code:
                state.update(exp_avg_absmax=absmax[i], exp_avg_sq_absmax=absmax_sq[i])
            places.append(shards.place_of(f"params[{i}]", params[i], 256 if is_code else 0))
            optimizer._fill(t, first_tensor + i, f"params[{i}]", params[i], grads[i], state, None, "plain",
                            ("exp_avg", "exp_avg_sq"), optimizer._MOMENTS[of_moment], places[-1])
        capability = "".join(map(str, torch.cuda.get_device_capability(device))) if device.type == "cuda" else None
        moment = optimizer._MOMENTS[of_moment].name
        library = optimizer._library(
            "adamw", optimizer._NAMES[dtype], "plain", moment,
            "nearest" if dtype == of_moment == torch.float32 else rounding,
            *([] if dtype == of_gradient else [optimizer._NAMES[of_gradient]]), capability=capability)
        settings = optimizer._Settings(float(lr), beta1, beta2, eps, weight_decay, seed % 2**64, int(step))
        if device.type == "cuda":
            optimizer._call_on_gpu(library, tensors, settings, device)
        else:
            optimizer._call(library, tensors, settings)


functional._library.define(_SCHEMA)
for _key in ("CPU", "CUDA"):
    functional._library.impl("adamw_", _step, _key)
torch.library.register_fake("lowp::adamw_", lambda *_: None, lib=functional._library)


@torch.no_grad()
def adamw_(params: List[Tensor], grads: List[Tensor], exp_avgs: List[Tensor], exp_avg_sqs: List[Tensor],
           lr: Tensor, step: Tensor, *, betas: Tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
           weight_decay: float = 1e-2, rounding: str = "stochastic", seed: int = 0, first_tensor: int = 0,
           absmax: Optional[List[Tensor]] = None, absmax_sq: Optional[List[Tensor]] = None) -> None:
    """Takes step number `step`, from 1, with the bits of `AdamW` and storage "plain". All tensors are contiguous.

    Moments are of float32, bfloat16 or, with `absmax` of a scale for each block of 256 in a row, uint8.
    `lr` and `step` are tensors, so that a compiled loop serves all of their values. Parameter i draws its
    random bits as number `first_tensor` + i.
    """
    torch.ops.lowp.adamw_(params, grads, exp_avgs, exp_avg_sqs, absmax or [], absmax_sq or [], lr, step, *betas, eps,
                          weight_decay, rounding, functional._as_int64(seed), first_tensor)
