"""How far single cells stray from their intensities: the dispersion under which each is best predicted from the others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from noisegate.core.workload.missing import log_mass
from noisegate.core.workload.observed import DISPERSIONS, Observed

Floats = NDArray[np.float64]

#: So many cells with a value, and without, are enough to judge by.
_SAMPLE = 20_000
MOST_SPREAD = 1.5


def likeliest_dispersion(observed: Observed, apart: Floats, spread: Floats, /) -> int:
    """The place in `DISPERSIONS` of the best one; `apart` are log-intensities from the other cells, up to `spread`."""
    steps = [max(1, len(group) // _SAMPLE) for group in (observed.shown, observed.hidden)]
    some, others = observed.shown[:: steps[0]], observed.hidden[:: steps[1]]
    weights = (len(observed.shown) / max(1, len(some)), len(observed.hidden) / max(1, len(others)))
    seen, mean = np.rint(observed.seen[:: steps[0]]), np.exp(apart[some])
    extra = np.expm1(np.minimum(spread[some], MOST_SPREAD)) + observed.noise / np.maximum(mean, 1e-3) ** 2
    missing = np.stack([table.at(apart[others], table.logs)[0] for table in observed.tables])
    unsure = np.expm1(np.minimum(spread[others], MOST_SPREAD))
    best, found = -math.inf, observed.place
    for place, own in enumerate(DISPERSIONS):
        score = weights[0] * float(log_mass(seen, mean, 1 / (own + extra)).sum())
        nearest = np.searchsorted(DISPERSIONS, np.minimum(own + unsure, DISPERSIONS[-1]))
        score += weights[1] * float(missing[nearest, np.arange(len(others))].sum())
        if score > best:
            best, found = score, place
    return found
