# SPDX-License-Identifier: Apache-2.0
"""The inputs of the recorded quantizations: tests/quantization/vectors/README.md has the same text in words.

Integers alone, so that another language repeats them bit for bit.
"""

import functools

BLOCKS = 8  # of a tensor
MASK = (1 << 64) - 1
LARGEST, INFINITY, QUIET = 0x7F7FFFFF, 0x7F800000, 0x7FC00000
MIDPOINTS = (1, 3, 5, 7, 10, 14, 20)  # of neighbours in e2m1, times 4
THRESHOLDS = (16, 20, 24, 28, 30, 31)  # significands times 16, where a rule of scales changes


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def draw(tensor, block, element, use):
    return mix((tensor << 40) | (block << 24) | (element << 8) | use)


def nearest(significand, exponent):
    """Returns the bits of the float nearest to significand * 2^exponent, at most FLT_MAX."""
    if significand == 0:
        return 0
    drop = max(significand.bit_length() - 24, -149 - exponent)
    if drop > 0:
        half, rest = 1 << (drop - 1), significand & ((1 << drop) - 1)
        significand >>= drop
        significand += rest > half or (rest == half and significand & 1)
    else:
        significand <<= -drop
    exponent += drop
    if significand == 1 << 24:
        significand, exponent = 1 << 23, exponent + 1
    if significand < 1 << 23:
        return significand  # a subnormal number: the exponent is -149
    return min(((exponent + 150) << 23) + (significand - (1 << 23)), LARGEST)


def parts(bits):
    """Returns the significand and the exponent of a positive float."""
    biased = bits >> 23
    return (bits, -149) if biased == 0 else ((bits & 0x7FFFFF) | 0x800000, biased - 150)


def quotient(significand, divisor, exponent):
    """Returns the float nearest to significand / divisor * 2^exponent."""
    whole = significand << 28
    return nearest((whole // divisor) | (whole % divisor != 0), exponent - 28)


def moved(bits, by):
    return min(max(bits + by, 0), LARGEST)


def largest(tensor):
    """Returns the bits of the largest finite magnitude of a tensor, of which each other element is a part."""
    d = draw(tensor, 0, 0, 0)
    kind, k, sig = tensor % 16, (d & 31) - 16, (d >> 32) & 0x7FFFFF
    match kind:
        case 0:
            return nearest(2688, 0)
        case 1 | 14 | 15:
            return nearest(2688, k)
        case 3:
            return nearest(1, k)
        case 4:
            return moved(nearest(2688, k), 1 if d & 256 else -1)
        case 5:
            return nearest((sig >> 16) | 0x80, k)
        case 6:
            return nearest(0x800000 | sig, (d % 5) - 9)
        case 7:
            return nearest(0x800000 | sig, (d % 20) - 149)
        case 8:
            return max(sig >> (d % 12), 1)
        case 9:
            return LARGEST
        case 10:
            return nearest(0x800000 | sig, 104 - d % 24)
        case 11:
            return 0
        case 13:
            return nearest(1536, k)
    return nearest(0x800000 | sig, k - 24)  # 2 and 12


def magnitude(tensor, block, i, size, top):
    """Returns the bits of the magnitude of element i, before it is cut to that of the tensor."""
    of, d = draw(tensor, block, 0xFFFF, 0), draw(tensor, block, i, 1)
    kind, at, part = of & 7, (of >> 16) % 17, (of >> 24) & 7
    peak = i == (of >> 8) % size
    ulps = (0, 0, 1, -1)[(d >> 8) & 3]
    peak_ulps = (0, 0, 1, -1, 2, -2, 1, -1)[(of >> 32) & 7]
    m, e = parts(top)
    binade = e + m.bit_length() - 1
    if kind == 7 and of & 64 or (d >> 16) & 15 == 0 and not peak:
        return 0
    if kind == 0:  # random
        return nearest(0x800000 | (d >> 40) & 0x7FFFFF, binade - 23 - at % 8 - (0 if peak else d % 6))
    if kind in (1, 2, 3):  # scales of A * s / 448 (1 and 2) or A * s / 256 (3)
        divisor, shift = (3, 11) if kind == 3 else (21, 9)
        s, at = (8 + part, 5 - at) if at < 15 else (max(part, 1), -9)  # a code of e4m3, and in 1 the middle above it
        middle = kind == 1 or (of >> 27) & 1
        if peak:
            s, at = (2 * s + 1, at - 1) if middle else (s, at)
            return moved(quotient(m * s * 24, divisor, e + at - shift), peak_ulps)
        s += (d >> 12) & 1 if middle else 0
        return moved(quotient(m * s * MIDPOINTS[(d >> 24) % 7], divisor, e + at - shift), ulps)
    if kind == 4 or kind == 7:  # powers of two as scales
        limit = moved(nearest(THRESHOLDS[part % 6], binade - at - 5), peak_ulps)
        bits = 1 + (d >> 24) % 6
        few = (1 << bits) | (d >> 40) & ((1 << bits) - 1)
        return limit if peak else min(limit, moved(nearest(few, binade - at - 1 - bits - (d >> 32) % 7), ulps))
    if kind == 5:  # powers of two
        return nearest(1, binade - (at % 4 if peak else d % 40))
    if of & 64:
        return ((d >> 40) & 0x7FFFFF) >> (d % 23)
    return nearest(0x800000 | (d >> 40) & 0x7FFFFF, binade - 23 - 14 - at - d % 4)


@functools.cache
def words(tensor, size):
    """Returns the bits of the floats of a tensor, which has BLOCKS blocks of size."""
    top, result = largest(tensor), []
    for block in range(BLOCKS):
        for i in range(size):
            bits = min(magnitude(tensor, block, i, size, top), top)
            if i == 0 and block == (tensor >> 4) % BLOCKS:
                bits = top
            if block == 3 and i == tensor // 16 % size and tensor % 16 in (14, 15):
                bits = INFINITY if tensor % 16 == 14 else QUIET
            result.append(bits | (draw(tensor, block, i, 1) >> 63) << 31)
    return result


def checksum(words):
    result = 0
    for word in words:
        result = mix(result ^ word)
    return result


def amax(words):
    """Returns the bits of the largest magnitude, infinity included, without NaN."""
    return max(word & 0x7FFFFFFF for word in words if word & 0x7FFFFFFF <= INFINITY)
