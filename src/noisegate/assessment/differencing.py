"""Differencing: two releases that count the same people but for a few give those few away, cell by cell.

A release of one week and of the next, a table and its corrected version, the same table for old and new borders: where both count
nearly the same people, the difference of two published counts is the count of those who are in one and not in the other. Such
a *sliver* may hold one person, however large both counts are.

Three steps. The cells of both are brought together by their labels; dates that differ are taken in their order, and bands (0-4, 5-9 beside
0-5, 6-10) at their edges. Then: do both count the same people? Different people differ by chance: given their sum s, one of two
counts is binomial, so their difference has variance s. If most differences are far smaller than that, by a margin that chance does not
explain, the people are the same. Last: the slivers. Exact counts give them exactly. Where values carry noise or are rounded, a sliver is
said only where its difference is beyond what noise does in all cells together, with an interval; and it is said from which size on one
would have shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.matched_areas import match_areas
from noisegate.assessment.matched_cells import CellPairs, bands_of, match_bands, match_cells
from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace, Law
from noisegate.tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Verdict = Literal["slivers", "the same", "different people", "cannot tell"]

#: How improbable it must be that different people differ so little. Halving or doubling it changes none of the tests' pairs.
_CHANCE = 1e-4
#: Differences are called small within these parts of a standard deviation; each is tried, and paid for.
_SMALL = (0.0, 0.1, 0.2, 0.35)
#: Cells in which different people would be this likely to agree say nothing.
_TELLING = 0.6
#: Of the cells that tell, this share must agree.
_AGREE = 0.5
#: How probable it may be that noise alone makes a sliver anywhere in a pair of tables.
_FALSE = 0.002
#: Agreement that is less probable than this by chance is not called that of different people.
_UNLIKELY = 0.05
#: Slivers that are kept in a result, the smallest first.
_KEPT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliver:
    """People who are in one release and not in the other, in one cell.

    Attributes
    ----------
    labels
        The cell, by dimension.
    first, second
        What both say of it; None where one hides it.
    size
        How many people the sliver holds, as the difference says; negative if they are in the first release only.
    low, high
        Between how many and how many it holds, whichever release they are in; equal where both counts are exact.
    """

    labels: tuple[tuple[str, str], ...]
    first: float | None
    second: float | None
    size: float
    low: int
    high: int

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "cell": dict(self.labels),
            "first": self.first,
            "second": self.second,
            "size": self.size,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Slivers:
    """What two releases give away together, beyond each of them.

    Attributes
    ----------
    first, second
        The tables that were compared.
    verdict
        `slivers`: the same people but for these; `the same`: no cell differs, or none beyond noise; `different people`:
        differences are as large as those of different people; `cannot tell`: too few cells, or noise that drowns everything.
    cells, telling, agreeing
        Cells that both publish, those in which different people would differ, and those that agree.
    chance
        How probable it is, at most, that different people agree so well.
    slivers
        The smallest first, up to 10,000 of them; `found` is how many there are. Where the verdict is `cannot tell`, they are there
        if both count the same people.
    seen_from
        The least sliver that would have shown in any cell; 1 where counts are exact.
    assumes
        What was taken for granted.
    """

    first: str
    second: str
    verdict: Verdict
    cells: int
    telling: int
    agreeing: int
    chance: float
    slivers: tuple[Sliver, ...] = ()
    found: int = 0
    seen_from: int = 1
    assumes: tuple[str, ...] = field(default=())

    def below(self, few: int, /) -> int:
        """How many of the slivers that are kept surely hold fewer people than this."""
        return sum(one.high < few for one in self.slivers)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "first": self.first,
            "second": self.second,
            "verdict": self.verdict,
            "cells": self.cells,
            "telling": self.telling,
            "agreeing": self.agreeing,
            "chance": float(f"{self.chance:.3g}"),
            "found": self.found,
            "seen_from": self.seen_from,
            "slivers": [one.to_json() for one in self.slivers[:100]],
            "assumes": list(self.assumes),
        }

    def __repr__(self) -> str:
        lines = [f"{self.first} and {self.second}: {self.verdict}"]
        lines += [f"  {_words(one)}" for one in self.slivers[:5]]
        return "\n".join(lines if self.found <= 5 else [*lines, f"  and {self.found - 5:,} more"])


def _words(sliver: Sliver, /) -> str:
    where = ", ".join(f"{name} {label}" for name, label in sliver.labels) or "all"
    people = f"{sliver.low}" if sliver.low == sliver.high else f"{sliver.low} to {sliver.high}"
    return f"{where}: {people}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DifferenceNoise:
    """How far a difference can be off: `law` is that of the difference of two noises, `within` a bound; neither if counts are exact."""

    law: Law | None = None
    within: int = 0

    @property
    def variance(self) -> float:
        """Of a difference."""
        return (0.0 if self.law is None else self.law.variance) + self.within**2 / 3

    def beyond(self, chance: float, /) -> int:
        """A difference that noise alone exceeds with at most this probability, either way."""
        if self.law is None:
            return self.within
        far = 0
        step = max(1, math.ceil(math.sqrt(self.law.variance) / 8))
        while 2 * math.exp(float(self.law.logsf(far))) > chance:
            far += step
        return far + self.within


def find_slivers_between(
    first: Table,
    second: Table,
    /,
    *,
    spread: DifferenceNoise | None = None,
    level: float = 0.95,
    same: bool = False,
    areas: Sequence[tuple[str, str]] | None = None,
) -> Slivers:
    """The slivers between two tables of the same dimensions.

    Parameters
    ----------
    first, second
        Two releases of one table; their cells are matched by labels.
    spread
        The noise of a difference; None takes counts as they stand, or the noise that the differences show themselves.
    level
        Of the intervals of slivers under noise.
    same
        Whether somebody knows that both count the same people; else their counts must show it.
    areas
        Where the tables have other areas: for each small area that of the first and that of the second which it lies in.

    Raises
    ------
    SpecError
        If the tables do not have the same dimensions.
    """
    pairs, pieces = _side_by_side(first, second, areas, exact=spread is None or not spread.variance)
    cells = int(pairs.one.size)
    shown = np.isfinite(pairs.one) & np.isfinite(pairs.two)
    one, two = pairs.one[shown], pairs.two[shown]
    # Noise that is only guessed from the differences cannot say whether these are small.
    test = _same_people(one, two, spread or DifferenceNoise())
    spread, assumes = _spread(one, two, spread)
    facts: dict[str, Any] = {
        "first": first.name,
        "second": second.name,
        "cells": cells,
        "telling": test.telling,
        "agreeing": test.agreeing,
        "chance": test.chance,
        "assumes": (*pairs.assumes, *assumes),
    }
    far = spread.beyond(_FALSE / max(1, one.size)) if spread.variance else 0
    facts["seen_from"] = far + spread.beyond(0.1) + 1 if spread.variance else 1
    if not (test.same or same) and not test.silent:
        return Slivers(verdict="different people", **facts)
    pairs = pairs if pieces is None else pieces
    low, high, size = _sizes(pairs, spread, far, level)
    found = np.flatnonzero(high > 0)
    order = found[np.lexsort((high[found], low[found]))]
    kept = tuple(_sliver(pairs, int(at), low, high, size) for at in order[:_KEPT])
    verdict: Verdict = "cannot tell"
    if test.same or same:
        verdict = "slivers" if found.size else "the same"
    return Slivers(verdict=verdict, slivers=kept, found=int(found.size), **facts)


def _spread(one: Floats, two: Floats, told: DifferenceNoise | None, /) -> tuple[DifferenceNoise, list[str]]:
    """The noise of differences: as told, none where most counts are equal, the base of rounding, or what differences show."""
    if told is not None:
        return told, []
    gaps = two - one
    some = (one > 0) | (two > 0)
    values = np.concatenate([one[some], two[some]])
    if values.size and (values == np.rint(values)).all():
        base = int(np.gcd.reduce(values.astype(np.int64)))
        if base > 1 and values.size >= _ENOUGH:
            return DifferenceNoise(within=2 * (base - 1)), [
                f"all counts are multiples of {base}: each is rounded, by less than {base}"
            ]
    off = gaps[some][gaps[some] != 0]
    one_sided = max((off > 0).sum(), (off < 0).sum()) >= _ONE_SIDED * off.size
    if off.size < _AGREE * some.sum() or (one_sided and off.size >= _ENOUGH):
        return DifferenceNoise(), ["counts stand as they were counted"]
    # Most cells differ, up and down: what is common to all is taken for noise. For the difference of two Laplace laws the median is 1.146 scales.
    scale = (float(np.median(np.abs(gaps[some] - np.median(gaps[some])))) + 0.5) / 1.146
    law = DiscreteLaplace(scale).difference()
    return DifferenceNoise(law=law), [
        f"most cells differ, up and down: that is taken for noise, Laplace of scale {scale:.2g} in each"
    ]


#: So many values are multiples of a base by chance once in a million times.
_ENOUGH = 20
#: Differences of which this share goes one way are no noise.
_ONE_SIDED = 0.9


def _side_by_side(
    first: Table, second: Table, areas: Sequence[tuple[str, str]] | None, /, *, exact: bool
) -> tuple[CellPairs, CellPairs | None]:
    """Cells that should agree, and where these are not those in which slivers show, the latter."""
    if areas is not None:
        if not exact:
            raise SpecError(
                "areas of two geographies are compared where counts are exact; these carry noise."
            )
        return match_areas(first, second, areas)
    pairs = match_cells(first, second)
    banded = bands_of(first, second) if exact else None
    return (pairs, None) if banded is None else match_bands(first, second, *banded)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    same: bool
    silent: bool
    telling: int
    agreeing: int
    chance: float


def _same_people(one: Floats, two: Floats, spread: DifferenceNoise, /) -> _Test:
    """Whether differences are far smaller than those of different people: the best of several tolerances, each paid for."""
    some = (one > 0) | (two > 0)
    a, b = np.maximum(one[some], 0.0), np.maximum(two[some], 0.0)
    growth = float(b.sum() / a.sum()) if a.sum() > 0 else 1.0
    best = _Test(same=False, silent=True, telling=0, agreeing=0, chance=1.0)
    ratios = (1.0,) if abs(growth - 1) < 1e-12 else (1.0, growth)
    for ratio in ratios:
        for small in _SMALL:
            tried = _tried(a, b, ratio, small, spread, len(ratios) * len(_SMALL))
            if (tried.same, -tried.chance, tried.telling) > (best.same, -best.chance, best.telling):
                best = tried
    return best


def _tried(a: Floats, b: Floats, ratio: float, small: float, spread: DifferenceNoise, tries: int, /) -> _Test:
    from scipy import special

    noise = spread.variance * (1 + ratio**2) / 2
    variance = b + ratio**2 * a + noise
    # What both hold of the same people may differ by noise (nine in ten times), and by a little.
    within = small * np.sqrt(variance - noise) + 1.7 * math.sqrt(noise)
    alike = special.erf((np.floor(within) + 1) / np.sqrt(2 * variance))
    telling = alike <= _TELLING
    n = int(telling.sum())
    if not n:
        return _Test(same=False, silent=True, telling=0, agreeing=0, chance=1.0)
    agrees = np.abs(b - ratio * a)[telling] <= within[telling] + 1e-9
    hits, mean = int(agrees.sum()), float(alike[telling].mean())
    chance = min(1.0, tries * _tail(hits, n, mean))
    same = chance < _CHANCE and hits >= _AGREE * n
    # With so few cells, not even full agreement would tell.
    silent = tries * _tail(n, n, mean) >= _CHANCE or chance < _UNLIKELY
    return _Test(same=same, silent=silent, telling=n, agreeing=hits, chance=chance)


def _tail(hits: int, n: int, mean: float, /) -> float:
    """Chernoff's bound on so many agreements or more, where each has this chance on average."""
    share = hits / n
    if share <= mean:
        return 1.0
    gain = share * math.log(share / mean) + (
        0.0 if hits == n else (1 - share) * math.log((1 - share) / (1 - mean))
    )
    return math.exp(-n * gain)


