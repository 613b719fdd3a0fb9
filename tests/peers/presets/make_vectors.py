#!/usr/bin/env python3
"""Writes vectors.txt and outside.txt: float32 -> narrow as the real packages do it.

    make_vectors.py --cuda BIN --ml-dtypes-saturate BIN --torch-2-11 PYTHON [--out DIR]

Needs numpy, ml_dtypes, onnx, onnxruntime and torch 2.12 or newer; BIN are the two programs beside
this file, PYTHON an interpreter with torch older than 2.12. Everything is measured; RULES below is
what a preset of the library says, and each answer is compared with it: a line that agrees goes to
vectors.txt, one that does not goes to outside.txt with the reason. Besides the lines that are
written, half a million further inputs per preset and format are compared.
"""
import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")

# name: exponent bits, mantissa bits, bias, largest finite code
FORMATS = {
    "bfloat16": (8, 7, 127, 0x7F7F),
    "float16": (5, 10, 15, 0x7BFF),
    "float8_e5m2": (5, 2, 15, 0x7B),
    "float8_e4m3fn": (4, 3, 7, 0x7E),
    "float8_e4m3": (4, 3, 7, 0x77),
    "float8_e3m4": (3, 4, 3, 0x6F),
    "float8_e4m3fnuz": (4, 3, 8, 0x7F),
    "float8_e5m2fnuz": (5, 2, 16, 0x7F),
    "float8_e4m3b11fnuz": (4, 3, 11, 0x7F),
    "float8_e8m0fnu": (8, 0, 127, 0xFE),
    "float6_e2m3fn": (2, 3, 1, 0x1F),
    "float6_e3m2fn": (3, 2, 3, 0x1F),
    "float4_e2m1fn": (2, 1, 1, 0x07),
}
MX = ("float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn")
FNUZ = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz")


def sign_bit(name):
    exponent, mantissa = FORMATS[name][:2]
    return 0 if name.endswith("fnu") else 1 << (exponent + mantissa)


class Rule:
    """over, inf: codes for a finite overflow and for infinity, both positive; a negative input adds
    the sign bit, except to the NaN of fnuz.
    nan: codes for NaN with sign clear and sign set. payload: the leading payload bits of the input
    are added to it. quiet: the quiet bit is part of nan; without it a payload that vanishes becomes 1.
    zero, negative, minus_inf: codes for float8_e8m0fnu; "magnitude" drops the sign."""

    def __init__(self, over, inf, nan, payload=False, quiet=True, zero=None, negative=None,
                 minus_inf=None):
        self.over, self.inf, self.nan = over, inf, nan
        self.payload, self.quiet = payload, quiet
        self.zero, self.negative, self.minus_inf = zero, negative, minus_inf


def ml_dtypes_rules(saturate):
    rules = {
        "bfloat16": Rule(0x7F80, 0x7F80, (0x7FC0, 0xFFC0)),
        "float16": Rule(0x7C00, 0x7C00, (0x7C00, 0xFC00), payload=True, quiet=False),
        "float8_e5m2": Rule(0x7C, 0x7C, (0x7E, 0xFE)),
        "float8_e4m3fn": Rule(0x7F, 0x7F, (0x7F, 0xFF)),
        "float8_e4m3": Rule(0x78, 0x78, (0x7C, 0xFC)),
        "float8_e3m4": Rule(0x70, 0x70, (0x78, 0xF8)),
        "float8_e8m0fnu": Rule(0xFF, 0xFF, (0xFF, 0xFF), zero=0xFF, negative=0xFF),
    }
    for name in FNUZ:
        rules[name] = Rule(0x80, 0x80, (0x80, 0x80))
    for name in MX:
        largest = FORMATS[name][3]
        rules[name] = Rule(largest, largest, (sign_bit(name), 0))
    if saturate:  # infinities are left alone; the 16-bit formats have no saturating mode
        for name, rule in rules.items():
            if not name.endswith("16"):
                rule.over = FORMATS[name][3]
        rules["float8_e8m0fnu"].zero = rules["float8_e8m0fnu"].negative = 0x00
        rules["float8_e8m0fnu"].minus_inf = 0xFF
    return rules


