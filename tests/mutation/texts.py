#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a fault has lost its place: a header no longer has the text that it replaces, or has it twice,
or does not parse with it.

    python3 tests/mutation/texts.py"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "mutation"))
import plant  # noqa: E402
from faults import FAULTS  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(TESTS.parent / "include", folder, dirs_exist_ok=True)
    plant.plant(pathlib.Path(folder), enumerate(FAULTS))
    doors = "".join(f"#include <lowp/{door}.hpp>\n" for door in ("lowp", "watch", "io", "p3109"))
    source = plant.SWITCH.replace("#pragma once", "") + doors
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-fsyntax-only", "-I", folder, "-x", "c++", "-"],
                   input=source, text=True, check=True)

spec = importlib.util.spec_from_file_location("cuda_faults", TESTS / "cuda/faults.py")
on_device = importlib.util.module_from_spec(spec)
spec.loader.exec_module(on_device)
lost = 0
for header, text, *_ in on_device.FAULTS:
    if header and text not in (TESTS.parent / "include/lowp/cuda" / header).read_text():
        print(f"tests/cuda/faults.py: {header} has not: {text}")
        lost += 1
sys.exit(1 if lost else 0)
