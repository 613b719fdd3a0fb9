#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bench/README.md from the JSON of the benchmark programs.

    python3 bench/table.py ROUND... > bench/README.md   a folder of JSON files for each round
    python3 bench/table.py --filter PROGRAM LEVEL       the cases that the table needs at L2, DRAM,
                                                        or "avx2", for a run capped to that

A figure of a round is the median over its repetitions; a ratio is taken within a round; the table
has the median of the rounds and, in brackets, the least and the greatest. bounds.json says, by the
name of a row, what bounds one that is not reached: {"float16 to float": "..."}.
"""
import json
import pathlib
import re
import statistics
import sys

OWN = "(portable|avx2|avx512|avx512_bf16)"
LIBRARIES = ("Eigen", "Highway", "oneDNN")  # as peers/ name them
NOT_OWN = "(?!" + OWN + "/).*"
NO = "**no**"
LOOPS = "(gcc|clang)[0-9]+_loop_[a-z0-9]+"
NEAREST, STOCHASTIC = "cast/float->{}/nearest_even", "cast/float->{}/stochastic"
UP = "cast/{}->float/exact"
ADAMW = "update/adamw/bfloat16,bfloat16,float,float/stochastic"
FLOATS = "update/adamw/float,float,float,float/nearest_even"
ADD = "fused_add/bfloat16,float/"
BFLOAT16, FLOAT8 = "bfloat16", ("float8_e4m3fn", "float8_e5m2")


def against(name, case, ratio, peers=OWN):
    return {"name": name, "case": case, "asked": ratio, "peers": peers}


def compiled(case, ratio):
    return against("best compiled loop", case, ratio, LOOPS)


def fastest(case, ratio):
    return against("fastest peer", case, ratio, NOT_OWN)


def row(name, case, memory, *rivals):
    return {"name": name, "case": case, "memory": memory, "rivals": rivals}


def rows():
    """The table of issue 3."""
    case = NEAREST.format(BFLOAT16)
    yield row("float to bfloat16, nearest", case, 0.95, compiled(case, 1.5),
              against("Eigen", case, 2.3, "eigen"))
    yield row("bfloat16 to float", UP.format(BFLOAT16), 0.95, fastest(UP.format(BFLOAT16), 0.95))
    for name, case in (("float to float16, nearest", NEAREST), ("float16 to float", UP)):
        case = case.format("float16")
        yield row(name, case, 0.95, fastest(case, 0.95))
    for form in FLOAT8:
        case = NEAREST.format(form)
        yield row(f"float to {form}, nearest", case, 0.95,
                  against("clang's loop", case, 1.7, "clang[0-9]+_loop_[a-z0-9]+"),
                  against("ml_dtypes", case, 50, "ml_dtypes"))
    for form in FLOAT8:
        case = UP.format(form)
        yield row(f"{form} to float", case, 0.95, against("PyTorch", case, 3, "torch"))
    case = STOCHASTIC.format(BFLOAT16)
    yield row("float to bfloat16, stochastic", case, 0.95, compiled(case, 2.5),
              against("own nearest", NEAREST.format(BFLOAT16), 1 / 3))
    for form in ("float16", *FLOAT8):
        yield row(f"float to {form}, stochastic", STOCHASTIC.format(form), 0.9,
                  against("own bfloat16, stochastic", STOCHASTIC.format(BFLOAT16), 0.5))
    case = ADD + "nearest_even"
    yield row("fused_add, bfloat16 += float, nearest", case, 0.95, compiled(case, 1.35),
              against("PyTorch", case, 7, "torch"))
    yield row("fused_add, bfloat16 += float, stochastic", ADD + "stochastic", 0.95,
              against("own nearest", ADD + "nearest_even", 0.45))
    yield row("AdamW, bfloat16 p and g, float moments, stochastic", ADAMW, 0.95,
              against("best compiled loop, all float", FLOATS, 0.75, LOOPS))
    yield row("the same with `update_report`", ADAMW + ",report", 0.9,
              against("best compiled loop, all float", FLOATS, 0.6, LOOPS),
              against("without", ADAMW, 0.6))
    yield row("AVX2: float to bfloat16, stochastic", "avx2:" + STOCHASTIC.format(BFLOAT16), None,
              against("own fastest", STOCHASTIC.format(BFLOAT16), 0.55))


def pattern(program, level):
    """The cases of the rows, from memory lowp's only. Traffic loops come by themselves."""
    if level == "avx2":
        return f"^({'|'.join(r['case'][5:] for r in rows() if r['case'].startswith('avx2:'))})/avx2/L2$"
    every = {r["case"] for r in rows()} | {v["case"] for r in rows() for v in r["rivals"]}
    cases = sorted(case for case in every if case.startswith(program + "/"))
    return f"^({'|'.join(cases)})/{OWN if level == 'DRAM' else '[^/]+'}/{level}$"