def cuda_rules(saturate):
    rules = {
        "bfloat16": Rule(0x7F80, 0x7F80, (0x7FFF, 0x7FFF)),
        "float16": Rule(0x7C00, 0x7C00, (0x7FFF, 0x7FFF)),
        "float8_e5m2": Rule(0x7C, 0x7C, (0x7F, 0x7F)),
        "float8_e4m3fn": Rule(0x7F, 0x7F, (0x7F, 0x7F)),
        "float8_e8m0fnu": Rule(0xFF, 0xFF, (0xFF, 0xFF), zero=0x00, negative="magnitude"),
    }
    if saturate:
        for name in ("float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"):
            rules[name].over = rules[name].inf = FORMATS[name][3]
    for name in MX:
        largest = FORMATS[name][3]
        rules[name] = Rule(largest, largest, (largest, largest))
    return rules


def onnx_rules(saturate):
    rules = ml_dtypes_rules(False)
    for name in ("float8_e4m3", "float8_e3m4", "float8_e4m3b11fnuz"):
        del rules[name]
    if saturate:
        for name in ("float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz"):
            rules[name].over = rules[name].inf = FORMATS[name][3]
        rules["float8_e8m0fnu"] = Rule(0xFE, 0xFE, (0xFF, 0xFF), zero=0x00, negative=0x00)
    return rules


def torch_rules(saturate):
    largest = 0x7E if saturate else 0x7F
    return {
        "bfloat16": Rule(0x7F80, 0x7F80, (0x7FC0, 0x7FC0)),
        "float16": Rule(0x7C00, 0x7C00, (0x7E00, 0xFE00), payload=True),
        "float8_e5m2": Rule(0x7C, 0x7C, (0x7F, 0xFF)),
        "float8_e4m3fn": Rule(largest, largest, (0x7F, 0xFF)),
        "float8_e4m3fnuz": Rule(0x80, 0x80, (0x80, 0x80)),
        "float8_e5m2fnuz": Rule(0x80, 0x80, (0x80, 0x80)),
        "float8_e8m0fnu": Rule(0xFF, 0xFF, (0xFF, 0xFF), zero=0x00, negative="magnitude"),
    }


RULES = {
    "ml_dtypes": ml_dtypes_rules(False),
    "ml_dtypes_saturate": ml_dtypes_rules(True),
    "cuda": cuda_rules(True),
    "cuda_nosat": cuda_rules(False),
    "onnx": onnx_rules(True),
    "onnx_nosat": onnx_rules(False),
    "torch": torch_rules(True),
    "torch_2_11": torch_rules(False),
}


def encode(name, rule, bits):
    """The rule applied to float32 bit patterns: an oracle in integers, nearest even."""
    _, mantissa, bias, largest = FORMATS[name]
    sign = sign_bit(name)
    bits = bits.astype(np.int64)
    negative = (bits >> 31) != 0
    a = bits & 0x7FFFFFFF
    field = a >> 23
    fraction = a & 0x7FFFFF
    significand = np.where(field == 0, fraction, fraction | 0x800000)
    exponent = np.where(field == 0, 1, field) - 127
    if name.endswith("fnu"):
        # Powers of two: code c is 2^(c - 127); nearest, a tie to the even code.
        length = np.frexp(significand.astype(np.float64))[1]  # 2^(length-1) <= significand
        normal = significand << np.clip(24 - length, 0, 24)
        code = exponent - (24 - length) + 127
        rest = normal & 0x7FFFFF
        code = code + ((rest > 0x400000) | ((rest == 0x400000) & (code % 2 == 1)))
        code = np.maximum(code, 0)
    else:
        least = 1 - bias
        grid = np.maximum(exponent, least)
        shift = np.minimum(grid - exponent + 23 - mantissa, 40)
        kept = significand >> shift
        rest = significand - (kept << shift)
        half = np.int64(1) << (shift - 1)
        kept = kept + ((rest > half) | ((rest == half) & (kept % 2 == 1)))
        code = ((grid - least) << mantissa) + kept
    uz = name.endswith("fnuz")

    def signed(c):
        return np.where(negative & ~((c == 0x80) | (c == 0)) if uz else negative, c | sign, c)

    result = signed(np.where(code > largest, rule.over, code))
    result = np.where(a == 0x7F800000, signed(np.full_like(a, rule.inf)), result)
    if name.endswith("fnu") and rule.negative != "magnitude":
        result = np.where(negative, rule.negative, result)
        if rule.minus_inf is not None:
            result = np.where(negative & (a == 0x7F800000), rule.minus_inf, result)
    if name.endswith("fnu"):
        result = np.where(a == 0, rule.zero, result)
    nan = np.where(negative, rule.nan[1], rule.nan[0])
    if rule.payload:
        payload = fraction >> (23 - mantissa)
        if not rule.quiet:
            payload = np.where(payload == 0, 1, payload)
        nan = nan | payload
    return np.where(a > 0x7F800000, nan, result)


