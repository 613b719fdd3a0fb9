#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes safetensors files of weights that are kept in other ways. Needs nothing but Python.

    import.py gnubg gnubg.wd OUT              GNU Backgammon's six networks
    import.py sphinx OUT NAME=FILE...         Gaussians of Sphinx: means, variances
"""
import json
import math
import struct
import sys


def fail(text):
    sys.exit(f"import.py: {text}")


def unpack(layout, data, at):
    """Little-endian numbers, and where they end."""
    end = at + struct.calcsize("<" + layout)
    if end > len(data):
        fail(f"the file ends at {len(data)}, and has to go on to {end}")
    return struct.unpack_from("<" + layout, data, at), end


def write(path, tensors):
    """tensors: (name, shape, bytes of floats)."""
    header, offset = {}, 0
    for name, shape, data in tensors:
        if len(data) != 4 * math.prod(shape):
            fail(f"{name} of shape {shape} has {len(data)} bytes")
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors:
            file.write(data)


def gnubg(path):
    """gnubg's NeuralNetLoadBinary (lib/neuralnet.c), in the order in which eval.c loads them."""
    with open(path, "rb") as file:
        data = file.read()
    (magic, version), at = unpack("2f", data, 0)
    if magic != struct.unpack("<f", struct.pack("<f", 472.3782))[0] or version != 1:
        fail(f"{path} is no gnubg.wd of version 1")
    tensors = []
    for net in ("contact", "race", "crashed", "pcontact", "pcrashed", "prace"):
        (inputs, hidden, outputs, _, _, _), at = unpack("4i2f", data, at)
        for name, shape in (("hidden.weight", [inputs, hidden]), ("output.weight", [outputs, hidden]),
                            ("hidden.threshold", [hidden]), ("output.threshold", [outputs])):
            if min(shape) < 1:
                fail(f"{net}.{name} has the shape {shape}")
            end = at + 4 * math.prod(shape)
            tensors.append((f"{net}.{name}", shape, data[at:end]))
            at = end
    if at != len(data):
        fail(f"{path} has {len(data)} bytes, its networks {at}")
    return tensors


def sphinx(name, path):
    """Sphinx's gauden_param_read (ms_gauden.c): for each codebook, stream and Gaussian a vector."""
    with open(path, "rb") as file:
        data = file.read()
    begin = data.find(b"endhdr\n")
    if not data.startswith(b"s3\n") or begin < 0:
        fail(f"{path} has no header of Sphinx")
    (order, codebooks, streams, densities), at = unpack("4I", data, begin + 7)
    if order != 0x11223344:
        fail(f"{path} is in another byte order")
    if not 0 < streams < 1000:
        fail(f"{path} has {streams} streams")
    lengths, at = unpack(f"{streams}I", data, at)
    (count,), at = unpack("I", data, at)
    if count != codebooks * densities * sum(lengths) or at + 4 * count > len(data):
        fail(f"{path} says {count} numbers, its shape {codebooks} x {densities} x {lengths}")
    parts = [[] for _ in lengths]
    for _ in range(codebooks):
        for stream, length in enumerate(lengths):
            end = at + 4 * densities * length
            parts[stream].append(data[at:end])
            at = end
    return [(f"{name}.{stream}", [codebooks, densities, length], b"".join(part))
            for stream, (length, part) in enumerate(zip(lengths, parts))]


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "gnubg":
        write(arguments[2], gnubg(arguments[1]))
    elif len(arguments) > 2 and arguments[0] == "sphinx":
        tensors = []
        for each in arguments[2:]:
            tensors += sphinx(*each.split("=", 1))
        write(arguments[1], tensors)
    else:
        fail(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
