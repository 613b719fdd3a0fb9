#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what each kernel issues for an element, and holds it against the time of its memory.

    python3 bench/cuda/counts/counts.py [--check] [--arch ARCH [--program FILE]] [NAME...]

Writes counts.json beside this file; ../table.py makes a table of it. With --check it writes nothing.
With --arch it counts for one generation of GPUs and writes nothing. --program takes the PTX that lies in a
program of kernels.cu, and compiles no C++. --check fails if a kernel issues for longer than its memory takes,
times its budget. Needs nvcc and nvdisasm, no GPU. nvdisasm
comes with the toolkit or `pip install nvidia-cuda-nvdisasm`."""
import argparse
import collections
import dataclasses
import json
import math
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the sources
import machine_code

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[2]


@dataclasses.dataclass
class Target:
    """A device of a compute capability. Bandwidth is that of a copy: 0.9 of the datasheet's."""
    device: str
    multiprocessors: int
    gigahertz: float
    terabytes_per_second: float
    shared_kilobytes: int  # of a multiprocessor; CUDA C++ Programming Guide, "Compute Capabilities"

    def instructions_per_byte(self):
        """Each of a multiprocessor's four schedulers issues for 32 threads in a clock."""
        return self.multiprocessors * 4 * 32 * self.gigahertz / (1000 * self.terabytes_per_second)


# Datasheets of NVIDIA. The clock of a B200 follows from its 75 TFLOPS in float.
TARGETS = {
    "sm_80": Target("A100 SXM 80 GB", 108, 1.41, 0.9 * 2.039, 164),
    "sm_90": Target("H200 SXM", 132, 1.98, 0.9 * 4.8, 228),
    "sm_100a": Target("B200 SXM", 148, 1.98, 0.9 * 8.0, 228),
}


@dataclasses.dataclass
class Case:
    title: str
    reads: list  # bytes of an element of each operand
    writes: list
    more_bytes: float = 0  # for scales
    repeats: bool = False  # a block takes tile after tile, for a report
    also: dict = dataclasses.field(default_factory=dict)  # what an element needs: pattern, times
    folds: int = 0  # of rows, less those on arrival
    arrives: bool = False  # a warp takes one of them on arrival, a block cannot
    keeps: bool = False  # rows wait in shared memory as they were loaded, not as floats
    adds: int = 0  # sums over rows, beside the row in shared memory
    is_counted: bool = True  # else its way is that of another case, or its bytes are few
    chunks: int = 0  # of a thread that finds scales of blocks
    columns: list = dataclasses.field(default_factory=list)  # bytes of operands of a row's length
    sums: list = dataclasses.field(default_factory=list)  # of operands of a row that are written on arrival
    budget: dict = dataclasses.field(default_factory=dict)  # of memory time, by target; 1 otherwise
    bound: str = ""  # why it is more
    traffic: dict = dataclasses.field(default_factory=dict)  # budgets of traffic.py that differ

    def bytes(self):
        return sum(self.reads) + sum(self.writes) + sum(self.sums) + self.more_bytes

    def kept(self):
        """Returns the number of operands that shared memory has of a row."""
        return len(self.reads) - len(self.sums)

    def kept_bytes(self):
        """Returns the bytes of shared memory for a column of a row."""
        return (sum(self.reads) if self.keeps else 4 * self.kept()) + 4 * self.adds


PHILOX = {r"IMAD\.(WIDE|HI)\.U32": 16 / 8}  # of its 20 products, some are the same in all threads
# A draw by a key that its block made. Few warps make a key: the way is that of the others.
KEYED = {r"IMAD\S* .*\b0xdb2d\b": 1}
ADAMW = {r"MUFU\.RCP": 1, r"MUFU\.RSQ": 1}
SCALE = {r"MUFU\.RCP": 1 / 16}  # of Transformer Engine's rule: a block's threads share a division
# A thread's tile takes a division for its place, exchanges for its largest magnitude, one scale.
TILE = {r"I2F": 1 / 32, r"SHFL": 3 / 32, r"MUFU\.RCP": 2 / 32}
LARGE_TILE = {r"I2F": 1 / 64, r"SHFL": 4 / 64}
B = [2, 2]  # bfloat16 in and out

