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
    table.py --kind FILE                 names the folder in bench/results of what --collect kept

goals.py has the rows. A figure of a round is the median over its repetitions; a ratio is taken
within a round. A table has the median of the rounds, in a column for each kind of processor. That of
the first has, in brackets, the least and the greatest.
bounds.json has the reason of each figure that misses its goal, by the name of its row:
{"float16 to float": "..."}, or by kind: {"float16 to float": {"Zen 4": "..."}}. $vector and $avx2 stand
for the row's vector instructions for 16 elements. $cycles are those of one element at two such
instructions a cycle.
"""
import json
import pathlib
import re
import statistics
import string
import sys
import textwrap

sys.dont_write_bytecode = True  # beside the sources
from figures import collect, figures_by_kind, folder_of, kind_of, program_of
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


def peer_name(results):
    """Names the loop or library that was fastest, mostly."""
    names = [name.split("/")[-2] for _, name in results]
    return f" ({max(sorted(set(names)), key=names.count)})"


def measured(kinds, ratios, asked, digits, is_named=False, is_optional=False):
    """Makes a cell of what is asked, and one for each kind of what ratios(figures) yields. Cells of an
    optional group are empty if no kind has a figure."""
    cells = ["" if asked is None else number(asked, digits)]
    found = [list(ratios(figures)) for figures in kinds.values()]
    if is_optional and not any(found):
        return [""] * (1 + len(kinds))
    for place, results in enumerate(found):
        text = "not measured"
        if results:
            values = [value for value, _ in results]
            middle = statistics.median(values)
            text = number(middle, digits) if place else spread(values, digits)
            text += peer_name(results) if is_named else ""
            text += "" if asked is None else ", yes" if middle >= asked else f", {NO}"
        cells.append(text)
    return cells


def cells_of_rival(kinds, topic, row, rival, capped):
    return measured(kinds, lambda figures: figures.of_rival(row, rival, topic.level, capped),
                    rival.asked_of_avx2 if capped else rival.asked, topic.digits,
                    not capped and rival.peers in (LOOPS, NOT_OWN), bool(capped))


def cells_of_memory(kinds, topic, row, capped):
    return measured(kinds, lambda figures: figures.of_traffic(row, capped),
                    row.memory_of_avx2 if capped else row.memory, topic.digits, True, bool(capped))


def line(cells):
    return "| " + " | ".join(cells) + " |"


def with_any(kinds, *programs):
    """The kinds that have measured one of these programs."""
    return {kind: figures for kind, figures in kinds.items() if {*programs} & {*figures.contexts}}


def lines_of(kinds, topic, row):
    """Makes the lines of a row, each a list of groups. The first has its name and the memory; each rival
    is a line."""
    none = [[""] * (1 + len(kinds))] * 2
    both = ("", AVX2)
    for place, rival in enumerate(row.rivals or [None]):
        rivals = [cells_of_rival(kinds, topic, row, rival, capped) for capped in both] if rival else none
        has_memory = row.from_memory and place == 0
        memory = [cells_of_memory(kinds, topic, row, capped) for capped in both] if has_memory else none
        yield [["" if place else row.name], [rival.name if rival else ""], *rivals, *memory]


def table(kinds, topic, bounds):
    """Makes a table of the groups of columns that are not empty."""
    kinds = with_any(kinds, *topic.programs)
    head = [["operation"], [("in L2, " if topic.level == "L2" else "") + "against"]]
    for title in ("", "AVX2: ", "from DRAM, of traffic: ", "AVX2 from DRAM: "):
        head.append([f"{title}asked", *kinds])
    lines = {row.name: list(lines_of(kinds, topic, row)) for row in topic.rows}
    body = [groups for of_row in lines.values() for groups in of_row]
    used = [any(any(group) for group in column) for column in zip(*body)]
    head, *body = ([cell for group, is_used in zip(groups, used) if is_used for cell in group]
                   for groups in (head, *body))
    yield line(head)
    yield "|---" * len(head) + "|"
    yield from map(line, body)
    missed = {name: [kind for place, kind in enumerate(kinds, 1)
                     if any(NO in group[place] for groups in of_row for group in groups[2:])]
              for name, of_row in lines.items()}
    if any(missed.values()):
        yield "\nWhat bounds the rows that are not reached:\n"
        for name in filter(missed.get, missed):
            text = f"- **{name}**: {bound(bounds.get(name), missed[name])}"
            yield textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


def bound(text, kinds):
    """Returns what bounds a row that has missed its goal on these kinds."""
    if isinstance(text, dict):
        return " ".join(f"On {kind}: {text.get(kind, 'not analysed.')}" for kind in kinds)
    return text or "not analysed."


def bounds_of(counts):
    """The texts of bounds.json with their numbers."""
    texts = json.loads((HERE / "bounds.json").read_text())
    for name in {*texts} - {*ROWS}:
        sys.exit(f"table.py: bounds.json has '{name}', which is no row of goals.py")
    return {name: with_numbers(text, counts, ROWS[name].case) for name, text in texts.items()}


def with_numbers(text, counts, case):
    if isinstance(text, dict):
        return {kind: with_numbers(one, counts, case) for kind, one in text.items()}
    if "$" not in text:
        return text
    best, capped = (counts["cases"][isa][case]["vector"] for isa in ("AVX-512", "AVX2"))
    return string.Template(text).substitute(vector=f"{best:g}", avx2=f"{capped:g}", cycles=f"{best / 32:.2f}")


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


def libraries(kinds, names=None):
    """The time of other libraries over lowp's, in L2; of all rows that one of them has, or of these.
    A second table has the runs capped to AVX2."""
    yield from libraries_of(kinds, names, "")
    capped = list(libraries_of(kinds, names, AVX2))
    if len(capped) > 2:
        yield "\nThe same with AVX2 alone:\n"
        yield from capped


def libraries_of(kinds, names, capped):
    """A cell has the ratio of each kind of processor that has one in some row."""
    ratios = {(name, peers, kind): [ratio for ratio, _ in figures.of_rival(
                  ROWS[name], against("", ROWS[name].case, None, peers), "L2", capped)]
              for name in names or ROWS for peers in LIBRARIES.values() for kind, figures in kinds.items()}
    kinds = [kind for kind in kinds if any(found for key, found in ratios.items() if key[-1] == kind)]
    yield line([f"operation, on {' / '.join(kinds)}", *LIBRARIES])
    yield "|---" * (1 + len(LIBRARIES)) + "|"
    for name in names or ROWS:
        found = [[ratios[name, peers, kind] for kind in kinds] for peers in LIBRARIES.values()]
        if not any(any(one) for one in found):
            continue
        is_slower = any(one and max(one) < 1 for of_library in found for one in of_library)
        if is_slower and name not in REASONS:
            sys.exit(f"table.py: a library is faster in '{name}', and goals.py has no reason")
        cells = [[number(statistics.median(one)) if one else "-" for one in of_library] for of_library in found]
        yield line([f"{name} ({REASONS[name]})" if is_slower else name,
                    *("" if {*ones} == {"-"} else " / ".join(ones) for ones in cells)])


def on_all(kinds):
    """Makes the table of all processors: of as many times one from L2, of their traffic from DRAM."""
    kinds = with_any(kinds, "team")
    groups = ("L2: ", "AVX2: ", "DRAM, of traffic: ", "AVX2: ")
    yield line(["operation", *(head for group in groups for head in (f"{group}asked", *kinds))])
    yield "|---" * (1 + len(groups) * (1 + len(kinds))) + "|"
    for name, of_one, of_traffic in ON_ALL:
        cells = [name]
        for capped in ("", AVX2):
            cells += measured(kinds, lambda figures: figures.of_all(ROWS[name], capped), of_one, 2)
        for capped, asked in zip(("", AVX2), of_traffic):
            cells += measured(kinds, lambda figures: figures.of_traffic(ROWS[name], capped + TEAM), asked, 2)
        yield line(cells)


def put_into(path, kinds):
    text = path.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        sys.exit(f"table.py: {path} does not have {BEGIN.strip()} and {END.strip()} once each")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + BEGIN + "\n".join(libraries(kinds, BRIEF)) + "\n" + END + after)


def section(kinds, topic, bounds):
    yield f"## {topic.title}\n"
    if topic.about:
        yield textwrap.fill(topic.about, 108) + "\n"
    yield from table(kinds, topic, bounds)
    yield ""


def speeds(kinds, topic):
    """Every case of a topic, a column for each kind and level."""
    columns = {}
    for place, (kind, figures) in enumerate(with_any(kinds, *topic.programs).items()):
        found = {}
        for name, values in figures.speeds.items():
            case, level = name.rsplit("/", 1)
            if program_of(case) in topic.programs:
                values = [value * topic.scale for value in values if value is not None]
                found.setdefault(level, {})[case] = number(statistics.median(values)) if place else spread(values)
        for level in sorted(found, reverse=True):  # L2 before DRAM
            columns[f"{kind}, {level}"] = found[level]
    if not columns:
        return
    yield f"### {topic.title}\n"
    yield f"{topic.unit}.\n"
    yield line(["case", *columns])
    yield "|---" * (1 + len(columns)) + "|"
    for case in sorted(set().union(*columns.values())):
        yield line([f"`{case}`", *(column.get(case, "") for column in columns.values())])
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
    for name in ("machine", "backend", "compiler", "date"):
        yield name, by_program(contexts, lambda c: c[name])
    yield "rounds", by_program(contexts, lambda c: str(len(c["load"])))
    loads = [load for context in contexts.values() for load in context["load"]]
    yield "load when a program began", f"{min(loads):.1f} to {max(loads):.1f}"
    libraries = sorted({library for c in contexts.values() for library in c["versions"]})
    yield "peers", ", ".join(library + " " + by_program(contexts, lambda c: c["versions"].get(library))
                             for library in libraries)


def facts_of(kinds):
    """Makes the table of facts, a column for each kind."""
    yield line(["", *kinds])
    yield "|---" * (1 + len(kinds)) + "|"
    for of_kinds in zip(*(facts(figures) for figures in kinds.values())):
        yield line([of_kinds[0][0], *(value for _, value in of_kinds)])


PAGE = """\
# Speed, as last measured

