# SPDX-License-Identifier: Apache-2.0
"""Compares steps of lowp_torch's libraries for a GPU with those for the processor, bit for bit.
Memory comes from the CUDA runtime, so that an emulated one serves.

    gpu_test.py build   compiles the libraries and loads them beside PyTorch: they share its runtime
    gpu_test.py step    steps on the GPU that the runtime has, without PyTorch
"""

import ctypes
import os
import random
import struct
import sys

sys.path.append(os.path.join(os.environ["PYTHONPATH"], "lowp_torch"))  # a part that needs no PyTorch
import build as compiler  # noqa: E402

CAPABILITY = "90"
KINDS = [("adamw", "bfloat16", "plain", "bfloat16", "stochastic"),
         ("adamw", "float32", "plain", "uint8", "nearest"),
         ("adamw", "bfloat16", "plain", "companded", "stochastic"),
         ("lion", "bfloat16", "plain", "uint8", "stochastic_fast"),
         ("direction", "float16", "plain", "none", "stochastic")]
SIZES = {3: 1, 4: 5000, 7: 256, 8: 1000}  # by numbers, which have gaps
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "uint8": 1, "companded": 1, "none": 0}
SCALES = {"uint8": (4, 256), "companded": (2, 32)}  # bytes of a scale, codes that share it


def build():
    import torch
    from lowp_torch import optimizer
    for kind in KINDS:
        optimizer._library(*kind, capability=CAPABILITY)
    with open("/proc/self/maps", encoding="utf-8") as file:
        runtimes = {line.split()[-1] for line in file if "libcudart" in line}
    assert len(runtimes) == 1, runtimes
    assert os.path.dirname(os.path.dirname(torch.__file__)) in runtimes.pop()
    print(f"PyTorch {torch.__version__}: {len(KINDS)} libraries of nvcc loaded beside it")


class Report(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("count", "stalled", "overflowed", "nonfinite")]
    _fields_ += [(name, ctypes.c_double) for name in ("applied", "requested")]


class Tensor(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p)
                for name in ("p", "g", "m", "v", "m_scales", "v_scales", "extra", "written")] + [
        ("n", ctypes.c_uint64), ("name", ctypes.c_char_p), ("restarted", ctypes.c_uint64),
        ("number", ctypes.c_uint32), ("checks", ctypes.c_int32), ("outcome", Report),
        ("first", ctypes.c_uint64), ("run", ctypes.c_uint64), ("stride", ctypes.c_uint64),
        ("firsts", ctypes.c_void_p)]


class Settings(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double) for name in ("lr", "beta1", "beta2", "eps", "weight_decay")] + [
        ("seed", ctypes.c_uint64), ("step", ctypes.c_uint64), ("stream", ctypes.c_void_p),
        ("scratch", ctypes.c_void_p), ("reports", ctypes.c_int32), ("checked", ctypes.c_int32),
        ("restarted", ctypes.c_uint64), ("error", ctypes.c_char * 1000)]


def numbers(count, dtype, source):
    """Returns the bytes of random numbers."""
    floats = struct.pack(f"<{count}f", *(source.gauss(0, 1) for _ in range(count)))
    if dtype == "float16":
        return struct.pack(f"<{count}e", *(source.gauss(0, 1) for _ in range(count)))
    if dtype == "bfloat16":
        return b"".join(floats[4 * i + 2:4 * i + 4] for i in range(count))
    return floats


class Host:
    """Memory of the processor."""

    stream = None

    def __init__(self):
        self.held = []

    def place(self, data):
        self.held.append(ctypes.create_string_buffer(len(data) + 32))
        address = (ctypes.addressof(self.held[-1]) + 15) // 16 * 16
        ctypes.memmove(address, data, len(data))
        return address

    def get(self, address, size):
        return ctypes.string_at(address, size)


