# SPDX-License-Identifier: Apache-2.0
"""Stochastic rounding in JAX, timed by the host's clock: its launches cannot be captured."""
import time

import jax
import jax.numpy as jnp
import numpy

from peer_case import CHECKED, ELEMENTS, REPLAYS, SETS, TOLERANCE, WARM_UPS, expect, quantiles

GENERATORS = {"jax_threefry": "threefry2x32", "jax_rbg": "rbg"}


@jax.jit
def cast(x, key):
    random = jax.random.bits(key, x.shape, jnp.uint16).astype(jnp.uint32)
    bits = jax.lax.bitcast_convert_type(x, jnp.uint32) + random
    kept = jax.lax.bitcast_convert_type(bits & jnp.uint32(0xFFFF0000), jnp.float32)
    return kept.astype(jnp.bfloat16)


def expect_stochastic(exact, result):
    """Checks that each float went to a neighbour, and as often upward as the fractions say."""
    bits = numpy.asarray(exact[:CHECKED]).view(numpy.uint32).astype(numpy.int64)
    codes = jax.lax.bitcast_convert_type(result[:CHECKED], jnp.uint16)
    up = numpy.asarray(codes).astype(numpy.int64) - (bits >> 16)
    expect(((up == 0) | (up == 1)).all(), "not a neighbour")
    expect(abs(up.mean() - (bits & 0xFFFF).mean() / 65536) < TOLERANCE, "biased")


def measure(case):
    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX sees no GPU")
    x = [jax.random.normal(jax.random.key(i), (ELEMENTS,), jnp.float32) for i in range(SETS)]
    key = jax.random.key(20110516, impl=GENERATORS[case.name.rsplit("/", 1)[1]])
    expect_stochastic(x[0], cast(x[0], key))

    def seconds():
        start = time.perf_counter()
        for i in range(case.launches()):
            last = cast(x[i % SETS], key)
        last.block_until_ready()
        return (time.perf_counter() - start) / case.launches()

    for _ in range(WARM_UPS):
        seconds()
    return {**quantiles([seconds() for _ in range(REPLAYS)]), "graph": False}