`sh bench/table.sh` measures all of this and rewrites the page; on arm64 it leaves out the columns for AVX2.
`sh bench/table.sh 5 softmax census` measures two programs, in 5 rounds. [table.py](report/table.py) writes the page
from [results](results), which has a folder for each kind of processor. `sh bench/run.sh` shows the speed on your
machine and writes nothing.

{facts}

- Everything runs on one thread, but for the table of all processors.
- The cases of one program take turns within a round, programs take turns from round to round. A figure of a
  round is the median of its repetitions; a ratio is taken within a round; the tables have the median, the least
  and the greatest of the rounds. Other kinds of processors than the first have the median alone.
- *Against*: the other's time over lowp's; 2 is twice as fast. *Asked*: our own goal, if there is one.
- *Best compiled loop*: the fastest of the loops in [loops](loops). They are compiled with `-O3` by
  {compilers}, for AVX2 and for AVX-512 registers. The other libraries are in [peers](peers). Each
  has shown before it was timed that its results are lowp's, or as close as its file says. To add
  one, add a file to peers and a line to CMakeLists.txt.
- *AVX2*: the same of processes that are held to AVX2, beside loops compiled for it. PyTorch and oneDNN
  are held to it too; Eigen and Highway are not measured so.
- *Of traffic*: a share of the speed of the fastest loop that moves the same bytes and computes nothing
  ([roofline.hpp](harness/roofline.hpp)). It has plain stores, prefetching or streaming stores.
