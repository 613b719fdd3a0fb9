#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what run.sh found.

    page.py collect FOLDER          its results as one JSON
    page.py picture PAGE            the first picture of a page of `lowp-model audit --html`
    page.py into FILE RESULTS PART...   puts audits, conversions, tables or summary between its marks
"""
import json
import pathlib
import re
import sys

MODELS = ("minilm", "gnubg", "sphinx")
FORMATS = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
ROUNDINGS = ("nearest_even", "stochastic")
FIGURES = ("overflow", "flushed", "subnormal", "max_relative_error", "min_abs", "max_abs", "count")


def collect(folder):
    results = {}
    for model in MODELS:
        results[model] = {"formats": {}}
        for name in FORMATS:
            audit = json.loads((folder / f"{model}.{name}.json").read_text())
            tensors = audit["tensors"]
            results[model]["tensors"] = len(tensors)
            found = {"fits": audit["fits"],
                     "bytes": int((folder / f"{model}.{name}.size").read_text()),
                     "table": (folder / f"{model}.{name}.txt").read_text(),
                     "scaled": sum(t["scale"] != 1 for t in tensors),
                     "lost_by_scaled": sum(not t["in_range_with_scale"] for t in tensors)}
            for which in ("as_it_is", "with_scale"):
                found[which] = {figure: audit[which][figure] for figure in FIGURES}
            for rounding in ROUNDINGS:
                diff = json.loads((folder / f"{model}.{name}.{rounding}.diff.json").read_text())
                measured = [t for t in diff["tensors"] if t["differs_in"] == "values"]
                if len(measured) != len(tensors) or len(diff["tensors"]) != len(tensors):
                    sys.exit(f"page.py: {model} in {name}: {len(tensors)} tensors were audited, "
                             f"and {len(measured)} of {len(diff['tensors'])} that differ compared")
                count = sum(t["count"] for t in measured)
                found[rounding] = {
                    "largest": max(t["largest"] for t in measured),
                    "mean": sum(t["mean"] * t["count"] for t in measured) / count}
            results[model]["formats"][name] = found
    return json.dumps(results, indent=1) + "\n"


def number(x):
    return "-" if x == 0 else f"{x:,}".replace(",", " ")


def rows(results, columns):
    lines = ["| weights | as | " + " | ".join(columns) + " |", "|---" * (len(columns) + 2) + "|"]
    for model in MODELS:
        for name in FORMATS:
            found = results[model]["formats"][name]
            cells = [function(found) for function in columns.values()]
            lines.append(f"| {model} | {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def audits(results):
    return rows(results, {
        "overflow": lambda f: number(f["as_it_is"]["overflow"]),
        "flushed": lambda f: number(f["as_it_is"]["flushed"]),
        "subnormal": lambda f: number(f["as_it_is"]["subnormal"]),
        "fits": lambda f: "yes" if f["fits"] else "no",
        "tensors that gain by a scale": lambda f: number(f["scaled"]),
        "overflow with it": lambda f: number(f["with_scale"]["overflow"]),
        "flushed with it": lambda f: number(f["with_scale"]["flushed"]),
        "subnormal with it": lambda f: number(f["with_scale"]["subnormal"])})


def conversions(results):
    return rows(results, {
        "bytes": lambda f: number(f["bytes"]),
        "nearest: at most": lambda f: f"{f['nearest_even']['largest']:.4g}",
        "in the mean": lambda f: f"{f['nearest_even']['mean']:.4f}",
        "stochastic: at most": lambda f: f"{f['stochastic']['largest']:.4g}",
        "in the mean ": lambda f: f"{f['stochastic']['mean']:.4f}"})


def tables(results):
    text = ""
    for model in MODELS:
        # The table alone: what follows is the same for all, but for the verdict.
        table = results[model]["formats"]["float16"]["table"]
        head, verdict = table.split("\n\n", 1)[0], table[table.index("verdict:"):]
        text += f"`lowp-model audit {model}.safetensors --to float16 --top 5`\n```\n{head}\n\n{verdict}```\n"
    return text


def summary(results):
    def cell(found):
        lost = found["as_it_is"]
        what = [f"{number(lost[figure])} {figure}" for figure in ("overflow", "flushed")
                if lost[figure]]
        return ", ".join(what) or "fits"
    lines = ["| weights | values | " + " | ".join(FORMATS) + " |", "|---" * (len(FORMATS) + 2) + "|"]
    for model in MODELS:
        formats = results[model]["formats"]
        cells = [number(formats[FORMATS[0]]["as_it_is"]["count"])]
        cells += [cell(formats[name]) for name in FORMATS]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def into(path, results, names):
    page = path.read_text()
    for name in names:
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        if page.count(begin) != 1 or page.count(end) != 1:
            sys.exit(f"page.py: {path} has not one place for {name}")
        head, rest = page.split(begin)
        page = head + begin + PARTS[name](results) + end + rest.split(end)[1]
    path.write_text(page)


PARTS = {"audits": audits, "conversions": conversions, "tables": tables, "summary": summary}


def picture(path):
    found = re.search(r"<svg .*?</svg>\n", path.read_text(), re.DOTALL)
    if not found:
        sys.exit(f"page.py: {path} has no picture")
    return found.group()


def main(arguments):
    paths = [pathlib.Path(a) for a in arguments[1:3]]
    parts = arguments[3:]
    if arguments[:1] == ["collect"] and len(arguments) == 2:
        sys.stdout.write(collect(*paths))
    elif arguments[:1] == ["picture"] and len(arguments) == 2:
        sys.stdout.write(picture(*paths))
    elif arguments[:1] == ["into"] and parts and set(parts) <= set(PARTS):
        into(paths[0], json.loads(paths[1].read_text()), parts)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
