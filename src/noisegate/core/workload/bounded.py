"""Totals of which it is only known that their noisy value was below a threshold, and what cells suggest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.core.linked.likelihood import log_likelihood, reach
from noisegate.core.mechanism import Mechanism

Floats = NDArray[np.float64]

_NATS = 12.0
_LEAST_MEAN = 1e-3


def bounded_totals(mean: Floats, variance: Floats, /, *, mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Means and variances of totals whose rows are missing, from the means and variances before that was known.

    A total is taken as a gamma law: it is never negative and, where little is known, as likely small as large.

    Examples
    --------
    >>> from noisegate.core.laws import DiscreteLaplace
    >>> cut = Mechanism(law=DiscreteLaplace(5.0), threshold=40, rule="ge", zeros="perturb")
    >>> mean, variance = bounded_totals(np.array([5.0, 60.0]), np.array([9.0, 3600.0]), mechanism=cut)
    >>> bool(abs(mean[0] - 5) < 0.1), bool(mean[1] < 25)
    (True, True)
    """
    counts = np.arange(math.ceil(mechanism.least or 0) + reach(mechanism, _NATS) + 1)
    logs = log_likelihood(mechanism, values=np.full(len(counts), np.nan), counts=counts)
    likely = np.exp(logs - logs.max())
    expected = np.maximum(mean, _LEAST_MEAN)[:, None]
    shape = expected**2 / np.maximum(variance[:, None], 1e-6)
    edges = np.concatenate([[0.0], counts[:-1] + 0.5, [np.inf]])
    below = special.gammainc(shape, np.minimum(edges * shape / expected, 1e9))
    mass = np.diff(below, axis=1) * likely
    whole = np.maximum(mass.sum(axis=1), 1e-300)
    found = mass @ counts / whole
    spread = mass @ (counts.astype(np.float64) ** 2) / whole - found**2
    # Where the law lies wholly beyond what was left out, nothing is learnt.
    told = mass.sum(axis=1) > 1e-12
    return np.where(told, found, mean), np.where(told, np.maximum(spread, 0.0), variance)
