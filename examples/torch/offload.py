# SPDX-License-Identifier: Apache-2.0
"""Times the step of an offloaded optimizer: bfloat16 gradients come in, and a bfloat16 copy of the
parameters goes out. All are measured in turns, in one process; the table has medians.

    python offload.py [--into FILE] [PARAMETERS] [ROUNDS]

--into puts the table between the marks in FILE.
"""

import datetime
import pathlib
import re
import statistics
import sys
import time

import torch

import lowp_torch

F32, BF16 = torch.float32, torch.bfloat16
BEGIN, END = "<!-- begin: offload.py -->\n", "<!-- end: offload.py -->\n"


class Torch:
    """The fused AdamW of PyTorch, which takes float32 gradients only."""

    def __init__(self, start, gradient, casts):
        self.p = torch.nn.Parameter(start.clone())
        self.p.grad = gradient.to(F32)
        self.gradient, self.copy, self.casts = gradient, start.to(BF16), casts
        self.optimizer = torch.optim.AdamW([self.p], fused=True)

    def step(self):
        if self.casts:
            self.p.grad.copy_(self.gradient)
        self.optimizer.step()
        if self.casts:
            self.copy.copy_(self.p.detach())


class Lowp:
    """Parameters, gradients and copy are one bfloat16 tensor each."""

    def __init__(self, start, gradient, **settings):
        self.p = torch.nn.Parameter(start.to(BF16))
        self.p.grad = gradient
        self.optimizer = lowp_torch.AdamW([self.p], **settings)

    def step(self):
        self.optimizer.step()


class DeepSpeed:
    """DeepSpeedCPUAdam on float32 or bfloat16 parameters."""

    def __init__(self, start, gradient, dtype):
        from deepspeed.ops.adam import DeepSpeedCPUAdam
        self.p = torch.nn.Parameter(start.to(dtype))
        self.p.grad = gradient.to(dtype)
        self.optimizer = DeepSpeedCPUAdam([self.p], adamw_mode=True, fp32_optimizer_states=dtype == F32)

    def step(self):
        self.optimizer.step()


def contenders(start, gradient):
    """(name, bytes that a step reads and writes for each parameter, what makes it)."""
    yield "PyTorch fused, float32", 28, lambda: Torch(start, gradient, False)
    yield "PyTorch fused, float32, both casts", 40, lambda: Torch(start, gradient, True)
    yield "lowp, float32 master and moments", 28, lambda: Lowp(
        start, gradient, storage="master", state_dtype=F32, rounding="nearest")
    yield "lowp, float32 master, bf16 moments, stochastic", 20, lambda: Lowp(
        start, gradient, storage="master", rounding="stochastic")
    for rounding in ("stochastic", "stochastic_fast", "nearest"):
        yield f"lowp, all bf16, {rounding}", 14, lambda: Lowp(start, gradient, rounding=rounding)
    try:
        DeepSpeed(torch.zeros(8), torch.zeros(8, dtype=BF16), F32).step()
    except Exception as error:
        print(f"without DeepSpeed: {error}", file=sys.stderr)
    else:
        yield "DeepSpeed, float32", 28, lambda: DeepSpeed(start, gradient, F32)
        yield "DeepSpeed, all bf16, nearest", 14, lambda: DeepSpeed(start, gradient, BF16)


def main(parameters=16_000_000, rounds=31):
    torch.manual_seed(1)
    start = torch.randn(parameters)
    gradient = (0.01 * torch.randn(parameters)).to(BF16)
    made = [(name, size, make()) for name, size, make in contenders(start, gradient)]
    times = {name: [] for name, _, _ in made}
    for turn in range(rounds + 2):
        for name, _, each in made:
            begin = time.perf_counter()
            each.step()
            if turn >= 2:
                times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    yield f"{parameters} parameters, {torch.get_num_threads()} threads of {processor()},"
    yield f"PyTorch {torch.__version__}, {datetime.date.today()}:\n"
    yield "| step | bytes | ns/parameter | GB/s | times as fast |\n|---|---|---|---|---|"
    for name, size, _ in made:
        ns = medians[name] * 1e9 / parameters
        ratio = medians["PyTorch fused, float32"] / medians[name]
        yield f"| {name} | {size} | {ns:.2f} | {size / ns:.0f} | {ratio:.2f} |"


def processor():
    facts = dict(re.findall(r"^([^\t:]+)\t*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M))
    return f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"


def put_into(path, lines):
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"offload.py: {path} does not have {BEGIN.strip()} and {END.strip()} once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


if sys.argv[1:2] == ["--into"]:
    put_into(pathlib.Path(sys.argv[2]), list(main(*map(int, sys.argv[3:]))))
else:
    for line in main(*map(int, sys.argv[1:])):
        print(line)
