# SPDX-License-Identifier: Apache-2.0
"""Times lowp_torch.functional beside torch.nn.functional on one thread, and prints the table of
README.md. Both run in turns in one process; a number is a median of processor times.

    python bench/torch/functional.py [rounds]
"""

import datetime
import os
import pathlib
import statistics
import sys
import time

import torch
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "torch"))
import lowp_torch.functional as lowp  # noqa: E402

ROWS, COLUMNS, CLASSES = 256, 1024, 8192
SECONDS = 0.02  # of a measurement
PIECES = {  # rows, columns, lowp, PyTorch
    "softmax": (COLUMNS, lambda m, x, up, w, b, t: m.softmax(x, -1)),
    "log_softmax": (COLUMNS, lambda m, x, up, w, b, t: m.log_softmax(x, -1)),
    "rms_norm": (COLUMNS, lambda m, x, up, w, b, t: m.rms_norm(x, (COLUMNS,), w, 1e-6)),
    "layer_norm": (COLUMNS, lambda m, x, up, w, b, t: m.layer_norm(x, (COLUMNS,), w, b)),
    "gelu": (COLUMNS, lambda m, x, up, w, b, t: m.gelu(x)),
    "gelu, tanh": (COLUMNS, lambda m, x, up, w, b, t: m.gelu(x, approximate="tanh")),
    "silu": (COLUMNS, lambda m, x, up, w, b, t: m.silu(x)),
    "gated_silu": (COLUMNS, lambda m, x, up, w, b, t:
                   m.gated_silu(x, up) if m is lowp else m.silu(x) * up),
    "cross_entropy": (CLASSES, lambda m, x, up, w, b, t: m.cross_entropy(x, t)),
}


def forward(function, module, inputs):
    return lambda: function(module, *inputs)


def both_ways(function, module, inputs, dy):
    inputs = [*(t.clone().requires_grad_() for t in inputs[:-1]), inputs[-1]]

    def call():
        y = function(module, *inputs)
        y.backward(dy if y.dim() else None)
        for t in inputs[:-1]:
            t.grad = None
    return call


def medians(calls, rounds):
    """Returns the microseconds of each call."""
    times = [[] for _ in calls]
    counts = []
    for call in calls:
        call()
        begin = time.process_time()
        call()
        counts.append(max(1, round(SECONDS / max(1e-6, time.process_time() - begin))))
    for _ in range(rounds):
        for call, count, taken in zip(calls, counts, times):
            begin = time.process_time()
            for _ in range(count):
                call()
            taken.append((time.process_time() - begin) / count * 1e6)
    return [statistics.median(taken) for taken in times]


def processor():
    facts = {}
    for line in open("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        facts.setdefault(name.strip(), value.strip())
    return f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    print(f"One thread of {processor()}, with {os.cpu_count()} processors and a load of {load:.0f} beside it.\n"
          f"PyTorch {torch.__version__}, {datetime.date.today()}, {rounds} rounds.\n")
    print("| function | dtype | µs, PyTorch | µs, lowp | times as fast | with the derivative |")
    print("|---|---|---|---|---|---|")
    for name, (columns, function) in PIECES.items():
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            torch.manual_seed(0)
            rows = ROWS * COLUMNS // columns
            x, up, dy = (torch.randn(rows, columns).to(dtype) for _ in range(3))
            w, b = torch.rand(columns).to(dtype), torch.rand(columns).to(dtype)
            inputs = [x, up, w, b, torch.randint(0, columns, (rows,))]
            one = medians([forward(function, module, inputs) for module in (F, lowp)], rounds)
            two = medians([both_ways(function, module, inputs, dy) for module in (F, lowp)], rounds)
            print(f"| {name} | {str(dtype)[6:]} | {one[0]:.0f} | {one[1]:.0f} | {one[0] / one[1]:.2f} | "
                  f"{two[0] / two[1]:.2f} |", flush=True)
    x = torch.ones(1, 8)
    y = x.clone().requires_grad_()
    calls = [lambda: F.silu(x), lambda: lowp.silu(x), lambda: F.silu(y), lambda: lowp.silu(y)]
    numbers = medians(calls, rounds)
    print("\nA call of silu on 8 elements takes {1:.1f} µs, PyTorch's {0:.1f}; with a derivative to come, "
          "{3:.1f} and {2:.1f}.".format(*numbers))


main()