def value(name, code):
    """The value of a finite code, exactly, as a Python float."""
    _, mantissa, bias, _ = FORMATS[name]
    if name.endswith("fnu"):
        return 2.0 ** (code - 127)
    field, low = code >> mantissa, code & ((1 << mantissa) - 1)
    if field == 0:
        return low * 2.0 ** (1 - bias - mantissa)
    return ((1 << mantissa) + low) * 2.0 ** (field - bias - mantissa)


def bits_of(x):
    """float32 bits of x if it is one (rounded where it is not: bfloat16's and e8m0's far edges)."""
    return int(np.float32(x).view(np.uint32))


NANS = (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FBFFFFF,
        0x7FE00000, 0x7FA00000, 0xFFA00000, 0x7FC02000, 0x7F802000)


def interesting(name, random, ties):
    """The inputs that are written: corners, ties and random values in range."""
    _, mantissa, _, largest = FORMATS[name]
    seen = [0, 0x80000000, 0x00000001, 0x80000001, 0x00400000, 0x007FFFFF]
    one = bits_of(value(name, 1))
    if name.endswith("fnu"):
        seen += [0x00200000, 0x00600000, 0x00800000, 0x00800001, 0x3F800000, 0xBF800000, 0x40000000,
                 0x7F000000, 0x7F000001, 0x7F400000, 0x3FC00000, 0x3FC00001, 0x3FBFFFFF, 0x40400000]
    else:
        half = bits_of(value(name, 1) / 2)
        seen += [half, half | 0x80000000, half + 1, (half + 1) | 0x80000000, one, one | 0x80000000,
                 bits_of(value(name, 1) * 1.5), bits_of(value(name, 1) * 2.5)]
        smallest_normal = bits_of(value(name, 1 << mantissa))
        seen += [smallest_normal, smallest_normal - 1, 0x3F800000]
        top, below = value(name, largest), value(name, largest - 1)
        edge = bits_of(top + (top - below) / 2)
        for x in (bits_of(top), edge - 1, edge, edge + 1):
            seen += [x, x | 0x80000000]
        if name != "bfloat16":
            next_up = bits_of(top + (top - below))
            seen += [next_up - 1, next_up, bits_of(top * 1.5), bits_of(-top * 1.5)]
    seen += [0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, *NANS]
    generator = np.random.default_rng(list(name.encode()))
    if not name.endswith("fnu"):
        for _ in range(ties):
            code = int(generator.integers(0, largest))
            middle = (value(name, code) + value(name, code + 1)) / 2
            seen.append(bits_of(middle if generator.integers(2) else -middle))
    low, high = one, bits_of(value(name, largest))
    for _ in range(random):
        seen.append(int(generator.integers(low, high)) | int(generator.integers(2)) << 31)
    return list(dict.fromkeys(seen))


def grouped(answers):
    """The lines of vectors.txt: answers (preset, format, bits, code), those of equal presets together."""
    presets_of = {}
    for preset, name, bits, code in answers:
        presets_of.setdefault((name, bits, code), []).append(preset)
    groups = {}
    for (name, bits, code), presets in presets_of.items():
        groups.setdefault(name, {}).setdefault(" ".join(presets), []).append(f"{bits}:{code}")
    for name, of_presets in groups.items():
        for presets, pairs in of_presets.items():
            yield f"{name} {presets}"
            for i in range(0, len(pairs), 7):
                yield " ".join(pairs[i:i + 7])


