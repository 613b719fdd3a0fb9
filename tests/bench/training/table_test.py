# SPDX-License-Identifier: Apache-2.0
"""bench/training/README.md, and the six storages of the project's README.md, are what their script writes
from the results beside it. A loss that changes is noticed."""

import csv
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).parents[2] / "support"))
from script import run, settings

training, scratch = pathlib.Path(settings["ROOT"]) / "bench/training", pathlib.Path(settings["SCRATCH"])
readme = (training.parents[1] / "README.md").read_text()


def table(*arguments):
    good, printed, errors = run([sys.executable, "-B", training / "table.py", *arguments])
    return printed if good else sys.exit(errors)


committed = (training / "README.md").read_text()
if table() != committed:
    sys.exit("bench/training/README.md is not what bench/training/table.py writes")

shutil.rmtree(scratch, ignore_errors=True)
shutil.copytree(training / "results", scratch / "results")
(scratch / "README.md").write_text(readme)
table("--into", scratch / "README.md")
if (scratch / "README.md").read_text() != readme:
    sys.exit("the table in README.md is not what bench/training/table.py --into writes")

# If a loss changes in the results, both pages change.
if table("--brief", scratch / "results") not in readme:
    sys.exit("README.md does not have what bench/training/table.py --brief writes")
path = scratch / "results/runs.csv"
with path.open(newline="") as file:
    rows = list(csv.reader(file))
rows[1][rows[0].index("held_out")] = "9.5"
with path.open("w", newline="") as file:
    csv.writer(file, lineterminator="\n").writerows(rows)
if table(scratch / "results") == committed:
    sys.exit("bench/training/table.py does not see a loss that has changed")
if table("--brief", scratch / "results") in readme:
    sys.exit("bench/training/table.py --brief does not see a loss that has changed")
