#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bench/README.md from what was measured.

    table.py [FOLDER]                    the page, of bench/results or another folder
    table.py --into FILE [FOLDER]        puts the times of other libraries between the marks in FILE
    table.py --programs                  lists the programs of the page; --teams: those of its "team"
    table.py --filter PROGRAM LEVEL      the cases that the page needs at L2, DRAM or "avx2", for a
                                         run capped to that; by "all" processors, or "one"
    table.py --collect PROGRAM ROUND...  keeps what is needed of a program's JSON, which lies in a
                                         folder for each round

goals.py has the rows. A figure of a round is the median over its repetitions; a ratio is taken
within a round. The table has the median of the rounds and, in brackets, the least and the greatest.
bounds.json has the reason of each figure that misses its goal, by the name of its row:
{"float16 to float": "..."}. $vector and $avx2 stand for the row's vector instructions for 16 elements.
$cycles are those of one element at two such instructions a cycle.
"""
import json
import pathlib
import re
import statistics
import string
import sys
import textwrap

sys.dont_write_bytecode = True  # beside the sources
from figures import Figures, collect, program_of
from goals import (AVX2, LOOPS, NOT_OWN, ON_ALL, PROGRAMS, REASONS, ROWS, TEAM, TEAMS, TOPICS, against,
                   pattern)

HERE = pathlib.Path(__file__).parent
RESULTS = HERE.parent / "results"
NO = "**no**"
LIBRARIES = {"PyTorch": "torch", "ml_dtypes": "ml_dtypes", "oneDNN": "onednn", "Eigen": "eigen",
             "Highway": "highway"}
# The project's README.md shows these.
BRIEF = ("AdamW, all bfloat16, nearest", "float to bfloat16, nearest",
         "fused_add, bfloat16 += float, nearest", "RMS norm, bfloat16",
         "backward of cross-entropy, with its losses, bfloat16", "layer norm, float",
         "softmax, bfloat16, 1024 columns",
         "derivative of an embedding, bfloat16")
BEGIN, END = "<!-- begin: bench/report/table.py -->\n", "<!-- end: bench/report/table.py -->\n"


def number(x, digits=2):
    return f"{x:.0f}" if x >= 20 else f"{x:.{digits}f}"


def spread(values, digits=2):
    middle, least, most = (number(f(values), digits) for f in (statistics.median, min, max))
    return f"{middle} [{least} to {most}]"


def measured(results, asked, digits):
    """Makes three cells: the figure that was asked, the one measured, and yes or no."""
    text = "" if asked is None else number(asked, digits)
    if not results:
        return [text, "not measured", ""]
    values = [value for value, _ in results]
    answer = "" if asked is None else "yes" if statistics.median(values) >= asked else NO
    return [text, spread(values, digits), answer]


def peer_name(results):
    """Names the loop or library that was fastest, mostly."""
    names = [name.split("/")[-2] for _, name in results]
    return f" ({max(sorted(set(names)), key=names.count)})" if names else ""


def cells_of_avx2(figures, topic, row, rival):
    """Makes the three cells of runs capped to AVX2, empty without such runs."""
    results = list(figures.of_rival(row, rival, topic.level, AVX2))
    return measured(results, rival.asked_of_avx2, topic.digits) if results else [""] * 3


def cells_of_rival(figures, topic, row, rival):
    results = list(figures.of_rival(row, rival, topic.level))
    who = rival.name + (peer_name(results) if rival.peers in (LOOPS, NOT_OWN) else "")
    return [who, *measured(results, rival.asked, topic.digits)]


def cells_of_memory(figures, topic, row, prefix=""):
    results = list(figures.of_traffic(row, prefix))
    if prefix and not results:
        return [""] * 3
    cells = measured(results, row.memory_of_avx2 if prefix else row.memory, topic.digits)
    cells[1] += peer_name(results)
    return cells


def line(cells):
    return "| " + " | ".join(cells) + " |"


def table(figures, topic, bounds):
    """Makes a table. The first line of a row has its name and the memory; each rival is a line."""
    has_rivals = any(row.rivals for row in topic.rows)
    has_memory = any(row.from_memory for row in topic.rows)
    memory = {row.name: cells_of_memory(figures, topic, row) if row.from_memory else [""] * 3
              for row in topic.rows}
    capped_memory = {row.name: cells_of_memory(figures, topic, row, AVX2) for row in topic.rows}
    if any(any(cells) for cells in capped_memory.values()):
        memory = {name: cells + capped_memory[name] for name, cells in memory.items()}
    capped = {(row.name, rival): cells_of_avx2(figures, topic, row, rival)
              for row in topic.rows for rival in row.rivals}
    has_capped = any(any(cells) for cells in capped.values())
    head = ["operation"]
    if has_rivals:
        head += [("in L2, " if topic.level == "L2" else "") + "against", "asked", "measured", ""]
    if has_capped:
        head += ["AVX2: asked", "measured", ""]
    if has_memory:
        head += ["from DRAM, of traffic: asked", "measured", ""]
        if len(memory[topic.rows[0].name]) > 3:
            head += ["AVX2 from DRAM: asked", "measured", ""]
    yield "| " + " | ".join(head).replace("|  |", "| |").rstrip() + " |"
    yield "|---" * len(head) + "|"
    missed = []
    for row in topic.rows:
        rivals = [cells_of_rival(figures, topic, row, rival) +
                  capped[row.name, rival] * has_capped for rival in row.rivals]
        own_memory = memory[row.name]
        if any(NO in cells for cells in (own_memory, *rivals)):
            missed.append(row.name)
        for index, cells in enumerate(rivals or [[""] * (7 if has_capped else 4)]):
            yield line([row.name if index == 0 else ""] + cells * has_rivals +
                       (own_memory if index == 0 else [""] * len(own_memory)) * has_memory)
    if missed:
        yield "\nWhat bounds the rows that are not reached:\n"
        for name in missed:
            yield f"- **{name}**: {bounds.get(name, 'not analysed.')}"


def bounds_of(counts):
    """The texts of bounds.json with their numbers."""
    texts = json.loads((HERE / "bounds.json").read_text())
    for name in {*texts} - {*ROWS}:
        sys.exit(f"table.py: bounds.json has '{name}', which is no row of goals.py")
    for name, text in texts.items():
        if "$" in text:
            best, capped = (counts["cases"][isa][ROWS[name].case]["vector"] for isa in ("AVX-512", "AVX2"))
            texts[name] = string.Template(text).substitute(
                vector=f"{best:g}", avx2=f"{capped:g}", cycles=f"{best / 32:.2f}")
    return texts


def counted(counts):
    """Makes the table of instructions."""
    kinds = ("vector", "loads and stores", "others")
    names = {r.case: r.name for r in ROWS.values()}
    both = {isa: counts["cases"][isa] for isa in ("AVX-512", "AVX2")}
    yield line(["operation", *(f"{isa}: {kind}" if kind == kinds[0] else kind for isa in both for kind in kinds)])
    yield "|---" * (1 + len(kinds) * len(both)) + "|"
    for case in both["AVX2"]:
        if not case.startswith("loop/"):
            yield line([names.get(case, f"`{case}`"), *(f"{cases[case][kind]:.1f}" if case in cases else ""
                                                        for cases in both.values() for kind in kinds)])


def counted_on_arm(counts):
    """Makes the table of instructions with NEON, and of the cycles that llvm-mca estimates for them."""
    names = {r.case: r.name for r in ROWS.values()}
    avx2, neon, bf16 = (counts["cases"][isa] for isa in ("AVX2", "NEON", "NEON with BF16"))
    processors = list(dict.fromkeys(name for case in neon.values() for name in case["estimated cycles"]))
    yield line(["operation", "AVX2", "NEON", "with BF16", *(f"{name}, cycles" for name in processors)])
    yield "|---" * (4 + len(processors)) + "|"
    for case in neon:
        name = f"compiled loop, `{case[5:]}`" if case.startswith("loop/") else names.get(case, f"`{case}`")
        vector = [isa[case]["vector"] if case in isa else None for isa in (avx2, neon, bf16)]
        if vector[2] == vector[1]:
            vector[2] = None
        cycles = [neon[case]["estimated cycles"][processor] for processor in processors]
        yield line([name, *("" if n is None else f"{n:.1f}" for n in (*vector, *cycles))])


def counted_by(counts):
    """Says for each backend what counted it."""
    texts = {}
    for isa, facts in counts["counted"].items():
        text = f"{facts['compiler']}, `{facts['options']}`, on {facts['on']}, {facts['date']}"
        texts.setdefault(text + (f", estimated by {facts['estimated by']}" if "estimated by" in facts else ""), []).append(isa)
    for text, backends in texts.items():
        yield f"- {', '.join(backends)}: {text}"


def libraries(figures, names=None):
    """The time of other libraries over lowp's, in L2; of all rows that one of them has, or of these.
    A second table has the runs capped to AVX2."""
    yield from libraries_of(figures, names, "")
    capped = list(libraries_of(figures, names, AVX2))
    if len(capped) > 2:
        yield "\nThe same with AVX2 alone:\n"
        yield from capped


def libraries_of(figures, names, capped):
    yield line(["operation", *LIBRARIES])
    yield "|---" * (1 + len(LIBRARIES)) + "|"
    for row in (ROWS[name] for name in names or ROWS):
        cells, is_slower = [], False
        for peers in LIBRARIES.values():
            ratios = [ratio for ratio, _ in figures.of_rival(row, against("", row.case, None, peers), "L2", capped)]
            cells.append(number(statistics.median(ratios)) if ratios else "")
            is_slower |= bool(ratios) and max(ratios) < 1
        if not any(cells):
            continue
        if is_slower and row.name not in REASONS:
            sys.exit(f"table.py: a library is faster in '{row.name}', and goals.py has no reason")
        yield line([f"{row.name} ({REASONS[row.name]})" if is_slower else row.name, *cells])


def on_all(figures):
    """Makes the table of all processors: of as many times one from L2, of their traffic from DRAM."""
    yield line(["operation", "L2: asked", "measured", "", "AVX2: asked", "measured", "",
                "DRAM, of traffic: asked", "measured", "", "AVX2: asked", "measured", ""])
    yield "|---" * 13 + "|"
    for name, of_one, of_traffic in ON_ALL:
        cells = [name]
        for prefix in ("", AVX2):
            cells += measured(list(figures.of_all(ROWS[name], prefix)), of_one, 2)
        for prefix, asked in zip(("", AVX2), of_traffic):
            cells += measured(list(figures.of_traffic(ROWS[name], prefix + TEAM)), asked, 2)
        yield line(cells)


def put_into(path, figures):
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"table.py: {path} does not have {BEGIN.strip()} and {END.strip()} once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + BEGIN + "\n".join(libraries(figures, BRIEF)) + "\n" + END + after)


def section(figures, topic, bounds):
    yield f"## {topic.title}\n"
    if topic.about:
        yield textwrap.fill(topic.about, 108) + "\n"
    yield from table(figures, topic, bounds)
    yield ""


def speeds(figures, topic):
    """Every case of a topic, a column for each level."""
    cases, levels = {}, {}
    for name, values in figures.speeds.items():
        case, level = name.rsplit("/", 1)
        if program_of(case) in topic.programs:
            values = [value * topic.scale for value in values if value is not None]
            cases.setdefault(case, {})[level] = spread(values)
            levels[level] = None
    if not cases:
        return
    order = sorted(levels, reverse=True)  # L2 before DRAM
    yield f"### {topic.title}\n"
    yield f"{topic.unit}.\n"
    yield line(["case", *order])
    yield "|---" * (1 + len(order)) + "|"
    for case in sorted(cases):
        yield line([f"`{case}`", *(cases[case].get(level, "") for level in order)])
    yield ""


def programs_by(contexts, fact):
    """The programs of each value of a fact."""
    values = {}
    for program in PROGRAMS:
        if program in contexts and (value := fact(contexts[program])) is not None:
            values.setdefault(value, []).append(program)
    return values


def by_program(contexts, fact):
    """A fact that all share, or what it is for which."""
    values = programs_by(contexts, fact)
    if len(values) == 1:
        return next(iter(values))
    return "; ".join(f"{value} ({', '.join(programs)})" for value, programs in values.items())


def facts(figures):
    contexts = figures.contexts
    machines = programs_by(contexts, lambda c: c["machine"])
    for machine, programs in machines.items():
        yield "machine" if len(machines) == 1 else f"machine of {', '.join(programs)}", machine
    for name in ("backend", "compiler", "date"):
        yield name, by_program(contexts, lambda c: c[name])
    yield "rounds", by_program(contexts, lambda c: str(len(c["load"])))
    loads = [load for context in contexts.values() for load in context["load"]]
    yield "load when a program began", f"{min(loads):.1f} to {max(loads):.1f}" if loads else ""
    libraries = sorted({library for c in contexts.values() for library in c["versions"]})
    yield "peers", ", ".join(library + " " + by_program(contexts, lambda c: c["versions"].get(library))
                             for library in libraries)


PAGE = """\
# Speed, as last measured