class Device:
    """Memory of the GPU, and a stream of its own."""

    def __init__(self):
        self.runtime = ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_GLOBAL)  # emulated kernels call it
        stream = ctypes.c_void_p()
        self.call("cudaStreamCreate", ctypes.byref(stream))
        self.stream = stream.value

    def call(self, name, *arguments):
        error = getattr(self.runtime, name)(*arguments)
        assert error == 0, (name, error)

    def place(self, data):
        address = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(address), ctypes.c_size_t(max(len(data), 16)))
        self.call("cudaMemcpy", address, data, ctypes.c_size_t(len(data)), 1)
        return address.value

    def get(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cudaMemcpy", data, ctypes.c_void_p(address), ctypes.c_size_t(size), 2)
        return data.raw


def run(kind, memory, library, reports):
    """Returns all that three steps have written."""
    optimizer, element, _, moment, _ = kind
    moments = {"adamw": ("m", "v"), "lion": ("m",), "direction": ()}[optimizer]
    source = random.Random(1)
    library.lowp_torch_step.restype = ctypes.c_bool
    tensors, written = (Tensor * len(SIZES))(), []
    for t, (number, size) in zip(tensors, SIZES.items()):
        t.n, t.number, t.name = size, number, b"w"
        arrays = {"p": numbers(size, element, source)}
        for name in moments:
            zero = b"\x7f" if (moment, name) == ("uint8", "m") else b"\0"
            arrays[name] = zero * (size * BYTES[moment])
            if moment in SCALES:
                width, block = SCALES[moment]
                arrays[f"{name}_scales"] = b"\0" * (width * -(-size // block))
        for name, data in arrays.items():
            setattr(t, name, memory.place(data))
            written.append((getattr(t, name), len(data)))
    outcomes = []
    for step in range(1, 4):
        for t in tensors:
            t.g = memory.place(numbers(t.n, element, source))
        settings = Settings(1e-2, 0.9, 0.99, 1e-8, 0.1, 2**40 + 7, step, memory.stream, None, reports, False)
        if reports and memory.stream:
            count = max(SIZES) - min(SIZES) + 1
            library.lowp_torch_report_size.restype = ctypes.c_size_t
            settings.scratch = memory.place(b"\xff" * count * library.lowp_torch_report_size())
        assert library.lowp_torch_step(tensors, len(tensors), ctypes.byref(settings)), settings.error
        if reports:
            outcomes += [tuple(getattr(t.outcome, field) for field, _ in Report._fields_) for t in tensors]
    if memory.stream:
        memory.call("cudaStreamSynchronize", ctypes.c_void_p(memory.stream))
    return [memory.get(*each) for each in written], outcomes


def refused(library, device):
    """Wrong settings and memory of the processor are refused before anything runs."""
    library.lowp_torch_step.restype = ctypes.c_bool
    tensors = (Tensor * 1)()
    tensors[0].n, tensors[0].number, tensors[0].name = 4, 0, b"layer.w"
    for name in ("p", "g", "m", "v"):
        setattr(tensors[0], name, device.place(b"\0" * 16))
    for lr, number, words in [(-1.0, 4, b"lr is -1"), (1.0, 0, b"'layer.w'")]:
        if number == 0:
            tensors[0].g = None
        settings = Settings(lr, 0.9, 0.99, 1e-8, 0.1, 1, 1, device.stream, None, 0, False)
        assert not library.lowp_torch_step(tensors, 1, ctypes.byref(settings))
        assert words in settings.error, settings.error


def step():
    device = Device()
    for kind in KINDS:
        gpu = ctypes.CDLL(compiler.built(kind, CAPABILITY))
        cpu = ctypes.CDLL(compiler.built(kind))
        for reports in (False, True):
            want, got = run(kind, Host(), cpu, reports), run(kind, device, gpu, reports)
            assert want == got, (kind, reports)
        if kind == KINDS[0]:
            refused(gpu, device)
        print("_".join(kind), "the bits of the processor")


{"build": build, "step": step}[sys.argv[1]]()
