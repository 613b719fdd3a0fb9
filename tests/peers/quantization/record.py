# SPDX-License-Identifier: Apache-2.0
"""Writes tests/quantization/vectors: what packages make of the tensors of inputs.py.

python record.py, with the packages of README.md beside it; a file whose package is missing stays as it is.
"""

import pathlib

import inputs
import packages

FOLDER = pathlib.Path(__file__).parents[2] / "quantization" / "vectors"


def tensors_of(line):
    """Returns the tensors to record: kinds of largest magnitudes where recipes part, more where a block is short.

    A variant of a recipe that has a file of its own has fewer."""
    if line.size >= 256:
        return (0, 1) if line.size == 256 else (0, 8) if line.size == 1024 else (0, 3)
    is_variant = any(word in line.name for word in ("_bfloat16", "_float16", "4over6", "microxcaling"))
    if line.size == 16:
        return (1, 7, 9, 14) if is_variant else (1, 7, 8, 9, 11, 14, 15)
    is_variant = is_variant or "torchao_main" in line.name
    if line.elements == "e2m1":
        return (2, 9, 14) if is_variant else (1, 2, 8, 9, 14)
    return (9, 14) if is_variant else (8, 9, 14)


def text_of(codes, elements):
    if len(codes) == 16384:
        return f"{inputs.checksum(map(int, codes)):016x}"
    if elements == "e2m1":
        codes = codes[::2] | codes[1::2] << 4
    return codes.tobytes().hex()


def record(line):
    text, check = [], 0
    for tensor in tensors_of(line):
        words = line.words[tensor]
        check = inputs.mix(check ^ inputs.checksum(words))
        text.append(f"tensor {tensor} amax {inputs.amax(words):08x}")
        text += [f"{scale:0{8 if line.scales == 'float' else 2}x} {text_of(codes, line.elements)}"
                 for scale, codes in zip(line.scales_of[tensor], line.codes_of[tensor])]
    facts = {"recipe": line.name, "inputs": f"{check:016x}"}
    for name in ("package", "call", "amax", "note", "size", "elements", "scales"):
        facts[name] = getattr(line, name)
    head = [f"# {name}: {fact}" for name, fact in facts.items() if fact != ""]
    (FOLDER / f"{line.name}.txt").write_text("\n".join(head + text) + "\n")


if __name__ == "__main__":
    for line in packages.collect(32, 4).values():
        if not line.name.startswith("gguf"):  # ggml's
            record(line)
