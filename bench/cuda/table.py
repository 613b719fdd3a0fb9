#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README.md from the JSON of a run.

    python3 bench/cuda/table.py [FOLDER] > bench/cuda/README.md

run.sh wrote FOLDER, by default bench/cuda/measured. Without it the page has bench/cuda/by_hand: figures
of a run whose JSON is lost.
"""
import json
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True  # beside the sources
from peer_case import ELEMENTS as MANY
from peer_case import LEAST_LAUNCHES, REPLAYS, WARM_UPS

HERE = pathlib.Path(__file__).parent
NO = "**no**"
UNKNOWN = "not yet measured"

NEAREST = "cast/float->bfloat16/nearest_even/"
STOCHASTIC = "cast/float->bfloat16/stochastic/"
ADD_NEAREST = "fused_add/bfloat16,bfloat16/nearest_even/"
ADD_STOCHASTIC = "fused_add/bfloat16,bfloat16/stochastic/"
ADAMW = "update/adamw/bfloat16,bfloat16,bfloat16,bfloat16/{}/"
FLOAT_MOMENTS = "update/adamw/bfloat16,bfloat16,float,float/stochastic/"
SCALED = "scaled_cast/bfloat16->float8_e4m3fn/nearest_even,amax/"
LIST = "update/adamw_list/400_biases_and_norms/{}/"


def goals():
    """(operation, against, asked, its case, the case it is held against or None for the copy)."""
    copy, torch = "copy of the same bytes", "PyTorch"
    for name, case in (
            ("float to bfloat16, nearest", NEAREST),
            ("bfloat16 to float", "cast/bfloat16->float/exact/"),
            ("float to float16, nearest", "cast/float->float16/nearest_even/"),
            ("float to float8_e4m3fn, nearest", "cast/float->float8_e4m3fn/nearest_even/"),
            ("fused_add, bfloat16 += bfloat16, nearest", ADD_NEAREST)):
        yield name, copy, 0.95, case + "lowp", None
        yield "", torch, 1.0, case + "lowp", case + "torch"
    for name, case, nearest in (
            ("float to bfloat16, stochastic", STOCHASTIC, NEAREST),
            ("fused_add, bfloat16 += bfloat16, stochastic", ADD_STOCHASTIC, ADD_NEAREST)):
        yield name, copy, 0.93, case + "lowp", None
        yield "", "own nearest", 0.97, case + "lowp", nearest + "lowp"
        yield "", "torch.compile", 1.2, case + "lowp", case + "torch_compile"
        yield "", "PyTorch, eager", 4.0, case + "lowp", case + "torch_eager"
    case = ADAMW.format("stochastic") + "lowp"
    yield "AdamW, all bfloat16, stochastic", copy, 0.88, case, None
    yield ("", "PyTorch, fused, without stochastic rounding", 0.97, case,
           ADAMW.format("nearest_even") + "torch_fused")
    yield ("AdamW, bfloat16 p and g, float moments, stochastic", copy, 0.92,
           FLOAT_MOMENTS + "lowp", None)
    yield "bfloat16 to float8_e4m3fn with scale and amax", copy, 0.90, SCALED + "lowp", None
    yield "", "PyTorch, eager", 2.0, SCALED + "lowp", SCALED + "torch_eager"
    yield ("float to float8_e4m3fn, stochastic", copy, 0.75,
           "cast/float->float8_e4m3fn/stochastic/lowp", None)
    case = LIST.format("stochastic") + "lowp"
    yield ("AdamW, a list of 400 small tensors", "one tensor of as many elements", 1 / 1.1, case,
           case + "_one_tensor")
    yield "", "PyTorch, fused", 1.0, case, LIST.format("nearest_even") + "torch_fused"


    for form in ("float", "bfloat16", "float16"):
        for columns in (128, 1024, 8192):
            case = f"softmax/{form}/{columns}/"
            yield (f"softmax, {form}, {columns} columns", copy, 0.85, case + "lowp", None)
            yield "", torch, 1.0, case + "lowp", case + "torch"
            if form != "float":
                yield "", "all in 16 bits", 0.95, case + "lowp", case + "all_in_16_bits"
    for name, case in (("census", "census/"), ("range", "abs_range/")):
        for types in ("float->float16", "bfloat16->float16", "bfloat16->float8_e4m3fn"):
            yield (f"{name}, {types.replace('->', ' to ')}", copy, 0.95, f"{case}{types}/lowp", None)


class Run:
    def __init__(self, folder):
        self.context, self.versions, self.rows, self.samples = {}, {}, [], []
        for path in sorted(folder.glob("*.json")):
            data = json.loads(path.read_text())
            self.versions.update(data["context"].pop("versions", {}))
            self.context.update(data["context"])
            self.rows += data["rows"]
        clocks = folder / "clocks.csv"
        for line in clocks.read_text().splitlines() if clocks.exists() else []:
            self.samples.append([cell.strip() for cell in line.split(",")])

    def row(self, name):
        found = [r for r in self.rows if r["name"] == name]
        return next((r for r in found if r["elements"] == MANY), found[0] if found else None)


def number(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.2f}"


def between(middle, low, high):
    return f"{number(middle)} [{number(low)} to {number(high)}]"


def why_not(row):
    return "not available: " + row["not_available"].replace("|", "\\|")


def figure_of(run, case, other):
    """Two cells' worth: the text, and the ratio if there is one."""
    rows = [run.row(name) for name in (case, other) if name]
    if None in rows:
        return UNKNOWN, None
    for row in rows:
        if "not_available" in row:
            return why_not(row), None
    if len({row["elements"] for row in rows}) > 1:
        return UNKNOWN, None
    own, rival = rows[0], rows[-1]
    if any(("median" if other else "share") not in row for row in rows):
        return UNKNOWN, None
    ratio = rival["median"] / own["median"] if other else own["share"]
    if not all("p10" in row for row in rows):  # written down by hand
        return number(ratio), ratio
    low, high = ((rival["p10"], rival["p90"]) if other else [ratio * own["median"]] * 2)
    return between(ratio, low / own["p90"], high / own["p10"]), ratio


