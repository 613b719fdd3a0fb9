# SPDX-License-Identifier: Apache-2.0
"""Optimizers, averages and functions for PyTorch in narrow types, with stochastic rounding."""

from lowp_torch import functional
from lowp_torch.averages import ema_multi_avg_fn
from lowp_torch.checkpoints import exported_state
from lowp_torch.optimizer import AdamW, Direction, Lion, Report
from lowp_torch.shards import number_parameters
from lowp_torch.steps import adamw_

__all__ = ["AdamW", "Direction", "Lion", "Report", "adamw_", "ema_multi_avg_fn", "exported_state", "functional",
           "number_parameters"]
