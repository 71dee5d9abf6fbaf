"""Whose taps are missing: candidate cells for the residual of a margin, with probabilities that sum to one.

A margin is published as S, some of the cells it sums as X, Y, ... What is left over, S - X - Y, is the raw count
of the cells that are not published, plus noise. Each hypothesis says: *the missing taps are those of this
one cell*. With c the chance that a vehicle served the cell in its time bin, and z its raw count,

    P(cell | residual) ∝ c · Σ_z P(z) · P(residual | z) · P(cell suppressed | z).

The first factor is what the timetable and an assumption about running early and late say; the sum is what
the counts say. Where candidates share one mechanism and one prior, the sum is the same for all
and the timetable alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.laws import ContinuousLaw, LatticeLaw, Law
from noisegate.mechanisms import Mechanism
from noisegate.timetable.linkage import Linkage
from noisegate.timetable.punctuality import ON, Running
from noisegate.timetable.visits import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class CountEstimate:
    """What is known about one raw count: mean, mode, and an equal-tailed interval of whole numbers."""

    mean: float
    mode: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateCell:
    """One cell that the missing taps may belong to.

    Attributes
    ----------
    probability
        That they do, given the residual and the assumptions; over all candidates these sum to one.
    prior
        The same before the residual was seen: what the timetable alone says.
    early
        If they do, the chance that the vehicle was early.
    count
        The raw count of the cell if they do.
    """

    cell: int
    probability: float
    prior: float
    early: float
    count: CountEstimate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chances:
    """What the timetable says about cells: the chance that a vehicle's taps fall into each, in two parts."""

    cells: Ints
    early: Floats
    late: Floats

    @property
    def total(self) -> Floats:
        """The chance for each cell, however it came about."""
        return self.early + self.late


def chances(linkage: Linkage, cells: ArrayLike, /, *, running: Running) -> Chances:
    """The chance that the taps of a scheduled call fall into each cell.

    The linkage must have a tolerance wide enough to hold every call that matters: what it calls impossible has
    chance 0. Where several calls could serve a cell, it is the chance that at least one of them does, and
    the early part is shared out in proportion.
    """
    wanted = np.unique(np.asarray(cells, dtype=np.int64))
    visits, grid = linkage.visits, linkage.grid
    early, late = np.zeros(wanted.size), np.zeros(wanted.size)
    for i, cell in enumerate(wanted.tolist()):
        calls = linkage.visits_of(cell)
        if not calls.size:
            continue
        tap = int(grid.taps_of(np.array([cell]))[0])
        at = (visits.departure_s if tap == ON else visits.arrival_s)[calls][:, None]
        low = grid.windows(cell, first_day=int(visits.days[0]))
        ahead, behind = running.early_and_late(at, low_s=low, high_s=low + grid.bin_s, tap=tap)
        each = np.minimum((ahead + behind).sum(axis=1), 1.0)
        whole = 1 - np.prod(1 - each)
        share = ahead.sum() / each.sum() if each.sum() > 0 else 0.0
        early[i], late[i] = whole * share, whole * (1 - share)
    return Chances(cells=wanted, early=early, late=late)