def table(run):
    yield "| operation | against | asked | measured | |"
    yield "|---|---|---|---|---|"
    for name, against, asked, case, other in goals():
        text, ratio = figure_of(run, case, other)
        answer = "" if ratio is None else "yes" if ratio >= asked else NO
        yield f"| {name} | {against} | {number(asked)} | {text} | {answer} |"


def cells_of(row):
    if "not_available" in row:
        return [why_not(row), "", "", ""]
    microseconds = [row[key] * 1e6 for key in ("median", "p10", "p90") if key in row]
    drift = ""
    if "copy" in row:
        copy = row["copy"]
        drift = f"{copy['way']}, {100 * (copy['after'] / copy['before'] - 1):+.1f}%"
    time = (between(*microseconds) if len(microseconds) > 1 else
            "".join(number(x) for x in microseconds))
    return [time + ("" if row.get("graph", True) else " (no graph)"),
            *(number(row[key]) if key in row else "" for key in ("gigabytes_per_second", "share")),
            drift]


def all_rows(run):
    if not run.rows:
        yield f"{UNKNOWN[0].upper()}{UNKNOWN[1:]}."
        return
    yield "| case | elements | microseconds of a launch | GB/s | of the copy | the copy, its drift |"
    yield "|---|---|---|---|---|---|"
    for row in sorted(run.rows, key=lambda r: (r["name"], r["elements"])):
        power = row["elements"].bit_length() - 1
        elements = f"2^{power}" if row["elements"] == 1 << power else str(row["elements"])
        yield f"| `{row['name']}` | {elements} | " + " | ".join(cells_of(row)) + " |"


