# SPDX-License-Identifier: Apache-2.0
"""Compiles the libraries: engine.cpp for every kind of parameters, and step.cpp for a kind whose steps
are fused. optimizer.py compiles what a step first needs, unless setup.py has. It needs no PyTorch."""

import functools
import hashlib
import itertools
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

_here = pathlib.Path(__file__).resolve().parent
_include = _here / "include"  # of pip, or of the clone
if not _include.is_dir():
    _include = _here.parents[2] / "include"
_settings = ("OPTIMIZER", "ELEMENT", "STORAGE", "MOMENT", "ROUNDING", "GRADIENT")
_in_cpp = {"nearest": "nearest_even"}

ROUNDINGS = ("nearest", "stochastic", "stochastic_fast")
_moments = ("float32", "bfloat16", "uint8", "companded")
MOMENTS = {"adamw": _moments, "lion": _moments, "direction": ("none",)}
STORAGES = {"plain": ("float32", "bfloat16", "float16"),
            **dict.fromkeys(("kahan", "master", "corrected8", "corrected16"), ("bfloat16", "float16"))}


def is_exact(element, moment):
    """float32 throughout rounds nothing."""
    return element == "float32" and moment in ("float32", "none")


# (optimizer, element, storage, moment, rounding), and the gradient's dtype if it is another one.
KINDS = [(optimizer, element, storage, moment, rounding)
         for optimizer, moments in MOMENTS.items()
         for storage, elements in STORAGES.items() for element in elements
         for moment, rounding in itertools.product(moments, ROUNDINGS)
         if rounding == "nearest" or not is_exact(element, moment)]


# The libraries of host.cpp and of engine.cpp.
HOST, ENGINE = ("host",), ("engine",)

# Those whose steps are fused. The engine steps the others, with the same bits.
COMMON = [tuple(kind.split("_", 4)) for kind in (
    "adamw_float32_plain_float32_nearest adamw_float32_plain_bfloat16_stochastic "
    "adamw_float32_plain_bfloat16_stochastic_fast adamw_bfloat16_plain_float32_nearest "
    "adamw_bfloat16_plain_float32_stochastic adamw_bfloat16_plain_float32_stochastic_fast "
    "adamw_bfloat16_plain_bfloat16_nearest adamw_bfloat16_plain_bfloat16_stochastic "
    "adamw_bfloat16_plain_bfloat16_stochastic_fast adamw_bfloat16_plain_uint8_stochastic "
    "adamw_bfloat16_plain_companded_stochastic adamw_bfloat16_kahan_float32_nearest "
    "adamw_bfloat16_kahan_bfloat16_nearest adamw_bfloat16_kahan_bfloat16_stochastic "
    "adamw_bfloat16_master_float32_nearest adamw_bfloat16_master_bfloat16_nearest "
    "adamw_bfloat16_master_bfloat16_stochastic adamw_bfloat16_corrected8_companded_stochastic "
    "adamw_bfloat16_corrected16_float32_nearest adamw_bfloat16_corrected16_bfloat16_nearest "
    "adamw_bfloat16_corrected16_bfloat16_stochastic lion_bfloat16_plain_bfloat16_stochastic "
    "lion_bfloat16_plain_uint8_stochastic direction_bfloat16_plain_none_stochastic").split()]
assert set(COMMON) <= set(KINDS)

# The libraries of functional.py: rows.cpp for an element, elements.cpp and blocks.cpp. On a GPU,
# blocks.cpp for a recipe too.
FUNCTIONAL = [("rows", element) for element in STORAGES["plain"]] + [("elements",), ("blocks",)]
_SOURCES = {name for name, *_ in [HOST, ENGINE, *FUNCTIONAL]}


def build(kind, target, capability=None, is_stored=False):
    """Compiles a library, by nvcc if a GPU's compute capability is given, as "90". One that is_stored
    reads the learning rate and the step's number in memory of the GPU.
    It appears whole or not at all, so that several processes may do this at once."""
    if capability:
        toolkit = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "nvcc")
        compiler = os.environ.get("CUDACXX") or shutil.which("nvcc") or toolkit
        name = "an nvcc"
        # nvcc links its own runtime: that of PyTorch may be of another version.
        flags = ["-x", "cu", "-Xcompiler", "-fPIC", *(["-DLOWP_TORCH_STORED"] if is_stored else []),
                 f"-gencode=arch=compute_{capability},code=[sm_{capability},compute_{capability}]"]
    else:
        compiler, name, flags = os.environ.get("CXX", "c++"), "a C++ compiler", ["-fopenmp", "-fPIC"]
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(target)) as scratch:
        made = os.path.join(scratch, "library.so")
        command = [*shlex.split(compiler), "-std=c++20", "-O2", "-shared", *flags, f"-I{_include}",
                   str(_source_of(kind)), "-o", made]
        # ("rows", element) begins as (optimizer, element, ...) does.
        command += [f"-DLOWP_TORCH_{name}={_in_cpp.get(value, value)}"
                    for name, value in zip(_settings, kind) if kind not in (HOST, ENGINE)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise RuntimeError(f"lowp_torch needs {name}, and {compiler} "
                               f"({'CUDACXX' if capability else 'CXX'}) is not installed") from None
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"lowp_torch does not compile:\n{error.stderr}") from None
        os.replace(made, target)


def _source_of(kind):
    return _here / (f"{kind[0]}.cpp" if kind[0] in _SOURCES else "step.cpp")


@functools.cache
def _cache(source):
    """The folder of this version's libraries."""
    compilers = [os.environ.get(name, "") for name in ("CXX", "CUDACXX", "NVCC_APPEND_FLAGS")]
    version = hashlib.sha256(repr(compilers).encode())
    headers = [] if source.name == "host.cpp" else [*sorted(_include.rglob("*.*h*")), *sorted(_here.glob("*.hpp"))]
    for path in [*headers, source, pathlib.Path(__file__)]:
        version.update(path.read_bytes())
    root = os.environ.get("TORCH_EXTENSIONS_DIR") or os.path.expanduser("~/.cache/torch_extensions")
    return os.path.join(root, "lowp_torch", version.hexdigest()[:16])


def built(kind, capability=None, is_stored=False):
    """Returns the path of a kind's library. The first call compiles it."""
    name = "_".join([*kind, *([f"sm{capability}"] if capability else []), *(["stored"] if is_stored else [])]) + ".so"
    path = os.path.join(_cache(_source_of(kind)), name)
    if not os.path.exists(path):
        build(kind, path, capability, is_stored)
    return path