# Budgets of traffic.py. A thread stores 16 bytes twice, side by side: such optimizers and softmax ran at
# the speed of an H100's copy.
SIDE_BY_SIDE = {"writes": 0.50}
# Single bytes of scales: four threads read each.
SCALES = {"reads": 1.12}
# A block reads its tables once, and each thread the scales of its chunk.
TABLES = {"reads": 1.19}
# Rows that are aligned to their elements end within a sector. The emulated GPU pairs the visits of a
# warp's threads to an access by their number; those before a row's start come later.
ODD = {"writes": 0.91, "turns": 1.77}
# A block's rows of 16 bits move in aligned chunks. Only their ends, which share these with other rows,
# move by elements.
ODD_IN_CHUNKS = {"writes": 0.96, "turns": 1.45}
# All rows share the weight: it comes from a cache, for the fold and for the result. So do the numbers
# of a row, which each of its threads reads.
WEIGHT_AGAIN = {"reads": 1.5, "blocks": 256}
# A row waits in shared memory as floats, which is read and written there for each fold.
ROW_AS_FLOAT = {"turns": 1.15}
TWO_ROWS_AS_FLOAT = {"turns": 1.85}

# A second launch passes whole batches of 64 runs through shared memory, and a small shape fills one in
# part. On an H100 both launches of 128 columns took 1127 us, and 1796 with batches cut to size.
BATCHES = {"turns": 7.95}

