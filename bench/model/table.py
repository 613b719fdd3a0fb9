#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the page of bench/model from its results.

    python3 bench/model/table.py [RESULTS]            prints README.md
    python3 bench/model/table.py --brief [RESULTS]    prints what README.md says first
    python3 bench/model/table.py --figure [RESULTS]   writes RESULTS/kept.svg, by gnuplot
"""
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "report"))
import losses as shared

REFERENCE = "fp32"

PAGE = """# A trained model in 16, 8 and 4 bits

`sh bench/model/run.sh` computes every row again. [table.py](table.py) writes this page from [results](results):

{context}

The model is all-MiniLM-L6-v2, a sentence encoder of 22.7 million weights. [examples/model](../../examples/model/README.md)
names the source of its weights. Sentences are those of the Jargon File (Debian's `jargon-text`), cut after 32 tokens.

## Embeddings

- Layers are lowp's ([encoder.hpp](encoder.hpp)): layer norm, softmax, GELU, residual sums. Eigen multiplies matrices
  in fp32, of operands that were rounded. Numbers between layers have the type that a row names, else fp32. Weights in
  blocks have bf16 between layers.
- MiniLM was trained with GELU by erf. lowp has its tanh form alone, as all rows but the first use it. The first row takes
  `std::erf`.
- The reference is PyTorch in fp32, with Hugging Face's `BertModel`.
- Scales come from one run in fp32 over {calibrated} other sentences, which writes
  [results/scales.csv](results/scales.csv). *Exponents* are `projection_exponent`'s for fp16, *scales* are
  `power_of_two_scale`'s for e4m3, with a factor of two to spare.

Over {sentences} held-out sentences. *Lost*: 1 - the mean cosine between an embedding and its reference. *Shift*: the largest
change of the cosine between two sentences. *Neighbours*: sentences whose nearest other sentence stays the same.

| way | lost | least cosine | shift | neighbours |
|---|---|---|---|---|
{embeddings}

{ranges}

## Fine-tuning

- [minilm.py](minilm.py) trains in PyTorch with [lowp_torch](../../examples/torch/README.md): {steps} steps of AdamW at a rate
  of {lr}, {batch} pairs of sentences in each. Lion takes a tenth of the rate.
- The loss is that of MiniLM's own training: among the sentences of a batch, find the one that follows (cosines times 20,
  cross-entropy).
- The last two layers are trained, {weights} weights. Those below stay as they are in fp32, and run once.
- Held-out loss: over {pairs} other pairs, of the weights as stored, computed in fp32. ± is the standard deviation over
  the seeds, {seeds} of them. A seed decides batches and random bits; batches of a seed are the same in every row.
- *Kept*: of what fp32 gains over the start, with the same batches. *Stalled*, *applied*: of `lowp_torch.Report`, over all steps.
- *Bytes*: of a trained weight with its states.

| weights and states | bytes | held-out loss | kept | stalled | applied |
|---|---|---|---|---|---|
{finetuned}

{short}

![Share of fp32's improvement that is kept](results/kept.svg)
"""


def kept(runs, way):
    """Returns the share of fp32's improvement for each seed that both have."""
    base = {row["seed"]: row for row in runs[REFERENCE]}
    return [(float(base[r["seed"]]["before"]) - float(r["held_out"])) /
            (float(base[r["seed"]]["before"]) - float(base[r["seed"]]["held_out"]))
            for r in runs[way] if r["seed"] in base]


def with_spread(values, digits, unit=""):
    """Returns the mean, and the standard deviation if there is one."""
    spread = f" ± {shared.spread(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}{unit}"


def mean_of(rows, column):
    return statistics.mean(float(r[column]) for r in rows)


def finetuned_rows(runs):
    for way, rows in runs.items():
        of_way = kept(runs, way)
        losses = [float(r["held_out"]) for r in rows]
        yield " | ".join([
            f"| {rows[0]['text']}", f"{mean_of(rows, 'bytes'):.2f}",
            with_spread(losses, 4), "" if way == REFERENCE else with_spread([100 * k for k in of_way], 1, " %"),
            f"{100 * mean_of(rows, 'stalled'):.1f} %", f"{mean_of(rows, 'applied'):.4f} |"])


def short(runs):
    if not {"nearest", "sr", "sr-fast", "kahan", "8bit"} <= runs.keys():
        return "Not all rows were trained."

    def share(way):
        return f"{100 * statistics.mean(kept(runs, way)):.0f} %"

    start = mean_of(runs[REFERENCE], "before")
    return (f"The start has a loss of {start:.4f}. To nearest, {100 * (1 - mean_of(runs['nearest'], 'applied')):.0f} % of what\n"
            f"AdamW asks for is lost, and {share('nearest')} of fp32's improvement is kept. `stochastic` keeps {share('sr')},\n"
            f"`stochastic_fast` {share('sr-fast')}, Kahan {share('kahan')}, and 8-bit states {share('8bit')}.")


def ranges(scales):
    largest = max(scales, key=lambda r: float(r["largest_output"]))
    scaled = sum(int(r["fp16_exponent"]) > 0 for r in scales)
    low, high = (f(float(r["e4m3_scale"]) for r in scales) for f in (min, max))
    return (f"The largest result of a product is {float(largest['largest_output']):.1f}, of `{largest['layer']}`.\n"
            f"So {scaled} of {len(scales)} layers need an exponent in fp16, whose largest value is 65504.\n"
            f"Calibrated scales of inputs for e4m3 are {low:g} to {high:g}.")


def page(folder):
    runs = shared.runs_by_way(folder / "finetuned.csv")
    embeddings = shared.read(folder / "embeddings.csv")
    first = runs[REFERENCE][0]
    rows = [f"| {r['text']} | {r['lost']} | {float(r['least_similarity']):.6f} | {r['largest_shift']} | "
            f"{100 * float(r['neighbours']):.1f} % |" for r in embeddings]
    return PAGE.format(
        context=shared.context_table(folder), sentences=embeddings[0]["sentences"], embeddings="\n".join(rows),
        calibrated=128, ranges=ranges(shared.read(folder / "scales.csv")), steps=first["steps"], lr=first["lr"], pairs=first["pairs"],
        batch=first["batch"], weights=first["weights"], seeds=len(runs[REFERENCE]), finetuned="\n".join(finetuned_rows(runs)), short=short(runs))


def brief(folder):
    runs = shared.runs_by_way(folder / "finetuned.csv")

    def of(way):
        return f"{100 * min(1, statistics.mean(kept(runs, way))):.1f} %"

    def size(way):
        return f"{mean_of(runs[way], 'bytes'):.0f}"

    return (f"[MiniLM, fine-tuned](bench/model/README.md#fine-tuning) at {size('sr')} bytes a weight, not {size(REFERENCE)}, "
            f"keeps {of('sr')} of fp32's gain.\n"
            f"To nearest it keeps {of('nearest')}. With 8-bit states, {size('8bit')} bytes keep {of('8bit')}.\n")


def figure(folder):
    runs = shared.runs_by_way(folder / "finetuned.csv")
    rows = [(runs[way][0]["text"], 100 * statistics.mean(k), 100 * shared.spread(k))
            for way in runs if way != REFERENCE for k in [kept(runs, way)]]
    shared.draw(folder / "kept.svg", "Share of the improvement of fp32 that is kept, in %", rows)


shared.main(__doc__, HERE, page, figure, brief)
