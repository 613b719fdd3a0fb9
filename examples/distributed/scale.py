#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of README.md: bytes at scale, from the bytes that measured.csv has.

The program counts what rank 0 keeps and sends on 1 and on 4 ranks. Two equations give a storage's
bytes: for each parameter on every rank, for each parameter of a shard, and for each gradient sent.
"""
import csv
import pathlib
import sys

MODES = ["fsdp", "bf16", "fp8-lm", "mxfp8"]
GATHERED = 2  # bytes of a bfloat16 parameter
UNIT = 1e9


def constants(rows):
    """Returns bytes a parameter on every rank, in a shard, and on the wire."""
    alone, four = sorted(rows, key=lambda row: row["ranks"])
    n, shard = four["parameters"], four["shard"]
    in_shard = (alone["kept"] - four["kept"]) / (n - shard)
    on_all = alone["kept"] / n - in_shard
    gathered = shard * GATHERED * (four["ranks"] - 1)
    wire = (four["sent"] - gathered) / four["leaves"] / (n - shard)
    return on_all, in_shard, wire


def cost(bytes_of, parameters, ranks):
    """Returns bytes kept, and bytes sent in a step, by each rank; one leaf a rank."""
    on_all, in_shard, wire = bytes_of
    kept = parameters * (on_all + in_shard / ranks)
    sent = parameters * (wire + GATHERED) * (ranks - 1) / ranks
    return kept, sent


def number(value):
    return f"{value / UNIT:.3g}" if value < 1e12 else f"{value / UNIT:,.0f}".replace(",", " ")


def main():
    path = pathlib.Path(__file__).with_name("measured.csv")
    with open(path, encoding="utf-8") as file:
        rows = [{k: v if k == "mode" else int(v) for k, v in row.items()}
                for row in csv.DictReader(file)]
    bytes_of = {m: constants([r for r in rows if r["mode"] == m]) for m in MODES}
    print("| parameters | ranks | " + " | ".join(MODES) + " |")
    print("|---" * (2 + len(MODES)) + "|")
    for parameters in (1e9, 1e10, 1e11, 1e12):
        for ranks in (1, 8, 1024, 100_000):
            cells = [" + ".join(number(x) for x in cost(bytes_of[m], parameters, ranks))
                     for m in MODES]
            print(f"| {parameters:.0e} | {ranks} | ".replace("e+0", "e").replace("e+", "e") + " | ".join(cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
