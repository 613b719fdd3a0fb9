#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch, Triton and JAX on what the programs here time, and writes FOLDER/peers.json.

    python3 bench/cuda/peers.py FOLDER [SECONDS]

SECONDS bounds the whole. FOLDER/update.json, if it is there, says of which sizes the lists of tensors are. Each family runs
in a process of its own; what cannot be imported, compiled or finished is said to be not available.
"""
import importlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
from peer_case import ELEMENTS, REPLAYS, Case

# The module that has measure(case), and the seconds that a family may take.
FAMILIES = {
    "torch": ("torch_timing", 180),
    "torch_compile": ("torch_timing", 120),
    "triton": ("torch_timing", 45),
    "jax": ("jax_timing", 75),
}


def cases_of(family, folder):
    """With the bytes of an element that no launch can do without."""
    stochastic = "cast/float->bfloat16/stochastic/"
    add = "fused_add/bfloat16,bfloat16/"
    scaled = "scaled_cast/bfloat16->float8_e4m3fn/nearest_even,amax/"
    if family == "torch":
        yield Case("cast/float->bfloat16/nearest_even/torch", 6)
        yield Case("cast/bfloat16->float/exact/torch", 6)
        yield Case("cast/float->float16/nearest_even/torch", 6)
        yield Case("cast/float->float8_e4m3fn/nearest_even/torch", 5)
        yield Case(add + "nearest_even/torch", 6)
        yield Case("update/adamw/bfloat16,bfloat16,bfloat16,bfloat16/nearest_even/torch_fused", 14)
        yield from lists_of(folder)
        for form, size in (("float", 4), ("bfloat16", 2), ("float16", 2)):
            for columns in (128, 1024, 8192):
                yield Case(f"softmax/{form}/{columns}/torch", 2 * size)
        for name, bytes_, columns in (("rms_norm", 4, (128, 1024, 4096)), ("layer_norm", 4, (128, 1024, 4096)),
                                      ("log_softmax", 4, (1024,)), ("softmax_backward", 6, (1024,)),
                                      ("rms_norm_backward", 6, (1024, 4096)),
                                      ("layer_norm_backward", 6, (1024, 4096))):
            for each in columns:
                yield Case(f"{name}/bfloat16/{each}/torch", bytes_)
        classes = 50304
        elements = ELEMENTS // classes // 4 * 4 * classes
        yield Case(f"cross_entropy/bfloat16/{classes}/torch", 4, elements)
        yield Case("gelu/bfloat16/torch", 4)
        yield Case("gelu_tanh/bfloat16/torch", 4)
        yield Case(stochastic + "torch_eager", 6)
        yield Case(add + "stochastic/torch_eager", 6)
        yield Case(scaled + "torch_eager", 3)
    elif family == "torch_compile":
        yield Case(stochastic + "torch_compile", 6)
        yield Case(add + "stochastic/torch_compile", 6)
        yield Case(scaled + "torch_compile", 3)
    elif family == "triton":
        yield Case(stochastic + "triton_randint4x", 6)
    elif family == "jax":
        yield Case(stochastic + "jax_threefry", 6)
        yield Case(stochastic + "jax_rbg", 6)


def lists_of(folder):
    path = folder / "update.json"
    for row in json.loads(path.read_text())["rows"] if path.exists() else []:
        if "tensors" in row:
            name = row["name"].replace("/stochastic/lowp", "/nearest_even/torch_fused")
            yield Case(name, 14, row["elements"], row["sets"], row["tensors"])


def reason_of(error):
    text = (str(error).strip().splitlines() or ["no message"])[0]
    return f"{type(error).__name__}: {text}"[:200]


def row_of(case, **found):
    return {"name": case.name, "elements": case.elements, **found}


def run_family(family, folder):
    """Prints a line of JSON for the version of the library, and one for each row."""
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # a pool of them can outlive this process
    library = family.split("_")[0]
    version = importlib.import_module(library).__version__
    print(json.dumps({"versions": {library: version}}), flush=True)
    measure = importlib.import_module(FAMILIES[family][0]).measure
    for case in cases_of(family, folder):
        try:
            times = measure(case)
            row = row_of(case, bytes=case.bytes, sets=case.sets, launches=case.launches(),
                         replays=REPLAYS, **times,
                         gigabytes_per_second=case.bytes / times["median"] * 1e-9)
        except Exception as e:  # whatever a peer throws is its answer
            row = row_of(case, not_available=reason_of(e))
        print(json.dumps(row), flush=True)


def lines_of(family, folder, log, left):
    """Returns the lines that a family printed, and why it ended early."""
    seconds, end = min(FAMILIES[family][1], left), "no answer"
    if seconds < 1:
        return [], "no time is left"
    try:
        done = subprocess.run([sys.executable, __file__, str(folder), family],
                              capture_output=True, timeout=seconds)
        out, errors = done.stdout, done.stderr
        if done.returncode != 0:
            said = errors.decode(errors="replace").strip().splitlines() or ["no message"]
            end = f"exit status {done.returncode}: {said[-1]}"[:200]
    except subprocess.TimeoutExpired as e:
        out, errors, end = e.stdout or b"", e.stderr or b"", f"not finished within {seconds:.0f} s"
    log.write(f"== {family}\n{errors.decode(errors='replace')}\n")
    lines = out.decode(errors="replace").splitlines()
    return [json.loads(line) for line in lines if line[:1] == "{" and line[-1:] == "}"], end


def main(folder, seconds):
    versions, rows, begin = {}, [], time.monotonic()
    with open(folder / "peers.log", "w") as log:
        for family in FAMILIES:
            lines, end = lines_of(family, folder, log, seconds + begin - time.monotonic())
            found = {line["name"]: line for line in lines if "name" in line}
            for line in lines:
                versions.update(line.get("versions", {}))
            for case in cases_of(family, folder):
                row = found.get(case.name) or row_of(case, not_available=end)
                rows.append(row)
                figure = f"{row['median'] * 1e6:.2f} us" if "median" in row else row["not_available"]
                print(f"{row['name']:66} {row['elements']:10}  {figure}", flush=True)
    text = json.dumps({"context": {"versions": versions}, "rows": rows}, indent=1)
    (folder / "peers.json").write_text(text + "\n")


if __name__ == "__main__":
    if sys.argv[2:] and sys.argv[2] in FAMILIES:
        run_family(sys.argv[2], pathlib.Path(sys.argv[1]))
    else:
        main(pathlib.Path(sys.argv[1]), float(sys.argv[2] if sys.argv[2:] else "inf"))