def _sizes(pairs: CellPairs, spread: DifferenceNoise, far: int, level: float, /) -> tuple[Ints, Ints, Floats]:
    """How many people each cell's sliver holds at least and at most (0 and 0 where there is none), and the difference itself."""
    one, two = pairs.one, pairs.two
    gap = two - one
    size = np.where(np.isfinite(gap), gap, 0.0)
    if spread.variance:
        wide = spread.beyond(1 - level)
        found = np.abs(size) > far
        low = np.where(found, np.maximum(np.abs(size) - wide, 1), 0)
        high = np.where(found, np.abs(size) + wide, 0)
    else:
        low = high = np.abs(size)
    # One side shows a count and the other hides it: the sliver is what is left between both.
    half = np.isfinite(one) != np.isfinite(two)
    most = np.maximum(pairs.high_two - pairs.low_one, pairs.high_one - pairs.low_two)
    apart = np.maximum(pairs.low_two - pairs.high_one, pairs.low_one - pairs.high_two) - (
        far if spread.variance else 0
    )
    seen = half & (apart > 0)
    low = np.where(seen, apart, low)
    high = np.where(seen, np.where(np.isfinite(most), most, low), high)
    rising = pairs.low_two > pairs.high_one
    size = np.where(seen, np.where(rising, apart, -apart), size)
    return np.ceil(low).astype(np.int64), np.ceil(high).astype(np.int64), size


def _sliver(pairs: CellPairs, at: int, low: Ints, high: Ints, size: Floats, /) -> Sliver:
    named = zip(pairs.names, pairs.labels, pairs.codes, strict=True)
    one, two = float(pairs.one[at]), float(pairs.two[at])
    return Sliver(
        labels=tuple((name, labels[int(codes[at])]) for name, labels, codes in named),
        first=one if math.isfinite(one) else None,
        second=two if math.isfinite(two) else None,
        size=float(size[at]),
        low=int(low[at]),
        high=int(high[at]),
    )
