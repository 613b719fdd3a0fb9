#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch and ml_dtypes on what the programs here time, and writes JSON as they do.

    python3 bench/peers.py [--repetitions N] [--min-time SECONDS] > peers.json

A library that is not installed is left out. Sizes are those of the level L2 in suite.hpp.
"""
import argparse
import json
import sys
import time

try:
    import numpy
except ImportError:
    sys.exit("peers.py: no NumPy, so no ml_dtypes and no PyTorch")

ELEMENTS = 128 << 10


class Format:
    """What a code stands for, and what is nearest to a number: to check the peers against."""

    def __init__(self, exponent_bits, significand_bits, finite_codes):
        self.significand_bits = significand_bits
        codes = numpy.arange(finite_codes)
        exponent = codes >> significand_bits
        significand = codes & ((1 << significand_bits) - 1)
        bias = (1 << (exponent_bits - 1)) - 1
        significand = significand + (exponent > 0) * (1 << significand_bits)
        scale = numpy.maximum(exponent, 1) - bias - significand_bits
        self.values = numpy.ldexp(significand.astype(numpy.float64), scale)
        self.sign = 1 << (exponent_bits + significand_bits)
        self.code_type = numpy.uint8 if self.sign <= 0x80 else numpy.uint16

    def encode(self, floats):
        magnitudes = numpy.abs(floats.astype(numpy.float64))
        below = numpy.searchsorted(self.values, magnitudes, side="right") - 1
        above = numpy.minimum(below + 1, len(self.values) - 1)
        middle = (self.values[below] + self.values[above]) / 2
        is_up = (magnitudes > middle) | ((magnitudes == middle) & (below % 2 == 1))
        codes = numpy.where(is_up, above, below) + numpy.signbit(floats) * self.sign
        return codes.astype(self.code_type)

    def decode(self, codes):
        values = self.values[codes & (self.sign - 1)].astype(numpy.float32)
        return numpy.where(codes & self.sign, -values, values)


FORMATS = {
    "bfloat16": Format(8, 7, 0x7F80),
    "float16": Format(5, 10, 0x7C00),
    "float8_e5m2": Format(5, 2, 0x7C),
    "float8_e4m3fn": Format(4, 3, 0x7F),
}


def random_floats(seed):
    return numpy.random.default_rng(seed).standard_normal(ELEMENTS, dtype=numpy.float32)


def check(name, found, expected):
    if not numpy.array_equal(found, expected):
        sys.exit(f"peers.py: {name} computes something else")


def cast_cases(peer, narrow_of, float_of, run_cast, codes_of):
    """(name, function) for each format that the peer has, with its result compared."""
    floats = random_floats(1)
    for name, form in FORMATS.items():
        codes = form.encode(floats)
        narrow, wide = narrow_of(name, codes), float_of(floats)
        if narrow is None:
            continue
        into_narrow, into_wide = narrow_of(name, codes * 0), float_of(floats * 0)
        down, up = f"cast/float->{name}/nearest_even/{peer}", f"cast/{name}->float/exact/{peer}"
        run_cast(into_narrow, wide)
        check(down, codes_of(into_narrow, form.code_type), codes)
        run_cast(into_wide, narrow)
        check(up, codes_of(into_wide, numpy.uint32), form.decode(codes).view(numpy.uint32))
        yield down, lambda to=into_narrow, of=wide: run_cast(to, of)
        yield up, lambda to=into_wide, of=narrow: run_cast(to, of)


def ml_dtypes_cases():
    import ml_dtypes

    def narrow_of(name, codes):
        dtype = getattr(ml_dtypes, name, None)  # float16 is NumPy's
        return None if dtype is None else codes.view(dtype)

    def run_cast(to, of):
        numpy.copyto(to, of, casting="unsafe")

    def codes_of(array, code_type):
        return array.view(code_type)

    yield from cast_cases("ml_dtypes", narrow_of, lambda x: x.copy(), run_cast, codes_of)


def torch_cases():
    import torch

    torch.set_num_threads(1)
    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32}

    def tensor_of(codes, dtype):
        bytes_ = torch.from_numpy(codes.view(f"i{codes.itemsize}").copy())
        return bytes_.view(dtype)

    def narrow_of(name, codes):
        dtype = getattr(torch, name, None)
        return None if dtype is None else tensor_of(codes, dtype)

    def codes_of(tensor, code_type):
        return tensor.view(signed[tensor.element_size()]).numpy().view(code_type)

    yield from cast_cases("torch", narrow_of, lambda x: tensor_of(x, torch.float32),
                          lambda to, of: to.copy_(of), codes_of)

    form, alpha = FORMATS["bfloat16"], 2**-7  # which it rounds to bfloat16
    codes, floats = form.encode(random_floats(2)), random_floats(3)
    narrow = tensor_of(codes, torch.bfloat16)
    for types, u in (("float", torch.from_numpy(floats)),
                     ("bfloat16", tensor_of(form.encode(floats), torch.bfloat16))):
        name = f"fused_add/bfloat16,{types}/nearest_even/torch"
        p = narrow.clone().add_(u, alpha=alpha)
        sums = form.decode(codes) + alpha * u.to(torch.float32).numpy()
        check(name, codes_of(p, form.code_type), form.encode(sums))

        def add(p=p, u=u, signs=[1]):
            signs[0] = -signs[0]
            p.add_(u, alpha=signs[0] * alpha)

        yield name, add


def seconds_of(function, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        function()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--min-time", type=float, default=0.02)
    arguments = parser.parse_args()

    cases, versions = {}, {"numpy": numpy.__version__}
    for library, find in (("ml_dtypes", ml_dtypes_cases), ("torch", torch_cases)):
        try:
            cases.update(find())
            versions[library] = __import__(library).__version__
        except ImportError:
            print(f"peers.py: no {library}", file=sys.stderr)

    repeats = {}
    for name, function in cases.items():
        once = max(min(seconds_of(function, 1) for _ in range(3)), 1e-7)
        repeats[name] = max(1, round(arguments.min_time / once))
    benchmarks = []
    for repetition in range(arguments.repetitions):  # in turns, as the programs do
        for name, function in cases.items():
            seconds = seconds_of(function, repeats[name])
            benchmarks.append({
                "name": f"{name}/L2", "run_name": f"{name}/L2", "run_type": "iteration",
                "repetition_index": repetition, "iterations": repeats[name],
                "items_per_second": ELEMENTS * repeats[name] / seconds})
    json.dump({"context": {"versions": versions}, "benchmarks": benchmarks}, sys.stdout, indent=1)


main()
