# SPDX-License-Identifier: Apache-2.0
"""Tables and figures that the pages of bench/transformer and bench/model share."""
import argparse
import collections
import csv
import pathlib
import statistics
import subprocess


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def runs_by_way(path):
    """Returns the rows of each way, in the order of the file."""
    runs = collections.defaultdict(list)
    for row in read(path):
        runs[row["way"]].append(row)
    return runs


def context_table(folder):
    return "\n".join(["| | |", "|---|---|",
                      *(f"| {c['what']} | {c['value']} |" for c in read(folder / "context.csv"))])


def spread(values):
    return statistics.stdev(values) if len(values) > 1 else 0.0


def draw(path, title, rows, script="set xrange [*:*]"):
    """Draws a point with an error bar for each (text, mean, spread), by gnuplot."""
    data = "".join(f'{mean} {deviation} {i} "{text}"\n' for i, (text, mean, deviation) in enumerate(rows))
    script = f"""set terminal svg size 820,{60 + 28 * len(rows)} noenhanced font 'sans-serif,13' background rgb 'white'
$data << END
{data}END
set title '{title}'
set yrange [{len(rows) - 0.5}:-0.5]
set lmargin 46
set grid x
{script}
unset key
plot $data using 1:3:2:ytic(4) with xerrorbars pt 7 ps 0.7 lw 2 lc rgb '#0072b2'
"""
    drawn = subprocess.run(["gnuplot"], input=script, capture_output=True, text=True, check=True)
    path.write_text(drawn.stdout)


def main(description, here, page, figure, brief=None):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--figure", action="store_true")
    if brief:
        parser.add_argument("--brief", action="store_true")
    parser.add_argument("results", nargs="?", type=pathlib.Path, default=here / "results")
    arguments = parser.parse_args()
    if arguments.figure:
        figure(arguments.results)
    elif brief and arguments.brief:
        print(brief(arguments.results), end="")
    else:
        print(page(arguments.results), end="")
