#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a fault has lost its place: a header no longer has the text that it replaces, or has it twice.

    python3 tests/mutation/texts.py"""

import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
lost = 0
for room, headers in (("mutation", "lowp"), ("cuda", "lowp/cuda")):
    spec = importlib.util.spec_from_file_location(f"{room}_faults", TESTS / room / "faults.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for header, text, *_ in module.FAULTS:
        if not header:
            continue
        times = (TESTS.parent / "include" / headers / header).read_text().count(text)
        if times != 1:
            print(f"tests/{room}/faults.py: {header} has {times} times: {text}")
            lost += 1
sys.exit(1 if lost else 0)
