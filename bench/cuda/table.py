#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README.md from the JSON of a run.

    python3 bench/cuda/table.py [FOLDER] > bench/cuda/README.md
    python3 bench/cuda/table.py --into README.md [FOLDER]    puts a short table between the marks there

run.sh wrote FOLDER, by default bench/cuda/measured. bounds.json has the reason of each figure that misses
its goal, by a pattern of its case.
"""
import fnmatch
import json
import pathlib
import statistics
import sys

sys.dont_write_bytecode = True  # beside the sources
from peer_case import ELEMENTS as MANY
from peer_case import LEAST_LAUNCHES, REPLAYS, WARM_UPS

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- begin: bench/cuda/table.py -->\n", "<!-- end: bench/cuda/table.py -->\n"
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
    case = LIST.format("stochastic").replace("400_biases_and_norms", "400_adapters") + "lowp"
    yield ("AdamW, a list of 400 adapters", "one tensor of as many elements", 0.95, case,
           case + "_one_tensor")
    for form in ("float", "bfloat16", "float16"):
        for columns in (128, 1024, 8192):
            case = f"softmax/{form}/{columns}/"
            yield (f"softmax, {form}, {columns} columns", copy, 0.95, case + "lowp", None)
            yield "", torch, 1.0, case + "lowp", case + "torch"
            if form != "float":
                yield "", "all in 16 bits", 0.95, case + "lowp", case + "all_in_16_bits"
    for name, asked, case in SHARES:
        yield name, copy, asked, case + "/lowp", None
        if case in OF_TORCH:
            yield "", torch, 1.0, case + "/lowp", case + "/torch"


BF16, E4M3 = "bfloat16", "float8_e4m3fn"
OF_TORCH = {case for case in (
    *(f"{norm}_norm/{BF16}/{n}" for norm in ("rms", "layer") for n in (128, 1024, 4096)),
    *(f"{norm}_norm_backward/{BF16}/{n}" for norm in ("rms", "layer") for n in (1024, 4096)),
    f"log_softmax/{BF16}/1024", f"softmax_backward/{BF16}/1024", f"cross_entropy/{BF16}/50304",
    f"gelu/{BF16}", f"gelu_tanh/{BF16}")}
SHARES = [
    *((f"{a} to {b}", asked, f"cast/{a}->{b}/{how}") for a, b, asked, how in (
        ("float16", "float", 0.97, "exact"), (E4M3, "float", 0.95, "exact"),
        (BF16, "double", 0.95, "exact"), (E4M3, BF16, 0.95, "exact"))),
    *((f"{a} to {b}, {how.replace('_', ' ')}", 0.93, f"cast/{a}->{b}/{how}") for a, b, how in (
        (BF16, E4M3, "nearest_even"), (BF16, E4M3, "stochastic"), ("float", BF16, "stochastic_fast"),
        ("float", E4M3, "stochastic_fast"))),
    *((f"softmax, {BF16}, {n} columns", asked, f"softmax/{BF16}/{n}") for n, asked in (
        (32, 0.9), (64, 0.9), (100, 0.9), (1001, 0.95), (4096, 0.95), (8191, 0.95), (65536, 0.95))),
    *((f"{name}, {BF16}, {n} columns", 0.95 if n > 128 else 0.9, f"{case}/{n}")
      for name, case, columns in (
          ("log softmax", f"log_softmax/{BF16}", (1024, 4096)),
          ("softmax with a causal mask", f"scale_mask_softmax/{BF16},causal", (1024, 4096)),
          ("derivative of softmax", f"softmax_backward/{BF16}", (128, 1024, 4096)),
          ("RMS norm", f"rms_norm/{BF16}", (128, 1001, 1024, 4096, 8192)),
          ("layer norm", f"layer_norm/{BF16}", (128, 1024, 4096, 8192)),
          ("residual sum with RMS norm", f"add_rms_norm/{BF16}", (1024, 4096)))
      for n in columns),
    *((f"derivative of {name} norm, {form}, {n} columns", 0.92 if n > 1024 else 0.88,
       f"{case}_norm_backward/{form}/{n}")
      for name, case in (("RMS", "rms"), ("layer", "layer")) for form in (BF16, "float")
      for n in (128, 1024, 4096, 8192)),
    *((f"cross entropy with its derivative, {form}, {n} classes", asked,
       f"cross_entropy/{form}/{n}")
      for form, n, asked in ((BF16, 50304, 0.93), ("float", 50304, 0.93), (BF16, 128, 0.9))),
    *((f"{name}, {BF16}", 0.93, f"{name}/{BF16}") for name in (
        "gelu", "gelu_tanh", "gated_silu", "gelu_backward")),
    *((f"AdamW, {name}", asked, f"update/adamw/{case}") for name, asked, case in (
        ("all bfloat16, nearest", 0.95, f"{BF16},{BF16},{BF16},{BF16}/nearest_even"),
        ("all bfloat16, stochastic_fast", 0.95, f"{BF16},{BF16},{BF16},{BF16}/stochastic_fast"),
        ("all bfloat16, stochastic, with a report", 0.9,
         f"{BF16},{BF16},{BF16},{BF16}/stochastic,report"),
        ("float moments, stochastic, with a report", 0.9, f"{BF16},{BF16},float,float/stochastic,report"),
        ("Kahan, float moments", 0.95, f"kahan,{BF16},float,float/nearest_even"),
        ("master weights, float moments", 0.95, f"master,{BF16},float,float/nearest_even"),
        ("split master weights, float moments", 0.95, f"split16,{BF16},float,float/nearest_even"),
        ("fp8 moments in blocks of 128", 0.92, f"{BF16},{BF16},{E4M3}_128,float8_e5m2_128/stochastic"),
        ("bitsandbytes' 8-bit moments", 0.85, f"{BF16},{BF16},dynamic8_256,dynamic8_256/stochastic"),
        ("FlashOptim's 8-bit moments", 0.85, f"{BF16},{BF16},companded8_32,companded8_32/stochastic"))),
    *((f"{a} to NVFP4{name}, {how.replace('_', ' ')}", asked, f"quantize/{a}->nvfp4{case}/{how}")
      for a, name, how, asked, case in (
          (BF16, "", "nearest_even", 0.95, ""), ("float", "", "nearest_even", 0.95, ""),
          (BF16, "", "stochastic", 0.9, ""), (BF16, "", "stochastic_fast", 0.9, ""),
          (BF16, " in tiles of 16 x 16", "nearest_even", 0.85, ",16x16"),
          (BF16, ", rotated", "nearest_even", 0.9, ",rotated"),
          (BF16, ", 4over6", "nearest_even", None, ",4over6"))),
    *((f"{name}, {types.replace('->', ' to ')}", asked, f"{case}/{types}")
      for name, case, by in (("census", "census", (0.75, 0.9, 0.9)),
                             ("range", "abs_range", (0.97,) * 3))
      for types, asked in zip(("float->float16", f"{BF16}->float16", f"{BF16}->{E4M3}"), by)),
    *((f"{name}, {BF16}", 0.97, f"{name}/{BF16}") for name in ("measure", "sum")),
]


class Run:
    def __init__(self, folder):
        self.context, self.versions, self.rows, self.samples = {}, {}, [], []
        tests = folder / "tests.csv"  # a program and the tests that passed, or what happened
        self.tests = [line.split(",", 1) for line in tests.read_text().splitlines()] if tests.exists() else []
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
        answer = "" if None in (ratio, asked) else "yes" if ratio >= asked else NO
        yield f"| {name} | {against} | {number(asked) if asked else ''} | {text} | {answer} |"


def reasons(run):
    """The reason of each figure that misses its goal; rows of one reason stand together."""
    known, together = json.loads((HERE / "bounds.json").read_text()), {}
    operation = ""
    for name, against, asked, case, other in goals():
        operation = name or operation
        _, ratio = figure_of(run, case, other)
        if None in (ratio, asked) or ratio >= asked:
            continue
        what = case + ("" if other is None else " against " + against)
        reason = next((why for pattern, why in known.items() if fnmatch.fnmatch(what, pattern)), None)
        if reason is None:
            sys.exit(f"bounds.json has no reason for {what}")
        together.setdefault(reason, []).append(operation + ("" if other is None else f" against {against}"))
    for reason, operations in together.items():
        yield f"- {'; '.join(operations)}: {reason}"


# The project's README.md shows these, each beside its peers.
BRIEF = (
    ("float to bfloat16, stochastic", STOCHASTIC + "lowp",
     (("torch.compile", STOCHASTIC + "torch_compile"), ("Triton", STOCHASTIC + "triton_randint4x"))),
    ("bfloat16 to float", "cast/bfloat16->float/exact/lowp",
     (("PyTorch", "cast/bfloat16->float/exact/torch"),)),
    ("AdamW, all bfloat16, stochastic", ADAMW.format("stochastic") + "lowp",
     (("PyTorch, fused, nearest", ADAMW.format("nearest_even") + "torch_fused"),)),
    ("the same with bitsandbytes' 8-bit moments",
     "update/adamw/bfloat16,bfloat16,dynamic8_256,dynamic8_256/stochastic/lowp", ()),
    ("the same, 400 biases and norms in one launch", LIST.format("stochastic") + "lowp",
     (("PyTorch, fused, nearest", LIST.format("nearest_even") + "torch_fused"),)),
    ("softmax, bfloat16, 128 columns", "softmax/bfloat16/128/lowp",
     (("PyTorch", "softmax/bfloat16/128/torch"),)),
    ("derivative of RMS norm, bfloat16, 1024 columns", "rms_norm_backward/bfloat16/1024/lowp", ()),
)


def brief(run):
    device = run.context["device"].split(" 80GB")[0]
    yield f"| operation, {device}, {run.context['date']} | lowp's speed | others' time over lowp's |"
    yield "|---|---|---|"
    for name, case, peers in BRIEF:
        found = ((peer, figure_of(run, case, other)[1]) for peer, other in peers)
        others = ", ".join(f"{peer} {number(ratio)}" for peer, ratio in found if ratio is not None)
        yield f"| {name} | {figure_of(run, case, None)[0].split(' ')[0]} | {others} |"


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
    if run.tests:
        passed = [int(n) for _, n in run.tests if n.isdigit()]
        yield "device tests", "; ".join([f"{sum(passed)} tests of {len(passed)} programs passed"] + [
            f"{name}: {what}" for name, what in run.tests if not what.isdigit()])
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

- A figure is a speed as a part or a multiple of another one. The other is a copy of as many bytes,
  read and written together, or a program for the same work. In brackets: from the 10th and to the
  90th percentile of the times; median otherwise.
- The copy is the faster of `cudaMemcpyAsync` and a kernel with 16-byte accesses
  ([copy.cuh](copy.cuh)). It runs in the same process, right before and right after the case; its
  drift is the change between the two. A case that reads more than it writes can be faster than a
  copy.
- A time is that of a CUDA graph of {launches} or more launches, divided by their number; {replays} replays after
  {warm_ups} that do not count ([timing.cuh](timing.cuh)). Launches take turns on sets of operands.
  Each operand takes 512 MiB in all its sets; in lists, all operands together do.
- Data are normal random numbers. Moments in blocks are those of before the first step.
- Before a case is timed, one launch's bits are compared with the host library's, on all elements or 2^22.
  If they differ, there is no figure.
- Peers ([peers.py](peers.py)) show before they are timed that they round as they should. PyTorch and
  Triton run in CUDA graphs too; JAX is timed by the host's clock over as many launches.

{goals}

What bounds the rows that miss, and what would move them. Shares of cycles and instructions are Nsight Compute's,
on the same device and day, before the last changes to kernels:

{reasons}

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
    arguments = sys.argv[1:]
    into = arguments[1] if arguments[:1] == ["--into"] else None
    folders = arguments[2:] if into else arguments
    folder = pathlib.Path(folders[0]) if folders else HERE / "measured"
    run = Run(folder)
    rehearsal = (REHEARSAL if run.context.get("rehearsal") else
                 QUICK if run.context.get("quick") else "")
    if rehearsal and not folders:
        sys.exit(f"{folder} has a rehearsal or a quick run, which are not for this page")
    if into:
        page = pathlib.Path(into)
        text = page.read_text()
        before, after = text.split(BEGIN)[0], text.split(END)[1]
        page.write_text(before + BEGIN + "\n".join(brief(run)) + "\n" + END + after)
        return
    found = json.loads((HERE / "counts" / "counts.json").read_text())
    print(PAGE.format(rehearsal=rehearsal, nvcc=found["nvcc"], archs=", ".join(found["targets"]),
                      targets="\n".join(targets(found)), counts="\n".join(counts(found)),
                      bounds="\n".join(bounds(found)),
                      facts="\n".join(f"| {k} | {v} |" for k, v in facts(run)),
                      goals="\n".join(table(run)), reasons="\n".join(reasons(run)), rows="\n".join(all_rows(run)),
                      launches=LEAST_LAUNCHES, replays=REPLAYS, warm_ups=WARM_UPS), end="")


main()