`sh bench/table.sh` measures all of this and rewrites the page; on arm64 it leaves out the columns for AVX2.
`sh bench/table.sh 5 softmax census` measures two programs, in 5 rounds. [table.py](report/table.py) writes the page
from [results](results). `sh bench/run.sh` shows the speed on your machine and writes nothing.

| | |
|---|---|
{facts}

- Everything runs on one thread, but for the table of all processors.
- The cases of one program take turns within a round, programs take turns from round to round. A figure of a round is the median of its repetitions; a ratio is taken
  within a round; the tables have the median, the least and the greatest of the rounds.
- *Against*: the other's time over lowp's; 2 is twice as fast. *Asked*: our own goal, if there is one.
- *Best compiled loop*: the fastest of the loops in [loops](loops). They are compiled with `-O3` by
  {compilers}, for AVX2 and for AVX-512 registers. The other libraries are in [peers](peers). Each
  has shown before it was timed that its results are lowp's, or as close as its file says. To add
  one, add a file to peers and a line to CMakeLists.txt.
- *AVX2*: the same of processes that are held to AVX2, beside loops compiled for it. PyTorch and oneDNN
  are held to it too; Eigen and Highway are not measured so.
- *Of traffic*: a share of the speed of the fastest loop that moves the same bytes and computes nothing
  ([roofline.hpp](harness/roofline.hpp)). It has plain stores, prefetching or streaming stores.
