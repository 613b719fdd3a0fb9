# SPDX-License-Identifier: Apache-2.0
"""The pages of bench/ and a table of README.md are what their scripts write from the results beside them.
The page describes figures that are made up here, and says which goals are reached."""

import json
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1] / "support"))
from script import run, settings

bench, scratch = pathlib.Path(settings["ROOT"]) / "bench", pathlib.Path(settings["SCRATCH"])
readme = bench.parent / "README.md"
has_failed = False


def check(good, text):
    global has_failed
    if not good:
        has_failed = True
        print(text)


def script(name, *arguments):
    good, printed, errors = run([sys.executable, "-B", bench / name, *arguments])
    return printed if good else sys.exit(f"{name} {arguments}: {errors}")


def table(*arguments):
    return script("report/table.py", *arguments)


def expect(line):
    """The page of the figures that are made up has this line."""
    check(f"\n{line}\n" in table(scratch / "results"), f"The page has no line\n{line}")


for folder, source in ((".", "report"), ("transformer", "transformer"), ("model", "model")):
    check(script(f"{source}/table.py") == (bench / folder / "README.md").read_text(),
          f"bench/{folder}/README.md is not what bench/{source}/table.py writes")
check("<!-- begin: bench/model/table.py -->\n" + script("model/table.py", "--brief") in readme.read_text(),
      "README.md does not begin with what bench/model/table.py --brief writes")
shutil.rmtree(scratch, ignore_errors=True)
(scratch / "results").mkdir(parents=True)
shutil.copy(readme, scratch)
table("--into", scratch / "README.md")
check((scratch / "README.md").read_text() == readme.read_text(),
      "the table in README.md is not what bench/report/table.py --into writes")

# Every program has a topic; "team" is some of them on all processors.
programs = sorted(["team", *(source.stem for source in (bench / "operations").glob("*.cpp"))])
told = sorted(table("--programs").split())
check(told == programs, f"bench/report/goals.py tells of {told}; there are {programs}")

# The filter of a level has names, in which characters of regular expressions are escaped.
shown = table("--filter", "storage", "DRAM")
isas = "/(portable|avx2|avx512|avx512_bf16|neon|neon_bf16)/"
for part in ("^(", r"|storage/kahan\(bfloat16,bfloat16\)/nearest_even|", f"){isas}DRAM$"):
    check(part in shown, f"'{part}' is not in the filter {shown}")
told = table("--teams").strip()
made = re.search(r"foreach\(name ([a-z_ ]+)\)\n +add_program\(team_", (bench / "CMakeLists.txt").read_text())
check(told == made[1], f"the page tells of all processors for {told}; bench/CMakeLists.txt makes {made[1]}")
shown = table("--filter", "softmax", "all").strip()
check(shown == f"^(softmax/bfloat16/1024|softmax/float16/1024){isas}(L2|DRAM)$",
      f"the filter of all processors is {shown}")


def write(number, name, speeds, context):
    """Writes what a program or a peer may, with speeds in items a nanosecond."""
    path = scratch / "rounds" / str(number) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = [{"run_name": case, "run_type": "iteration", "label": "r2_w2", "items_per_second": 1e9 * speed}
            for case, speed in speeds]
    path.write_text(json.dumps({"context": context, "benchmarks": runs}))


def context(load, threads="1", processors=2):
    return {"cpu": " A processor", "num_cpus": processors, "caches": [], "lowp_isa": "avx2",
            "compiler": "a compiler", "threads": threads, "date": "2001-02-03T04:05:06", "load_avg": [load]}


def collect(program, *rounds):
    figures = table("--collect", program, *(scratch / "rounds" / number for number in rounds))
    keep(program, figures)
    return figures


def keep(program, figures):
    """Writes figures into the folder of their kind of processor."""
    (scratch / "figures").write_text(figures)
    kind = scratch / "results" / table("--kind", scratch / "figures").strip()
    kind.mkdir(exist_ok=True)
    (kind / f"{program}.json").write_text(figures)


own = "softmax/float16/1024/avx2"
narrow = "softmax/all_in/float16/1024/avx2"
loop = "softmax/traffic/r2_w2"
# The median of three repetitions is 4, that of three rounds the second.
write(1, "softmax-L2", [(f"{own}/L2", 3), (f"{own}/L2", 4), (f"{own}/L2", 9), (f"{narrow}/L2", 4),
                        (f"{own}/DRAM", 3), (f"{loop}/plain/DRAM", 4), (f"{loop}/streaming/DRAM", 3)],
      context(1.25))
for number, of_narrow, streaming in ((2, 5, 6), (3, 8, 5)):
    write(number, "softmax-L2", [(f"{own}/L2", 4), (f"{narrow}/L2", of_narrow), (f"{own}/DRAM", 3),
                                 (f"{loop}/plain/DRAM", 3), (f"{loop}/streaming/DRAM", streaming)],
          context(number + 0.25))
