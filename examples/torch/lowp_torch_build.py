# SPDX-License-Identifier: Apache-2.0
"""Compiles lowp_torch.cpp: a library for each kind of parameters. lowp_torch.py compiles a kind when
a step first needs it, setup.py all of them."""

import functools
import hashlib
import itertools
import os
import pathlib
import shlex
import subprocess
import tempfile

_here = pathlib.Path(__file__).resolve().parent
_include = _here.parents[1] / "include"
_settings = ("ELEMENT", "STORAGE", "MOMENT", "ROUNDING")
_in_cpp = {"float32": "float", "nearest": "nearest_even"}

ROUNDINGS = ("nearest", "stochastic", "stochastic_fast")
MOMENTS = ("float32", "bfloat16")
STORAGES = {"plain": ("float32", "bfloat16", "float16"), "kahan": ("bfloat16", "float16"),
            "master": ("bfloat16", "float16")}
# (element, storage, moment, rounding); float32 throughout rounds nothing.
KINDS = [(element, storage, moment, rounding)
         for storage, elements in STORAGES.items() for element in elements
         for moment, rounding in itertools.product(MOMENTS, ROUNDINGS)
         if (element, moment) != ("float32", "float32") or rounding == "nearest"]


def build(kind, target):
    """Compiles the library of a kind. It appears whole or not at all, so that several processes may do
    this at once."""
    compiler = os.environ.get("CXX", "c++")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as scratch:
        made = os.path.join(scratch, "library.so")
        command = [*shlex.split(compiler), "-std=c++20", "-O2", "-fopenmp", "-shared", "-fPIC",
                   f"-I{_include}", str(_here / "lowp_torch.cpp"), "-o", made]
        command += [f"-DLOWP_TORCH_{name}={_in_cpp.get(value, value)}"
                    for name, value in zip(_settings, kind)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise RuntimeError(f"lowp_torch needs a C++ compiler, and {compiler} (CXX) is not "
                               "installed") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"lowp_torch does not compile:\n{error.stderr}") from None
        os.replace(made, target)


@functools.cache
def _cache():
    """The folder of this version's libraries."""
    version = hashlib.sha256(os.environ.get("CXX", "").encode())  # which may be another compiler
    for path in sorted(_include.rglob("*.hpp")) + [_here / "lowp_torch.cpp", pathlib.Path(__file__)]:
        version.update(path.read_bytes())
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    return os.path.join(root, "lowp_torch", version.hexdigest()[:16])


def built(kind):
    """Returns the path of a kind's library. The first call compiles it."""
    path = os.path.join(_cache(), "_".join(kind) + ".so")
    if not os.path.exists(path):
        build(kind, path)
    return path
