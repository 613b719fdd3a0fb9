# SPDX-License-Identifier: Apache-2.0
"""Files of `files` (python_files.cpp) read by the package safetensors, and the other way round. Of
damaged files ours must accept none that the package refuses."""

import json
import pathlib
import random
import struct
import subprocess
import sys

import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

program, scratch = sys.argv[1], pathlib.Path(sys.argv[2])

DTYPES = {
    "F16": numpy.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
OTHERS = {
    "U8": numpy.uint8,
    "I8": numpy.int8,
    "U16": numpy.uint16,
    "I16": numpy.int16,
    "U32": numpy.uint32,
    "I32": numpy.int32,
    "U64": numpy.uint64,
    "I64": numpy.int64,
    "F32": numpy.float32,
    "F64": numpy.float64,
}


def run(*arguments):
    return subprocess.run(
        [program, *map(str, arguments)], check=True, capture_output=True, text=True
    ).stdout


def codes(array):
    """Bit patterns, so that NaN equals itself."""
    return array.view(f"u{array.dtype.itemsize}")


def theirs(path):
    tensors = safetensors.deserialize(pathlib.Path(path).read_bytes())
    return {name: view for name, view in tensors}


def check_written_by_us():
    path = scratch / "ours.safetensors"
    run("write", path)
    found = theirs(path)
    with safetensors.safe_open(path, framework="np") as file:
        assert file.metadata() == {"format": "np", "text": '"\\\nä'}, file.metadata()
    assert set(found) == {"w", "step", *DTYPES}, sorted(found)
    w = numpy.frombuffer(found["w"]["data"], numpy.float32).reshape(found["w"]["shape"])
    expected = [[0, 1.5, -2.25], [2**-149, numpy.finfo(numpy.float32).max, -0.0]]
    assert (codes(w) == codes(numpy.array(expected, numpy.float32))).all(), w
    assert found["step"]["shape"] == [] and found["step"]["dtype"] == "U64"
    assert found["step"]["data"] == struct.pack("<Q", 0xFEDCBA9876543210)
    for name, dtype in DTYPES.items():
        array = numpy.frombuffer(found[name]["data"], dtype)
        assert found[name]["dtype"] == name
        assert found[name]["shape"] == [2, array.size // 2], found[name]["shape"]
        every = numpy.arange(2 ** (8 * array.itemsize), dtype=f"u{array.itemsize}")
        assert (codes(array) == every).all(), name
    return len(found)


def check_written_by_them():
    path = scratch / "theirs.safetensors"
    generator = numpy.random.default_rng(7)
    arrays = {"empty": numpy.zeros((3, 0, 2), numpy.float32), "scalar": numpy.float32(7)[...]}
    for name, dtype in {**DTYPES, **OTHERS}.items():
        values = generator.integers(0, 256, (3, 5, numpy.dtype(dtype).itemsize), numpy.uint8)
        arrays["t." + name] = values.view(dtype)[..., 0]
    metadata = {"format": "np", "schlüssel": "wert"}
    path.write_bytes(safetensors.numpy.save(arrays, metadata=metadata))
    lines = run("read", path).splitlines()
    found = {}
    for line in lines:
        name, rest = line.split(" ", 1)
        if name == "__metadata__":
            key, value = rest.split("=")
            assert metadata.pop(key) == value, line
            continue
        dtype, shape, data = rest.split(" ")
        found[name] = (dtype, [int(x) for x in shape.split(",") if x], bytes.fromhex(data))
    assert not metadata, metadata
    assert set(found) == set(arrays), sorted(set(found) ^ set(arrays))
    for name, array in arrays.items():
        dtype, shape, data = found[name]
        assert dtype == name.removeprefix("t.") or name in ("empty", "scalar"), name
        assert shape == list(array.shape), name
        assert data == array.tobytes(), name
    return len(found)


def file_of(header, data):
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + data


def their_answer(data):
    try:
        safetensors.deserialize(data)
        return True
    except safetensors.SafetensorError:
        return False


def damaged(generator):
    """Makes a file, mostly wrong: by its meaning or by its bytes."""
    data = bytes(range(24))
    header = {
        "w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "h": {"dtype": "BF16", "shape": [4], "data_offsets": [16, 24]},
        "e": {"dtype": "U8", "shape": [0], "data_offsets": [16, 16]},
        "__metadata__": generator.choice([{"step": "1"}, {}, None]),
    }
    for _ in range(generator.randrange(3)):
        name = generator.choice(["w", "h", "e"])
        numbers = [0, 1, 2, 4, 8, 16, 24, 25, 2**31, 2**32, 2**61, 2**63, 2**64 - 1, 2**64, -1, 2.0]
        key = generator.choice(["shape", "data_offsets", "dtype"])
        if key == "dtype":
            header[name][key] = generator.choice(
                ["F32", "U8", "I64", "F4", "BOOL", "C64", "F6_E2M3", "f32", "", 1, None]
            )
        elif generator.random() < 0.2:
            del header[name][key]
            break
        else:
            values = header[name][key]
            at = generator.randrange(len(values) + 1)
            number = generator.choice(numbers)
            values[at : at + generator.randrange(2)] = [number]
    names = list(header)
    generator.shuffle(names)
    whole = bytearray(file_of({name: header[name] for name in names}, data))
    for _ in range(generator.choice([0, 0, 1, 1, 2])):
        at = generator.randrange(len(whole) - len(data))
        change = generator.randrange(4)
        if change == 0:
            whole[at] = generator.randrange(256)
        elif change == 1:
            del whole[at]
        elif change == 2:
            whole.insert(at, generator.choice(b'"{}[],:0 e\\'))
        else:
            del whole[generator.randrange(len(whole)) :]
            break
        if generator.random() < 0.8 and at >= 8:
            whole[:8] = struct.pack("<Q", max(0, len(whole) - len(data) - 8))
    return bytes(whole)


def check_damage():
    generator = random.Random(11)
    paths, answers, both = [], [], 0
    for i in range(4000):
        data = damaged(generator)
        paths.append(scratch / f"damaged-{i}")
        paths[-1].write_bytes(data)
        answers.append(their_answer(data))
    ours = []
    for first in range(0, len(paths), 500):
        ours += [line == "1" for line in run("accept", *paths[first : first + 500]).split()]
    assert len(ours) == len(answers)
    stricter = 0
    for path, we, they in zip(paths, ours, answers):
        assert they or not we, f"{path} is accepted here and refused by safetensors"
        both += we and they
        stricter += they and not we
        if not (they and not we):
            path.unlink()
    assert both > 500, both
    # Only we refuse these: unknown keys, names that are there twice, space before the header.
    for path in scratch.glob("damaged-*"):
        length = struct.unpack("<Q", path.read_bytes()[:8])[0]
        header = path.read_bytes()[8 : 8 + length]
        seen = []
        json.loads(header, object_pairs_hook=lambda pairs: seen.append([k for k, _ in pairs]))
        known = {"dtype", "shape", "data_offsets"}
        repeated = any(len(set(keys)) < len(keys) for keys in seen)
        unknown = any(known <= set(keys) and set(keys) != known for keys in seen)
        assert repeated or unknown or header[:1].isspace(), f"{path} is refused here and accepted by safetensors"
    return len(paths), both, stricter


print(f"written here, read by safetensors {safetensors.__version__}: {check_written_by_us()} tensors")
print(f"written by it, read here: {check_written_by_them()} tensors")
print("damaged: {} files, accepted by both: {}, refused only here: {}".format(*check_damage()))
