"""How far single cells stray from their intensities: the dispersion under which each is best predicted from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from noisegate.inference.profile.effects import ProfileEffect, without_own
from noisegate.inference.profile.missing import log_mass
from noisegate.inference.profile.observed import DISPERSIONS, Observed

#: So many cells with a value, and without, are enough to judge by.
_SAMPLE = 6_000
MOST_SPREAD = 1.5


def likeliest_dispersion(observed: Observed, effects: Sequence[ProfileEffect], /) -> int:
    """The place in `DISPERSIONS` of the one under which cells are likeliest at the intensities that the others give them."""
    steps = [max(1, len(group) // _SAMPLE) for group in (observed.shown, observed.hidden)]
    some, others = observed.shown[:: steps[0]], observed.hidden[:: steps[1]]
    weights = (len(observed.shown) / max(1, len(some)), len(observed.hidden) / max(1, len(others)))
    apart, spread = without_own(observed, effects, np.concatenate([some, others]))
    unsure = np.expm1(np.minimum(spread, MOST_SPREAD))
    seen, mean = np.rint(observed.seen[:: steps[0]]), np.exp(apart[: len(some)])
    extra = unsure[: len(some)] + observed.noise / np.maximum(mean, 1e-3) ** 2
    missing = np.stack([table.at(apart[len(some) :], table.logs)[0] for table in observed.tables])
    best, found = -math.inf, observed.place
    for place, own in enumerate(DISPERSIONS):
        score = weights[0] * float(log_mass(seen, mean, 1 / (own + extra)).sum())
        nearest = np.searchsorted(DISPERSIONS, np.minimum(own + unsure[len(some) :], DISPERSIONS[-1]))
        score += weights[1] * float(missing[nearest, np.arange(len(others))].sum())
        if score > best:
            best, found = score, place
    return found