class Round:
    """Medians by name; traffic loops by the bytes they move; those of LOWP_ISA=avx2 as avx2:NAME."""

    def __init__(self, folder):
        self.context, self.versions = {}, {}
        samples, self.traffic_of = {}, {}
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            data = json.loads(path.read_text())
            context = data["context"]
            self.versions.update(context.get("versions", {}))
            self.versions.update({k: context[k] for k in LIBRARIES if k in context})
            if "lowp_isa" in context and not path.stem.endswith("-avx2"):
                self.context = context
            prefix = "avx2:" if path.stem.endswith("-avx2") else ""
            for run in data["benchmarks"]:
                if run["run_type"] == "iteration" and "items_per_second" in run:
                    name = prefix + run["run_name"]
                    if prefix and "/traffic/" in name:
                        continue
                    samples.setdefault(name, []).append(run["items_per_second"] * 1e-9)
                    self.traffic_of[name] = run.get("label", "")
        self.speed = {name: statistics.median(values) for name, values in samples.items()}

    def best(self, case, peers, level):
        """The speed and name of the fastest that matches."""
        whole = re.compile(re.escape(case) + "/" + peers + "/" + level)
        found = [(speed, name) for name, speed in self.speed.items() if whole.fullmatch(name)]
        return max(found, default=(None, None))

    def of_rival(self, r, rival):
        own, _ = self.best(r["case"], OWN, "L2")
        other, name = self.best(rival["case"], rival["peers"], "L2")
        return (own / other, name) if own and other else None

    def of_traffic(self, r):
        own, name = self.best(r["case"], OWN, "DRAM")
        if not own:
            return None
        program = name.split("/")[0]
        loop, loop_name = self.best(f"{program}/traffic/{self.traffic_of[name]}", "[a-z]+", "DRAM")
        return (own / loop, loop_name) if loop else None


def number(x):
    return f"{x:.0f}" if x >= 20 else f"{x:.2f}"


def spread(values):
    return f"{number(statistics.median(values))} [{number(min(values))} to {number(max(values))}]"


def measured(results, asked):
    """Two cells: the figure, and whether it is what was asked."""
    results = [result for result in results if result is not None]
    if not results:
        return "not measured", ""
    values = [value for value, _ in results]
    return spread(values), "yes" if statistics.median(values) >= asked else NO


def peer_name(results):
    """In which loop or library that was, mostly."""
    names = [result[1].split("/")[-2] for result in results if result is not None]
    return f" ({max(sorted(set(names)), key=names.count)})" if names else ""