def spread_of(samples, column, unit):
    values = []
    for sample in samples:
        try:
            values.append(float(sample[column]))
        except (IndexError, ValueError):  # a driver may not say
            pass
    if not values:
        return UNKNOWN
    return f"{between(statistics.median(values), min(values), max(values))} {unit}"


def facts(run):
    c = run.context
    if "by_hand" in c:
        yield from c["by_hand"].items()
        return

    def known(*keys):
        return all(key in c for key in keys)

    def at_work(sample):
        return len(sample) == 7 and sample[5].isdigit() and int(sample[5]) > 0

    samples = [s for s in run.samples if at_work(s)]
    yield "device", (f"{c['device']}; compute capability {c['capability'] / 10}; "
                     f"{c['multiprocessors']} multiprocessors; "
                     f"L2 {c['l2_bytes'] >> 20} MiB; memory {c['memory_bytes'] >> 30} GiB"
                     if known("device") else UNKNOWN)
    yield "driver", samples[0][0] if samples else UNKNOWN
    yield "CUDA", (f"driver for {c['cuda_of_driver']}, runtime {c['cuda_runtime']}, nvcc {c['nvcc']}"
                   if known("nvcc") else UNKNOWN)
    yield "peers", ", ".join(f"{k} {v}" for k, v in sorted(run.versions.items())) or UNKNOWN
    yield "SM clock while busy", spread_of(samples, 1, "MHz")
    yield "memory clock", spread_of(samples, 2, "MHz")
    yield "power", spread_of(samples, 3, "W")
    yield "ECC", samples[0][6] if samples else UNKNOWN
    yield "commit", c.get("commit", UNKNOWN)
    yield "date", c.get("date", UNKNOWN)


def spread(kernel, what, text):
    """Puts the figures of all targets into a cell."""
    cells = []
    for row in kernel["counts"].values():
        cell = text.format(row[what])
        cells.append(f"**{cell}**" if what == "share" and row["share"] > 1 else cell)
    return cells[0] if len(set(cells)) == 1 else " / ".join(cells)


def counts(found):
    yield "| kernel | bytes | registers | occupancy | instructions | of memory time |"
    yield "|---|---|---|---|---|---|"
    for kernel in found["kernels"]:
        cells = [f"{kernel['bytes']:.4g}", spread(kernel, "registers", "{}"),
                 spread(kernel, "occupancy", "{:.0%}"), spread(kernel, "instructions", "{:.1f}"),
                 spread(kernel, "share", "{:.0%}")]
        yield f"| {kernel['kernel']} | " + " | ".join(cells) + " |"


def bounds(found):
    for kernel in found["kernels"]:
        if kernel["bound"] and not kernel["kernel"].endswith(", long rows"):  # the same
            over = [f"{row['budget']:.0%} on {arch}" for arch, row in kernel["counts"].items()
                    if row["budget"] != 1]
            name = kernel["kernel"].removesuffix(", short rows")
            yield f"- {name}: {kernel['bound']} Budget: {', '.join(over)}."


def targets(found):
    for arch, target in found["targets"].items():
        yield (f"| {arch} | {target['device']} | {target['gigabytes_per_second']} | "
               f"{target['instructions_per_byte']} |")



BY_HAND = """\
**Written down by hand**: the JSON of this run is lost. Its programs were those of this folder and more rows of the same
kind. Many kernels have changed since. The device tests ran on the same day, with the processor's bits in 363 of 363
checksums.

"""


