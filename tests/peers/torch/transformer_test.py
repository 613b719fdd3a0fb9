# SPDX-License-Identifier: Apache-2.0
"""The transformer of bench/transformer in PyTorch: the same weights, batches and optimizer.

    transformer_test.py FOLDER

FOLDER is what `transformer --beside FOLDER` wrote. Fails if the losses of a step differ by more than
the bounds below."""
import csv
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

WIDTH, HEADS, BLOCKS, LENGTH, EPS = 32, 2, 2, 32, 1e-5
# Both sum in fp32, in different orders, and a step of AdamW amplifies the noise of tiny gradients.
# The first loss is of the same weights.
FIRST, LATER, IN_BFLOAT16 = 1e-6, 2e-5, 0.1


def read_model(folder):
    values = torch.frombuffer(bytearray((folder / "weights.f32").read_bytes()), dtype=torch.float32)
    weights, place = {}, 0
    for row in csv.DictReader((folder / "shapes.csv").open()):
        rows, columns = int(row["rows"]), int(row["columns"])
        by_columns = values[place:place + rows * columns].view(columns, rows)
        place += rows * columns
        name = row["name"]
        is_table = "embedding" in name  # one row a symbol; a weight of a layer has one an output
        w = by_columns if is_table else by_columns.T if columns > 1 else by_columns[0]
        weights[name] = torch.nn.Parameter(w.contiguous().clone())
    assert place == len(values)
    return weights


def loss_of(w, contexts, targets):
    def layer(name, x):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(name, x):
        return F.layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"], EPS)

    x = w["symbol_embedding"][contexts] + w["position_embedding"]
    for b in range(1, BLOCKS + 1):
        block = f"block{b}"
        q, k, v = (part.view(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for part in layer(block + ".qkv", norm(block + ".norm1", x)).split(WIDTH, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + layer(block + ".attended", mixed.transpose(1, 2).reshape(x.shape))
        x = x + layer(block + ".down",
                      F.gelu(layer(block + ".up", norm(block + ".norm2", x)), approximate="tanh"))
    logits = layer("head", norm("last_norm", x))
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main(folder):
    torch.set_num_threads(1)
    w = read_model(folder)
    steps = list(csv.DictReader((folder / "losses.csv").open()))
    batches = torch.frombuffer(bytearray((folder / "batches.u8").read_bytes()), dtype=torch.uint8)
    batches = batches.view(len(steps), 2, -1, LENGTH).long()
    optimizer = torch.optim.AdamW(w.values(), lr=float(steps[0]["lr"]), weight_decay=0.01)
    largest = of_bfloat16 = 0.0
    for step, (contexts, targets) in zip(steps, batches):
        optimizer.zero_grad()
        loss = loss_of(w, contexts, targets)
        loss.backward()
        optimizer.step()
        ours = float(step["loss"])
        assert math.isfinite(ours)
        difference = abs(loss.item() - ours)
        bound = FIRST if step is steps[0] else LATER
        assert difference <= bound, f"step {step['step']}: {ours} beside {loss.item()}"
        largest = max(largest, difference)
        of_bfloat16 = max(of_bfloat16, abs(float(step["bf16"]) - loss.item()))
    assert of_bfloat16 <= IN_BFLOAT16, of_bfloat16
    assert float(steps[-1]["loss"]) < float(steps[0]["loss"]) - 1, "nothing is learned"
    print(f"{len(steps)} losses from {float(steps[0]['loss']):.4f} to {float(steps[-1]['loss']):.4f}: "
          f"fp32 within {largest:.1e} of PyTorch's, bfloat16 with stochastic rounding within {of_bfloat16:.1e}")


main(pathlib.Path(sys.argv[1]))