def table(rounds, bounds):
    yield "| operation | in L2, against | asked | measured | | from DRAM, of traffic: asked | measured | |"
    yield "|---|---|---|---|---|---|---|---|"
    missed = []
    for r in rows():
        name, memory, reached = r["name"], ["", "", ""], []
        if r["memory"] is not None:
            results = [one.of_traffic(r) for one in rounds]
            figure, answer = measured(results, r["memory"])
            memory = [number(r["memory"]), figure + peer_name(results), answer]
        for rival in r["rivals"]:
            results = [one.of_rival(r, rival) for one in rounds]
            who = rival["name"]
            if rival["peers"] in (LOOPS, NOT_OWN):
                who += peer_name(results)
            cells = [name, who, number(rival["asked"]), *measured(results, rival["asked"])]
            yield "| " + " | ".join(cells + memory) + " |"
            reached += [cells[4], memory[2]]
            name, memory = "", ["", "", ""]
        if NO in reached:
            missed.append(r["name"])
    if missed:
        yield ""
        yield "What bounds the rows that are not reached:"
        yield ""
        for name in missed:
            yield f"- **{name}**: {bounds.get(name, 'not analysed.')}"


def speeds(rounds):
    yield "| case | L2 | DRAM |"
    yield "|---|---|---|"
    cases = {}
    for name in sorted(set().union(*(one.speed for one in rounds))):
        case, level = name.rsplit("/", 1)
        values = [one.speed[name] for one in rounds if name in one.speed]
        cases.setdefault(case, {})[level] = spread(values)
    for case, levels in cases.items():
        yield f"| `{case}` | {levels.get('L2', '')} | {levels.get('DRAM', '')} |"


PAGE = """\
# Speed, as last measured

Written by [table.py](table.py); `sh bench/table.sh` measures again and rewrites it.

{machine}

- Everything runs on one thread. The cases of one program take turns within a round, programs take
  turns from round to round. A figure of a round is the median of its repetitions; a ratio is taken
  within a round; the table has the median, the least and the greatest of {rounds} rounds.
- *Best compiled loop*: the fastest of the loops in [loops](loops), compiled with `-O3` by {compilers},
  for AVX2 and for AVX-512 registers. The peers are in [peers](peers) and [peers.py](peers.py). Each has
  shown before it was timed that its results are lowp's; where they differ, its file says how. A new
  one is a file in peers and a line in CMakeLists.txt.
- *Of traffic*: of the fastest loop that moves the same bytes and computes nothing
  ([roofline.hpp](roofline.hpp)): with plain stores, with prefetching, or with streaming stores.
- L2: 32 to 128 Ki elements, at most 768 KiB. DRAM: 64 Mi elements.

{table}

## All figures

Elements per nanosecond.

{speeds}
"""


def page(rounds):
    context = rounds[0].context
    versions = rounds[0].versions
    bounds = json.loads((pathlib.Path(__file__).parent / "bounds.json").read_text())
    caches = ", ".join(f"L{c['level']} {c['type'].lower()} {c['size'] >> 10} KiB"
                       for c in context["caches"])
    facts = [("machine", f"{context['cpu'].strip()}; {context['num_cpus']} processors; {caches}"),
             ("backend", context["lowp_isa"]),
             ("compiler", context["compiler"]),
             ("date", context["date"][:10]),
             ("load before each round", ", ".join(f"{one.context['load_avg'][0]:.1f}"
                                                  for one in rounds))]
    if versions:
        facts.append(("peers", ", ".join(f"{k} {v}" for k, v in sorted(versions.items()))))
    compilers = {" ".join(found.groups()) for name in rounds[0].speed
                 if (found := re.search("/(gcc|clang)([0-9]+)_loop_", name))}
    return PAGE.format(
        machine="| | |\n|---|---|\n" + "\n".join(f"| {k} | {v} |" for k, v in facts),
        rounds=len(rounds), compilers=" and ".join(sorted(compilers)),
        table="\n".join(table(rounds, bounds)), speeds="\n".join(speeds(rounds)))


if sys.argv[1:2] == ["--filter"]:
    print(pattern(*sys.argv[2:]))
else:
    print(page([Round(folder) for folder in sys.argv[1:]]), end="")
