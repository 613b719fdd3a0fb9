# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch's launches by the method of timing.cuh."""
import gc
import sys

import torch

from peer_case import LEAST_LAUNCHES, REPLAYS, WARM_UPS, quantiles
from torch_cases import build


def seconds_of(launch, sets, launches):
    """Seconds of one launch, and whether they were replayed as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for i in range(max(sets, 3)):
            launch(i)
    torch.cuda.synchronize()

    def run_all():
        for i in range(launches):
            launch(i)

    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            run_all()
        run, is_graph = graph.replay, True
    except RuntimeError as e:
        print(f"no graph: {e}", file=sys.stderr)
        run, is_graph = run_all, False
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        for _ in range(WARM_UPS):
            run()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
        marks[0].record()
        for mark in marks[1:]:
            run()
            mark.record()
    torch.cuda.synchronize()
    samples = [a.elapsed_time(b) * 1e-3 / launches for a, b in zip(marks, marks[1:])]
    return quantiles(samples), is_graph


def copy_seconds(bytes_):
    half = bytes_ // 32 * 16
    sets = max(2, -(-(512 << 20) // half))
    source = torch.empty(sets, half // 4, device="cuda", dtype=torch.int32).random_()
    target = torch.empty_like(source)
    times, _ = seconds_of(lambda i: target[i % sets].copy_(source[i % sets]), sets,
                          -(-LEAST_LAUNCHES // sets) * sets)
    return times["median"] * bytes_ / (2 * half)


def measure(case):
    def clean():
        gc.collect()
        torch.cuda.empty_cache()

    before = copy_seconds(case.bytes)
    clean()
    times, is_graph = seconds_of(build(case), case.sets, case.launches())
    clean()
    after = copy_seconds(case.bytes)
    clean()
    return {**times, "graph": is_graph,
            "share": (before + after) / 2 / times["median"],
            "copy": {"way": "Tensor.copy_", "before": before, "after": after}}
