# SPDX-License-Identifier: Apache-2.0
"""Rows of the tables in README.md by topic, the rivals of each, and the figure that is asked.

A row is a case of a program. Its name is the program's, without who ran it and where:
"cast/float->bfloat16/nearest_even/avx512/L2" is the case "cast/float->bfloat16/nearest_even". Its
name also finds in bounds.json what bounds it. A new one is a line here.
"""
import json
import pathlib
import re
from typing import NamedTuple, Optional

OWN = "(portable|avx2|avx512|avx512_bf16|neon|neon_bf16)"
ANYONE = "[^/]+"
NOT_OWN = "(?!" + OWN + "/).*"
LOOPS = "(gcc|clang)[0-9]+_loop_[a-z0-9]+"
AVX2 = "avx2:"  # before a case: with LOWP_ISA=avx2
# Names those that table.sh can hold to AVX2.
CAPPED = "(avx2|(gcc|clang)[0-9]+_loop_avx2|torch|onednn)"


# Before a case of the program "team": by all processors, and by one in the same round.
TEAM, ALONE = "all:", "one:"


class Rival(NamedTuple):
    """Somebody, or another case, that the row's case is to be `asked` times as fast as."""
    name: str
    case: str
    peers: str
    asked: Optional[float]
    asked_of_avx2: Optional[float] = None


class Row(NamedTuple):
    name: str
    case: str
    rivals: tuple
    memory: Optional[float]  # asked of the traffic from DRAM
    from_memory: bool  # whether that is measured
    memory_of_avx2: Optional[float]


class Topic(NamedTuple):
    title: str
    programs: tuple
    about: str
    rows: tuple
    level: str = "L2"  # where rivals are met
    unit: str = "Elements per nanosecond"
    scale: float = 1e-9
    digits: int = 2  # of ratios


def row(name, case, *rivals, memory=(None, None), from_memory=True):
    return Row(name, case, rivals, memory[0], from_memory, memory[1])


def against(name, case, asked=None, peers=OWN, avx2=None):
    return Rival(name, case, peers, asked, avx2)


def compiled(case, asked, avx2):
    return against("best compiled loop", case, asked, LOOPS, avx2)


def fastest(case, asked=None, avx2=None):
    return against("fastest peer", case, asked, NOT_OWN, avx2)


NEAREST, STOCHASTIC = "cast/float->{}/nearest_even", "cast/float->{}/stochastic"
AT_ONCE, RANDOM = (0.95, 0.9), (0.7, 0.6)  # of the traffic from DRAM, and that of AVX2
FAST, FAST_FLOAT8, FAST_ADAMW = (0.95, 0.9), (0.85, 0.7), (0.95, 0.85)  # with stochastic_fast
UP = "cast/{}->float/exact"
BFLOAT16, FLOAT8 = "bfloat16", ("float8_e4m3fn", "float8_e5m2")
SIXTEEN = (BFLOAT16, "float16")
TYPES = ("float", *SIXTEEN)


def casts():
    case = NEAREST.format(BFLOAT16)
    yield row("float to bfloat16, nearest", case, compiled(case, 1.5, 1.3),
              against("Eigen", case, 2.3, "eigen"), memory=AT_ONCE)
    case = UP.format(BFLOAT16)
    yield row("bfloat16 to float", case, fastest(case, 0.95, 1), memory=AT_ONCE)
    for name, case in (("float to float16, nearest", NEAREST), ("float16 to float", UP)):
        case = case.format("float16")
        yield row(name, case, fastest(case, 0.95, 1), memory=AT_ONCE)
    for form in SIXTEEN:
        case = f"cast/double->{form}/nearest_even"
        yield row(f"double to {form}, nearest", case, compiled(case, 1, 1), memory=AT_ONCE)
    for form in FLOAT8:
        case = NEAREST.format(form)
        yield row(f"float to {form}, nearest", case,
                  against("clang's loop", case, *((1.4, "clang[0-9]+_loop_[a-z0-9]+", 1.5)
                                                  if form == "float8_e4m3fn" else
                                                  (1.7, "clang[0-9]+_loop_[a-z0-9]+", 1))),
                  against("ml_dtypes", case, 50, "ml_dtypes"), memory=AT_ONCE)
    for form in FLOAT8:
        case = UP.format(form)
        yield row(f"{form} to float", case, compiled(case, 1.5, 1.5),
                  against("PyTorch", case, 3, "torch"), memory=AT_ONCE)
    case = STOCHASTIC.format(BFLOAT16)
    yield row("float to bfloat16, stochastic", case, compiled(case, 2.5, 1.4),
              against("own nearest", NEAREST.format(BFLOAT16), 1 / 3, avx2=0.3), memory=RANDOM)
    yield row("the same with `stochastic_fast`", case + "_fast",
              against("own nearest", NEAREST.format(BFLOAT16), 0.5, avx2=0.5), memory=FAST)
    for form in ("float16", *FLOAT8):
        yield row(f"float to {form}, stochastic", STOCHASTIC.format(form),
                  against("own bfloat16, stochastic", case, 0.5), memory=RANDOM)
        yield row(f"float to {form}, `stochastic_fast`", STOCHASTIC.format(form) + "_fast",
                  memory=FAST if form == "float16" else FAST_FLOAT8)
    yield row("AVX2: float to bfloat16, stochastic", AVX2 + case, against("own fastest", case, 0.55),
              from_memory=False)


