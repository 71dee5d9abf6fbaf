"""Trials with one chance of success, exactly: each one, or only the gaps between successes.

Perturbing the zeros of a large domain needs only the few that come out above the threshold. The
gaps between those are geometric, so `successes` finds them in time that depends on how many there
are, not on the size of the domain, with the same law as a draw for every cell (MATH 6).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.laws.exact.fixed import ONE, times, to_fixed
from noisegate.laws.exact.parameters import Number, as_probability, as_size, as_trials
from noisegate.laws.exact.runs import CHUNK, REACH, Run, RunLaw
from noisegate.laws.exact.table import OutcomeTable


def geometric(success: Number, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """`size` draws of the number of failures before the first success: P(k) = success (1-success)**k.

    `success` may be as small as you like; a number of failures of 2**62 or more is given as 2**62.

    Guarantee
    ---------
    Each draw is within `distance_bound("geometric", success)` of the ideal law in total variation,
    for exactly this `success`, if the bits of `entropy` are uniform and independent.
    """
    chance = as_probability(success)
    if chance == 0 and success == 0:
        raise SpecError.for_value("success", found=success, allowed="above 0, or no trial ever succeeds")
    return geometric_runs(chance).draw(as_size(size), entropy=as_entropy(entropy))


def bernoulli(success: Number, size: int, /, *, entropy: Entropy) -> NDArray[np.bool_]:
    """`size` independent trials, each true with probability `success`.

    The guarantee is that of `geometric`, with `distance_bound("bernoulli", success)`.
    """
    table, source = bernoulli_table(as_probability(success)), as_entropy(entropy)
    out = np.empty(as_size(size), dtype=np.bool_)
    for begin in range(0, out.size, CHUNK):
        part = out[begin : begin + CHUNK]
        np.equal(table.draw(part.size, entropy=source), 1, out=part)
    return out


def successes(trials: int, success: Number, /, *, entropy: Entropy) -> NDArray[np.int64]:
    """Where the successes are among `trials` independent trials: ascending, from 0 to trials - 1.

    The law is that of `np.flatnonzero(bernoulli(success, trials))`; the time is that of one draw
    for each success.
    """
    count, chance, source = as_trials(trials), as_probability(success), as_entropy(entropy)
    found: list[NDArray[np.int64]] = []
    last = -1
    while chance > 0 and last < count - 1:
        expected = math.ceil((count - 1 - last) * chance)
        batch = min(expected + 4 * math.isqrt(expected) + 4, CHUNK)
        # A gap longer than all trials is as good as one of just that length, and cannot overflow.
        gaps = np.minimum(geometric_runs(chance).draw(batch, entropy=source), count) + 1
        places = last + np.cumsum(gaps)
        found.append(places[places < count])
        last = int(places[-1])
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


@lru_cache(maxsize=32)
def geometric_runs(success: Fraction, /) -> RunLaw:
    """The law of the failures before a success, cut off at 2**62, ready to be drawn from."""
    ratio = ONE - to_fixed(success)
    beyond = ratio
    for _ in range(REACH.bit_length() - 1):
        beyond = times(beyond, beyond)
    return RunLaw.falling(
        ratio, [Run(mass=ONE - beyond, first=0, step=1), Run(mass=beyond, first=REACH, step=0)]
    )


@lru_cache(maxsize=32)
def bernoulli_table(success: Fraction, /) -> OutcomeTable:
    """The law of one trial, ready to be drawn from."""
    chance = to_fixed(success)
    return OutcomeTable.from_weights([ONE - chance, chance])
