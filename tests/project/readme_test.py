# SPDX-License-Identifier: Apache-2.0
"""Every README.md of the repository: its links lead somewhere, its code does what the page says, and the
first page stays short. A block of code is one of these; any other fails:

  ```cpp    with main      is a file of examples/, or compiles as it stands; the next block is its output
  ```cpp    with printf    is the body of a main; the next block is its output
  ```cpp    for a GPU      is a .cu of examples/; the next block is its output, compared if a device is here
  ```cpp    without main   has a mark
  ```cmake                 configures and builds a program
  ```sh                    every line is a command that check_command knows
  ```text                  a drawing; the headers that it names exist
  ```                      follows its program, or lies between <!-- begin: NAME --> and <!-- end: NAME -->
                           on a page that `comparing` lists

A mark is the line before a block: <!-- tested by PATH -->, and that test names the page; or
<!-- not run: WHY -->.
"""

import hashlib
import os
import pathlib
import re
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
from script import blocks_of, run, settings

most = {"lines": 250, "words": 2200}
# Who compares the output that stands between marks.
comparing = {
    "examples/README.md": "tests/examples/readme_test.cmake",
    "examples/cases/README.md": "tests/examples/cases/readme_test.cmake",
    "examples/model/README.md": "tests/examples/model/readme_test.cmake",
}

root, build, scratch = (pathlib.Path(settings[name]) for name in ("ROOT", "BUILD", "SCRATCH"))
cxx, gpu = settings["CXX"], settings["LOWP_GPU"]
page = ""  # that is read
has_failed = False
unknown = "unknown"  # output of a program whose device or library is not here
shown = set()  # of examples/


def fail(text):
    global has_failed
    has_failed = True
    print(f"{page}: {text}")


def succeeds(what, command):
    """Runs a command where a reader of the pages stands. Returns what it prints."""
    good, printed, errors = run(command, cwd=scratch)
    if not good:
        fail(f"{what} fails:\n{printed}{errors}")
    return printed


def file_of(name):
    path = root / name
    return path.read_text() if path.is_file() else ""


def example_of(code):
    """Returns the file of examples/ that is this code but for its licence line, or None."""
    for path in examples:
        if re.sub(r"\A// SPDX.*\n", "", path.read_text()) == code:
            shown.add(path.name)
            return path
    return None


def check_program(code):
    source = example_of(code)
    program = None
    if source:
        program = build / "examples" / source.stem
    else:
        source = scratch / (hashlib.sha1(code.encode()).hexdigest() + ".cpp")
        source.write_text(code)
    # The build may have no examples, or old ones.
    if not program or not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program = scratch / source.stem
        compile = [cxx, "-std=c++20", "-O1", "-fopenmp", *settings["WARNINGS"].split(),
                   f"-I{root}/include", "-isystem", "/usr/include/eigen3", f"-D{settings['KERNELS']}",
                   "-include", root / "tests/support/backends.hpp", source]
        absent = re.search(r"\s(\S+): No such file", run([*compile, "-M"])[2])
        if absent and not absent[1].startswith("lowp"):
            print(f"{page}: {source.name} is not compiled, since {absent[1]} is not here")
            return unknown
        succeeds(f"compiling {source}", [*compile, "-o", program])
    return succeeds(source.stem, [program])


def check_device_program(code):
    """Returns its output, if there is a device. LOWP_GPU may name a folder that emulates one."""
    source = example_of(code)
    if not source or source.suffix != ".cu":
        fail(f"a block for a GPU is no .cu of examples/:\n{code}")
        return ""
    program = build / "examples" / source.stem
    device = [f"{gpu}/run", build / "gpu"] if gpu else []
    if program.exists() and (device or os.path.exists("/dev/nvidiactl")):
        return succeeds(source.stem, [*device, program])
    return unknown


