# SPDX-License-Identifier: Apache-2.0
"""Times steps of lowp_torch.AdamW beside PyTorch's fused AdamW on bfloat16 parameters. One thread, its
processor time; all contenders take turns in one process, and the tables have medians.

    python step.py [--into FILE] [--rounds ROUNDS] [--small]

--into puts the tables between the marks in FILE. --small tries a hundredth of the parameters.
"""

import argparse
import datetime
import math
import pathlib
import re
import statistics
import textwrap
import time

import torch

import lowp_torch

BF16 = torch.bfloat16
BEGIN, END = "<!-- begin: step.py -->\n", "<!-- end: step.py -->\n"
LAYER = [(256, 256)] * 4 + [(1024, 256), (256, 1024), (1024,)] + [(256,)] * 5
MODELS = {"192 tensors, 12.6 M": LAYER * 16, "400 of 4,096": [(4096,)] * 400, "one of 2^24": [(2**24,)],
          "400 empty": [(0,)] * 400}
OURS = {"nearest": {"rounding": "nearest"}, "stochastic": {"rounding": "stochastic"},
        "stochastic_fast": {"rounding": "stochastic_fast"},
        "stochastic_fast, report": {"rounding": "stochastic_fast", "report": True},
        "Kahan, nearest": {"storage": "kahan", "rounding": "nearest"},
        "master, nearest": {"storage": "master", "rounding": "nearest"},
        "corrected16, nearest": {"storage": "corrected16", "rounding": "nearest"}}


# Bytes of an element that a step reads and writes, gradients and fingerprints' reads among them.
BYTES = {"Kahan, nearest": 18, "master, nearest": 22, "corrected16, nearest": 18}
PLAIN = 14


class Copy:
    """Copies as many bytes as a plain step reads and writes."""

    def __init__(self, shapes):
        self.pairs = [torch.zeros(2, PLAIN // 2 * math.prod(shape), dtype=torch.uint8) for shape in shapes]

    def step(self):
        for to, source in self.pairs:
            to.copy_(source)


def optimizer_of(shapes, gradients, kind, settings):
    params = [torch.nn.Parameter(torch.randn(shape).to(BF16)) for shape in shapes]
    for p, g in zip(params, gradients):
        p.grad = g
    return kind(params, lr=1e-4, **settings)


def medians(shapes, rounds):
    """Returns the seconds of a step by contender."""
    gradients = [(0.01 * torch.randn(shape)).to(BF16) for shape in shapes]
    made = {"copy": Copy(shapes), "PyTorch": optimizer_of(shapes, gradients, torch.optim.AdamW, {"fused": True})}
    for name, settings in OURS.items():
        made[name] = optimizer_of(shapes, gradients, lowp_torch.AdamW, settings)
    times = {name: [] for name in made}
    for turn in range(rounds + 3):
        for name, optimizer in made.items():
            begin = time.process_time()
            optimizer.step()
            if turn >= 3:
                times[name].append(time.process_time() - begin)
    return {name: statistics.median(each) for name, each in times.items()}


def tables(rounds, small):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    found = {}
    for name, shapes in MODELS.items():
        if small:
            shapes = [tuple(n // 10 for n in shape) for shape in shapes]
        found[name] = medians(shapes, rounds)
    models = [name for name in MODELS if name != "400 empty"]
    yield (f"{processor()}, PyTorch {torch.__version__}, {datetime.date.today()}, medians of {rounds} steps. "
           "PyTorch's fused step over ours:\n")
    yield f"| step | {' | '.join(models)} |\n|---|{'---|' * len(models)}"
    for name in OURS:
        ratios = [f"{found[model]['PyTorch'] / found[model][name]:.2f}" for model in models]
        yield f"| {name} | {' | '.join(ratios)} |"
    yield "\nMicroseconds of a step for each tensor:\n"
    yield f"| step | {' | '.join(MODELS)} |\n|---|{'---|' * len(MODELS)}"
    for name in ["copy", "PyTorch", *OURS]:
        each = [f"{1e6 * found[model][name] / len(MODELS[model]):,.2f}" for model in MODELS]
        yield f"| {name} | {' | '.join(each)} |"
    yield "\nSpeed of memory in each step, where a copy of as many bytes has 1:\n"
    yield f"| step | {' | '.join(models)} |\n|---|{'---|' * len(models)}"
    for name in ["PyTorch", *OURS]:
        yield f"| {name} | {' | '.join(f'{speed_of(found[model], name):.2f}' for model in models)} |"
    hosts = [1e6 * found["400 empty"][name] / len(MODELS["400 empty"]) for name in OURS]
    yield "\n" + textwrap.fill(f"The host takes {min(hosts):.1f} to {max(hosts):.1f} µs a tensor, as the empty ones "
                                f"show. {bounds(found, models)}", 120)


def speed_of(of_model, name):
    """Returns the bytes that a step moves in a second, where a copy has 1."""
    return of_model["copy"] * BYTES.get(name, PLAIN) / PLAIN / of_model[name]


def bounds(found, models):
    """Says what bounds the rows where PyTorch is faster."""
    texts = {True: [], False: []}
    for name in OURS:
        for model in models:
            times = found[model]
            if times["PyTorch"] < times[name]:
                part = speed_of(times, name) / max(speed_of(times, each) for each in OURS)
                texts[part >= 0.9].append(f"{name} ({model}: {part:.2f})")
    said = [f"{what} is the bound of {'; '.join(texts[is_memory])}"
            for is_memory, what in [(True, "memory"), (False, "arithmetic")] if texts[is_memory]]
    if not said:
        return "No row is slower than PyTorch's."
    return (f"Where PyTorch is faster, {', and '.join(said)}. The number in brackets is the speed of memory over "
            "that of the fastest of these steps.")


def processor():
    facts = dict(re.findall(r"^([^\t:]+)\t*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M))
    return f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    lines = []
    for line in tables(options.rounds, options.small):
        print(line, flush=True)
        lines.append(line)
    if options.into:
        before, rest = options.into.read_text().split(BEGIN)
        _, after = rest.split(END)
        options.into.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


main()
