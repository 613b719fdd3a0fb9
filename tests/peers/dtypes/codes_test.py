# SPDX-License-Identifier: Apache-2.0
"""Compares the lines of `codes` with every floating type of each system, in both directions."""

import ctypes
import json
import pathlib
import re
import struct
import subprocess
import sys

import gguf
import ml_dtypes
import numpy
import nvidia.nccl
import onnx
import safetensors
import safetensors.torch
import torch

lines = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
ours = {row["numpy"]: row for row in map(json.loads, lines.splitlines())}


def compare(system, theirs):
    """Theirs maps NumPy's names to codes."""
    known = {name: row[system] for name, row in ours.items() if system in row}
    if not theirs or known != theirs:
        sys.exit(f"{system}: lowp has {known}, the system has {theirs}")
    print(f"{system}: {len(theirs)} types")


def constants(header, pattern):
    found = re.findall(rf"\b({pattern})\s*=\s*(\d+)", header.read_text())
    return {name: int(code) for name, code in found}


def bits(name):
    return ml_dtypes.finfo(name).bits


# NumPy has the names of all others here.
names = ["float16", "float32", "float64"]
names += [name for name in dir(ml_dtypes) if re.match("b?float", name)]
compare("numpy", {numpy.dtype(name).name: name for name in names})

compare(
    "onnx",
    {
        onnx.helper.tensor_dtype_to_np_dtype(code).name: code
        for name, code in onnx.TensorProto.DataType.items()
        if re.match("B?FLOAT|DOUBLE", name)
    },
)

header = pathlib.Path(torch.__path__[0], "include/ATen/dlpack.h")
codes = constants(header, r"kDL(?:Bf|F)loat\w*")
plain = dict.fromkeys(["float16", "float32", "float64"], codes.pop("kDLFloat"))
plain |= {"bfloat16": codes.pop("kDLBfloat")}
plain |= {name.removeprefix("kDL").lower(): code for name, code in codes.items()}
compare("dlpack", {name: [code, bits(name), 1] for name, code in plain.items()})

# torch exports a type as its header says.
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
for name, row in ours.items():
    if hasattr(torch, name):
        capsule = torch.zeros(1, dtype=getattr(torch, name)).__dlpack__()
        tensor = ctypes.string_at(pointer_of(capsule, b"dltensor"), 24)  # dtype: the last 4 bytes
        assert list(struct.unpack("BBH", tensor[20:])) == row["dlpack"], name


# safetensors names its types if a file has another one. A file of a known type has its width.
def read(dtype, size):
    described = {"x": {"dtype": dtype, "shape": [64], "data_offsets": [0, size]}}
    text = json.dumps(described).encode()
    return safetensors.deserialize(struct.pack("<Q", len(text)) + text + bytes(size))


try:
    read("none", 64)
except safetensors.SafetensorError as error:
    known = re.findall(r"`(B?F\d\w*)`", str(error))
named = {row["safetensors"]: name for name, row in ours.items() if "safetensors" in row}
compare("safetensors", {named.get(dtype, dtype): dtype for dtype in known})
for dtype, name in named.items():
    read(dtype, 8 * bits(name))
for dtype, theirs in safetensors.torch._TYPES.items():
    if theirs.is_floating_point:
        assert str(theirs) == f"torch.{named[dtype]}", dtype

compare(
    "gguf",
    {
        re.sub("F", "float", kind.name).lower(): int(kind)
        for kind in gguf.GGMLQuantizationType
        if re.fullmatch(r"B?F\d+", kind.name)
    },
)

header = pathlib.Path(nvidia.nccl.__path__[0], "include/nccl.h")
codes = constants(header, r"nccl(?:Bf|F)loat\d\w*")
cuda = {"float8e4m3": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}  # CUDA's names lack the suffix
plain = {name.removeprefix("nccl").lower(): code for name, code in codes.items()}
compare("nccl", {cuda.get(name, name): code for name, code in plain.items()})
