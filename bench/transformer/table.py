#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page of bench/transformer from its results.

    python3 bench/transformer/table.py [RESULTS]            prints README.md
    python3 bench/transformer/table.py --figure [RESULTS]   writes RESULTS/losses.svg, by gnuplot
"""
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "report"))
import losses as shared

REFERENCE = "fp32"

PAGE = """# A transformer of lowp's layers, trained in 16, 8 and 4 bits

`sh bench/transformer/run.sh` trains every row again. [table.py](table.py) writes this page from [results](results):

{context}

- Every layer, forward and backward, is lowp's ([model.hpp](model.hpp)): layer norm, scaled and masked
  softmax, GELU, residual sums, cross-entropy, AdamW. Eigen multiplies matrices in fp32.
- [tests/peers/torch/transformer_test.py](../../tests/peers/torch/transformer_test.py) trains the same
  in PyTorch, from the same weights, batches and rates, and compares the loss of each step.
- Products of layers have quantized operands ([products.cpp](products.cpp)): blocks lie along the
  dimension that a product sums over. Attention's own products stay as they are. So do weights and
  moments between steps, which are fp32 where no other type is named.
- *Transformer Engine's* recipe has weights in tiles of 16 x 16 and all else in 1 x 16. It rounds
  gradients stochastically, and transforms the operands of products across tokens (Hadamard).
- Rows of bf16 have exact products, and AdamW's moments in fp32.
- Held-out loss, in nats, after {steps} steps at a largest rate of {lr}. ± is the standard
  deviation over {seeds} seeds; weights and batches of a seed are the same in every row. *Exact products*:
  the same weights, evaluated without quantization.

## In short

{short}

| operands of products | held-out loss | from fp32 | in sd of fp32 | exact products, from fp32 |
|---|---|---|---|---|
{rows}

![Difference of the held-out loss from fp32](results/losses.svg)
"""


def read(folder):
    return shared.runs_by_way(folder / "runs.csv")


def differences(runs, way, column):
    """Returns the difference of each seed from fp32 with the same weights and batches."""
    return [float(a[column]) - float(b[column]) for a, b in zip(runs[way], runs[REFERENCE])]


def in_short(runs):
    def cost(way):
        return f"{statistics.mean(differences(runs, way, 'held_out')):+.3f}"

    if not {"nvfp4", "nvfp4-sr", "nvfp4-rht", "nvfp4-te", "nvfp4-unbiased", "mxfp8", "bf16-sr-fast"} <= runs.keys():
        return "Not all rows were trained."
    return (f"- Gradients in NVFP4, rounded to nearest, cost {cost('nvfp4')} nats. Stochastic rounding leaves\n"
            f"  {cost('nvfp4-sr')}, the Hadamard transform {cost('nvfp4-rht')}, both {cost('nvfp4-te')}.\n"
            f"- A scale without bias, for gradients, gives {cost('nvfp4-unbiased')} in place of {cost('nvfp4-sr')}.\n"
            f"- Of what is left, activations cost {cost('activations')}, weights {cost('weights')}, "
            f"gradients {cost('gradients')}.\n"
            f"- MXFP8 costs {cost('mxfp8')}. Weights and layers in bf16 cost {cost('bf16-sr')} if weights are rounded by\n"
            f"  `stochastic`, {cost('bf16-sr-fast')} by `stochastic_fast`, {cost('bf16')} to nearest.")


def page(folder):
    runs = read(folder)
    losses = [float(r["held_out"]) for r in runs[REFERENCE]]
    lines = []
    for way, of_way in runs.items():
        cells = [of_way[0]["text"], f"{statistics.mean(float(r['held_out']) for r in of_way):.4f}"]
        if way == REFERENCE:
            cells[1] += f" ± {shared.spread(losses):.4f}"
            cells += ["", "", ""]
        else:
            d = differences(runs, way, "held_out")
            exact = differences(runs, way, "held_out_exact")
            cells += [f"{statistics.mean(d):+.4f} ± {shared.spread(d):.4f}",
                      f"{statistics.mean(d) / shared.spread(losses):+.1f}" if shared.spread(losses) else "",
                      f"{statistics.mean(exact):+.4f} ± {shared.spread(exact):.4f}"]
        lines.append("| " + " | ".join(cells) + " |")
    first = runs[REFERENCE][0]
    return PAGE.format(context=shared.context_table(folder), short=in_short(runs), rows="\n".join(lines), steps=first["steps"], lr=first["lr"],
                       seeds=len(losses))


def figure(folder):
    runs = read(folder)
    rows = [(runs[way][0]["text"], abs(statistics.mean(d)), shared.spread(d))
            for way in runs if way != REFERENCE for d in [differences(runs, way, "held_out")]]
    shared.draw(folder / "losses.svg", "Magnitude of the difference in held-out loss from fp32, in nats", rows,
                "set logscale x\nset xrange [1e-3:*]")


shared.main(__doc__, HERE, page, figure)
