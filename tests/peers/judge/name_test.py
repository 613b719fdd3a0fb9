# SPDX-License-Identifier: Apache-2.0
"""lowp-judge names the conversions of PyTorch and ml_dtypes. The lines of its page run as they are there."""

import pathlib
import re
import subprocess
import sys

import ml_dtypes
import numpy
import torch

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
page = (root / "examples/judge/README.md").read_text()


def say(*arguments, status=0):
    run = subprocess.run([program, *arguments], capture_output=True, text=True)
    if run.returncode != status:
        sys.exit(f"{arguments}: status {run.returncode}\n{run.stdout}{run.stderr}")
    return run.stdout


def named(to, convert):
    say("inputs", "--to", to, "-o", "in.npy")
    numpy.save("out.npy", convert(numpy.load("in.npy")))
    return say("name", "in.npy", "out.npy", "--to", to)


def expect(package, to, text, *phrases):
    for phrase in ("\n  nearest_even\n", *phrases):
        if phrase not in text:
            sys.exit(f"{package}, {to}: no {phrase!r} in\n{text}")
    print(package, to, "is named")


is_new = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 12)
preset = "overflow::torch (PyTorch 2.12 and newer)" if is_new else "overflow::torch_2_11"
for to in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "bfloat16", "float16"):
    codes = torch.uint8 if "float8" in to else torch.int16
    text = named(to, lambda x: torch.from_numpy(x).to(getattr(torch, to)).view(codes).numpy())
    expect("torch", to, text, preset)
for to in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e3m4", "float8_e4m3fnuz", "float8_e5m2fnuz",
           "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "bfloat16"):
    with numpy.errstate(all="ignore"):
        expect("ml_dtypes", to, named(to, lambda x: x.astype(getattr(ml_dtypes, to))), "overflow::ml_dtypes (")

# The commands of both pages, and the answer.
say("inputs", "--to", "float8_e4m3fn", "-o", "in.npy")
line = re.search(r"^python3 -c '(.*)'$", (root / "README.md").read_text(), re.MULTILINE)
exec(line[1])
expect("the README's line", "float8_e4m3fn", say("name", "in.npy", "out.npy", "--to", "float8_e4m3fn"), preset)
exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1])
answer = re.search(r"```text\n(.*?)```", page, re.DOTALL)[1]
if is_new and say("name", "in.npy", "out.npy", "--to", "float8_e4m3fn") != answer:
    sys.exit(f"the page has another answer:\n{answer}")
