# SPDX-License-Identifier: Apache-2.0
"""Optimizers for PyTorch in narrow types, with stochastic rounding."""

from lowp_torch.optimizer import AdamW, Direction, Lion, Report

__all__ = ["AdamW", "Direction", "Lion", "Report"]
