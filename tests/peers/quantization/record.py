# SPDX-License-Identifier: Apache-2.0
"""Writes tests/quantization/vectors: what packages make of the tensors of inputs.py.

python record.py [RECIPE...] with the packages of requirements.txt; see README.md beside it.
"""

import pathlib
import subprocess
import sys

import inputs
import packages

FOLDER = pathlib.Path(__file__).parents[2] / "quantization" / "vectors"


def text_of(codes, elements):
    if elements == "e2m1":
        codes = [low | high << 4 for low, high in zip(codes[::2], codes[1::2])]
    return bytes(codes).hex()


def record(recipe, tensors):
    lines, check = [], 0
    for tensor in tensors:
        words, scales, codes = recipe.answers(tensor)
        check = inputs.mix(check ^ inputs.checksum(words))
        lines.append(f"tensor {tensor} amax {inputs.amax(words):08x}")
        lines += [f"{scale:02x} {text_of(row, recipe.elements)}" for scale, row in zip(scales, codes)]
    facts = ("recipe", recipe.name), ("package", recipe.package), ("call", recipe.call), ("amax", recipe.amax), \
        ("note", recipe.note), ("size", recipe.size), ("elements", recipe.elements), ("scales", recipe.scales), \
        ("inputs", f"{check:016x}")
    head = [f"# {name}: {fact}" for name, fact in facts if fact != ""]
    (FOLDER / f"{recipe.name}.txt").write_text("\n".join(head + lines) + "\n")


def tensors_of(recipe):
    if recipe.size == 256:
        return range(4)
    if recipe.size == 16:
        return range(32)
    return range(16)


def main(names):
    """Each source has a process of its own: two of them are torchao, and one is stubs."""
    if names[:1] == ["--source"]:
        try:
            packages.SOURCES[names[1]]()
        except (packages.Missing, ImportError) as error:
            print(f"SKIPPED {names[1]}: {error}")
            return
        for recipe in packages.RECIPES.values():
            if not names[2:] or recipe.name in names[2:]:
                record(recipe, tensors_of(recipe))
                print("recorded", recipe.name)
        return
    for source in packages.SOURCES:
        subprocess.run([sys.executable, __file__, "--source", source, *names], check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