def many():
    """Half a million inputs that are compared but not written."""
    high = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    generator = np.random.default_rng(1)
    parts = [high + np.uint32(low) for low in (0, 1, 0x2000, 0x7FFF, 0x8000, 0x8001)]
    parts.append(generator.integers(0, 1 << 32, 1 << 17, dtype=np.uint32))
    return np.concatenate(parts)


def codes(array):
    return np.ascontiguousarray(array).view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)


def measure_ml_dtypes(name, bits):
    import ml_dtypes
    target = np.float16 if name == "float16" else getattr(ml_dtypes, name)
    return codes(bits.view(np.float32).astype(target))


def measure_onnx(saturate):
    def run(name, bits):
        from onnx import TensorProto
        from onnx.reference.ops.op_cast import cast_to
        short = name.upper().replace("_", "")
        short = short.removesuffix("FN") if name in MX and name != "float4_e2m1fn" else short
        short = {"FLOAT8E8M0FNU": "FLOAT8E8M0", "FLOAT4E2M1FN": "FLOAT4E2M1"}.get(short, short)
        to = getattr(TensorProto, short)
        return codes(cast_to(bits.view(np.float32), to, saturate, round_mode="nearest"))
    return run


def measure_onnxruntime_e8m0(saturate):
    def run(_, bits):
        import ctypes
        import onnxruntime
        from onnx import TensorProto as t, helper as h
        node = h.make_node("Cast", ["x"], ["y"], to=t.FLOAT8E8M0, saturate=int(saturate),
                           round_mode="nearest")
        graph = h.make_graph([node], "g", [h.make_tensor_value_info("x", t.FLOAT, [len(bits)])],
                             [h.make_tensor_value_info("y", t.FLOAT8E8M0, [len(bits)])])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 25)], ir_version=10)
        session = onnxruntime.InferenceSession(model.SerializeToString(),
                                               providers=["CPUExecutionProvider"])
        x = onnxruntime.OrtValue.ortvalue_from_numpy(bits.view(np.float32))
        y = session.run_with_ort_values(["y"], {"x": x})[0]
        return np.array((ctypes.c_uint8 * len(bits)).from_address(y.data_ptr()), np.uint8)
    return run


def measure_program(preset, program):
    def run(name, bits):
        if name == "float16" and preset.startswith("ml_dtypes"):
            return measure_ml_dtypes(name, bits)  # numpy's, as in ml_dtypes itself
        text = "".join(f"{preset} {name} {b:x}\n" for b in bits.tolist())
        out = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return np.array([int(line.rsplit(" ", 1)[1], 16) for line in out.stdout.splitlines()])
    return run


def measure_torch(python):
    def run(name, bits):
        # bfloat16: the portable path, c10's own conversion; the vector paths make every NaN 0xffff.
        env = dict(os.environ)
        env.pop("ATEN_CPU_CAPABILITY", None)
        if name == "bfloat16":
            env["ATEN_CPU_CAPABILITY"] = "default"
        out = subprocess.run([python, __file__, "--torch-worker", name], input=bits.tobytes(),
                             capture_output=True, env=env, check=True)
        return np.frombuffer(out.stdout, np.uint16 if name.endswith("16") else np.uint8)
    return run


def torch_worker(name):
    import torch
    bits = np.frombuffer(sys.stdin.buffer.read(), np.uint32)
    x = torch.from_numpy(bits.view(np.float32).copy())
    y = x.to(getattr(torch, name)).view(torch.int16 if name.endswith("16") else torch.uint8)
    sys.stdout.buffer.write(y.numpy().tobytes())


def torch_version(python):
    code = "import torch; print(torch.__version__.split('+')[0])"
    out = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return out.stdout.strip()


UP = ("a tie goes away from zero (nearest_away), and everything above 2^-127 and below 2^-126 "
      "becomes 2^-126")
