# SPDX-License-Identifier: Apache-2.0
"""Fine-tunes a small model of characters, each time with another optimizer, from the same weights.

    python train.py [STEPS]
"""

import copy
import os
import sys

import torch
from torch import nn

import lowp_torch

CONTEXT, WIDTH = 16, 128
TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "LICENSE")


def read(path):
    """Codes of the characters, and how many characters there are."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    alphabet = sorted(set(text))
    return torch.tensor([alphabet.index(c) for c in text]), len(alphabet)


def make_model(characters):
    return nn.Sequential(nn.Embedding(characters, 32), nn.Flatten(), nn.Linear(32 * CONTEXT, WIDTH),
                         nn.LayerNorm(WIDTH), nn.GELU(), nn.Linear(WIDTH, characters))


def loss_of(model, codes, begin):
    window = codes[begin[:, None] + torch.arange(CONTEXT + 1)]
    return nn.functional.cross_entropy(model(window[:, :-1]).float(), window[:, -1])


def train(model, optimizer, codes, steps):
    random = torch.Generator().manual_seed(1)
    for _ in range(steps):
        loss = loss_of(model, codes, torch.randint(len(codes) - CONTEXT, (128,), generator=random))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def evaluate(model, codes):
    with torch.no_grad():
        begin = torch.arange(0, len(codes) - CONTEXT, 5)
        return loss_of(copy.deepcopy(model).float(), codes, begin).item()


def main(steps=300):
    codes, characters = read(TEXT)
    torch.manual_seed(1)
    start = make_model(characters)
    train(start, torch.optim.AdamW(start.parameters(), lr=1e-3), codes, 300)
    before = evaluate(start, codes)
    print(f"loss {before:.3f}; after {steps} steps at a rate of 1e-5:")
    for name, dtype, kind, settings in [
        ("torch, float32", torch.float32, torch.optim.AdamW, {}),
        ("torch, bfloat16", torch.bfloat16, torch.optim.AdamW, {}),
        ("lowp, bfloat16, stochastic", torch.bfloat16, lowp_torch.AdamW, {}),
        ("lowp, bfloat16, Kahan", torch.bfloat16, lowp_torch.AdamW, {"storage": "kahan"}),
        ("lowp, float32 master", torch.bfloat16, lowp_torch.AdamW, {"storage": "master"}),
    ]:
        model = copy.deepcopy(start).to(dtype)
        optimizer = kind(model.parameters(), lr=1e-5, **settings)
        train(model, optimizer, codes, steps)
        state = sum(x.nbytes for s in optimizer.state.values() for x in s.values()
                    if torch.is_tensor(x) and x.dim() > 0)
        weights = list(model.parameters())
        size = (state + sum(p.nbytes for p in weights)) / sum(p.numel() for p in weights)
        after = evaluate(model, codes)
        print(f"  {name:28} {after:.3f}, {before - after:.4f} less; {size:.0f} bytes a weight",
              flush=True)


main(*map(int, sys.argv[1:]))