def rank_candidates(
    residual: float,
    /,
    *,
    chances: Chances,
    noise: Law,
    mechanism: Mechanism,
    prior: Sequence[ArrayLike] | None = None,
    level: float = 0.95,
) -> list[CandidateCell]:
    """The cells that a residual may belong to, the most probable first.

    Parameters
    ----------
    residual
        The margin minus all of its cells that are published.
    chances
        The candidates, each with the chance that a vehicle served it; see `chances`. Only cells that are not published
        belong here. A candidate that no timetable knows (forgotten tap-offs at UNKNOWN) can be added with a
        chance of its own.
    noise
        The law of the residual's noise: the margin's own, and that of every published cell.
    mechanism
        How the base table was made: that a candidate is suppressed is evidence about its count.
    prior
        For each candidate, the probabilities of the counts 0, 1, 2, ...; flat over all counts if left out.
    level
        Of the interval for the count.

    Notes
    -----
    *Assumes* that all missing taps belong to one of the candidates, which is an idealisation: a vehicle that was
    early enough to serve a second stop in the same bin may have left taps at both.
    """
    if not chances.cells.size or not chances.total.sum() > 0:
        raise DataError(
            "No scheduled vehicle could have produced any of the candidate cells; widen the tolerance."
        )
    if not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
    log_weights = _count_weights(
        residual, noise=noise, mechanism=mechanism, prior=prior, cells=chances.cells.size
    )
    log_evidence = np.logaddexp.reduce(log_weights, axis=1)
    with np.errstate(divide="ignore"):
        scores = np.log(chances.total) + log_evidence
    if not np.isfinite(scores).any():
        raise DataError("The residual contradicts every candidate: no count of theirs could have left it.")
    probability = np.exp(scores - np.logaddexp.reduce(scores))
    order = np.argsort(-probability, kind="stable")
    priors = chances.total / chances.total.sum()
    return [
        CandidateCell(
            cell=int(chances.cells[i]),
            probability=float(probability[i]),
            prior=float(priors[i]),
            early=float(chances.early[i] / chances.total[i]) if chances.total[i] > 0 else 0.0,
            count=_summary(log_weights[i] - log_evidence[i], level),
        )
        for i in order
    ]


def _count_weights(
    residual: float, *, noise: Law, mechanism: Mechanism, prior: Sequence[ArrayLike] | None, cells: int
) -> Floats:
    """log P(z) P(residual | z) P(suppressed | z) for z = 0, 1, ..., one row for each candidate."""
    if prior is None:
        most = int(np.ceil(max(residual, 0.0) + 40 * noise.variance**0.5)) + 20
        log_prior = np.zeros((cells, most + 1))
    else:
        log_prior = _log_priors(prior, cells)
    counts = np.arange(log_prior.shape[1])
    if counts.size > limits.current().candidate_counts:
        raise SpecError(
            f"A residual of {residual:g} is too large to look at every count; use linked inference."
        )
    left = residual - counts
    seen = noise.logpmf(left) if isinstance(noise, LatticeLaw) else cast("ContinuousLaw", noise).logpdf(left)
    hidden = np.array([mechanism.response(int(count)).log_suppressed for count in counts])
    return np.asarray(log_prior + seen + hidden)


def _log_priors(prior: Sequence[ArrayLike], cells: int, /) -> Floats:
    """The given priors as rows of one length, padded with impossible counts."""
    rows = [np.asarray(row, dtype=np.float64) for row in prior]
    if len(rows) != cells or any(row.ndim != 1 or not row.size for row in rows):
        raise SpecError(
            f"prior must be a list of probabilities for each of {cells} candidates, got {len(rows)} lists."
        )
    if any((row < 0).any() or not np.isclose(row.sum(), 1.0) for row in rows):
        raise SpecError(
            "prior must be probabilities of the counts 0, 1, 2, ... that sum to one for each candidate."
        )
    out = np.full((cells, max(row.size for row in rows)), -np.inf)
    for i, row in enumerate(rows):
        with np.errstate(divide="ignore"):
            out[i, : row.size] = np.log(row)
    return out


def _summary(log_mass: NDArray[np.float64], level: float, /) -> CountEstimate:
    """Mean, mode and equal-tailed interval of a count; 0 for a count that nothing is known about."""
    if not np.isfinite(log_mass).any():
        return CountEstimate(mean=0.0, mode=0, low=0, high=0)
    mass = np.exp(log_mass)
    cumulative = np.cumsum(mass)
    tail, most = (1 - level) / 2, mass.size - 1
    return CountEstimate(
        mean=float(mass @ np.arange(mass.size)),
        mode=int(mass.argmax()),
        low=min(int(np.searchsorted(cumulative, tail)), most),
        high=min(int(np.searchsorted(cumulative, 1 - tail)), most),
    )