# By the name of a struct in kernels.cu. After a slash: a word of the symbol, where it has several.
CASES = {
    "cast_bf16": Case("cast, float to bfloat16", [4], [2]),
    "cast_f16": Case("cast, float to float16", [4], [2]),
    "cast_e4m3": Case("cast, float to float8_e4m3fn", [4], [1]),
    "cast_bf16_to_f32": Case("cast, bfloat16 to float", [2], [4]),
    "cast_e4m3_to_f32": Case("cast, float8_e4m3fn to float", [1], [4]),
    "cast_e2m1_to_f32": Case("cast, packed float4_e2m1fn to float", [1 / 2], [4]),
    "cast_bf16_to_f64": Case("cast, bfloat16 to double", [2], [8]),
    "cast_bf16_toward_zero": Case("cast, float to bfloat16, toward zero", [4], [2]),
    "cast_bf16_random": Case("cast, float to bfloat16, stochastic", [4], [2], also=PHILOX),
    "cast_f16_random": Case("cast, float to float16, stochastic", [4], [2], also=PHILOX),
    "cast_e4m3_random": Case("cast, float to float8_e4m3fn, stochastic", [4], [1], also=PHILOX,
        budget={"sm_100a": 1.15},
        bound="five instructions of Philox and eight of rounding an element."),
    "cast_e5m2_random": Case("cast, float to float8_e5m2, stochastic", [4], [1], also=PHILOX,
        budget={"sm_100a": 1.15},
        bound="five instructions of Philox and eight of rounding an element."),
    "cast_double": Case("cast, double to bfloat16", [8], [2]),
    "cast_int": Case("cast, int32 to bfloat16", [4], [2],
        budget={"sm_100a": 1.4},
        bound="rounding twice, in double."),
    "scaled_cast_amax": Case("scaled_cast, bfloat16 to float8_e4m3fn, amax", [2], [1], repeats=True),
    "scaled_cast_random": Case("scaled_cast, bfloat16 to float8_e4m3fn, stochastic", [2], [1],
                               also=PHILOX,
        budget={"sm_90": 1.05, "sm_100a": 1.45},
        bound="five instructions of Philox and eight of rounding an element."),
    "block_cast": Case("block_cast, float to MX of float8_e4m3fn", [4], [1], 1 / 32,
                       chunks=4),
    "block_cast_bf16": Case("block_cast, bfloat16 to MX of float8_e4m3fn", [2], [1], 1 / 32,
                            chunks=4),
    "block_cast_back": Case("block_cast, MX of float8_e4m3fn to float", [1], [4], 1 / 32,
                            traffic={"reads": 1.22}),  # a scale for each half of a chunk
    "nvfp4_f32/copy_element": Case("quantize, float to NVFP4", [4], [1 / 2], 1 / 16, also=SCALE,
                                   chunks=4),
    "nvfp4_f32/quantization_report": Case("quantize, float to NVFP4, tiles of 16 x 16", [4],
                                          [1 / 2], 1 / 16, repeats=True, also=TILE,
                                          chunks=4),
    "nvfp4_bf16/copy_element": Case("quantize, bfloat16 to NVFP4", [2], [1 / 2], 1 / 16, also=SCALE,
                                    chunks=4),
    "nvfp4_bf16/quantization_report": Case("quantize, bfloat16 to NVFP4, tiles of 16 x 16", [2],
                                           [1 / 2], 1 / 16, repeats=True, also=TILE,
                                           chunks=4,
        budget={"sm_90": 1.1, "sm_100a": 1.7},
        bound="a tile's place, in one text for all widths of accesses."),
    "nvfp4_fast/copy_element": Case("quantize, bfloat16 to NVFP4, stochastic_fast", [2], [1 / 2],
                                    1 / 16, also=KEYED | SCALE, chunks=4,
        budget={"sm_80": 1.15, "sm_90": 1.6, "sm_100a": 2.3},
        bound="nine instructions of drawing from a key and nine of rounding an element."),
    "nvfp4_fast/quantization_report": Case(
        "quantize, bfloat16 to NVFP4, stochastic_fast, tiles of 16 x 16", [2], [1 / 2], 1 / 16,
        repeats=True, also=PHILOX | TILE, chunks=4,
        budget={"sm_80": 1.75, "sm_90": 2.2, "sm_100a": 3.8},
        bound="22 instructions of drawing an element's bits, and a tile's place."),
    "nvfp4_random/copy_element": Case("quantize, bfloat16 to NVFP4, stochastic", [2], [1 / 2], 1 / 16,
                                      also=PHILOX | SCALE, chunks=4,
        budget={"sm_80": 1.1, "sm_90": 1.4, "sm_100a": 2.25},
        bound="five instructions of Philox and nine of rounding an element."),
    "nvfp4_rotated/copy_element": Case("quantize, bfloat16 to NVFP4, rotated", [2], [1 / 2], 1 / 16,
                                       also=SCALE, chunks=4,
        budget={"sm_80": 1.15, "sm_90": 1.5, "sm_100a": 2.0},
        bound="four sums of the transform, one of them with a neighbour, and its rounding."),
    "nvfp4_4over6/quantization_report": Case(
        "quantize, bfloat16 to NVFP4, 4over6", [2], [1 / 2], 1 / 16, repeats=True, chunks=4,
        also={r"FMNMX.*\b4194305\b": 2},  # an error for each of two scales
        budget={"sm_80": 1.75, "sm_90": 2.4, "sm_100a": 3.2},
        bound="two errors, equal to the package's in every bit."),
    "mxfp4_bf16/copy_element": Case("quantize, bfloat16 to MXFP4", [2], [1 / 2], 1 / 32,
                                    chunks=4),
    "mxfp4_bf16/quantization_report": Case("quantize, bfloat16 to MXFP4, tiles of 32 x 32", [2],
                                           [1 / 2], 1 / 32, repeats=True, also=LARGE_TILE,
                                           chunks=8,
        budget={"sm_100a": 1.5},
        bound="a tile's place, in one text for all widths of accesses."),
    "nvfp4_back": Case("dequantize, NVFP4 to bfloat16", [1 / 2], [2], 1 / 16, traffic=SCALES),
    "split": Case("split", [4], [2, 2]),
    "join": Case("join", [2, 2], [4]),
    "fused_add": Case("fused_add, bfloat16", [2, 2], [2]),
    "fused_add_random": Case("fused_add, bfloat16, stochastic", [2, 2], [2], also=PHILOX),
    "sgd_random/tensor_tableILi2": Case("SGD, bfloat16, stochastic", [2, 2], [2], also=PHILOX),
    "sgd_random/tensor_tableILi3": Case("SGD with momentum, bfloat16, stochastic", [2, 2, 2], [2, 2],
                                        also=PHILOX),
    "sgd_amax": Case("SGD, float, bfloat16 gradient, update_amax", [4, 2], [4], repeats=True, traffic=SIDE_BY_SIDE),
    "adamw_random": Case("AdamW, all bfloat16, stochastic", [2] * 4, [2] * 3, also=PHILOX | ADAMW,
        budget={"sm_100a": 1.15},
        bound="three streams of random bits, a division and a root."),
    "adamw_random_report": Case("AdamW, all bfloat16, stochastic, update_report", [2] * 4, [2] * 3,
                                repeats=True, also=PHILOX | ADAMW,
        budget={"sm_90": 1.1, "sm_100a": 1.65},
        bound="three streams of random bits, a division, a root, and sums that a warp's threads exchange."),
    "adamw_fast": Case("AdamW, all bfloat16, stochastic_fast", [2] * 4, [2] * 3,
                       also=ADAMW | {pattern: 3 for pattern in KEYED},
        budget={"sm_100a": 1.2},
        bound="three draws from keys, a division and a root."),
    "adamw_moment_report": Case("AdamW, all bfloat16, stochastic, moment_report", [2] * 4, [2] * 3,
                                repeats=True, also=PHILOX | ADAMW,
        budget={"sm_90": 1.25, "sm_100a": 1.75},
        bound="as with update_report, and four sums in double."),
    "adamw_dynamic": Case("AdamW, 8-bit states of bitsandbytes, per_slot", [2, 2, 1, 1], [2, 1, 1],
                          2 * 4 / 256, repeats=True,
                          also=ADAMW | {r"LDS.*\+-0x": 9 / 8},  # ranks of both moments
        budget={"sm_90": 1.4, "sm_100a": 1.95},
        bound="a division, a root, and ranks from tables in shared memory.", traffic=TABLES),
    "adamw_companded": Case("AdamW, 8-bit states of FlashOptim, per_slot", [2, 2, 1, 1], [2, 1, 1],
                            2 * 2 / 32, repeats=True,
                            also=ADAMW | {r"F2I\S*FLOOR": 9 / 8},  # codes of both moments
        # Registers for four blocks: an instruction more, but an H100 takes .94 of the time.
        budget={"sm_80": 1.15, "sm_90": 1.61, "sm_100a": 2.55},
        bound="two divisions and two roots, equal to the package's in every bit.",
        traffic={"reads": 1.06}),  # a scale for each chunk
    "adamw_list": Case("AdamW, all bfloat16, stochastic, list", [2] * 4, [2] * 3,
                       also=PHILOX | ADAMW,
        budget={"sm_100a": 1.2},
        bound="three streams of random bits, a division and a root."),
    "adamw_f32_random": Case("AdamW, float moments, stochastic", [2, 2, 4, 4], [2, 4, 4],
                             also=PHILOX | ADAMW, traffic=SIDE_BY_SIDE),
    "adamw_f32_random_report": Case("AdamW, float moments, stochastic, update_report", [2, 2, 4, 4],
                                    [2, 4, 4], repeats=True, also=PHILOX | ADAMW, traffic=SIDE_BY_SIDE),
    "adamw_graph": Case("AdamW, float moments, stochastic, step_state", [2, 2, 4, 4], [2, 4, 4],
                        also=PHILOX | ADAMW, traffic=SIDE_BY_SIDE | {"reads": 1.13}),
    "adamw_kahan": Case("AdamW, kahan, float moments", [2, 2, 2, 4, 4], [2, 2, 4, 4], also=ADAMW),
    "adamw_master": Case("AdamW, master, float moments", [4, 2, 4, 4], [4, 2, 4, 4], also=ADAMW),
    "adamw_split": Case("AdamW, split_master of 16 bits, float moments", [2, 2, 2, 4, 4],
                        [2, 2, 4, 4], also=ADAMW),
    "adamw_split_8": Case("AdamW, split_master of 8 bits, float moments, stochastic",
                          [2, 1, 2, 4, 4], [2, 1, 4, 4], also=PHILOX | ADAMW, traffic=SIDE_BY_SIDE),
    "adamw_scaled": Case("AdamW, scaled float16, float moments, stochastic", [2, 2, 4, 4],
                         [2, 4, 4], also=PHILOX | ADAMW, traffic=SIDE_BY_SIDE),
    "adamw_blocks": Case("AdamW, moments in blocks of 8 bits, stochastic", [2, 2, 1, 1], [2, 1, 1],
                         4 / 128, repeats=True, also=PHILOX | ADAMW,
        budget={"sm_80": 1.1, "sm_90": 1.45, "sm_100a": 2.0},
        bound="three streams of random bits, a division, a root, two scales.", traffic={"reads": 1.04}),
    "unscale": Case("unscale, bfloat16", [2], [2], repeats=True),
    "measure": Case("measure, bfloat16", [2], [], repeats=True),
    "sum": Case("sum, bfloat16", [2], [], repeats=True),
    "dot": Case("dot, bfloat16", [2, 2], [], repeats=True),
    "census_f32_f16": Case("census, float to float16", [4], [], repeats=True,
        budget={"sm_100a": 1.25},
        bound="its exponent, its range, and the error of its rounding."),
    "census_bf16_f16": Case("census, bfloat16 to float16", [2], [], repeats=True,
        budget={"sm_80": 1.15, "sm_90": 1.5, "sm_100a": 2.2},
        bound="its exponent, its range, and the error of its rounding."),
    "census_bf16_e4m3": Case("census, bfloat16 to float8_e4m3fn", [2], [], repeats=True,
        budget={"sm_80": 1.25, "sm_90": 1.65, "sm_100a": 2.5},
        bound="its exponent, its range, and the error of its rounding, often to a subnormal."),
    "abs_range_f32_f16": Case("range, float to float16", [4], [], repeats=True),
    "abs_range_bf16_f16": Case("range, bfloat16 to float16", [2], [], repeats=True),
    "abs_range_bf16_e4m3": Case("range, bfloat16 to float8_e4m3fn", [2], [], repeats=True),
    "gelu_tanh": Case("gelu_tanh, bfloat16", [2], [2],
        budget={"sm_80": 1.05, "sm_90": 1.45, "sm_100a": 2.1},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "gated_gelu_tanh": Case("gated_gelu_tanh, bfloat16", [2, 2], [2],
        budget={"sm_90": 1.1, "sm_100a": 1.6},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "gelu": Case("gelu, bfloat16", [2], [2],
        budget={"sm_80": 1.35, "sm_90": 1.85, "sm_100a": 2.7},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "silu": Case("silu, bfloat16", [2], [2],
        budget={"sm_80": 1.05, "sm_90": 1.4, "sm_100a": 2.05},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "gated_silu": Case("gated_silu, bfloat16", [2, 2], [2],
        budget={"sm_90": 1.1, "sm_100a": 1.55},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "gelu_backward": Case("gelu_backward, bfloat16", [2, 2], [2],
        budget={"sm_90": 1.35, "sm_100a": 1.95},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "silu_backward": Case("silu_backward, bfloat16", [2, 2], [2],
        budget={"sm_90": 1.1, "sm_100a": 1.55},
        bound="an exponential and a division, equal to the processor's in every bit."),
    "clamp_overflow/measuring": Case("clamp_overflow, float16, first launch", [2], [], repeats=True),
    "clamp_overflow/clamping": Case("clamp_overflow, float16, second launch", [2], [2]),
    "power_of_two": Case("scale_by_power_of_two, bfloat16", [2], [2]),
    "transform": Case("transform of one addition, bfloat16", [2], [2]),
    "softmax_f32": Case("softmax, float", [4], [4], folds=1),
    "softmax_bf16": Case("softmax, bfloat16", [2], [2], folds=1,
        budget={"sm_100a": 1.45},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic=ROW_AS_FLOAT),
    "softmax_f16": Case("softmax, float16", [2], [2], folds=1,
        budget={"sm_90": 1.05, "sm_100a": 1.5},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic=ROW_AS_FLOAT),
    "log_softmax": Case("log_softmax, bfloat16", [2], [2], folds=1,
        budget={"sm_100a": 1.45},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic=ROW_AS_FLOAT),
    "softmax_flags": Case("scale_mask_softmax, bfloat16, flags", [2, 1], [2], folds=1,
        budget={"sm_90": 1.05, "sm_100a": 1.55},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic={"turns": 1.32}),
    "softmax_bias": Case("scale_mask_softmax, bfloat16, bias", [2, 2], [2], folds=1,
        budget={"sm_100a": 1.15},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic=TWO_ROWS_AS_FLOAT),
    "softmax_causal": Case("scale_mask_softmax, bfloat16, causal", [2], [2], folds=1,
        budget={"sm_90": 1.2, "sm_100a": 1.7},
        bound="an exponential of 14 instructions, equal to the processor's in every bit.", traffic=ROW_AS_FLOAT),
    "softmax_pb_relax": Case("softmax_pb_relax, bfloat16", [2], [2], folds=1,
        budget={"sm_80": 1.6, "sm_90": 2.15, "sm_100a": 2.95},
        bound="it rounds each step to 16 bits.", traffic=ROW_AS_FLOAT),
    "rms_norm": Case("rms_norm, bfloat16", [2], [2], folds=1, arrives=True, keeps=True, columns=[2],
        budget={"sm_100a": 1.1},
        bound="a largest magnitude and a sum of squares of each element."),
    "add_rms_norm": Case("add_rms_norm, bfloat16", [2, 2], [2], folds=1, arrives=True, columns=[2], sums=[2]),
    "softmax_short": Case("softmax, bfloat16, 32 and 128 columns", [2], [2], folds=1, is_counted=False),
    "softmax_odd/row_kernel_callILi32": Case("softmax, bfloat16, 1001 columns", [2], [2], folds=1,
                                             is_counted=False, traffic=ODD),
    "softmax_odd/row_kernel_callILi256": Case("softmax, bfloat16, 8191 columns", [2], [2], folds=1,
                                              is_counted=False, traffic=ODD_IN_CHUNKS),
    "rms_norm_odd": Case("rms_norm, bfloat16, 1001 and 8191 columns", [2], [2], folds=1, columns=[2],
                         is_counted=False, traffic=ODD),
    "softmax_backward": Case("softmax_backward, bfloat16", [2, 2], [2], folds=1, arrives=True, keeps=True),
    "cross_entropy/row_kernel_call": Case("cross_entropy, bfloat16", [2], [2], folds=1,
        budget={"sm_90": 1.15, "sm_100a": 1.6},
        bound="an exponential and two sums; a row that fits in its own type alone takes a second exponential.",
        traffic={"reads": 1.16}),  # each thread reads its row's label and that logit
    "rms_norm_backward/line_sums": Case("rms_norm_backward, bfloat16, with scratch", [2, 2], [2],
        folds=1, arrives=True, keeps=True, adds=1, columns=[2], budget={"sm_100a": 1.1},
        bound="sums over rows in shared memory.", traffic=WEIGHT_AGAIN),
    "rms_norm_backward/line_kernel_call": Case("rms_norm_backward, second launch", [1 / 4], [],
                                               is_counted=False, traffic=BATCHES | {"blocks": 32}),
    "layer_norm_backward/line_sums": Case("layer_norm_backward, bfloat16, with scratch", [2, 2], [2],
        folds=1, arrives=True, keeps=True, adds=2, columns=[2],
        budget={"sm_90": 1.35, "sm_100a": 1.75},
        bound="two sums of a row, and two over rows in shared memory.", traffic=WEIGHT_AGAIN),
    "layer_norm_backward/line_kernel_call": Case("layer_norm_backward, second launch", [1 / 2], [],
                                                 is_counted=False, traffic=BATCHES | {"blocks": 8}),
    "layer_norm": Case("layer_norm, bfloat16", [2], [2], folds=2, arrives=True, keeps=True, columns=[2, 2],
        budget={"sm_90": 1.05, "sm_100a": 1.45},
        bound="a largest magnitude and three sums, in two folds, one after another."),
}


def accesses(name, operands, times=1):
    """Counts the accesses to a chunk of eight elements of each operand, by pattern."""
    found = {}
    for size in operands:
        bits = int(min(8 * size, 16) * 8)
        pattern = rf"{name}\.E(?!\.)" if bits == 32 else rf"{name}\.E\.{bits}\b"
        found[pattern] = found.get(pattern, 0) + times * max(1, int(8 * size) // 16)
    return found


def shared(name, operands, times=1):
    """Likewise for shared memory."""
    count = times * sum(int(8 * size) // 16 for size in operands)
    return {rf"{name}\.128": count} if count else {}


def instructions_of(kernel, case, team):
    """Returns how often a thread issues each instruction for an element. It takes the shortest way
    that makes all accesses to memory. The rest of a kernel (ends, other widths, NaN) lies beside it."""
    read = sum(case.reads)
    if team is None:
        elements = 8 if 8 * read >= 32 else 16 if 8 * read >= 16 else 32
        if case.chunks:
            elements = 8 * case.chunks
        needed = accesses("LDG", case.reads, elements // 8)
        needed |= accesses("STG", case.writes, elements // 8)
        needed |= {pattern: round(times * elements) for pattern, times in case.also.items()}
        ways = kernel.loops(needed) if case.repeats else [kernel.shortest(needed)]
        rounds = [(ways[:1], elements)]
    else:
        at_once = 4 if read <= 2 else 2 if read <= 4 else 1
        kept = case.reads if case.keeps else [4] * case.kept()
        load, store, times = (r"LDS\.128", r"STS\.128", 2) if team == 32 else (r"LDS R", r"STS \[", 8)
        own = {load: times * case.kept()}
        if case.keeps:
            own = shared("LDS", kept) if team == 32 else {rf"LDS\.U{8 * case.reads[0]}": 8 * case.kept()}

        def loops(needed, *avoided):
            return kernel.loops(needed, avoided=("BAR", "SHFL", *avoided))  # they are between two loops

        rounds = [(loops(accesses("LDG", case.reads, at_once) | accesses("STG", case.sums, at_once) |
                         shared("STS", kept, at_once))[:1], 8 * at_once)]
        folds = case.folds - (case.arrives and team == 32)
        if alone := folds - (not case.keeps):
            # The first loop is that of rows whose fold 0 is not made on arrival.
            found = loops(own, "STG")
            rounds += [([way], 8) for way in found[-alone:]] if len(found) >= alone else [([], 8)]
        if folds and not case.keeps:
            rounds.append((loops(own | {store: times})[-1:], 8))
        results = [4] * case.adds + (kept if case.keeps else [4])
        rounds.append((loops(shared("LDS", results) | shared("STS", [4] * case.adds) |
                             accesses("LDG", case.columns) | accesses("STG", case.writes))[-1:], 8))
    issued = collections.Counter()
    for ways, elements in rounds:
        if not ways or ways[0] is None:
            sys.exit(f"{kernel.symbol}: no way makes all accesses of 16 bytes")
        for i in ways[0]:
            issued[kernel.operation(i)] += 1 / elements
    return issued


def occupancy_of(kernel, case, team, target):
    """Returns the part of a multiprocessor's 64 warps that run. Rows have 8192 columns."""
    of_warp = math.ceil(kernel.registers / 8) * 8 * 32  # allocated in units of 256 registers
    blocks = min(8, 65536 // of_warp // 4 * 4 // 8)
    shared = kernel.shared_bytes + 1024  # that CUDA takes
    if team:
        shared += 8192 * (case.kept_bytes() if team == 256 else max(4, case.kept_bytes()))
    return min(blocks, target.shared_kilobytes * 1024 // shared) * 8 / 64


def count(arch, names, folder, program):
    """Lists the kernels for a target: its case's name, its team, what was counted."""
    target = TARGETS[arch]
    arguments = ["-std=c++20", f"-arch={arch}", f"-I{ROOT / 'include'}", HERE / "kernels.cu"]
    if program:
        arguments[2:] = [machine_code.ptx_of(program, arch, pathlib.Path(folder, f"{arch}.ptx"))]
    for kernel in machine_code.kernels_of(arguments, pathlib.Path(folder, f"{arch}.cubin")):
        name = kernel.name_after("7counted5namedI")
        team = kernel.number_after("15row_kernel_callILj")
        if name.startswith("planted_") or (names and name not in names):
            continue
        name = next((key for key in CASES if key.split("/")[0] == name and
                     all(word in kernel.symbol for word in key.split("/")[1:])), None)
        if name is None or not CASES[name].is_counted:  # without a case: what no case launches
            continue
        case = CASES[name]
        issued = sum(instructions_of(kernel, case, team).values())
        yield name, team, {
            "registers": kernel.registers,
            "occupancy": occupancy_of(kernel, case, team, target),
            "instructions": round(issued, 2),
            "share": round(issued / (case.bytes() * target.instructions_per_byte()), 3),
            "budget": case.budget.get(arch, 1)}


def page_of(counted, version):
    """Returns what table.py reads."""
    kernels = []
    for (name, team), by_target in sorted(counted.items(), key=lambda item: (
            list(CASES).index(item[0][0]), item[0][1] or 0)):
        case = CASES[name]
        kernels.append({"kernel": case.title + {None: "", 32: ", short rows", 256: ", long rows"}[team],
                        "bytes": case.bytes(), "bound": case.bound, "counts": by_target})
    return {"nvcc": version, "kernels": kernels,
            "targets": {arch: {"device": target.device,
                               "gigabytes_per_second": round(1000 * target.terabytes_per_second),
                               "instructions_per_byte": round(target.instructions_per_byte(), 2)}
                        for arch, target in TARGETS.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail over a budget")
    parser.add_argument("--arch", choices=TARGETS, help="count for one; write nothing")
    parser.add_argument("--program", type=pathlib.Path, help="take the PTX of this program of kernels.cu")
    parser.add_argument("names", nargs="*", metavar="NAME", help="print these; write nothing")
    asked = parser.parse_args()
    if missing := [name for name in ("nvcc", "nvdisasm") if machine_code.tool(name) is None]:
        print(f"SKIPPED: {' and '.join(missing)} not found")
        return
    counted, over = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for arch in [asked.arch] if asked.arch else TARGETS:
            for name, team, row in count(arch, asked.names, folder, asked.program):
                counted.setdefault((name, team), {})[arch] = row
                is_over = row["share"] > row["budget"]
                over += is_over
                print(f"{arch:8}{name:32}{team or '':4}{row['registers']:4} registers,"
                      f"{row['occupancy']:5.0%} occupancy,{row['instructions']:7.2f} instructions,"
                      f"{row['share']:7.1%} of memory time"
                      + is_over * f", over its budget of {row['budget']:.0%}", flush=True)
    if over:
        print(f"{over} kernels are over their budget")
    if not (asked.names or asked.arch or asked.check):
        version = machine_code.version_of("nvcc")
        text = json.dumps(page_of(counted, version), indent=1)
        (HERE / "counts.json").write_text(text + "\n", encoding="utf-8")
    sys.exit(1 if over and asked.check else 0)


if __name__ == "__main__":
    main()