- L2: 32 to 128 Ki elements, at most 768 KiB. DRAM: 32 to 64 Mi elements, at most 1 GiB.
- [harness](harness) is the frame of the programs; [report](report) writes this page.
- To add an operation, add a program to [operations](operations) and a line to [goals.py](report/goals.py).

## Against other libraries

Their time over lowp's in L2, the median of the rounds: 2 is twice as fast, less than 1 is slower. An empty
cell: the library lacks that operation, or was not measured.

{libraries}

{topics}
## Pages and prefetches

On AMD's processors lowp prefetches nothing, and streams what it only writes. Elsewhere it prefetches 2 KB ahead
where it draws bits or reads doubles and integers. `std::vector` gets pages of 4 KB. Huge ones may make streams
faster. Such memory begins at a multiple of 2 MB, and has `madvise(memory, bytes, MADV_HUGEPAGE)` before its first use.

## On all processors

`lowp::openmp` on a team of a thread for each processor. From L2: each processor has what one has alone, and
1 is as many times its speed. From DRAM: of the fastest loop that moves the same bytes on all processors.

{on_all}

What bounds the rows that are not reached:

- **from L2**: a team forks and joins in a call of some microseconds. A shared machine shows too. Its rounds differ
  more than those of one thread.
- **from DRAM**: ports, as in the tables above.

