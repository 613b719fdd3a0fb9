# SPDX-License-Identifier: Apache-2.0
"""Compares steps of lowp_torch's libraries for a GPU with those for the processor, bit for bit.
Memory comes from the CUDA runtime, so that an emulated one serves.

    gpu_test.py build   compiles a library and loads it beside PyTorch: it needs no other runtime
    gpu_test.py step    steps on the GPU that the runtime has, without PyTorch: also storages that keep
                        more than the weight, a captured graph, and what functional.py calls
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
         ("direction", "float16", "plain", "none", "stochastic"),
         ("adamw", "bfloat16", "kahan", "bfloat16", "nearest"),
         ("adamw", "bfloat16", "master", "float32", "nearest"),
         ("adamw", "float16", "corrected8", "companded", "stochastic")]
STORED = KINDS[0]  # whose learning rate and step number lie in device memory
SIZES = {3: 1, 4: 5000, 7: 256, 8: 1000}  # by numbers, which have gaps
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "uint8": 1, "companded": 1, "none": 0}
BESIDE = {"plain": 0, "kahan": 2, "master": 4, "corrected8": 1}
SCALES = {"uint8": (4, 256), "companded": (2, 32)}  # bytes of a scale, codes that share it


def build():
    import torch
    from lowp_torch import optimizer
    optimizer._library(*KINDS[0], capability=CAPABILITY)
    path = compiler.built(KINDS[0], CAPABILITY)
    with open(path, "rb") as file:
        assert b"libcudart.so" not in file.read()
    print(f"PyTorch {torch.__version__}: a library of nvcc loaded beside it")


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
        ("scratch", ctypes.c_void_p), ("stored", ctypes.c_void_p), ("reports", ctypes.c_int32), ("checked", ctypes.c_int32),
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

    def put(self, address, data):
        ctypes.memmove(address, data, len(data))

    def get(self, address, size):
        return ctypes.string_at(address, size)

    def wait(self):
        pass


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

    def put(self, address, data):
        self.wait()
        self.call("cudaMemcpy", ctypes.c_void_p(address), data, ctypes.c_size_t(len(data)), 1)

    def wait(self):
        self.call("cudaStreamSynchronize", ctypes.c_void_p(self.stream))

    def get(self, address, size):
        data = ctypes.create_string_buffer(size)
        self.call("cudaMemcpy", data, ctypes.c_void_p(address), ctypes.c_size_t(size), 2)
        return data.raw


def resynced(tensors, memory, library, checks):
    """Returns how many blocks were written from outside. Without `checks` they are only recorded."""
    for t in tensors:
        t.checks = checks
    if not memory.stream:
        before = sum(t.restarted for t in tensors)
        library.lowp_torch_resync(tensors, len(tensors))
        return sum(t.restarted for t in tensors) - before
    count = memory.place(b"\0" * 8)
    library.lowp_torch_resync_on_gpu.restype = ctypes.c_bool
    settings = Settings(stream=memory.stream)
    assert library.lowp_torch_resync_on_gpu(tensors, len(tensors), ctypes.byref(settings),
                                            ctypes.c_void_p(count)), settings.error
    memory.wait()
    return struct.unpack("<Q", memory.get(count, 8))[0]


def run(kind, memory, library, reports):
    """Returns all that three steps have written. Between them weights are written from outside."""
    optimizer, element, storage, moment, _ = kind
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
        if BESIDE[storage]:
            arrays["extra"] = b"\0" * (size * BESIDE[storage])
            arrays["written"] = b"\0" * (8 * -(-size // 256))
            if storage == "master":  # the weights of bfloat16, as float32
                codes = struct.unpack(f"<{size}H", arrays["p"])
                arrays["extra"] = struct.pack(f"<{size}I", *(code << 16 for code in codes))
        for name, data in arrays.items():
            setattr(t, name, memory.place(data))
            written.append((getattr(t, name), len(data)))
    outcomes = []
    if BESIDE[storage]:
        resynced(tensors, memory, library, False)
    for step in range(1, 4):
        if BESIDE[storage] and step > 1:
            for t in tensors:  # its last element; a step finds it, or resync does
                memory.put(t.p + 2 * (t.n - 1), b"\0\x3d")
            if step == 3:
                outcomes += [resynced(tensors, memory, library, True)]
                assert outcomes[-1] == len(tensors), outcomes
        for t in tensors:
            t.g = memory.place(numbers(t.n, element, source))
        settings = Settings(1e-2, 0.9, 0.99, 1e-8, 0.1, 2**40 + 7, step, memory.stream, None, None, reports, False)
        if reports and memory.stream:
            count = max(SIZES) - min(SIZES) + 1
            library.lowp_torch_report_size.restype = ctypes.c_size_t
            settings.scratch = memory.place(b"\xff" * count * library.lowp_torch_report_size())
        assert library.lowp_torch_step(tensors, len(tensors), ctypes.byref(settings)), settings.error
        if reports:
            outcomes += [tuple(getattr(t.outcome, field) for field, _ in Report._fields_) for t in tensors]
    memory.wait()
    return [memory.get(*each) for each in written], outcomes


def replayed(memory, library):
    """Returns what five steps write whose number and rate lie in memory: on a GPU, replays of a graph."""
    library.lowp_torch_step.restype = ctypes.c_bool
    source, tensors = random.Random(2), (Tensor * len(SIZES))()
    stored = memory.place(b"\0" * 24)
    for t, (number, size) in zip(tensors, SIZES.items()):
        t.n, t.number, t.name = size, number, b"w"
        t.p, t.g = memory.place(numbers(size, "bfloat16", source)), memory.place(b"\0" * 2 * size)
        t.m, t.v = memory.place(b"\0" * 2 * size), memory.place(b"\0" * 2 * size)
    settings = Settings(0.0, 0.9, 0.99, 1e-8, 0.1, 2**40 + 7, 9, memory.stream, None, stored, False, False)

    def step():
        assert library.lowp_torch_step(tensors, len(tensors), ctypes.byref(settings)), settings.error

    graph, replay = ctypes.c_void_p(), ctypes.c_void_p()
    if memory.stream:
        stream = ctypes.c_void_p(memory.stream)
        memory.call("cudaStreamBeginCapture", stream, 0)
        step()
        memory.call("cudaStreamEndCapture", stream, ctypes.byref(graph))
        memory.call("cudaGraphInstantiate", ctypes.byref(replay), graph, ctypes.c_ulonglong(0))
    def all_of_them():
        memory.wait()
        return [memory.get(address, 2 * t.n) for t in tensors for address in (t.p, t.m, t.v)]

    for number in (1, 2, 3, 0, 4, 5):
        for t in tensors:
            memory.put(t.g, numbers(t.n, "bfloat16", source))
        before = all_of_them()
        memory.put(stored, struct.pack("<dqq", 1e-2 / (number or 1), number, min(SIZES) << 32))
        if memory.stream:
            memory.call("cudaGraphLaunch", replay, stream)
        else:
            step()
        assert (before == all_of_them()) == (number == 0), number  # a step of 0 is skipped
    return all_of_them()


class Float(float):
    """A float of 32 bits in a call."""


class Calls:
    """Calls the functions of a library, and keeps what they write."""

    def __init__(self, memory, library):
        self.memory, self.library, self.written = memory, library, []
        if memory.stream:
            library.lowp_on_stream(ctypes.c_void_p(memory.stream))

    def __call__(self, name, *arguments):
        """Calls a function. An argument (bytes,) is memory that it writes, from zeros; a str is a text.
        Returns the addresses of all that was written."""
        given = []
        for each in arguments:
            if isinstance(each, str):
                given.append(ctypes.c_char_p(each.encode()))
                continue
            if isinstance(each, tuple):
                each = self.place(b"\0" * each[0])
            kind = ctypes.c_float if isinstance(each, Float) else ctypes.c_double
            given.append(kind(each) if isinstance(each, float) else ctypes.c_uint64(each & 2**64 - 1))
        function = getattr(self.library, f"lowp_{name}")
        function.restype = ctypes.c_char_p
        error = function(*given)
        assert error is None, (name, error)
        return [address for address, _ in self.written]

    def place(self, data):
        """Returns memory with the data that a call will change."""
        self.written.append((self.memory.place(data), len(data)))
        return self.written[-1][0]

    def read(self):
        self.memory.wait()
        return [self.memory.get(*each) for each in self.written]


def rows(memory, library):
    """Returns what the functions of rows write, of bfloat16."""
    source, (count, columns) = random.Random(3), (7, 300)
    n = count * columns
    x, dy, u = (memory.place(numbers(n, "bfloat16", source)) for _ in range(3))
    weight, bias = (memory.place(numbers(columns, "bfloat16", source)) for _ in range(2))
    call = Calls(memory, library)
    of_rows, of_row, of_columns = (2 * n,), (4 * count,), (4 * columns,)
    for is_log in (0, 1):
        y = call("softmax", x, columns, of_rows, count, columns, is_log)[-1]
        call("softmax_backward", y, dy, of_rows, count, columns, is_log)
    rms = call("rms_norm", x, columns, weight, of_rows, of_row, count, columns, 1e-6)[-1]
    call("rms_norm_backward", x, columns, weight, dy, rms, of_rows, of_columns, count, columns, 0)
    call("add_rms_norm", x, u, weight, of_rows, of_rows, of_row, count, columns, 1e-6)
    *_, mean, deviation = call("layer_norm", x, columns, weight, bias, of_rows, of_row, of_row, count, columns, 1e-5)
    call("layer_norm_backward", x, columns, weight, dy, mean, deviation, of_rows, of_columns, of_columns, count, columns)
    for activation in range(3):
        call("activation", activation, x, of_rows, n)
        call("activation_backward", activation, x, dy, of_rows, n)
        call("gated", activation, x, columns, u, columns, of_rows, count, columns)
        call("gated_backward", activation, x, u, dy, of_rows, of_rows, n)
    labels = memory.place(struct.pack("<7q", 3, 299, -100, 0, 7, 7, 100))
    scales = memory.place(struct.pack("<7f", 0.5, 0.5, 0.5, 3.0, 0.0, -1e-3, 2e4))
    for smoothing in (0.0, 0.1):  # a GPU takes two rows at a time
        scratch = memory.place(b"\0" * 4 * columns)
        call("cross_entropy", x, columns, labels, of_row, scratch, 2, count, columns, -100, Float(smoothing))
        call("cross_entropy_backward", scales, x, columns, labels, of_row, of_rows, count, columns, -100,
             Float(smoothing))
    return call.read()


def special_floats(count, source):
    """Returns infinities, NaN, zeros, middles, and floats of every exponent."""
    some = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 448.0, 464.0, 465.0, 57344.0, 65504.0, 65520.0, 1e-45]
    some += [source.uniform(-2, 2) * 2.0 ** source.randrange(-140, 126) for _ in range(100)]
    return struct.pack(f"<{count}f", *some, *(source.gauss(0, 1) for _ in range(count - len(some))))


def elements(memory, library):
    """Returns what casts, sums and averages write."""
    source, n = random.Random(4), 1000
    call, x = Calls(memory, library), memory.place(special_floats(n, source))
    seed, stream, offset = 2**63 + 5, 7, 2**40 + 3  # no begin of a group of random bits
    for rounding in range(3):
        for dtype, width in enumerate((4, 2, 2, 1, 1)):
            for saturates in (-1, 0, 1) if dtype > 2 and rounding == 0 else (-1,):
                call("cast", x, 0, (width * n,), dtype, n, rounding, seed, stream, offset, saturates)
        for dtype, name in enumerate(("float32", "bfloat16", "float16")):
            p = numbers(n, name, source)
            call("fused_add", memory.place(p), dtype, x, 0, (len(p),), n, -0.01, rounding, seed, stream, offset)
            in_place = call.place(p)
            call("fused_add", in_place, dtype, x, 0, in_place, n, 0.5, rounding, seed, stream, offset)
    for dtype, name in enumerate(("float32", "bfloat16", "float16")):
        weights = memory.place(numbers(n, name, source))
        call("ema", call.place(numbers(n, name, source)), weights, n, dtype, 0.999, 3, seed, 2**31 + 1)
    return call.read()


def blocks(memory, library_of):
    """Returns what quantization and its inverse write."""
    source, (count, columns), result = random.Random(5), (32, 64), []
    n = count * columns
    values = [source.gauss(0, 1) * 2.0 ** source.randrange(-6, 7) for _ in range(n)]
    x, largest = (memory.place(struct.pack(f"<{len(each)}f", *each)) for each in (values, [max(map(abs, values))]))
    for recipe, dtype, block, width, scale in (("te_2_20_nvfp4_1x16", 5, 16, 4, 1), ("te_2_20_mx", 3, 32, 8, 1),
                                               ("te_2_20_mx", 4, 32, 8, 1)):
        for rounding in range(3):
            call = Calls(memory, library_of(recipe))
            codes, scales, tensor = call("quantize", x, n, columns, recipe, dtype, (n * width // 8,),
                                         (n // block * scale,), (4,), largest, rounding, 11, 3)
            result += call.read()
        call = Calls(memory, library_of("none"))
        call("dequantize", codes, scales, tensor, n, block, dtype, (4 * n,))
        result += call.read()
    return result


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
        settings = Settings(lr, 0.9, 0.99, 1e-8, 0.1, 1, 1, device.stream, None, None, 0, False)
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
    gpu = ctypes.CDLL(compiler.built(STORED, CAPABILITY, True))
    want, got = replayed(Host(), ctypes.CDLL(compiler.built(STORED))), replayed(device, gpu)
    assert want == got and want[0] != want[3]
    print("replays of a graph: the bits of the processor")
    def library(*kind):
        return lambda capability: ctypes.CDLL(compiler.built(kind, capability))

    def library_of_recipes(capability):
        return lambda recipe: library("blocks", *([recipe] if capability else []))(capability)

    for function, of in ((elements, library("elements")), (blocks, library_of_recipes),
                         (rows, library("rows", "bfloat16"))):
        want, got = (function(memory, of(capability)) for memory, capability in ((Host(), None), (device, CAPABILITY)))
        assert len(want) > 20 and all(any(each) for each in want), function
        wrong = [i for i, (a, b) in enumerate(zip(want, got, strict=True)) if a != b]
        assert not wrong, (function, wrong)
        print(f"functions of {function.__name__}: the bits of the processor")


{"build": build, "step": step}[sys.argv[1]]()
