# SPDX-License-Identifier: Apache-2.0
"""Stochastic rounding of float to bfloat16 as a Triton kernel: one block of Philox for four elements.

A module of its own, because Triton reads a kernel's source and its globals.
"""
import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def kernel(source, target, seed, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    r0, r1, r2, r3 = tl.randint4x(seed, (program * BLOCK).to(tl.int32) + lane)
    first = program * BLOCK * 4 + lane
    x0 = tl.load(source + first).to(tl.int32, bitcast=True)
    x1 = tl.load(source + first + BLOCK).to(tl.int32, bitcast=True)
    x2 = tl.load(source + first + 2 * BLOCK).to(tl.int32, bitcast=True)
    x3 = tl.load(source + first + 3 * BLOCK).to(tl.int32, bitcast=True)
    y0 = (x0 + (r0.to(tl.int32, bitcast=True) & 0xFFFF)) >> 16
    y1 = (x1 + (r1.to(tl.int32, bitcast=True) & 0xFFFF)) >> 16
    y2 = (x2 + (r2.to(tl.int32, bitcast=True) & 0xFFFF)) >> 16
    y3 = (x3 + (r3.to(tl.int32, bitcast=True) & 0xFFFF)) >> 16
    tl.store(target + first, y0.to(tl.int16))
    tl.store(target + first + BLOCK, y1.to(tl.int16))
    tl.store(target + first + 2 * BLOCK, y2.to(tl.int16))
    tl.store(target + first + 3 * BLOCK, y3.to(tl.int16))


def cast(source, target, seed):
    """`target` are the bits of bfloat16, as int16; sizes are multiples of 4 * BLOCK."""
    assert source.numel() % (4 * BLOCK) == 0
    kernel[(source.numel() // (4 * BLOCK),)](source, target, seed, BLOCK=BLOCK, num_warps=4)
