# SPDX-License-Identifier: Apache-2.0
"""Settings, commands and blocks of Markdown, for tests that are scripts."""

import subprocess
import sys

# CMake passes them as -DNAME=VALUE.
settings = dict(argument[2:].split("=", 1) for argument in sys.argv[1:])


def blocks_of(text):
    """Yields (text before it, kind, code) of each block between fences; last, (the rest, None, "")."""
    before, code = [], None
    for line in text.splitlines(keepends=True):
        if code is None and line.startswith("```"):
            kind, code = line[3:].strip(), []
        elif code is None:
            before.append(line)
        elif line == "```\n":
            yield "".join(before), kind, "".join(code)
            before, code = [], None
        else:
            code.append(line)
    if code is not None:
        raise SystemExit("a block has no end, after\n" + "".join(before))
    yield "".join(before), None, ""


def run(command, **options):
    """Returns (whether it succeeded, output, errors) of a command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **options)
    except OSError as error:
        return False, "", str(error)
    return done.returncode == 0, done.stdout, done.stderr
