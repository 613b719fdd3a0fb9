#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what results/*.csv say.

    python3 bench/training/table.py             > bench/training/README.md
    python3 bench/training/table.py --brief         six storages, for the project's README.md
    python3 bench/training/table.py --into FILE     puts them between the marks in FILE
    python3 bench/training/table.py --figures       results/*.svg, by gnuplot
    python3 bench/training/table.py --merge NEW     puts the runs of another folder into results

A last argument is another folder of results.
"""
import argparse
import collections
import csv
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
REFERENCE = "fp32"
FAST = "-fast"  # what the names of configurations end with whose bits are of stochastic_fast
TASKS = {"byte_mlp": "MLP on bytes", "digits": "digits", "transformer": "transformer on bytes"}
RATES = ("normal", "small")
T_BOUNDS = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # 95 % of Student's t, by the number of seeds
OPTIMIZERS = {"fp32": "AdamW", "sgd": "SGD", "lion": "Lion"}  # by the configuration with all in fp32
# Configurations of the short tables and the figures: name, and the reason to look at it.
SHORT = {
    "fp32": "fp32",
    "master": "fp32 master, bf16 working copy",
    "split16": "bf16 + 16 bits",
    "bf16-kahan-sr": "bf16, Kahan",
    "split8-sr": "bf16 + 8 bits",
    "bf16-sr": "bf16, stochastic",
    "bf16": "bf16, nearest",
    "fp16-sr": "fp16, stochastic",
    "fp8-sr": "fp8 with a scale, stochastic",
    "m-bf16": "fp32; bf16 moments",
    "m-fp8": "fp32; fp8 moments",
    "m-8bit-sr": "fp32; 8-bit moments",
    "bf16-kahan-sr+bf16": "bf16, Kahan; bf16 moments",
    "split8-sr+bf16": "bf16 + 8 bits; bf16 moments",
    "bf16-sr+bf16": "bf16, stochastic; bf16 moments",
    "bf16+bf16-nearest": "bf16; bf16 moments; all nearest",
    "bf16-kahan-sr+fp8": "bf16, Kahan; fp8 moments",
    "split8-sr+fp8": "bf16 + 8 bits; fp8 moments",
    "bf16-sr+fp8": "bf16, stochastic; fp8 moments",
    "bf16-sr+8bit": "bf16, stochastic; 8-bit moments",
    "sgd-bf16-sr": "SGD: all bf16, stochastic",
    "lion-bf16-sr": "Lion: all bf16, stochastic",
    "fp8-lm-sr": "FP8-LM's formats, stochastic",
}
# The project's README.md shows these.
BRIEF = ("fp32", "master", "bf16+bf16-nearest", "bf16-kahan-sr+bf16", "bf16-sr+bf16", "bf16-sr+fp8")
# The storages that the claim is about, by bytes for each parameter; then others of few bytes.
CLAIMED = {6: ("bf16-sr+bf16", "bf16-kahan-sr+fp8"), 4: ("bf16-sr+fp8",)}
CLAIMED_MORE = {8: ("bf16-kahan-sr+bf16",), 7: ("split8-sr+bf16",), 5: ("split8-sr+fp8",)}


def read(folder, name):
    path = folder / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def mean(values):
    return statistics.fmean(values)


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else math.nan


class Cell:
    """The runs of one configuration at one rate of one task, beside those of fp32."""

    def __init__(self, runs, reference):
        self.runs = sorted(runs, key=lambda r: int(r["seed"]))
        base = {r["seed"]: r for r in reference}
        self.base = [base[r["seed"]] for r in self.runs]

    def values(self, column):
        return [float(r[column]) for r in self.runs]

    def reference(self, column):
        return [float(r[column]) for r in self.base]

    def of(self, column):
        return mean(self.values(column))

    @property
    def is_finite(self):
        return all(math.isfinite(x) for x in self.values("held_out"))

    @property
    def differences(self):
        return [a - b for a, b in zip(self.values("held_out"), self.reference("held_out"))]

    @property
    def deviations(self):
        """The difference of the means in standard deviations of fp32 over its seeds."""
        return mean(self.differences) / spread(self.reference("held_out"))

    @property
    def is_within(self):
        return self.is_finite and abs(self.deviations) <= 1

    @property
    def verdict(self):
        if self.is_within:
            return "yes"
        return "no, lower" if self.is_finite and self.deviations < 0 else "**no**"

    @property
    def kept(self):
        """The share of fp32's improvement that is kept, both from fp32's start."""
        start = mean([float(r["curve"].split(";")[0]) for r in self.base])
        return (start - self.of("held_out")) / (start - mean(self.reference("held_out")))

    def ratio(self, column):
        return self.of(column) / mean(self.reference(column))

    def cause(self):
        """Why it is not within one standard deviation, by what was counted."""
        request, zeros = max(self.values("largest_request")), max(self.values("zero_second"))
        if zeros > 1e-3 and request > 1.5 * mean(self.reference("largest_request")):
            return (f"up to {percent(zeros)} of v are 0 where m is not: the mean weight is asked to "
                    f"move by up to {request:.2g} lr in a step")
        if self.of("nonfinite") > 0:
            return "weights or moments become infinite or NaN"
        if self.of("applied_ratio") < 0.995:
            return f"{percent(1 - self.of('applied_ratio'))} of the updates are lost"
        first = self.runs[0]
        if first["moments"] != "fp32" and abs(self.ratio("mean_request") - 1) > 0.004:
            return f"v is off: steps are {self.ratio('mean_request'):.3f} times those of fp32"
        if "stochastic" in first["weights"]:
            text = "noise of rounding in every step"
            if first["weights"].startswith("bf16"):
                once = mean([a - b for a, b in zip(self.reference("stochastic_rounded"),
                                                   self.reference("held_out"))])
                text += f"; fp32's result, so rounded once, loses {once:+.5f}"
            return text
        return "another path through the same steps"


class Results:
    def __init__(self, folder):
        self.folder = folder
        self.context = {r["what"]: r["value"] for r in read(folder, "context.csv")}
        self.runs = collections.defaultdict(list)
        self.names = []
        for run in read(folder, "runs.csv"):
            self.runs[run["task"], run["rate"], run["configuration"]].append(run)
            if run["configuration"] not in self.names:
                self.names.append(run["configuration"])
        self.tensors = read(folder, "tensors.csv")
        self.loss_scaling = read(folder, "loss_scaling.csv")

    def cell(self, task, rate, name):
        runs = self.runs[task, rate, name]
        return Cell(runs, self.runs[task, rate, reference_of(name)]) if runs else None

    def cells(self, name, rates=RATES):
        found = [self.cell(task, rate, name) for task in TASKS for rate in rates]
        return [c for c in found if c]


def reference_of(name):
    """An optimizer has its own rate, and so its own fp32."""
    optimizer = name.split("-")[0]
    return optimizer if optimizer in OPTIMIZERS else REFERENCE


def percent(x):
    return f"{100 * x:.1f} %" if abs(x) < 0.995 or abs(x) > 1.005 else f"{100 * x:.2f} %"


def signed(x, digits=4):
    text = f"{x:+.{digits}f}"
    return text if text.strip("+-0.") else text[1:]  # no sign for zero


def deviations(x):
    return signed(x, 1 if abs(x) < 100 else 0)


def times(x):
    return f"{x:.3f}" if x < 100 else f"{x:.2g}"


def number(x):
    return f"{x:.0f}" if abs(x - round(x)) < 0.1 else f"{x:.1f}"


def loss(values):
    return f"{mean(values):.4f} ± {spread(values):.4f}"


def nanoseconds(results, name):
    """Time of an update with a report, for each weight of the largest model; empty if that was not trained."""
    runs = results.runs["byte_mlp", "normal", name]
    return f'{min(float(r["update_us"]) * 1000 / int(r["parameters"]) for r in runs):.1f}' if runs else ""


def tally(cells):
    """Counts the cells within one standard deviation, or beyond it on the good side."""
    verdicts = [c.verdict for c in cells]
    text = f"{verdicts.count('yes')} of {len(cells)}"
    lower = verdicts.count("no, lower")
    return text + (f", {lower} lower" if lower else "")


def farthest_kept(small):
    if not small:
        return "not trained"
    if not all(c.is_finite for c in small):
        return "diverges"
    return percent(min((c.kept for c in small), key=lambda x: -abs(x - 1)))


def brief_table(results):
    yield "| weights; moments | bytes a weight | improvement kept | within one deviation | ns a weight |"
    yield "|---|---|---|---|---|"
    for name in BRIEF:
        cells = results.cells(name)
        if cells:
            yield " | ".join([
                f"| {SHORT[name]}", number(cells[0].of("bytes")),
                farthest_kept(results.cells(name, ["small"])),
                "" if name == REFERENCE else tally(cells), f"{nanoseconds(results, name)} |"])


def short_table(results):
    yield ("| weights; moments | bytes | normal rate: worst difference | small rate: improvement kept, "
           "farthest from 100 % | within one deviation | ns a weight |")
    yield "|---|---|---|---|---|---|"
    for name, label in SHORT.items():
        cells = results.cells(name)
        if not cells:
            continue
        normal, small = results.cells(name, ["normal"]), results.cells(name, ["small"])
        finite = all(c.is_finite for c in cells)
        worst = max(normal, key=lambda c: abs(c.deviations)) if finite else None
        yield " | ".join([
            f"| {label}",
            f"{number(cells[0].of('bytes'))} + {number(cells[0].of('gradient_bytes'))}",
            "" if name == REFERENCE else
            f"{signed(mean(worst.differences))} ({deviations(worst.deviations)} sd)"
            if finite else "diverges",
            farthest_kept(small),
            "" if name == REFERENCE else tally(cells),
            f"{nanoseconds(results, name)} |"])


def claim(results):
    yield "| bytes | storage | task | rate | difference from fp32 | in sd of fp32 | within one | else, because |"
    yield "|---|---|---|---|---|---|---|---|"
    for size, names in {**CLAIMED, **CLAIMED_MORE}.items():
        for name in names:
            for task in TASKS:
                for rate in RATES:
                    c = results.cell(task, rate, name)
                    if not c:
                        continue
                    yield " | ".join([
                        f"| {size}", SHORT[name], TASKS[task], rate,
                        f"{signed(mean(c.differences), 5)} ± {spread(c.differences):.5f}",
                        deviations(c.deviations), c.verdict,
                        ("" if c.is_within else c.cause()) + " |"])


def answer(results):
    for size, names in {**CLAIMED, **CLAIMED_MORE}.items():
        for name in names:
            cells = results.cells(name)
            if not cells:
                continue
            verdicts = [c.verdict for c in cells]
            worse = verdicts.count("**no**")
            kept = [c.kept for c in results.cells(name, ["small"])]
            verdict = "holds" if len(cells) == verdicts.count("yes") else \
                "does not hold everywhere" if worse else "holds, but for losses that are lower"
            yield (f"- **{size} bytes, {SHORT[name]}**: it {verdict}. Of {len(cells)} comparisons "
                   f"{verdicts.count('yes')} are within one standard deviation, "
                   f"{verdicts.count('no, lower')} have a lower loss and {worse} a higher one; of "
                   f"fp32's improvement in fine-tuning {percent(min(kept))} to "
                   f"{percent(max(kept))} is left.")


def task_table(results, task, rate):
    columns = ["storage of weights", "moments", "gradients", "bytes", "held-out loss",
               "from fp32, seed by seed", "in sd", *(["improvement kept"] if rate == "small" else []),
               "applied", "stalled", "steps, of fp32's", "update, ns a weight", "because"]
    yield "| " + " | ".join(columns) + " |"
    yield "|---" * len(columns) + "|"
    for name in results.names:
        c = results.cell(task, rate, name)
        if not c or name.endswith(FAST):
            continue
        first = c.runs[0]
        is_other = name != reference_of(name)
        finite = c.is_finite
        update = min(c.values("update_us")) * 1000 / int(first["parameters"])
        yield " | ".join([
            f"| {first['weights']}", first["moments"], first["gradients"],
            f"{number(c.of('bytes'))} + {number(c.of('gradient_bytes'))}",
            loss(c.values("held_out")) if finite else "diverges",
            f"{signed(mean(c.differences))} ± {spread(c.differences):.4f}"
            if is_other and finite else "",
            deviations(c.deviations) if is_other and finite else "",
            *([percent(c.kept) if finite else ""] if rate == "small" else []),
            f"{c.of('applied_ratio'):.4f}", percent(c.of("stalled")),
            times(c.ratio("mean_request")), f"{update:.1f}",
            (c.cause() if is_other and not c.is_within else "") + " |"])


def rate_table(results):
    yield "| task | optimizer | half of it | the normal rate | double |"
    yield "|---|---|---|---|---|"
    for task in TASKS:
        for name, optimizer in OPTIMIZERS.items():
            cells = [results.cell(task, rate, name) for rate in ("half", "normal", "double")]
            if all(cells):
                yield (f"| {TASKS[task]} | {optimizer} | " + " | ".join(
                    f"{float(c.runs[0]['lr']):g}: {loss(c.values('held_out'))}" for c in cells) + " |")


def pair(results, name, task, rate):
    """Returns the cells of both generators, or None unless both have been trained."""
    cells = [results.cell(task, rate, n) for n in (name, name + FAST)]
    return cells if all(cells) else None


def curve_shift(philox, fast):
    """Returns the largest difference of two curves of mean held-out losses, and Student's t of the last losses.
    Seeds are paired: they have the same weights and data."""
    means = [[mean(points) for points in zip(*([float(x) for x in r["curve"].split(";")] for r in c.runs))]
             for c in (philox, fast)]
    shift = max((b - a for a, b in zip(*means)), key=abs)
    d = [b - a for a, b in zip(philox.values("held_out"), fast.values("held_out"))]
    return shift, mean(d) / (spread(d) / math.sqrt(len(d))) if spread(d) else 0.0


def generator_table(results):
    places = [(task, rate) for task in TASKS for rate in RATES]
    yield "| storage | " + " | ".join(f"{TASKS[task]}, {rate}" for task, rate in places) + " |"
    yield "|---" * (len(places) + 1) + "|"
    for name in results.names:
        found = [pair(results, name, *place) for place in places]
        if any(found):
            yield f"| {name} | " + " | ".join(map(generator_cell, found)) + " |"


def generator_cell(cells):
    if not cells:
        return "not trained"
    if not all(c.is_finite for c in cells):
        return "diverges"
    shift, t = curve_shift(*cells)
    return f"{signed(shift, 5)} ({t:+.1f})"


def generator_summary(results):
    found = [pair(results, name, task, rate) for name in results.names for task in TASKS for rate in RATES]
    finite = [cells for cells in found if cells and all(c.is_finite for c in cells)]
    if not finite:
        return "No storage was trained with both."
    t = [curve_shift(*cells)[1] for cells in finite]
    bound = T_BOUNDS[len(finite[0][0].runs)]
    return (f"Of {len(t)} pairs, {sum(abs(x) <= bound for x in t)} have a t within ± {bound}. Student's distribution has\n"
            f"95 % there: {0.95 * len(t):.0f} pairs. In {sum(x > 0 for x in t)} the t is positive.")


def norm_table(results):
    yield "| storage | norm weights that moved | applied | tensors of which no weight moved |"
    yield "|---|---|---|---|"
    for name in results.names:
        rows = [r for r in results.tensors if r["rate"] == "low" and r["configuration"] == name]
        if not rows:
            continue
        norms = [r for r in rows if "norm" in r["tensor"] and r["tensor"].endswith("weight")]
        moved, size = (sum(int(r[c]) for r in norms) for c in ("moved", "size"))
        ratio = mean([float(r["applied_ratio"]) for r in norms])
        frozen = [f"`{r['tensor']}`" for r in rows if int(r["moved"]) == 0]
        yield f"| {name} | {moved} of {size} | {ratio:.3f} | {', '.join(frozen) or 'none'} |"


def scaling_table(results):
    groups = collections.defaultdict(list)
    for row in results.loss_scaling:
        groups[row["gradients"], int(row["weight_exponent"])].append(row)
    names = list(dict.fromkeys(name for name, _ in groups))
    weights = sorted({w for _, w in groups}, reverse=True)
    yield "| gradients | " + " | ".join(f"loss times 2^{w}" for w in weights) + " |"
    yield "|---|" + "---|" * len(weights)
    for name in names:
        cells = []
        for w in weights:
            rows = groups[name, w]
            text = loss([float(r["held_out"]) for r in rows])
            lost = mean([float(r["underflowed"]) for r in rows])
            skipped = mean([int(r["skipped"]) for r in rows])
            if lost >= 0.0005:
                text += f"; {percent(lost)} lost"
            if skipped:
                text += f"; {number(skipped)} steps skipped, last because of `{rows[0]['overflowed'].split()[0]}`"
            cells.append(text)
        yield f"| {name} | " + " | ".join(cells) + " |"


PAGE = """\
# Which storage to choose, as last measured

`sh bench/training/run.sh` measures every cell again. [table.py](table.py) writes this page from [results](results):

| | |
|---|---|
{facts}

- Three models, each trained from real data in every storage. *MLP on bytes* and *transformer on bytes*
  ([byte_mlp.hpp](byte_mlp.hpp), [transformer.hpp](transformer.hpp)) learn to continue the Jargon File, 1.7 MB
  (Debian's `jargon-text`); *digits* ([digits.hpp](digits.hpp)) are scikit-learn's 1797 images (Debian's
  `python3-sklearn`). Forward and backward are fp32 of the working copy; gradients are fp32 unless said.
- AdamW, weight decay 0.01, half a cosine to nearly zero; [SGD and Lion](#is-the-normal-rate-a-good-one) where named. *Normal rate*: from random weights, at the
  best rate for fp32 within a factor of two, as a table below shows. *Small rate*: fine-tuning at
  {small} from one model, the same for all seeds. fp32 has trained it for a while at the normal
  rate.
- A seed decides initial weights, order of data and stochastic rounding. Every storage gets the same initial
  weights and data for the same seed. {seeds} seeds; ± is their standard deviation.
- *Difference*: of mean held-out loss from fp32's, in nats, and in standard deviations (sd) of fp32 over the
  seeds. At the small rate that is a strict measure: only the order of the data differs, and fp32's losses
  do too by a few 10^-4. *Improvement kept*: of what fp32 gains from its start, with what rounding the start costs.
- *Bytes*: of weights and moments as they lie between two steps, scales and compensations included; + gradient.
- *Applied*, *stalled*: update_report's ratio of what weights moved to what the optimizer asked for;
  the share of updates that left the stored code unchanged. A stochastic update is stalled most of
  the time and applied in the mean.
- *Steps, of fp32's*: the mean of what the optimizer asked for, as a multiple of the same with fp32.
- *ns a weight*: of one update with a report, on one thread; the least of the seeds. Small models: most of it is arithmetic.

## In short

{short}

## The claim

At 6 bytes a parameter (bf16 weight, bf16 moments), stochastic or Kahan is within one standard
deviation of fp32. So it is at 4 (bf16 weight, fp8 moments). fp32 takes 12, or 16 with its gradient.
Of that and of three more:

{answer}

{claim}

What the reasons mean:

- *Updates are lost*: they are smaller than half a gap of the format, and the weight rounds back to where it was. A
  Kahan compensation and 8 more bits have a last bit too: rounded stochastically, they lose nothing in the mean.
- *Noise of rounding*: stochastic rounding is right in the mean. But each step smaller than a gap
  moves a weight by a whole gap or not at all. This noise adds up over the steps, against the
  gradient, which undoes it. Beside it stands what rounding fp32's own result once costs, which no
  storage of that format can avoid.
- *v is off*: a step divides by the square root of v. Stochastically rounded, v is right in the
  mean. The mean of 1 / sqrt(v) is more than that of v's mean, so steps are a little longer. To
  nearest, v is not even right in the mean: it does not change if (1 - beta2) of the new term is
  less than half a gap.
- *v is 0 where m is not*: the step is m / epsilon. In a block or a tensor with one scale, v has as
  many orders of magnitude as the format. v is the square of a gradient: float8_e4m3fn has no more
  than five, float8_e5m2 nine. In time m decays too, but not if it is rounded to nearest: the
  smallest code times 0.9 is the smallest code.

![Held-out loss while fine-tuning](results/small.svg)

![What each storage keeps of fp32's improvement, by its bytes](results/bytes.svg)

## Weights that start at 1

The transformer from random weights at GPT-2's rate, {low}, decaying. Its norm weights start at exactly 1, where bfloat16's
gaps are 2^-8 below and 2^-7 above. To nearest an update of less than 2^-9 is lost. The report of each tensor
says so by name ([results/tensors.csv](results/tensors.csv), first seed):

{norms}

## A task that loss scaling decides

Digits at the normal rate, of a loss that counts as little as an auxiliary one may; weights and moments fp32, AdamW's epsilon
as much smaller as the loss. Gradients are rounded to nearest when they are stored; *lost* is the share that became 0.
The dynamic scale starts at 65536, doubles after 50 good steps, halves when a gradient overflows ([loss_scaling.cpp](loss_scaling.cpp)):

{scaling}

## Both generators

Storages that draw random bits, trained with `stochastic` and with `stochastic_fast`. A cell has the largest difference
of the two mean held-out losses, over the {points} points of their curves. In parentheses: Student's t of the
last losses, seed by seed. {generators}

{generator_table}

## Is the normal rate a good one

SGD (momentum 0.9) takes 20 times AdamW's rate, Lion a fifth. Each is compared with its own fp32. Held-out loss of fp32:

{rates}

{tasks}"""


def page(results):
    def rate_of(task, rate):
        return results.runs[task, rate, REFERENCE][0]["lr"] if results.runs[task, rate, REFERENCE] else ""
    tables = []
    for task, label in TASKS.items():
        for rate in RATES:
            if results.cell(task, rate, REFERENCE):
                run = results.runs[task, rate, REFERENCE][0]
                tables.append(f"## {label[0].upper()}{label[1:]}, {rate} rate\n\n{run['parameters']} parameters, {run['steps']} "
                              f"steps, learning rate {run['lr']}.\n\n" +
                              "\n".join(task_table(results, task, rate)) + "\n")
    seeds = {r["seed"] for runs in results.runs.values() for r in runs}
    return PAGE.format(
        facts="\n".join(f"| {k} | {v} |" for k, v in results.context.items()), seeds=len(seeds),
        small=rate_of("byte_mlp", "small"), low=rate_of("transformer", "low"),
        short="\n".join(short_table(results)), answer="\n".join(answer(results)),
        claim="\n".join(claim(results)), norms="\n".join(norm_table(results)),
        scaling="\n".join(scaling_table(results)), generators=generator_summary(results),
        generator_table="\n".join(generator_table(results)),
        points=next((r[0]["curve"].count(";") + 1 for r in results.runs.values() if r), 0), rates="\n".join(rate_table(results)),
        tasks="\n".join(tables))


# Colours that colour-blind readers tell apart (M. Okabe, K. Ito, "Color universal design", 2008).
LINES = {"fp32": "#a0a0a0", "bf16": "#0072b2", "bf16-sr+bf16": "#e69f00", "bf16-sr+fp8": "#d55e00",
         "bf16-kahan-sr+bf16": "#009e73", "fp8-sr": "#cc79a7"}
STYLE = ("set terminal svg noenhanced size 1080,{height} font 'sans-serif,13' background '#ffffff'\n"
         "set border 3 lc rgb '#606060'; set tics nomirror out scale 0.6 textcolor '#202020'\n"
         "set grid lt 1 lw 1 lc rgb '#e4e4e4'\n")


def draw(path, script):
    drawn = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=True)
    path.write_text(drawn.stdout)


def curves(results):
    script = STYLE.format(height=470)
    data, panels = "", ""
    for p, task in enumerate(TASKS):
        plots = []
        for name, colour in LINES.items():
            runs = results.runs[task, "small", name]
            if not runs:
                continue
            points = [mean(column) for column in
                      zip(*([float(x) for x in r["curve"].split(";")] for r in runs))]
            block = f"$d{p}_{len(plots)}"
            steps = int(runs[0]["steps"])
            data += f"{block} << END\n" + "".join(
                f"{steps * i // (len(points) - 1)} {y}\n" for i, y in enumerate(points)) + "END\n"
            plots.append(f"{block} with lines lc rgb '{colour}' lw {5 if name == REFERENCE else 2} "
                         f"title '{SHORT[name] if name != REFERENCE else 'fp32'}'")
        left = 0.075 + 0.32 * p
        key = "set key at screen 0.545,0.9 center top Left reverse samplen 2 maxrows 2" if p == 0 else "unset key"
        panels += (f"set lmargin at screen {left}; set rmargin at screen {left + 0.25}\n"
                   "set tmargin at screen 0.7; set bmargin at screen 0.16\n"
                   f"set title '{TASKS[task]}'; set xlabel 'step'; set xtics 500; set xrange [0:{steps}]\n"
                   f"set ylabel '{'held-out loss, nats' if p == 0 else ''}'\n{key}\n"
                   "plot " + ", ".join(plots) + "\n")
    draw(results.folder / "small.svg", script + data +
         "set multiplot title 'Fine-tuning at a small learning rate' font ',15'\n" + panels +
         "unset multiplot\n")


def by_bytes(results):
    script = STYLE.format(height=460)
    plots = []
    data = ""
    labels = ""
    for p, (task, colour) in enumerate(zip(TASKS, ("#0072b2", "#009e73", "#d55e00"))):
        data += f"$t{p} << END\n"
        for name in SHORT:
            c = results.cell(task, "small", name)
            if c and c.is_finite:
                data += f"{c.of('bytes') + 0.12 * (p - 1)} {100 * c.kept}\n"
        data += "END\n"
        plots.append(f"$t{p} with points pt 7 ps 0.8 lc rgb '{colour}' title '{TASKS[task]}'")
    placed = collections.defaultdict(list)
    for name in SHORT:
        cells = results.cells(name, ["small"])
        if cells and all(c.is_finite for c in cells):
            good = mean([c.kept for c in cells]) > 0.5
            placed[round(cells[0].of("bytes")), good].append(name)
    for (size, good), names in placed.items():
        for i, name in enumerate(names):
            y = (106 + 18 * (size % 2) + 6 * i) if good else 22 + 6 * i
            labels += f"set label '{name}' at {size},{y} center font ',10' textcolor '#202020'\n"
    draw(results.folder / "bytes.svg", script + data + labels +
         "set xlabel 'bytes a parameter, weights and moments'\n"
         "set ylabel 'kept of the improvement of fp32, %'\nset yrange [-5:140]; set xrange [3:15]; set xtics 1\n"
         "set title 'Fine-tuning at a small learning rate: what each storage keeps'\n"
         "set key right center\nplot 100 with lines lc rgb '#a0a0a0' lw 2 notitle, " + ", ".join(plots) + "\n")


def merge(results, new):
    """Puts the runs of another folder in the place of the same ones, or after the runs that theirs resemble."""
    with (results.folder / "runs.csv").open(newline="") as file:
        columns = next(csv.reader(file))
    cells = {key: rows for key, rows in results.runs.items()} | {key: rows for key, rows in new.runs.items()}
    names = list(results.names)
    for name in new.names:
        if name not in names:
            base = name.removesuffix(FAST)
            names.insert(names.index(base) + 1 if base in names else len(names), name)
    order = list(dict.fromkeys(key[:2] for key in cells))
    order.sort(key=lambda key: list(TASKS).index(key[0]))
    with (results.folder / "runs.csv").open("w", newline="") as file:
        quoted = {"weights", "moments", "gradients"}
        file.write(",".join(columns) + "\n")
        for task, rate in order:
            for name in names:
                for row in cells.get((task, rate, name), []):
                    file.write(",".join(f'"{row[c]}"' if c in quoted else row[c] for c in columns) + "\n")
    facts = {k: v if v == new.context[k] or k == "compiler" else f"{v}, of rows that were added later {new.context[k]}"
             for k, v in results.context.items()}
    with (results.folder / "context.csv").open("w") as file:
        file.write("what,value\n" + "".join(f'{k},"{v}"\n' for k, v in facts.items()))


BEGIN, END = "<!-- begin: bench/training/table.py -->\n", "<!-- end: bench/training/table.py -->\n"


def put_into(path, results):
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"{path} does not have the marks {BEGIN.strip()} and {END.strip()} once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + BEGIN + "\n".join(brief_table(results)) + "\n" + END + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("--merge", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, nargs="?", default=HERE / "results")
    options = parser.parse_args()
    results = Results(options.folder)
    if options.figures:
        curves(results)
        by_bytes(results)
    elif options.merge:
        merge(results, Results(options.merge))
    elif options.into:
        put_into(options.into, results)
    elif options.brief:
        print("\n".join(brief_table(results)))
    else:
        print(page(results), end="")


main()