peer = "softmax/float16/1024/torch/L2"
for number, speed in ((1, 2), (2, 1), (3, 8)):
    write(number, "softmax-peers", [(peer, speed)], {"versions": {"torch": "9.8"}})
figures = collect("softmax", "1", "2", "3")
row = "| softmax, float16, 1024 columns |"
reached = "all in 16 bits | 0.95 | 0.80 [0.50 to 1.00], **no** |"
from_memory = "0.85 | 0.60 [0.50 to 0.75] (streaming), **no** |"
expect("| machine | A processor; 2 processors;  |")
expect("| date | 2001-02-03 |")
expect("| rounds | 3 |")
expect("| load when a program began | 1.2 to 3.2 |")
expect("| peers | torch 9.8 |")
expect(f"{row} {reached} {from_memory}")
expect("|  | fastest peer |  | 2.00 [0.50 to 4.00] (torch) |  |  |")
expect(f"{row} 2.00 |  |  |  |  |")
expect("| softmax, float16, 8192 columns | all in 16 bits | 0.95 | not measured | 0.85 | not measured |")
expect(f"| `{own}` | 4.00 [4.00 to 4.00] | 3.00 [3.00 to 3.00] |")
# The bound of a row has its numbers of instructions.
bound = re.escape(json.loads((bench / "report/bounds.json").read_text())["softmax, float16, 1024 columns"])
bound = bound.replace(r"\$vector", "[0-9.]+").replace(r"\$avx2", "[0-9.]+")
shown = " ".join(table(scratch / "results").split())
check(re.search(rf"- \*\*softmax, float16, 1024 columns\*\*: {bound} ", shown),
      f"The page does not say what bounds softmax: {bound}")

# Runs that are held to AVX2 have columns and a table of their own.
write(2, "softmax-avx2", [(f"{own}/L2", 6)], {"lowp_isa": "avx2"})
write(2, "softmax-peers-avx2", [(peer, 2)], {"versions": {}})
collect("softmax", "1", "2", "3")
expect("|  | fastest peer |  | 2.00 [0.50 to 4.00] (torch) |  | 3.00 [3.00 to 3.00] |  |  |")
expect(f"{row} {reached}  |  | {from_memory}")
expect(f"{row} 3.00 |  |  |  |  |")

# All processors, of as many times one, and of the traffic that they have.
for name, threads, speeds in (
        ("one", "1", [(f"{own}/L2", 1)]),
        ("all", "4", [(f"{own}/L2", 3), (f"{own}/DRAM", 1), (f"{loop}/plain/DRAM", 4), (f"{loop}/plain/L2", 9)]),
        ("one-avx2", "1", [(f"{own}/L2", 1)]),
        ("all-avx2", "4", [(f"{own}/L2", 4), (f"{own}/DRAM", 1), (f"{loop}/plain/DRAM", 2)])):
    write(1, f"team-softmax-{name}", speeds, context(1, threads, 4))
collect("team", "1")
expect(f"{row} 0.90 | 0.75 [0.75 to 0.75], **no** | 0.90 | 1.00 [1.00 to 1.00], yes "
       "| 0.80 | 0.25 [0.25 to 0.25], **no** | 0.50 | 0.50 [0.50 to 0.50], yes |")
expect("| census, float to bfloat16 | 0.90 | not measured | 0.90 | not measured "
       "| 0.95 | not measured | 0.95 | not measured |")
expect(f"| `all:{own}` | 3.00 [3.00 to 3.00] | 1.00 [1.00 to 1.00] |")
(scratch / "results/a_processor/team.json").unlink()

# In these, another round was faster, and the programs are of another day.
faster = figures.replace('"speeds": [4e+09, 5e+09, 8e+09]', '"speeds": [4e+09, 4e+09, 4e+09]')
keep("softmax", faster)
other = figures.replace("softmax/float16/1024", "census/measure/float").replace("2001-02-03", "2002-03-04")
keep("census", other)
expect(f"{row} all in 16 bits | 0.95 | 1.00 [1.00 to 1.00], yes | {from_memory}")
expect("| date | 2001-02-03 (softmax); 2002-03-04 (census) |")

# Another kind of processor has columns of its own, with the median alone.
keep("softmax", figures.replace("A processor;", "Xeon, family 6, model 207;"))
expect("|  | Emerald Rapids | A processor |")
expect(f"{row} all in 16 bits | 0.95 | 0.80 [0.50 to 1.00], **no** | 1.00, yes "
       f"| {from_memory} 0.60 (streaming), **no** |")
expect(f"{row} 2.00 / 2.00 |  |  |  |  |")
expect("| measure: norm, largest and what is not finite, float | - / 2.00 |  |  |  |  |")
expect(f"| `{own}` | 4.00 [4.00 to 4.00] | 3.00 [3.00 to 3.00] | 4.00 | 3.00 |")
check((scratch / "results/emerald_rapids/softmax.json").exists(), "a kind of processor has no folder")
sys.exit(has_failed)
