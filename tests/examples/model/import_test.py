# SPDX-License-Identifier: Apache-2.0
"""import_test.py IMPORT FOLDER: what is imported has the numbers in their places; what is cut or is
something else is refused in one line and leaves no file."""
import json
import pathlib
import struct
import subprocess
import sys

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
source, out = folder / "source", folder / "out"


def run(*arguments):
    out.unlink(missing_ok=True)
    return subprocess.run([sys.executable, program, *map(str, arguments)], stderr=subprocess.PIPE,
                          text=True, check=False)


def read():
    data = out.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    assert all(t["dtype"] == "F32" for t in header.values())
    return {name: (t["shape"], list(struct.unpack_from(
        f"<{(t['data_offsets'][1] - t['data_offsets'][0]) // 4}f", data,
        8 + length + t["data_offsets"][0]))) for name, t in header.items()}


def numbers(count, first):
    return [float(first + i) for i in range(count)]


def packed(values):
    return struct.pack(f"<{len(values)}f", *values)


def refused(what, *arguments):
    result = run(*arguments)
    assert result.returncode == 1 and not out.exists(), (what, result)
    assert result.stderr.count("\n") == 1 and "import.py: " in result.stderr, (what, result)


# Backgammon: six networks, of other sizes each.
data = struct.pack("<2f", 472.3782, 1)
want = {}
for i, net in enumerate(("contact", "race", "crashed", "pcontact", "pcrashed", "prace")):
    inputs, hidden, outputs = 3 + i, 2 + i, 5
    data += struct.pack("<4i2f", inputs, hidden, outputs, 1, 0.1, 1)
    for name, shape in (("hidden.weight", [inputs, hidden]), ("output.weight", [outputs, hidden]),
                        ("hidden.threshold", [hidden]), ("output.threshold", [outputs])):
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        values = numbers(count, len(data))
        want[f"{net}.{name}"] = (shape, values)
        data += packed(values)
source.write_bytes(data)
assert run("gnubg", source, out).returncode == 0 and read() == want
for bad in (b"", data[:4], data[:-1], data + b"\0", b"\0" + data, data[:8] + b"\xff" * 12 + data[20:]):
    source.write_bytes(bad)
    refused(bad[:20], "gnubg", source, out)

# Sphinx: two codebooks of three Gaussians in two streams, of one and two numbers.
shape = (2, 3, (1, 2))
values = numbers(2 * 3 * 3, 1)
head = b"s3\nversion 1.0\nchksum0 yes\n endhdr\n"
body = struct.pack("<7I", 0x11223344, 2, 2, 3, 1, 2, len(values)) + packed(values)
source.write_bytes(head + body + b"sum!")
assert run("sphinx", out, f"means={source}", f"variances={source}").returncode == 0
assert read() == {f"{name}.{stream}": there for name in ("means", "variances") for stream, there in (
    (0, ([2, 3, 1], [1, 2, 3, 10, 11, 12])),
    (1, ([2, 3, 2], [4, 5, 6, 7, 8, 9, 13, 14, 15, 16, 17, 18])))}
for bad in (b"", head, body, head + body[:-4], head + body[:20],
            head + b"\x11\x22\x33\x44" + body[4:], head + body[:8] + b"\xff" * 4 + body[12:]):
    source.write_bytes(bad)
    refused(bad[:60], "sphinx", out, f"means={source}")