def check_cmake(code):
    prefix = scratch / "installed"
    cmake = ["cmake", f"-DCMAKE_CXX_COMPILER={cxx}"]
    if "find_package" in code and not prefix.exists():
        off = [f"-DLOWP_BUILD_{what}=OFF" for what in ("TESTS", "BENCH", "TRAINING", "EXAMPLES")]
        succeeds("configuring lowp", [*cmake, "-S", root, "-B", scratch / "lowp_build", *off])
        succeeds("installing lowp",
                 ["cmake", "--install", scratch / "lowp_build", "--prefix", prefix])
    project = scratch / hashlib.sha1(code.encode()).hexdigest()
    if project.exists():  # another page has the same
        return
    project.mkdir()
    (project / "lowp").symlink_to(root)
    shutil.copy(scratch / "your_program.cpp", project)
    (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(somebody_else LANGUAGES CXX)
add_executable(your_program your_program.cpp)
{code}""")
    succeeds(f"configuring\n{code}", [*cmake, "-S", project, "-B", project / "build",
                                      f"-DCMAKE_PREFIX_PATH={prefix}"])
    succeeds(f"building\n{code}", ["cmake", "--build", project / "build"])
    succeeds(f"running\n{code}", [project / "build" / "your_program"])


def has_words(file, command, words):
    for word in words:
        if word not in file_of(file):
            fail(f"'{command}': {file} has no {word}")


def check_command(command):
    words = command.split()
    words[0] = words[0].removeprefix("build/examples/")
    if re.match(r"([A-Z_]+=\S+ )?sh \S+", command):
        pass  # that the file exists is checked wherever a page names it
    elif command.startswith("pip install ./"):
        if not file_of(words[-1] + "/pyproject.toml"):
            fail(f"nothing for pip is in {words[-1]}")
    elif words[0] in ("python3", "torchrun"):
        pass  # peers.judge.name, peers.torch.ranks and trainer run them
    elif words[0] == "g++":
        succeeds(command, ["sh", "-c", command.replace("g++", cxx)])
    elif words[0] == "nvcc":
        path = f"{os.environ['PATH']}:/usr/local/cuda/bin"
        nvcc = shutil.which("nvcc", path=path)
        if nvcc:
            succeeds(command, ["sh", "-c", command.replace("nvcc", f"{nvcc} -ccbin {cxx}")])
    elif words[0] == "cmake":
        has_words("CMakeLists.txt", command, re.findall(r"-D(LOWP[A-Z_]+)=", command))
        has_words("examples/CMakeLists.txt", command,
                  [f"tool({name[5:]}" if name.startswith("lowp-") else f"example({name}"
                   for name in re.findall(r"--target example_([a-z-]+)", command)])
    elif words[0] in ("lowp-model", "lowp-judge"):
        has_words(f"examples/{words[0][5:]}/options.cpp", command,
                  [f'"{words[1]}"', *re.findall(r"--[a-z]+", command)])
    else:
        fail(f"nothing here can tell whether this command is right: {command}")


def check_shell(code):
    for line in code.splitlines():
        command = re.sub(r" *#.*", "", line)
        if command:
            check_command(command)


def check_drawing(code):
    for name in re.findall(r"[a-z0-9_/]+\.(?:hpp|cuh)", code):
        if not any(str(header).endswith("/" + name) for header in headers):
            fail(f"a drawing names {name}, which is not in include/lowp")


def check_mark(before):
    """Returns true if the text before a block ends in a mark."""
    mark = re.search(r"<!-- (not run: .+|tested by (\S+)) -->\n\Z", before)
    if mark and mark[2] and page not in file_of(mark[2]):
        fail(f"a block is said to be tested by {mark[2]}, which does not read this page")
    return mark is not None


def check_generated(prose):
    """The block after this text is one that another test compares."""
    marks = re.findall(r"<!-- (begin|end): (\S+) -->", prose)
    if not marks or marks[-1][0] != "begin":
        return fail("a block is neither the output of a program before it nor between marks, after\n"
                    + prose[-200:])
    name, test = marks[-1][1], comparing.get(page)
    if not test:
        fail(f"who compares what is between the marks {name}? Say so in `comparing` of this test")
    elif name not in file_of(test) and not file_of(f"examples/cases/{name}.cpp"):
        fail(f"{test} does not compare what is between the marks {name}")


def check_blocks(text):
    """Returns the text without its blocks."""
    prose, output = "", ""
    for before, kind, code in blocks_of(text):
        prose += before
        expected, output = output, ""
        if expected and kind == "" and before == "":
            if expected not in (code, unknown):
                fail(f"a program does not print\n{code}but\n{expected}")
        elif expected:
            fail(f"a program prints what the page does not show:\n{expected}")
        elif kind is None or check_mark(before):
            pass
        elif kind == "cpp" and re.search("__global__|<lowp/cuda/", code):
            output = check_device_program(code)
        elif kind == "cpp" and re.search(r"^int main\(", code, re.MULTILINE):
            output = check_program(code)
        elif kind == "cpp" and "printf" in code:
            output = check_program("#include <lowp/lowp.hpp>\n#include <cstdio>\n#include <vector>\n"
                                   "int main() {\n" + code + "}\n")
        elif kind == "cpp":
            fail(f"a block has no main, and no mark that says which test has it:\n{code}")
        elif kind in ("cmake", "sh", "text"):
            {"cmake": check_cmake, "sh": check_shell, "text": check_drawing}[kind](code)
        elif kind == "":
            check_generated(prose)
        else:
            fail(f"no rule for a block of {kind}")
    for block in re.findall(r"\n\n(    .*)", prose):
        fail(f"a block without a fence, which nothing here checks: {block}")
    return prose


def anchors_of(prose):
    """Returns what GitHub calls the headings."""
    anchors = []
    for heading in re.findall(r"^#+ +(.*)", prose, re.MULTILINE):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = first = re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-")
        number = 0
        while anchor in anchors:
            number += 1
            anchor = f"{first}-{number}"
        anchors.append(anchor)
    return anchors


def check_links(prose):
    """Likewise the scripts that the page names."""
    for link in re.findall(r"\]\(([^)]*)\)", re.sub("`[^`\n]*`", "", prose)):
        if re.fullmatch(r"https://\S+", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not (root / target).exists():
            fail(f"a link to {link}, which is not there")
        elif anchor and target not in prose_of:
            fail(f"a link to {link}: only the headings of a README.md are known")
        elif anchor and anchor not in anchors_of(prose_of[target]):
            fail(f"a link to {link}: its headings are {anchors_of(prose_of[target])}")
    for script in re.findall(r"sh ([A-Za-z0-9_./-]+\.sh)", file_of(page)):
        if not file_of(script):
            fail(f"there is no {script}")


examples = [path for path in (root / "examples").iterdir() if path.suffix in (".cpp", ".cu")]
headers = [path for path in (root / "include/lowp").rglob("*") if path.suffix in (".hpp", ".cuh")]
pages = ["README.md"] + [str(path.relative_to(root)) for room in ("bench", "examples", "include", "tests")
                         for path in sorted((root / room).rglob("README.md"))]

# A reader of the pages stands in a project that has a clone, or in the clone.
shutil.rmtree(scratch, ignore_errors=True)
scratch.mkdir(parents=True)
for name, target in (("lowp", "."), ("include", "include"), ("examples", "examples")):
    (scratch / name).symlink_to(root / target)
for suffix in ("cpp", "cu"):
    (scratch / f"your_program.{suffix}").write_text(
        "#include <lowp/value.hpp>\nint main() { return lowp::bfloat16(2) + 1 == 3 ? 0 : 1; }\n")

prose_of = {}
for page in pages:
    prose_of[page] = check_blocks(file_of(page))
for page, prose in prose_of.items():
    check_links(prose)

page = "README.md"
for example in examples:
    if example.name not in shown:
        fail(f"examples/{example.name} is on no page as it is")
for unit, count in (("lines", file_of(page).count("\n")), ("words", len(file_of(page).split()))):
    if count > most[unit]:
        fail(f"it has {count} {unit}, more than {most[unit]}")
sys.exit(has_failed)