def updates():
    add = "fused_add/bfloat16,float/"
    case = add + "nearest_even"
    yield row("fused_add, bfloat16 += float, nearest", case, compiled(case, 1.35, 1),
              against("PyTorch", case, 7, "torch"), memory=AT_ONCE)
    yield row("fused_add, bfloat16 += float, stochastic", add + "stochastic",
              against("own nearest", case, 0.45), memory=RANDOM)
    yield row("fused_add, bfloat16 += float, `stochastic_fast`", add + "stochastic_fast",
              against("own nearest", case, 0.6, avx2=0.55), memory=(0.93, 0.85))
    adamw = "update/adamw/bfloat16,bfloat16,float,float/stochastic"
    floats = against("best compiled loop, all float",
                     "update/adamw/float,float,float,float/nearest_even", 0.75, LOOPS, 0.45)
    yield row("AdamW, bfloat16 p and g, float moments, stochastic", adamw, floats, memory=(0.75, 0.6))
    yield row("the same with `update_report`", adamw + ",report", floats._replace(asked=0.6, asked_of_avx2=0.36),
              against("without", adamw, 0.8, avx2=0.8), memory=(0.6, 0.48))
    fast = adamw + "_fast"
    yield row("AdamW, the same with `stochastic_fast`", fast,
              floats._replace(asked=0.85, asked_of_avx2=0.7), memory=FAST_ADAMW)
    yield row("AdamW, with `stochastic_fast` and `update_report`", fast + ",report",
              against("without", fast, 0.8, avx2=0.8))
    yield row("AdamW, all bfloat16, three draws of `stochastic_fast`",
              "update/adamw/bfloat16,bfloat16,bfloat16,bfloat16/stochastic_fast", memory=FAST_ADAMW)
    step = "update/adamw/{0},{0},{0},{0}/nearest_even"
    for form in ("float", BFLOAT16):
        case = step.format(form)
        yield row(f"AdamW, all {form}, nearest", case, against("PyTorch", case, None, "torch"))
    case += ",report"
    yield row("AdamW, all bfloat16, nearest, with `update_report`", case, against("without", step.format(BFLOAT16), 0.8, avx2=0.8))
    case = "update/adamw/tensors_of_64/"
    yield row("AdamW, all bfloat16, nearest, a list of tensors of 64", case + "list",
              against("single calls", case + "single_calls", 0.8, avx2=0.8), from_memory=False)
    case = "update/adamw/bfloat16,bfloat16,bfloat16,bfloat16/nearest_even,"
    yield row("AdamW, all bfloat16, nearest, with `moment_report`", case + "moment_report",
              against("with `update_report`", case + "report", 1 / 1.15, avx2=1 / 1.15))
    for name, case in (
            ("Kahan, bfloat16 and bfloat16", "kahan(bfloat16,bfloat16)/nearest_even"),
            ("master, float and bfloat16", "master(float,bfloat16)/nearest_even"),
            ("split master, bfloat16 and 16 bits", "split_master(bfloat16,16)/nearest_even"),
            ("split master, float16 and 16 bits", "split_master(float16,16)/nearest_even"),
            ("split master, bfloat16 and 8 bits, stochastic", "split_master(bfloat16,8)/stochastic"),
            ("bfloat16, moments of 8 bits in blocks of 128",
             "bfloat16,blocks(float8_e4m3fn),blocks(float8_e5m2)/nearest_even"),
            ("the same, stochastic",
             "bfloat16,blocks(float8_e4m3fn),blocks(float8_e5m2)/stochastic")):
        yield row(f"AdamW on {name}", "storage/" + case)


def softmaxes():
    for form in TYPES:
        for columns in (128, 1024, 8192):
            case = f"softmax/{form}/{columns}"
            narrow = [against("all in 16 bits", f"softmax/all_in/{form}/{columns}", 0.95)
                      ] if form in SIXTEEN else []
            yield row(f"softmax, {form}, {columns} columns", case, *narrow, fastest(case),
                      memory=(0.85, None))
    yield row("softmax, float to float16, 8192 columns", "softmax/float->float16/8192",
              memory=(0.85, None))
    case = "softmax/pb_relax/float16/8192"
    yield row("PB-Relax, float16, 8192 columns", case,
              against("fp32 inside", "softmax/float16/8192"))
    for form in TYPES:
        case = f"softmax/scale_mask/{form}/1024"
        yield row(f"scale, mask and softmax in one, {form}, 1024 columns", case, fastest(case))
    for form in TYPES:
        case = f"softmax/log/{form}/1024"
        yield row(f"log_softmax, {form}, 1024 columns", case, fastest(case))


