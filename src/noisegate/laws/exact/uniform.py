"""Uniform integers and unbiased random rounding, by rejection: the distance from the ideal law is zero."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.laws.exact.parameters import as_base, as_counts, as_size, as_threshold, as_width
from noisegate.laws.exact.runs import CHUNK

_MOST_FOR_16_BITS = 1 << 12  # at most one word in 16 is then rejected


def uniform(width: int, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` integers, each uniform on -width .. width.

    Guarantee
    ---------
    Exactly uniform, if the bits of `entropy` are uniform and independent.
    """
    reach = as_width(width)
    return below(2 * reach + 1, as_size(size), entropy=as_entropy(entropy)) - reach


def uniform_above(width: int, threshold: int, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` draws of uniform noise, given that each exceeds `threshold` >= 0."""
    reach, floor = as_width(width), as_threshold(threshold)
    if floor >= reach:
        raise SpecError.for_value("threshold", found=threshold, allowed=f"below the width, {reach}")
    return below(reach - floor, as_size(size), entropy=as_entropy(entropy)) + (floor + 1)


def uniform_tail(width: int, threshold: int, /) -> Fraction:
    """P(noise > threshold) of uniform noise, threshold >= 0, exactly."""
    reach = as_width(width)
    return Fraction(max(reach - as_threshold(threshold), 0), 2 * reach + 1)


def random_rounding(counts: ArrayLike, base: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """Each count as a multiple of `base` that equals it on average.

    A count with remainder r goes up to the next multiple with probability r / base, else down.
    A multiple stays. The same bits are drawn whatever the counts are.

    Guarantee
    ---------
    Exactly these probabilities, if the bits of `entropy` are uniform and independent.
    """
    raw_counts, step = as_counts(counts), as_base(base)
    rest = raw_counts % step
    level = below(step, rest.size, entropy=as_entropy(entropy)).reshape(rest.shape)
    return raw_counts - rest + step * (level < rest)


def below(bound: int, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` integers, each uniform on 0 .. bound - 1, for a bound of at most 2**62."""
    words, bits = (entropy.words16, 16) if bound <= _MOST_FOR_16_BITS else (entropy.words64, 64)
    last = (1 << bits) // bound * bound - 1
    out = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        drawn = words(min(size - filled, CHUNK))
        kept = drawn[drawn <= last] % drawn.dtype.type(bound)
        out[filled : filled + kept.size] = kept
        filled += kept.size
    return out
