# SPDX-License-Identifier: Apache-2.0
"""Optimizers, averages and functions for PyTorch in narrow types, with stochastic rounding."""

from lowp_torch import functional
from lowp_torch.averages import ema_multi_avg_fn
from lowp_torch.optimizer import AdamW, Direction, Lion, Report
from lowp_torch.shards import number_parameters

__all__ = ["AdamW", "Direction", "Lion", "Report", "ema_multi_avg_fn", "functional",
           "number_parameters"]
