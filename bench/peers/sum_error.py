#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the error of torch.sum in float on the elements of the row `sum, float`.

    python3 bench/peers/sum_error.py > bench/peers/sum_error.json

It prints the worst error of COUNT sums, as a power of two of the sum of magnitudes. The exact sum
is math.fsum's."""
import json
import math
import sys

import numpy
import torch
from formats import elements_of, random_floats

COUNT = 200


def relative_error(seed):
    x = random_floats(seed, elements_of(4)) * numpy.float32(2)
    exact = math.fsum(x.tolist())
    return abs(torch.sum(torch.from_numpy(x)).item() - exact) / math.fsum(numpy.abs(x).tolist())


torch.set_num_threads(1)
worst = max(relative_error(seed) for seed in range(COUNT))
json.dump({"torch": torch.__version__, "sums": COUNT, "log2": round(math.log2(worst), 1)}, sys.stdout)
print()
