# SPDX-License-Identifier: Apache-2.0
"""Shared by all peers: sizes and counts of a measurement."""
import math

ELEMENTS = 1 << 28
SETS = 2  # each operand takes 512 MiB or more with them
LEAST_LAUNCHES, WARM_UPS, REPLAYS = 6, 5, 25
CHECKED = 1 << 22
TOLERANCE = 8 * 0.5 / CHECKED**0.5  # eight standard deviations


class Case:
    def __init__(self, name, element_bytes, elements=ELEMENTS, sets=SETS, tensors=None):
        self.name, self.elements, self.sets = name, elements, sets
        self.bytes = elements * element_bytes
        self.tensors = tensors

    def launches(self):
        return -(-LEAST_LAUNCHES // self.sets) * self.sets


def quantiles(samples):
    samples = sorted(samples)

    def at(share):
        place = share * (len(samples) - 1)
        below = math.floor(place)
        above = min(below + 1, len(samples) - 1)
        return samples[below] + (samples[above] - samples[below]) * (place - below)

    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def expect(condition, what):
    if not bool(condition):
        raise ValueError(f"computes something else: {what}")
