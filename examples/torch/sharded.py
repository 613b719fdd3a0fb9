# SPDX-License-Identifier: Apache-2.0
"""Trains a small model on all ranks of torchrun, on the processor. One line differs from a program for
torch.optim.AdamW."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_optimizer_state_dict
from torch.distributed.fsdp import fully_shard

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import lowp_torch  # noqa: E402

dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.Tanh(), torch.nn.Linear(128, 1)).to(torch.bfloat16)
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = lowp_torch.AdamW(model.named_parameters(), lr=1e-2)  # torch.optim.AdamW(model.parameters(), lr=1e-2)

x = torch.randn(256, 64, dtype=torch.bfloat16)
y = x[:, :1].float().tanh()
for step in range(40):
    loss = (model(x).float() - y).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if dist.get_rank() == 0 and step in (0, 39):
        print(f"step {step}: loss {loss.item():.4f}")

saved = get_optimizer_state_dict(model, optimizer)
if dist.get_rank() == 0:
    print(f"{dist.get_world_size()} ranks, step {saved['state']['0.weight']['step']}")
dist.destroy_process_group()
