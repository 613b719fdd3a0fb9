# SPDX-License-Identifier: Apache-2.0
"""The figures of a program, round by round: collected from its JSON, kept in results/KIND/PROGRAM.json."""
import json
import pathlib
import re
import statistics

from goals import ALONE, AVX2, OWN, TEAM

LIBRARIES = ("Eigen", "Highway", "oneDNN")  # as peers/ name them
# Kinds of processor, in the order of the page. A kind without a name here has family and model.
KINDS = {"family 25, model 17": "Zen 4", "family 26, model 2": "Zen 5", "family 6, model 207": "Emerald Rapids"}


def medians(folder, program):
    """Reads a round: context, versions, medians of items a second and traffic by name. Traffic loops
    have the name of the bytes they move. Names of runs with LOWP_ISA=avx2 begin with avx2:, then
    come all: or one: of the team's runs."""
    context, versions, samples, traffic = {}, {}, {}, {}
    for path in sorted(folder.glob(f"{program}-*.json")):
        data = json.loads(path.read_text())
        versions.update(data["context"].get("versions", {}))
        versions.update({k: data["context"][k] for k in LIBRARIES if k in data["context"]})
        words = path.stem.split("-")
        prefix = "".join(mark for mark in (AVX2, TEAM, ALONE) if mark[:-1] in words)
        if "lowp_isa" in data["context"] and prefix in ("", TEAM):
            context = context or data["context"]
        for run in data["benchmarks"]:
            if run["run_type"] == "iteration" and "items_per_second" in run:
                name = prefix + run["run_name"]
                if prefix and "/traffic/" in name and name.endswith("/L2"):
                    continue
                samples.setdefault(name, []).append(run["items_per_second"])
                if run.get("label"):
                    traffic[name] = run["label"]
    return context, versions, {k: statistics.median(v) for k, v in samples.items()}, traffic


def collect(program, folders):
    """The text of results/KIND/PROGRAM.json: a line for each case, in items a second."""
    rounds = [medians(pathlib.Path(folder), program) for folder in folders]
    first, versions, _, _ = rounds[0]
    caches = ", ".join(f"L{c['level']} {c['type'].lower()} {c['size'] >> 10} KiB"
                       for c in first["caches"])
    context = {
        "machine": f"{first['cpu'].strip()}; {first['num_cpus']} processors; {caches}",
        "backend": first["lowp_isa"],
        "compiler": first["compiler"],
        "date": first["date"][:10],
        "threads": int(first["threads"]),
        "load": [round(one[0]["load_avg"][0], 2) for one in rounds],
        "versions": versions,
    }
    traffic = {name: label for one in rounds for name, label in one[3].items()}
    lines = []
    for name in sorted(set().union(*(one[2] for one in rounds))):
        speeds = ", ".join(f"{one[2][name]:.6g}" if name in one[2] else "null" for one in rounds)
        label = f', "traffic": {json.dumps(traffic[name])}' if name in traffic else ""
        lines.append(f'{json.dumps(name)}: {{"speeds": [{speeds}]{label}}}')
    return "".join(['{"context": ', json.dumps(context), ',\n"cases": {\n', ",\n".join(lines), "\n}}\n"])


def kind_of(context):
    """Names the kind of processor: "Xeon, family 6, model 207; 2 processors" is "Emerald Rapids"."""
    processor = context["machine"].split(";")[0]
    number = re.search("family [0-9]+, model [0-9]+", processor)
    return KINDS.get(number[0], number[0]) if number else processor


def folder_of(kind):
    return re.sub("[^a-z0-9]+", "_", kind.lower()).strip("_")


def figures_by_kind(folder):
    """The figures of each kind of processor, which has a folder of its own."""
    kinds = {}
    for path in pathlib.Path(folder).glob("*/*.json"):
        kind = kind_of(json.loads(path.read_text())["context"])
        if path.parent.name != folder_of(kind):
            raise SystemExit(f"figures.py: {path} was measured on {kind}")
        kinds[kind] = path.parent
    order = [*KINDS.values(), *sorted({*kinds} - {*KINDS.values()})]
    return {kind: Figures(kinds[kind]) for kind in order if kind in kinds}


class Figures:
    """Figures of all programs that have been measured on one kind of processor."""

    def __init__(self, folder):
        self.contexts, self.speeds, self.traffic = {}, {}, {}
        for path in sorted(pathlib.Path(folder).glob("*.json")):
            data = json.loads(path.read_text())
            self.contexts[path.stem] = data["context"]
            for name, case in data["cases"].items():
                self.speeds[name] = case["speeds"]
                self.traffic[name] = case.get("traffic")

    def rounds(self, program):
        return len(self.contexts[program]["load"]) if program in self.contexts else 0

    def best(self, case, peers, level, number):
        """The speed and name of the fastest that matches, in a round."""
        whole = re.compile(re.escape(case) + "/" + peers + "/" + level)
        found = [(speeds[number], name) for name, speeds in self.speeds.items()
                 if whole.fullmatch(name) and speeds[number] is not None]
        return max(found, default=(None, None))

    def of_rival(self, row, rival, level, capped=""):
        """Ratio and the rival's name for every round that has both; of runs capped to AVX2."""
        if row.case.startswith(capped or "/"):
            return
        for number in range(self.rounds(program_of(row.case))):
            own, _ = self.best(capped + row.case, OWN, level, number)
            other, name = self.best(capped + rival.case, rival.peers, level, number)
            if own and other:
                yield own / other, name

    def of_all(self, row, capped):
        """The speed of all processors, from L2, over as many times that of one, for every round."""
        for number in range(self.rounds("team")):
            every, name = self.best(capped + TEAM + row.case, OWN, "L2", number)
            one, _ = self.best(capped + ALONE + row.case, OWN, "L2", number)
            if every and one:
                yield every / one / self.contexts["team"]["threads"], name

    def of_traffic(self, row, prefix=""):
        """Ratio and the loop's name, from DRAM."""
        program = program_of(row.case)
        for number in range(self.rounds("team" if TEAM in prefix else program)):
            own, name = self.best(prefix + row.case, OWN, "DRAM", number)
            loops = f"{prefix}{program}/traffic/{self.traffic.get(name)}"
            loop, loop_name = self.best(loops, "[a-z]+", "DRAM", number)
            if own and loop:
                yield own / loop, loop_name


def program_of(case):
    return re.sub("^([a-z0-9]+:)*", "", case).split("/")[0]