PAGE = """\
# Speed on a GPU, as last measured
{rehearsal}
Written by [table.py](table.py) from what [run.sh](run.sh) measures:

```sh
sh bench/cuda/run.sh FOLDER
```

needs `nvcc`, GoogleTest, a GPU and nothing from a network. The device tests run first: a wrong bit ends it. It
is made to take ten minutes; `--quick` times one size and no peers, for two. `WHEELS=folder` has wheels of the peers,
from `pip download -d folder torch "jax[cuda13]"`. `FOLDER` then has the JSON, the samples of the clocks and this page. Copy
them to `bench/cuda/measured`, and `python3 bench/cuda/table.py` makes this page from them.

| | |
|---|---|
{facts}

{state}- A figure is a speed as a part or a multiple of another one. The other is a copy of as many bytes,
  read and written together, or a program for the same work. In brackets: from the 10th and to the
  90th percentile of the times; median otherwise.
- The copy is the faster of `cudaMemcpyAsync` and a kernel with 16-byte accesses
  ([copy.cuh](copy.cuh)). It runs in the same process, right before and right after the case; its
  drift is the change between the two. A case that reads more than it writes can be faster than a
  copy.
- A time is that of a CUDA graph of {launches} or more launches, divided by their number; {replays} replays after
  {warm_ups} that do not count ([timing.cuh](timing.cuh)). Launches take turns on sets of operands.
  Each operand takes 512 MiB in all its sets; in lists, all operands together do.
- Data are normal random numbers. Before a case is timed, all bits of one launch are compared with what
  the host library computes; if they differ, there is no figure.
- Peers ([peers.py](peers.py)) show before they are timed that they round as they should. PyTorch and
  Triton run in CUDA graphs too; JAX is timed by the host's clock over as many launches.

{goals}

## All cases

{rows}

## Instructions, counted

Written by [counts.py](counts/counts.py) from the machine code that nvcc {nvcc} makes, without a GPU.
A test fails if a kernel issues for longer than its memory takes, times its budget. The budget is
100%, or stands in the list after the table.

[traffic.py](counts/traffic.py) counts the accesses of the same kernels on an emulated GPU. A test fails if a kernel

- writes less than whole sectors of 32 bytes,
- reads a byte twice,
- waits for the banks of shared memory, or
- has few blocks.

The exceptions stand in [counts.py](counts/counts.py).

| target | device | GB/s of a copy | instructions in the time of a byte |
|---|---|---|---|
{targets}

- Three figures in a cell are those of {archs}.
- Bytes: those that an element moves. Instructions: those that an element costs. They lie on the
  shortest way through the kernel that moves whole chunks with accesses of 16 bytes. Not counted: ends of tensors,
  special values, what a row or a block does once.
- Occupancy: the part of a multiprocessor's warps that run at a time.
- Of memory time: instructions and bytes, each at its device's highest rate. Over 100%, issue is slower
  than memory.
- The way through `quantize` has the shortest rule of a scale that divides once. Elements are multiplied.
- For sm_100a one instruction rounds two elements to e2m1. No test has executed it: the emulated GPU lacks it.
- Short rows have a warp each, or share one; long rows have a block. Occupancy is that of rows of 1024 and 8192 columns.

{counts}

{bounds}
"""


REHEARSAL = """
**A rehearsal on an emulated GPU: no time below means anything.**
"""


QUICK = """
**A quick run: 2^26 elements, fewer repetitions, no peers.**
"""


def main():
    measured = HERE / "measured"
    folder = (pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else
              measured if measured.exists() else HERE / "by_hand")
    run = Run(folder)
    rehearsal = (REHEARSAL if run.context.get("rehearsal") else
                 QUICK if run.context.get("quick") else "")
    if rehearsal and len(sys.argv) == 1:
        sys.exit(f"{folder} has a rehearsal or a quick run, which are not for this page")
    found = json.loads((HERE / "counts" / "counts.json").read_text())
    state = BY_HAND if "by_hand" in run.context else ""
    print(PAGE.format(state=state, rehearsal=rehearsal, nvcc=found["nvcc"], archs=", ".join(found["targets"]),
                      targets="\n".join(targets(found)), counts="\n".join(counts(found)),
                      bounds="\n".join(bounds(found)),
                      facts="\n".join(f"| {k} | {v} |" for k, v in facts(run)),
                      goals="\n".join(table(run)), rows="\n".join(all_rows(run)),
                      launches=LEAST_LAUNCHES, replays=REPLAYS, warm_ups=WARM_UPS), end="")


main()