HEADER = "the header rounds toward +infinity here (toward zero on request), never to nearest"
REASON = {  # all about float8_e8m0fnu; no other format has a line outside
    "ml_dtypes": UP, "ml_dtypes_saturate": UP, "torch": UP, "torch_2_11": UP,
    "cuda": HEADER, "cuda_nosat": HEADER,
    "onnx": "a tie goes away from zero: exactly nearest_away",
    "onnx_nosat": "a tie goes away from zero, and what is below 2^-127 or above 2^127 before rounding "
                  "becomes NaN",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cuda", required=True)
    parser.add_argument("--ml-dtypes-saturate", required=True)
    parser.add_argument("--torch-2-11", required=True)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    args = parser.parse_args()

    import ml_dtypes
    import onnx
    import onnxruntime
    new, old = torch_version(sys.executable), torch_version(args.torch_2_11)
    assert int(new.split(".")[1]) >= 12 > int(old.split(".")[1])
    eight = f"ml_dtypes {ml_dtypes.__version__}"
    half = f"float16: numpy {np.__version__} astype"
    tensor = "Tensor.to on a CPU with F16C; bfloat16 with ATEN_CPU_CAPABILITY=default; measured"
    sources = {
        "ml_dtypes": (measure_ml_dtypes, f"{eight}, ndarray.astype; {half}; measured"),
        "ml_dtypes_saturate": (
            measure_program("ml_dtypes_saturate", args.ml_dtypes_saturate),
            f"{eight} source package, C++ ConvertFrom<kSaturate = true> of float8.h and mxfloat.h; "
            f"bfloat16: Eigen; {half}; measured"),
        "cuda": (
            measure_program("cuda", args.cuda),
            "CUDA 13.0 headers, host code: __nv_cvt_float_to_fp8 and _e8m0 with __NV_SATFINITE, "
            "_fp6, _fp4, __float2bfloat16_rn, __float2half_rn; measured"),
        "cuda_nosat": (measure_program("cuda_nosat", args.cuda),
                       "the same with __NV_NOSAT; measured"),
        "onnx": (
            measure_onnx(True),
            f"onnx {onnx.__version__}, reference implementation of Cast, saturate=1 (on {eight}); "
            f"e8m0: onnxruntime {onnxruntime.__version__}, CPU, round_mode=nearest; measured"),
        "onnx_nosat": (measure_onnx(False), "the same with saturate=0; measured"),
        "torch": (measure_torch(sys.executable), f"torch {new}, {tensor}"),
        "torch_2_11": (measure_torch(args.torch_2_11), f"torch {old}, {tensor}"),
    }
    header = ["# float32 -> narrow, nearest even, as each ecosystem does it. Written by make_vectors.py.",
              "# A format and presets; then float_bits_hex:code_hex, of each of these presets."]
    header += [f"# {preset}: {text}" for preset, (_, text) in sources.items()]
    inside, outside = [], [
        "# Measured answers that a preset of the library does NOT reproduce, and why. Not test data.",
        "# preset format float_bits_hex code_hex (code of the preset)"]
    everything = many()
    for preset, (measure, _) in sources.items():
        for name, rule in RULES[preset].items():
            ask = measure
            if preset.startswith("onnx") and name.endswith("fnu"):
                ask = measure_onnxruntime_e8m0(preset == "onnx")
            full = preset == "ml_dtypes"
            inputs = np.array(interesting(name, 20 if full else 3, 20 if full else 3), np.uint32)
            digits = 4 if name.endswith("16") else 2
            said = ask(name, inputs).astype(np.int64)
            ours = encode(name, rule, inputs)
            failed = []
            for bits, code, mine in zip(inputs.tolist(), said.tolist(), ours.tolist()):
                answer = preset, name, f"{bits:08x}", f"{code:0{digits}x}"
                if code == mine:
                    inside.append(answer)
                else:
                    failed.append(f"{' '.join(answer)} ({mine:0{digits}x})")
            wrong = np.flatnonzero(ask(name, everything).astype(np.int64)
                                   != encode(name, rule, everything))
            print(f"{preset:20}{name:20}{len(inputs) - len(failed):4} lines,{len(failed):3} outside;"
                  f"{len(wrong):7} of {len(everything)} differ")
            if failed or len(wrong):
                reason = REASON[preset] if name.endswith("fnu") else "unexpected"
                outside.append(f"# {reason} ({len(wrong)} of {len(everything)} inputs differ)")
                outside += failed
    (args.out / "vectors.txt").write_text("\n".join(header + list(grouped(inside))) + "\n")
    (args.out / "outside.txt").write_text("\n".join(outside) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--torch-worker"]:
        torch_worker(sys.argv[2])
    else:
        main()