ACTIVATIONS = (("GELU in its tanh form", "gelu_tanh"), ("GELU", "gelu"), ("SiLU", "silu"))


def pieces():
    for name, case in (*ACTIVATIONS, ("layer norm", "layer_norm"), ("RMS norm", "rms_norm"), ("sum", "sum")):
        for form in TYPES:
            asked = 1 if name in ("layer norm", "sum") and form == "float" else None
            yield row(f"{name}, {form}", f"pieces/{case}/{form}",
                      fastest(f"pieces/{case}/{form}", asked, asked))
    for name, case in (("residual sum and RMS norm", "add_rms_norm"),
                       ("residual sum and layer norm", "add_layer_norm")):
        for form in TYPES:
            yield row(f"{name}, {form}", f"pieces/{case}/{form}",
                      against("two calls", f"pieces/{case} in two calls/{form}"),
                      fastest(f"pieces/{case}/{form}"))
    for name, case in (("embedding", "gather_rows"), ("derivative of an embedding", "scatter_add_rows")):
        for form in TYPES:
            yield row(f"{name}, {form}", f"pieces/{case}/{form}", fastest(f"pieces/{case}/{form}"))
    for name, case in (("scaling by a power of two, with its report",
                        "scale_by_power_of_two, reported"),
                       ("clamp of what has not overflowed", "clamp_overflow of nothing")):
        for form in TYPES:
            yield row(f"{name}, {form}", f"pieces/{case}/{form}")


def derivatives():
    for name, case in (("softmax", "softmax"), ("log_softmax", "log_softmax"), ("RMS norm", "rms_norm"),
                       ("layer norm", "layer_norm"), *ACTIVATIONS,
                       ("cross-entropy, with its losses", "cross_entropy")):
        for form in ("float", BFLOAT16):
            case_of_form = f"backward/{case}/{form}"
            yield row(f"backward of {name}, {form}", case_of_form, fastest(case_of_form, 1, 1))


def readings():
    for name in ("float->bfloat16", "float->float16", "float->float8_e4m3fn", "bfloat16->float16",
                 "bfloat16->float8_e4m3fn", "float16->float8_e4m3fn"):
        yield row("census, " + name.replace("->", " to "), "census/" + name,
                  memory=(0.7, 0.5) if name.startswith("float->") else (0.5, 0.35))
    for name in ("float->float16", "bfloat16->float16"):
        yield row("range, " + name.replace("->", " to "), "census/abs_range/" + name, memory=AT_ONCE)
    for name in ("float", "bfloat16"):
        yield row(f"measure: norm, largest and what is not finite, {name}", "census/measure/" + name)


def recipes():
    own = against("own cast to MXFP8", "quantize/block_cast/nearest_even", 0.8, avx2=0.8)
    for name, case in (("NVFP4 as Transformer Engine", "te_nvfp4"), ("NVFP4 as torchao, two levels", "torchao_nvfp4"),
                       ("MXFP4 as torchao, rceil", "torchao_mxfp4"), ("MXFP8 as torchao, rceil", "torchao_mxfp8")):
        case = f"quantize/{case}/nearest_even"
        peers = () if "te_" in case else (against("torchao", case, 5, "torchao", 5),)
        yield row(f"{name}, nearest", case, own, *peers, memory=(0.8, None))
    for name, case in (("NVFP4, unbiased", "nvfp4_unbiased"), ("MXFP4 as torchao, rceil", "torchao_mxfp4"),
                       ("MXFP8 as torchao, rceil", "torchao_mxfp8")):
        yield row(f"{name}, `stochastic_fast`", f"quantize/{case}/stochastic_fast",
                  own._replace(asked=0.6, asked_of_avx2=0.6))


def watches():
    for model in (*(f"MLP, 3 layers of 512, batch {n}" for n in (1, 4, 16, 64, 256, 1024)),
                  *(f"transformer block of 256, {n} tokens" for n in (256, 1024))):
        yield row(model, f"watch/{model}/watched",
                  against("unwatched", f"watch/{model}/unwatched", 1 / 1.03), from_memory=False)


