# SPDX-License-Identifier: Apache-2.0
"""The recipes of include/lowp/README.md are followed in a copy of the library: each adds as many files
and lines as its heading says. recipes/ then has programs that use all of them.

A block after the mark of this test is a new file, whose first line names it; or lines for a file that is
there:

  +++ include/lowp/lowp.hpp     which file
   context                      one space before it
  +new line                     a line that is removed has a minus
  @@                            then more of the same
"""

import os
import pathlib
import re
import shutil
import sys

here = pathlib.Path(__file__).parent
sys.path.append(str(here.parent / "support"))
from script import blocks_of, run, settings

root, scratch, cxx = pathlib.Path(settings["ROOT"]), pathlib.Path(settings["SCRATCH"]), settings["CXX"]
mark = "<!-- tested by tests/project/recipes_test.py -->\n"
recipes = ["A format", "A rounding mode", "An operation", "An optimizer", "A storage", "A backend"]


def apply(file, hunk):
    """Puts the lines of a hunk with a plus where those without one are."""
    before = "".join("\n" + line[1:] for line in hunk if line[0] != "+") + "\n"
    after = "".join("\n" + line[1:] for line in hunk if line[0] != "-") + "\n"
    text = (scratch / file).read_text()
    if text.count(before) != 1:
        sys.exit(f"{file} does not have once:{before}")
    (scratch / file).write_text(text.replace(before, after))


def follow(kind, code):
    """Follows one block. Returns the numbers of its new files and lines."""
    first, _, rest = code.partition("\n")
    file = first[4:] if kind == "diff" else first[3:]
    if kind == "cpp":
        if not first.startswith("// ") or (scratch / file).exists():
            sys.exit(f"no new file:\n{code}")
        (scratch / file).write_text(code)
        return 1, 0
    if kind != "diff":
        sys.exit(f"a recipe is cpp or diff, and not {kind}")
    for hunk in rest.split("\n@@\n"):
        apply(file, hunk.strip("\n").split("\n"))
    return 0, rest.count("\n+") + rest.startswith("+")


def check_recipes(page):
    prose, counts = "", {}  # of files and lines, by the headings
    for before, kind, code in blocks_of(page):
        prose += before
        if kind is None or not before.endswith(mark):
            continue
        heading = re.findall(r"^### (.+: .+)$", prose, re.MULTILINE)[-1]
        files, lines = follow(kind, code)
        of_heading = counts.setdefault(heading, [0, 0])
        of_heading[0] += files
        of_heading[1] += lines
    for heading, count in counts.items():
        for unit, number in zip(("file", "line"), count):
            claim = re.search(rf"([0-9]+) {unit}", heading.partition(": ")[2])
            if (int(claim[1]) if claim else 0) != number:
                sys.exit(f"{heading}: it takes {number} {unit}s")
    names = [heading.partition(": ")[0] for heading in counts]
    if names != recipes:
        sys.exit(f"the recipes are {names}, not {recipes}")


def check_list(page):
    """The recipe of a format lists the files that name every format. Not those that the recipe changes,
    pages, and other libraries."""
    formats = re.findall(r"^using (b?float[a-z0-9_]+) += basic_float",
                         (root / "include/lowp/format/format.hpp").read_text(), re.MULTILINE)
    if len(formats) < 10:
        sys.exit(f"format.hpp has only {formats}")
    others = ("tests/peers/", "include/lowp/format/format.hpp", "tests/oracle/facts.hpp")
    having = []
    for path in [path for room in ("include/lowp", "tests") for path in (root / room).rglob("*")]:
        name = str(path.relative_to(root))
        if path.is_file() and path.suffix not in (".md", ".pyc") and not name.startswith(others):
            code = path.read_bytes()
            if all(each.encode() in code for each in formats):
                having.append(name)
    listed = re.findall(r"^[|] `((?:include|tests)/[a-z0-9_/.]+)` [|]", page, re.MULTILINE)
    if sorted(listed) != sorted(having):
        sys.exit(f"the recipe of a format lists {sorted(listed)}; these name every format: {sorted(having)}")


def compile_with(*options):
    good, _, errors = run([cxx, "-std=c++20", f"-I{scratch}/include", f"-I{scratch}/tests", *options])
    if not good:
        sys.exit(errors)


shutil.rmtree(scratch, ignore_errors=True)
for folder in ("include", "tests/oracle", "tests/support"):
    shutil.copytree(root / folder, scratch / folder)
page = (root / "include/lowp/README.md").read_text()
check_recipes(page)
check_list(page)

compile_with("-fsyntax-only", here / "recipes/facts.cpp")
program = scratch / "program"
warnings = settings["WARNINGS"].split()
backends = ["-DLOWP_TEST_BACKENDS=lowp::simd::portable,lowp::simd::imaginary", "-include", "support/backends.hpp"]
compile_with("-O1", "-fopenmp", *warnings, *backends, here / "recipes/program.cpp", "-o", program)
for isa in ("imaginary", "portable"):
    good, printed, _ = run([program], env={**os.environ, "LOWP_ISA": isa})
    if not good or printed != f"{isa} 0\n":
        sys.exit(printed)
