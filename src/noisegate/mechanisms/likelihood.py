"""How likely a published value, or a suppression, is for each possible raw sum.

The same numbers as `Mechanism.response(count)`, for many sums at once.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.laws._law import ContinuousLaw, LatticeLaw, Law
from noisegate.mechanisms.mechanism import Mechanism

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def log_likelihood(mechanism: Mechanism, /, *, values: ArrayLike, counts: Ints) -> Floats:
    """log P(what was seen | raw sum), elementwise; a NaN value says suppressed.

    Where values are not integers it is a log-density. Negative sums are impossible.
    """
    seen, sums = np.broadcast_arrays(np.asarray(values, dtype=np.float64), counts)
    possible = sums >= 0
    safe = np.where(possible, sums, 0)
    if type(mechanism.law).at is not Law.at:
        return np.where(possible, _one_by_one(mechanism, seen, safe), -np.inf)
    hidden = np.isnan(seen)
    logs = np.empty(sums.shape)
    if hidden.any():
        logs[hidden] = _suppressed(mechanism, safe[hidden])
    if not hidden.all():
        logs[~hidden] = _published(mechanism, seen[~hidden], safe[~hidden])
    if mechanism.zeros == "keep":
        passes = mechanism.passes(0)
        kept = np.where(hidden, not passes, passes & (seen == 0))
        logs = np.where(safe == 0, np.where(kept, 0.0, -np.inf), logs)
    return np.where(possible, logs, -np.inf)


def _one_by_one(mechanism: Mechanism, seen: Floats, counts: Ints, /) -> Floats:
    """For a law that depends on the count: ask for each response."""
    distinct, place = np.unique(counts, return_inverse=True)
    logs = np.empty(counts.shape)
    for k, count in enumerate(distinct):
        response = mechanism.response(int(count))
        here = place.reshape(counts.shape) == k
        value = seen[here]
        hidden = np.isnan(value)
        logs[here] = np.where(hidden, response.log_suppressed, response.logprob(np.where(hidden, 0.0, value)))
    return logs


def _suppressed(mechanism: Mechanism, counts: Ints, /) -> Floats:
    if mechanism.threshold is None:
        return np.full(counts.shape, -np.inf)
    if mechanism.cuts_before_rounding or not mechanism.integers:
        law = mechanism.law if mechanism.cuts_before_rounding else mechanism.published_law
        return law.logcdf(mechanism.threshold - counts)
    return mechanism.published_law.logcdf(cast("int", mechanism.least) - 1 - counts)


def _published(mechanism: Mechanism, shown: Floats, counts: Ints, /) -> Floats:
    if mechanism.cuts_before_rounding:
        low = np.maximum(shown - 0.5, cast("float", mechanism.threshold)) - counts
        return mechanism.law.log_between(low, np.maximum(shown + 0.5 - counts, low))
    law = mechanism.published_law
    if isinstance(law, LatticeLaw):
        logs = law.logpmf(shown - counts)
    else:
        logs = cast("ContinuousLaw", law).logpdf(shown - counts)
    if mechanism.threshold is None:
        return logs
    passes = shown > mechanism.threshold if mechanism.rule == "gt" else shown >= mechanism.threshold
    return np.where(passes, logs, -np.inf)


def reach(mechanism: Mechanism, nats: float, /) -> int:
    """A distance that the noise exceeds with probability below e^{-nats}."""
    law = mechanism.published_law
    if isinstance(law, LatticeLaw):
        return law.reach(nats)
    far = 1.0
    while float(law.logsf(far)) > -nats:
        far *= 1.25
    return math.ceil(far)


def bounded(mechanism: Mechanism, /) -> bool:
    """Whether the noise cannot leave a fixed range at all."""
    return float(mechanism.law.logsf(reach(mechanism, 40.0))) == -math.inf


def window(mechanism: Mechanism, /, *, values: Floats, nats: float) -> tuple[Floats, Floats]:
    """For each value the raw sums that can lie behind it, but for chances below e^{-nats}."""
    width = reach(mechanism, nats)
    hidden = np.isnan(values)
    top = math.inf if mechanism.threshold is None else math.ceil(mechanism.threshold) + width
    shown = np.where(hidden, 0.0, values)
    low = np.where(hidden, 0.0, np.maximum(np.floor(shown) - width, 0.0))
    high = np.where(hidden, top, np.maximum(np.ceil(shown) + width, 0.0))
    return low, high
