"""Slow and plain ways to the same numbers, which fast ones must match.

`enumerate_exact` weighs every combination of counts, one by one. It shares nothing with the fast paths but the windows of
counts that are looked at, and those it takes wider than they do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from scipy import special

from noisegate.errors import SpecError
from noisegate.inference import (
    Bools,
    CellEstimates,
    Flat,
    Floats,
    Ints,
    Model,
    Part,
    Pmfs,
    Prior,
    Problem,
    contradiction,
)
from noisegate.laws import ContinuousLaw, LatticeLaw, Law, convolve
from noisegate.mechanisms import Mechanism, Residual, counts_looked_at, intervals, whole_law


def listed_likelihood(mechanism: Mechanism, shown: float, /, *, counts: int) -> Floats:
    """log P(what is shown | raw count) for counts 0, 1, ... below `counts`, each from its own response; NaN is a suppressed value."""
    responses = [mechanism.response(count) for count in range(counts)]
    return np.array([float(r.log_suppressed if math.isnan(shown) else r.logprob(shown)) for r in responses])


def enumerate_exact(
    problem: Problem, /, *, prior: Prior, level: float = 0.95, nats: float = 34.0, most: int = 20_000_000
) -> CellEstimates:
    """The posterior of every cell of a very small problem, by looking at all combinations.

    Refuses problems with more than `most` combinations. Marginals are kept.
    """
    low, high, counted = _windows(problem, prior, nats)
    sizes = high - low + 1
    if np.prod(sizes, dtype=float) > most:
        raise SpecError(f"more than {most} combinations; use infer instead of enumerate_exact.")
    joint = np.ones(tuple(sizes))
    for i in np.flatnonzero(counted):
        joint *= _along(int(i), problem.cells, _prior_weights(prior, int(i), low[i] + np.arange(sizes[i])))
    for table in problem.tables:
        for r in range(table.rows):
            total = _sum(table.indices[table.indptr[r] : table.indptr[r + 1]], low, sizes)
            counts = np.arange(int(total.max()) + 1)
            logs = table.mechanism.log_likelihood(table.values[r], counts)
            joint *= np.exp(logs - logs[int(total.min()) :].max())[total]
    for identity in problem.identities:
        for r in range(len(identity.indptr) - 1):
            row = slice(identity.indptr[r], identity.indptr[r + 1])
            joint *= _sum(identity.indices[row], low, sizes, signs=identity.signs[row]) == 0
    if not joint.sum() > 0:
        raise contradiction()
    joint /= joint.sum()
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    axes = range(problem.cells)
    p = np.concatenate([joint.sum(axis=tuple(j for j in axes if j != i)) for i in axes])
    return CellEstimates.from_pmfs(Pmfs(low=low, start=start, p=p), level=level, keep=True)


def _windows(problem: Problem, prior: Prior, nats: float, /) -> tuple[Ints, Ints, Bools]:
    """The counts to look at, and which cells bring their prior: of equal ones only the first."""
    model = Model.of(problem)
    low, high = np.zeros(problem.cells, dtype=np.int64), np.zeros(problem.cells, dtype=np.int64)
    counted = np.zeros(problem.cells, dtype=bool)
    if model.unknowns:
        whole = Part.of(model, 0, model.unknowns, factors=(0, model.factors.count))
        least, most = whole.supports(prior, nats=nats)
        live = model.unknown_of >= 0
        low[live], high[live] = least[model.unknown_of[live]], most[model.unknown_of[live]]
        counted[model.first_cell] = True
    return low, high, counted


def _prior_weights(prior: Prior, cell: int, counts: Ints, /) -> Floats:
    if isinstance(prior, Flat):
        return np.ones(len(counts))
    m, r, share = float(prior.mean[cell]), float(prior.shape[cell]), float(prior.zero_share[cell])
    logs = special.gammaln(counts + r) - special.gammaln(r) - special.gammaln(counts + 1.0)
    logs += r * np.log(r / (r + m)) + special.xlogy(counts, m / (r + m))
    stray = float(prior.stray_share[cell])
    geometric = (m / (1 + m)) ** counts / (1 + m)
    return np.asarray(share * (counts == 0) + stray * geometric + (1 - share - stray) * np.exp(logs))


def _along(axis: int, count: int, values: Floats, /) -> Floats:
    return values.reshape([-1 if j == axis else 1 for j in range(count)])


def _sum(members: Ints, low: Ints, sizes: Ints, /, *, signs: Ints | None = None) -> Ints:
    """The (signed) sum of some cells for every combination."""
    total = np.zeros((1,) * len(sizes), dtype=np.int64)
    for k, i in enumerate(members):
        counts = _along(int(i), len(sizes), low[i] + np.arange(sizes[i])).astype(np.int64)
        total = total + (counts if signs is None else signs[k] * counts)
    return np.broadcast_to(total, tuple(sizes))


def simulated_widths(
    residual: Residual,
    /,
    *,
    count: int,
    weeks: Sequence[int],
    rng: np.random.Generator,
    draws: int = 2_000,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    """The same expected widths from simulated weeks, and their standard errors: a check of `widths`.

    Residuals are drawn cell by cell and added up, and the posterior is worked out from each sum.
    """
    one = residual.noise()
    counts = counts_looked_at(residual, one, count)
    hidden = np.array([residual.cell.response(int(c)).log_suppressed for c in counts])
    mean, error = np.zeros(len(weeks)), np.zeros(len(weeks))
    for place, week in enumerate(weeks):
        sums = np.zeros(draws, dtype=np.int64)
        for law, times in ((whole_law(residual.total), 1), (whole_law(residual.part), residual.parts)):
            for _ in range(times * week):
                sums += law.sample(draws, rng=rng).astype(np.int64)
        law = convolve([one.sum_of(week)])
        low, high = intervals(law.logpmf(sums[:, None] + week * count - week * counts) + week * hidden, level)
        width = (high - low).astype(np.float64)
        mean[place], error[place] = width.mean(), width.std(ddof=1) / math.sqrt(draws)
    return mean, error


_RESIDUAL_NATS = 40.0


def from_residual(
    residual: float, /, *, noise: Law, suppressed_by: Mechanism | None = None, level: float = 0.95
) -> CellEstimates:
    """The posterior of one count z, given that `residual` is z plus a draw of `noise`: the report's own calculation.

    The total less the published members is the suppressed count plus a sum of noises, whose law is known in closed form. The members are
    taken as real numbers about which nothing else is known; `infer` takes them as the integers they are, which moves the answer by a few hundredths.

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
    while float(noise.logsf(reach)) > -_RESIDUAL_NATS:
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
