"""One suppressed cell and one total: the report's own calculation, put right.

The total less the published members is the suppressed count plus a sum of noises, whose law is
known in closed form. The published members are taken as real numbers about which nothing else
is known; `infer` takes them as the integers they are, which moves the answer by a few
hundredths.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import contradiction
from noisegate.laws import ContinuousLaw, LatticeLaw, Law
from noisegate.mechanisms import Mechanism

_NATS = 40.0


def from_residual(
    residual: float, /, *, noise: Law, suppressed_by: Mechanism | None = None, level: float = 0.95
) -> CellEstimates:
    """The posterior of one count z, given that `residual` is z plus a draw of `noise`.

    Parameters
    ----------
    noise
        The law of all the noises in the residual: for a total and two published members with
        the same law, `law.sum_of(3)`.
    suppressed_by
        The mechanism that suppressed the cell itself, which is evidence too; None ignores it.

    Notes
    -----
    *Assumes* a flat prior on the integers from 0. Exact up to e^{-40}.

    Examples
    --------
    >>> from noisegate.laws import Laplace
    >>> cell = from_residual(18, noise=Laplace(1.4).sum_of(3))
    >>> round(float(cell.mean[0]), 2)
    18.0
    """
    reach = 1.0
    while float(noise.logsf(reach)) > -_NATS:
        reach *= 1.25
    counts = np.arange(max(int(residual + reach) + 2, 1))
    if isinstance(noise, LatticeLaw):
        logs = noise.logpmf(residual - counts)
    else:
        logs = cast("ContinuousLaw", noise).logpdf(residual - counts)
    if suppressed_by is not None:
        logs = logs + suppressed_by.log_likelihood(np.nan, counts)
    if not logs.max() > -np.inf:
        raise contradiction()
    p = np.exp(logs - logs.max())
    pmfs = Pmfs(low=np.zeros(1, dtype=np.int64), start=np.array([0, len(p)], dtype=np.int64), p=p / p.sum())
    return CellEstimates.from_pmfs(pmfs, level=level, keep=True)
