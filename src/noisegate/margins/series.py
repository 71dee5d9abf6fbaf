"""Many weeks on one budget: what to measure in each week so that weeks and sums of weeks are answered best (MATH 11).

A *strategy* is a matrix R with a row for each measurement and a column for each week: with x the counts of a cell in each week,
y = R x + z is measured, z being noise. R is lower triangular or ends with totals of all weeks, so that no measurement waits for
weeks to come. Its entries are rational with one denominator q: then q R x is whole and noise on integers is enough.

How much one unit changes R x depends on how often it takes part:

    one week (an event, a person-week)   squares: the largest sum of squares of a column; else the largest sum of a column
    every week (a person)                all weeks change at once, so rows change by their sums: sum of their squares, or sum

Gaussian noise has the variance of the squared sensitivity, times a constant of the budget; Laplace noise twice the square of the
other one. A week, and a running total, is published when it ends: by least squares from what was measured until then. With A the rows
that are known and w the sum that is asked for, its variance is that of the noise times the square of w A^+ (pseudo-inverse). All
figures here are over the variance of one week if all weeks are measured independently, so the budget cancels.

*One week, Gaussian.* The least of a weighted sum of variances, tr(V X^-1) with V = W'W and X = R'R, under diag X <= 1, solves
X diag(v) X = V, so X = D^-1 (D V D)^(1/2) D^-1 with D = diag sqrt(v) and v = diag (D V D)^(1/2): a fixed point.
X = R'R with R lower triangular, entries rounded to 1/q. *Every week.* Prefix strategies lose there; a total of the period measured at its end, beside
the weeks, wins: with shares a and b of the budget a week has 1/a^2 (Laplace) and the total 1/(n b^2) of what adding weeks has.

Independent weeks are always among the candidates, so the chosen strategy is never worse by the stated objective.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Participation = Literal["one", "every"]
NoiseKind = Literal["gaussian", "laplace"]

#: The denominator of a strategy's entries: at 52 weeks 64 costs 2 % of variance, this one a tenth of that.
DENOMINATOR = 1024
#: Where a person is in every week, single weeks may have so many times the variance of independent ones.
_MOST_WEEK = 2.0
_MOST_WEEKS = 520
_ROUNDS, _CLOSE = 2000, 1e-10


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeriesStrategy:
    """What is measured in each week: whole numbers over one denominator, and what that gives.

    `week` and `running` are mean variances of single weeks and of running totals, each as it is published when its last week ends;
    `total` is that of the last one. All are over the variance of one of so many independent weeks on the same budget.
    """

    name: str
    weeks: int
    participation: Participation
    law: NoiseKind
    entries: Ints
    denominator: int
    week: float
    running: float
    total: float

    def objective(self, weight: float, /) -> float:
        """Mean variance of running totals, and of weeks with the square of this weight.

        For a person in every week running totals gain nothing: there it is the variance of the period's total, as long as
        weeks have at most twice that of independent ones.
        """
        if self.participation == "every":
            return self.total if self.week <= _MOST_WEEK else math.inf
        return self.running + weight**2 * self.week

    @property
    def rows(self) -> tuple[tuple[Fraction, ...], ...]:
        """The strategy as exact rationals."""
        return tuple(tuple(Fraction(int(entry), self.denominator) for entry in row) for row in self.entries)

    @property
    def ends(self) -> tuple[int, ...]:
        """For each measurement the week, counted from 1, in which it is made: the last one that it is about."""
        return tuple(int(np.flatnonzero(row)[-1]) + 1 for row in self.entries)

    def estimator(self, wanted: Ints, /) -> Floats:
        """What each measurement counts for in the best estimate of a sum of weeks, once the last of `wanted` weeks is over.

        `wanted` has a weight for each week up to then. Measurements are taken as `entries` says, without the denominator.
        """
        known = np.array(self.ends) <= len(wanted)
        rows = self.entries[known, : len(wanted)].astype(np.float64)
        found = np.zeros(len(self.entries))
        found[known] = wanted @ np.linalg.pinv(rows)
        return found

    def sensitivity(
        self, *, rows: Sequence[int] | None = None, participation: Participation | None = None
    ) -> int:
        """The most that one unit of one event a week changes what is measured, times the denominator: squared for Gaussian noise.

        Of some rows only, or for a unit of another participation than the strategy was chosen for, if that is asked.
        """
        entries = self.entries if rows is None else self.entries[list(rows)]
        return _sensitivity(entries, participation or self.participation, self.law)

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "strategy": self.name,
            "weeks": self.weeks,
            "participation": self.participation,
            "law": self.law,
            "measurements": len(self.entries),
            "week": self.week,
            "running": self.running,
            "total": self.total,
        }


def plan_series(
    weeks: int,
    /,
    *,
    participation: Participation,
    law: NoiseKind,
    week_weight: float = 2.0,
    denominator: int = DENOMINATOR,
) -> tuple[SeriesStrategy, ...]:
    """The strategies for a series of so many weeks, the best first; independent weeks are among them.

    Parameters
    ----------
    participation
        In how many weeks a unit can be: "one" (an event, a person-week) or "every" (a person).
    week_weight
        How much single weeks matter beside running totals.
    denominator
        Of the entries of a prefix strategy. Noise is drawn in so many parts of a count, so a smaller one needs narrower noise.

    Examples
    --------
    >>> best = plan_series(52, participation="one", law="gaussian")[0]
    >>> best.name, round(best.week, 2), round(best.running, 1)
    ('prefix', 1.35, 5.1)
    >>> best = plan_series(52, participation="every", law="laplace")[0]
    >>> best.name, best.week <= 2, best.total / 52 <= 0.25
    ('weeks and total', True, True)
    """
    if isinstance(weeks, bool) or not isinstance(weeks, int) or not 1 <= weeks <= _MOST_WEEKS:
        raise SpecError.for_value("weeks", found=weeks, allowed=f"a whole number from 1 to {_MOST_WEEKS}")
    if not (math.isfinite(week_weight) and week_weight > 0):
        raise SpecError.for_value("week_weight", found=week_weight, allowed="a number above 0")
    return _planned(weeks, participation, law, week_weight, denominator)


@lru_cache(maxsize=16)  # the plan of every week of a series asks for the same
def _planned(
    weeks: int, participation: Participation, law: NoiseKind, week_weight: float, denominator: int, /
) -> tuple[SeriesStrategy, ...]:
    found = [
        strategy_of(name, entries, parts, participation=participation, law=law)
        for name, entries, parts in _candidates(weeks, participation, week_weight, denominator)
    ]
    # Of what is equal but for rounding the simplest comes first.
    return tuple(sorted(found, key=lambda one: round(one.objective(week_weight), 9)))


def strategy_of(
    name: str, entries: Ints, denominator: int, /, *, participation: Participation, law: NoiseKind
) -> SeriesStrategy:
    """A strategy with its exact variances, up to floating point."""
    weeks = entries.shape[1]
    rows = entries.astype(np.float64)
    alone = np.eye(weeks, dtype=np.int64)
    factor = _noise(entries, participation, law) / _noise(alone, participation, law)
    ends = np.array([np.flatnonzero(row)[-1] for row in entries])
    single, running = np.empty(weeks), np.empty(weeks)
    for week in range(weeks):
        known = rows[ends <= week, : week + 1]
        found = np.linalg.solve(
            known.T @ known, np.stack([np.eye(week + 1)[week], np.ones(week + 1)], axis=1)
        )
        single[week], running[week] = found[week, 0], found[:, 1].sum()
    return SeriesStrategy(
        name=name,
        weeks=weeks,
        participation=participation,
        law=law,
        entries=entries,
        denominator=denominator,
        week=float(single.mean()) * factor,
        running=float(running.mean()) * factor,
        total=float(running[-1]) * factor,
    )


def _sensitivity(entries: Ints, participation: Participation, law: NoiseKind, /) -> int:
    sizes = np.abs(entries)
    changed = sizes if participation == "one" else sizes.sum(axis=1, keepdims=True)
    sums = (changed**2 if law == "gaussian" else changed).sum(axis=0)
    return int(sums.max())


def _noise(entries: Ints, participation: Participation, law: NoiseKind, /) -> float:
    """The variance of the noise, up to a constant of the budget."""
    size = _sensitivity(entries, participation, law)
    return float(size) if law == "gaussian" else float(size) ** 2


def _candidates(
    weeks: int, participation: Participation, week_weight: float, denominator: int, /
) -> Iterator[tuple[str, Ints, int]]:
    yield "independent weeks", np.eye(weeks, dtype=np.int64), 1
    if weeks == 1:
        return
    yield "tree", _tree(weeks), 1
    if participation == "one":
        yield "prefix", prefix_strategy(weeks, week_weight=week_weight, denominator=denominator), denominator
    for share in range(70, 100, 1):
        yield "weeks and total", _weeks_and_total(weeks, share), 100


def prefix_strategy(weeks: int, /, *, week_weight: float, denominator: int = DENOMINATOR) -> Ints:
    """The best lower triangular strategy for running totals and weighted weeks under Gaussian noise, in parts of one."""
    prefix = np.tril(np.ones((weeks, weeks)))
    gram = prefix.T @ prefix + week_weight**2 * np.eye(weeks)
    weights = np.ones(weeks)
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(root[:, np.newaxis] * gram * root)
        middle = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        renewed = np.diag(middle).copy()
        done = float(np.abs(renewed / weights - 1).max()) < _CLOSE
        weights = renewed
        if done:
            break
    root = np.sqrt(weights)
    best = middle / root[:, np.newaxis] / root
    # X = R'R with R lower triangular: Cholesky from the last week to the first.
    lower = np.linalg.cholesky(best[::-1, ::-1])[::-1, ::-1].T
    return np.asarray(np.rint(lower * denominator), dtype=np.int64)


def _weeks_and_total(weeks: int, share: int, /) -> Ints:
    """Weeks with `share` hundredths of the budget, and the total of all of them with the rest, measured at the end."""
    return np.vstack([share * np.eye(weeks, dtype=np.int64), np.full((1, weeks), 100 - share)])


def _tree(weeks: int, /) -> Ints:
    """Every node of a binary tree over the weeks, each measured when its last week is over."""
    rows, width = [], 1
    while width < 2 * weeks:
        for start in range(0, weeks, width):
            row = np.zeros(weeks, dtype=np.int64)
            row[start : start + width] = 1
            rows.append(row)
        width *= 2
    return np.unique(np.array(rows), axis=0)