TOPICS = (
    Topic("Casts", ("cast",), "", tuple(casts())),
    Topic("Updates", ("fused_add", "update", "storage"),
          "Storages: gradients and moments are float, unless the row says that they lie in blocks.",
          tuple(updates())),
    Topic("Quantization in blocks", ("quantize",),
          "Recipes of four and eight bits beside the cast to MXFP8. NVFP4 is told the tensor's largest magnitude, as "
          "torchao is. Scales are left out of the traffic.", tuple(recipes())),
    Topic("Softmax", ("softmax",),
          "In float inside, whatever the elements are. *All in 16 bits*: every step but the sum is "
          "rounded to the format.", tuple(softmaxes())),
    Topic("GELU, SiLU, norms, sums, scaling, clamp", ("pieces",), "Rows of the norms have 1024 columns.",
          tuple(pieces())),
    Topic("Derivatives", ("backward",),
          "Rows have 1024 columns. Norms write the derivatives of weight and bias too, in float. In float "
          "the errors in 64 rows are 0.14 to 0.98 of PyTorch's, against double. In 2 to 16 rows of mean 0, "
          "that of layer norm's weight is 1.02 to 1.05: PyTorch rounds (x - mean) / deviation once. At a "
          "mean of ten deviations it is 0.44.",
          tuple(derivatives())),
    Topic("Census and ranges", ("census",), "", tuple(readings())),
    Topic("Watch", ("watch",),
          "A training step that shows a watch every tensor of every layer, forward and backward, "
          "against one without a watch. The watch reads weights in turns, which is the default. At "
          "most 3 % slower is 0.971 of the speed. The fewer the examples, the more of a step is "
          "reading weights. Lower quartile of the thread's own time, steps with and without in turns.",
          tuple(watches()), "step", "Steps per second", 1, 3),
)
# By all processors: rows of the topics, what is asked of L2 and of the traffic from DRAM.
ON_ALL = tuple((name, 0.9, (0.8, 0.5) if "softmax" in name or "norm" in name else (0.95, 0.95)) for name in (
    "float to bfloat16, nearest", "bfloat16 to float", "float to float8_e4m3fn, nearest",
    "float8_e4m3fn to float", "float to bfloat16, stochastic", "the same with `stochastic_fast`",
    "fused_add, bfloat16 += float, nearest", "fused_add, bfloat16 += float, stochastic",
    "AdamW, all bfloat16, nearest", "AdamW, all bfloat16, three draws of `stochastic_fast`",
    "AdamW, bfloat16 p and g, float moments, stochastic", "the same with `update_report`",
    "softmax, bfloat16, 1024 columns", "softmax, float16, 1024 columns", "RMS norm, float",
    "RMS norm, bfloat16", "layer norm, float", "backward of RMS norm, bfloat16",
    "backward of layer norm, bfloat16", "census, float to bfloat16", "census, bfloat16 to float16"))
SUM_ERROR = json.loads((pathlib.Path(__file__).parents[1] / "peers" / "sum_error.json").read_text())
# Reasons beside a row's name if another library is faster.
REASONS = {f"{name}, {form}": reason for form in TYPES for name, reason in (
    ("layer norm", "the mean is corrected, all backends have the same bits"),
    *((name, "all backends have the same bits") for name in ("GELU", "SiLU")),
    ("derivative of an embedding", "on Zen 4: an older kernel"),
    ("sum", "within 2^-48 of the sum of magnitudes; PyTorch's worst of "
            f"{SUM_ERROR['sums']} sums is 2^{SUM_ERROR['log2']}, by bench/peers/sum_error.py"))}
REASONS |= dict.fromkeys(("bfloat16 to float", "float to float16, nearest", "float16 to float"),
                         "both wait for the caches")
ROWS = {r.name: r for topic in TOPICS for r in topic.rows}
TEAMS = tuple(sorted({ROWS[name].case.split("/")[0] for name, *_ in ON_ALL}))
PROGRAMS = (*(program for topic in TOPICS for program in topic.programs), "team")


def pattern(program, level):
    """Makes the --benchmark_filter for the rows; traffic loops come by themselves."""
    rows = ROWS.values()
    if level in ("one", "all"):
        cases = {ROWS[name].case for name, *_ in ON_ALL}
    elif level == "DRAM":
        cases = {r.case for r in rows if r.from_memory}
    else:
        cases = {r.case for r in rows} | {rival.case for r in rows for rival in r.rivals}
    if level == "avx2":
        cases = {case.removeprefix(AVX2) for case in cases}
    found = sorted(re.sub(r"([][().*+?{}|^$\\])", r"\\\1", case)
                   for case in cases if case.startswith(program + "/"))
    who, where = {"avx2": (CAPPED, "L2"), "DRAM": (OWN, "DRAM"), "one": (OWN, "L2"),
                  "all": (OWN, "(L2|DRAM)")}.get(level, (ANYONE, level))
    return f"^({'|'.join(found)})/{who}/{where}$" if found else ""