## Compile time

`python3 bench/report/compile_time.py` compiles one unit for each row, some times in turn. It counts processor
time, user and system, and takes the least. Budgets are in empty units of the same
run; those of sanitizers in units without them, those of CUDA in empty `.cu` units. A test holds the column *held*.
It has *asked*, our own goal, or the figure with room for noise. CUDA's units take too long for the test.

{compile_time}

## Instructions, counted

`python3 bench/counted/counted.py` executes each operation step by step on normal numbers. It counts what runs for
16 elements. Moves between vector or mask registers and memory are loads and stores. Rows have 1024 columns.

{counted_by}

Each line counted the library of its day. An empty cell is not counted yet.

{counted}

A core starts two vector instructions of 512 bits a cycle, some start four. It starts three or four of 256 bits. At
two a cycle an element takes a 32nd of the number of vector instructions, in cycles.

### Arm

No Arm machine has run these: `sh bench/table.sh` measures on one. Vector instructions for 16 elements are counted
under qemu; a cell of BF16 is empty if it changes nothing. Cycles for 16 elements are an estimate by llvm-mca for NEON: it
predicts every branch, and all data are in L1. Its model of the M1 lacks divisions of vectors: rows with one have no estimate.
Compiled loops are plain C++ at `-O3`: the one to bfloat16 makes each NaN zero, and AdamW is all in float.

{counted_on_arm}

## All figures

{speeds}"""


def page(folder):
    figures = Figures(folder)
    counts = json.loads((HERE.parent / "counted/counted.json").read_text())
    bounds = bounds_of(counts)
    names = [row.name for topic in TOPICS for row in topic.rows]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"table.py: goals.py has two rows '{name}'")
    compilers = {" ".join(found.groups()) for name in figures.speeds
                 if (found := re.search("/(gcc|clang)([0-9]+)_loop_", name))}
    topics = (text for topic in TOPICS for text in section(figures, topic, bounds))
    return PAGE.format(
        facts="\n".join(line(fact) for fact in facts(figures)),
        libraries="\n".join(libraries(figures)),
        compilers=" and ".join(sorted(compilers)), topics="\n".join(topics),
        on_all="\n".join(on_all(figures)), counted="\n".join(counted(counts)),
        counted_by="\n".join(counted_by(counts)), counted_on_arm="\n".join(counted_on_arm(counts)),
        compile_time=(RESULTS / "compile_time.md").read_text().rstrip(),
        speeds="\n".join(text for topic in TOPICS for text in speeds(figures, topic)))


if sys.argv[1:2] == ["--programs"]:
    print(*PROGRAMS)
elif sys.argv[1:2] == ["--teams"]:
    print(*TEAMS)
elif sys.argv[1:2] == ["--filter"]:
    print(pattern(*sys.argv[2:]))
elif sys.argv[1:2] == ["--into"]:
    put_into(pathlib.Path(sys.argv[2]), Figures(sys.argv[3] if len(sys.argv) > 3 else RESULTS))
elif sys.argv[1:2] == ["--collect"]:
    print(collect(sys.argv[2], sys.argv[3:]), end="")
else:
    print(page(sys.argv[1] if len(sys.argv) > 1 else RESULTS), end="")
