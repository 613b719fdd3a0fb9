# SPDX-License-Identifier: Apache-2.0
"""Averages of weights in 16 bits that move."""

import contextlib
from typing import Callable

import torch

from lowp_torch import functional

_FIRST = 1 << 31  # the number of the first average: no parameter of an optimizer draws its bits


@torch.no_grad()
def _step(averages, weights, decay, step, seed):
    of_dtype = {}
    for average, weight in zip(averages, weights):
        kind = functional.DTYPES.get(average.dtype)
        if average.dtype not in functional.FLOATS or average.device.type not in ("cpu", "cuda"):
            if average.is_floating_point():
                average.lerp_(weight.to(average.dtype), 1 - decay)
            else:
                average.copy_(average * decay + weight * (1 - decay))
            continue
        # AveragedModel calls for each dtype: numbers count within it.
        place = of_dtype[kind] = of_dtype.get(kind, -1) + 1
        out, weight = average.contiguous(), weight.to(average.dtype).contiguous()
        with torch.cuda.device(out.device) if out.is_cuda else contextlib.nullcontext():
            functional.call(functional.functions_for(out, "elements"), "ema", out.data_ptr(), weight.data_ptr(),
                            out.numel(), kind, decay, step, seed, _FIRST + (kind << 28) + place)
        if out is not average:
            average.copy_(out)


def ema_multi_avg_fn(decay: float = 0.999, seed: int = 0) -> Callable:
    """Returns a `multi_avg_fn` of torch.optim.swa_utils.AveragedModel: an exponential moving average.

        average = AveragedModel(model, multi_avg_fn=lowp_torch.ema_multi_avg_fn(0.999))

    It is rounded stochastically by seed, averages so far, parameter and element. So it moves in
    16 bits, where a rounding to nearest leaves most elements as they are. No optimizer of lowp_torch
    draws the same bits. Give a second AveragedModel another seed.

    Tensors of float64 or integers are averaged as PyTorch does.
    """
    if not 0 <= decay < 1:
        raise ValueError(f"ema_multi_avg_fn: decay is {decay}, not in [0, 1)")
    seed %= 1 << 64

    def average(averages, weights, num_averaged):
        _step(averages, weights, decay, int(num_averaged), seed)
    return average