- Below a table stands what bounds the rows that are not reached. What would move them:
  - *ports*: fewer vector instructions for the same bits, or a core that starts more a cycle.
  - *the divider*: a faster one. Correct rounding of an estimate takes more ports.
  - *bandwidth*: wider paths to the caches; from DRAM, [pages of 2 MB](#pages-and-prefetches).
  - *random bits*: `stochastic_fast`, with fewer instructions. The bits of `stochastic` are fixed.
  - *the ends of rows*: longer rows, or several at a time, if the registers hold their states.
  - *the spread of the rounds*: a machine without other work.
- L2: 32 to 128 Ki elements, at most 768 KiB. DRAM: 32 to 64 Mi elements, at most 1 GiB.
- [harness](harness) is the frame of the programs; [report](report) writes this page.
- To add an operation, add a program to [operations](operations) and a line to [goals.py](report/goals.py).

## Against other libraries

Their time over lowp's in L2, the median of the rounds: 2 is twice as fast, less than 1 is slower. An empty
cell: the library lacks that operation, or was not measured; `-`: not on that kind of processor.

{libraries}

{topics}
## Pages and prefetches

On AMD's processors lowp prefetches nothing, and streams what it only writes. Elsewhere it prefetches 2 KB ahead.
It does so where it draws bits, reads doubles or integers, or writes nothing. Intel's with AVX512_BF16 stream
what begins at a multiple of 64 bytes, and prefetch what is read beside. `std::vector` gets pages of 4 KB. Huge ones may make streams
faster. Such memory begins at a multiple of 2 MB, and has `madvise(memory, bytes, MADV_HUGEPAGE)` before its first use.

## On all processors

`lowp::openmp` on a team of a thread for each processor. From L2: each processor has what one has alone, and
1 is as many times its speed. From DRAM: of the fastest loop that moves the same bytes on all processors.

{on_all}

What bounds the rows that are not reached:

- **from L2**: a team forks and joins in a call of some microseconds, and in a norm's derivative twice: sums over
  rows follow the rows, whose groups leave lines in memory. A shared machine shows too. Its rounds differ more than
  those of one thread.
- **from DRAM**: ports, as in the tables above.

## Compile time

`python3 bench/report/compile_time.py` compiles one unit for each row, some times in turn. It counts processor
time, user and system, and takes the least. *Asked* is our goal, in empty units of the same run. Units with
sanitizers are measured by units without them, those of CUDA by empty `.cu` units. These ratios differ by
processor, so a test holds memory, not time. What g++ 12 allocates for a unit is the same everywhere, and may
not exceed *held*. CUDA's units are left out.

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
    kinds = figures_by_kind(folder)
    counts = json.loads((HERE.parent / "counted/counted.json").read_text())
    bounds = bounds_of(counts)
    names = [row.name for topic in TOPICS for row in topic.rows]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"table.py: goals.py has two rows '{name}'")
    compilers = {" ".join(found.groups()) for figures in kinds.values() for name in figures.speeds
                 if (found := re.search("/(gcc|clang)([0-9]+)_loop_", name))}
    topics = (text for topic in TOPICS for text in section(kinds, topic, bounds))
    return PAGE.format(
        facts="\n".join(facts_of(kinds)),
        libraries="\n".join(libraries(kinds)),
        compilers=" and ".join(sorted(compilers)), topics="\n".join(topics),
        on_all="\n".join(on_all(kinds)), counted="\n".join(counted(counts)),
        counted_by="\n".join(counted_by(counts)), counted_on_arm="\n".join(counted_on_arm(counts)),
        compile_time=(RESULTS / "compile_time.md").read_text().rstrip(),
        speeds="\n".join(text for topic in TOPICS for text in speeds(kinds, topic)))


if sys.argv[1:2] == ["--programs"]:
    print(*PROGRAMS)
elif sys.argv[1:2] == ["--teams"]:
    print(*TEAMS)
elif sys.argv[1:2] == ["--filter"]:
    print(pattern(*sys.argv[2:]))
elif sys.argv[1:2] == ["--into"]:
    put_into(pathlib.Path(sys.argv[2]), figures_by_kind(sys.argv[3] if len(sys.argv) > 3 else RESULTS))
elif sys.argv[1:2] == ["--collect"]:
    print(collect(sys.argv[2], sys.argv[3:]), end="")
elif sys.argv[1:2] == ["--kind"]:
    print(folder_of(kind_of(json.loads(pathlib.Path(sys.argv[2]).read_text())["context"])))
else:
    print(page(sys.argv[1] if len(sys.argv) > 1 else RESULTS), end="")
