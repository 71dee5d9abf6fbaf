"""How rows are divided of which little is shown, where no other total tells.

A shown row says what its hidden cells add up to. Which of them hold these people its columns say, and how busy these are is learnt where cells are shown: in busy rows. That quiet rows are divided
as busy ones are need not be so (a station has its rush hours, a village its market), and nothing shown contradicts it: a product of rows and columns fits all that is there.

So the intensities of hidden cells of such rows are taken to a power: 1 divides a row as busier ones are, 0 evenly, one below 0 the other way round, one above 1 more so. All rows of a kind have one power. How likely
each is what they show says: how many of their cells, and which, beside what the power has there. Where they show nothing, what is believed beforehand remains, and it is wide.

1. *Kinds*: rows whose total is so small that, divided evenly, they would show an eighth of their cells at most, or a hundredth. All others divide themselves. Rows are not chosen by what they show: those that show nothing are so because they are divided evenly, or by chance.
2. *Beforehand* a kind is divided as the next busier one is, or, as likely as not, in any of the ways.
3. *Laws* of cells are the mixture over powers; each of them leaves rows what they add up to.
4. *Sums* err together by what the powers differ by.

Cells that totals of several margins tell, none of them coarser than another, are left as they are: they add up to both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from noisegate.inference.anchor import AnyLaws, KeptLaws, move_groups
from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.inference.profile.levels import MOST_SPREAD
from noisegate.inference.profile.observed import (
    DISPERSIONS,
    LEAST_LOG,
    MOST_LOG,
    WORTH,
    Missing,
    log_mass,
    missing_tables,
    negative_binomials,
)
from noisegate.inference.profile.profile import EMPTY_SHARE
from noisegate.inference.trial import FitCheck
from noisegate.mechanisms import Mechanism
from noisegate.tables import compact

#: Powers of intensities, and how likely each is where nothing is known of it.
POWERS = np.array([1.0, 1.6, 0.5, 0.0, -0.5])
_BEFOREHAND = np.array([0.3, 0.15, 0.15, 0.25, 0.15])
#: How likely it is beforehand that a kind of rows is divided as the next busier one is.
_ALIKE = 0.5
#: Kinds of rows: those that would show up to these shares of their cells if these were alike.
_FEW_SHOWN = (0.125, 0.01)
#: A kind whose rows are divided as busier ones are with this chance is left as it is.
_SURE = 0.99
#: A row of fewer cells is not divided, and none of which fewer are hidden.
_LEAST_CELLS = 2
#: Of this many cells laws are not written number by number: sums alone are widened.
_MOST_LISTED = 100_000
_AT_ONCE = 20_000
#: How unsure intensities are goes with the square of their power; evenly divided rows are unsure by this share all the same. Cells of two shifts by rows, as in 2016, held 89.6, 90.9 and 92 % with 0, this and 0.6, counts near a capacity 99.1, 99.2 and 99.3.
_LEAST_UNSURE = 0.3
#: Counts less likely than e^-nats to stay hidden are left out, and ends of laws that hold less than this.
_NATS, _TRIM = 16.0, 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How much hangs on how rows are divided: of how many rows and hidden cells it is open, what these hold, and how likely they are divided as busier rows are."""

    rows: int
    cells: int
    people: float
    alike: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Divided:
    """Laws of cells, rows of which little is shown divided in all ways that they may be, and for each way how far one standard deviation of it moves each cell; `listed` says that the laws hold these moves, as they do not of very many cells. `about` is what that is about."""

    laws: AnyLaws
    moves: tuple[Floats, ...]
    listed: bool
    about: Division


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kind:
    """Rows of which little is shown: the places of their hidden cells, the row of each, their log-intensities, how likely each power is, and the log of the factor of each row under each: that which gives all its cells, shown ones too, what it holds."""

    places: Ints
    rows: Ints
    logs: Floats
    chances: Floats
    factors: Floats

    @property
    def alike(self) -> float:
        return float(self.chances[0])

    def intensity(self, power: int, some: slice | Ints = slice(None), /) -> Floats:
        """Log-intensities of the hidden cells under a power."""
        found = self.factors[power][self.rows[some]] + POWERS[power] * self.logs[some]
        return np.asarray(np.clip(found, LEAST_LOG, MOST_LOG))


def divided(
    evidence: Evidence,
    margins: Sequence[Observation],
    laws: AnyLaws,
    /,
    *,
    cells: Ints,
    free: Bools,
    intensity: Floats,
    shape: Floats,
    dispersion: Floats,
) -> Divided | None:
    """The laws of the cells of a unit, if rows of which little is shown may be divided in other ways, None if there are none such; `intensity` and `shape` are what other cells say of each, `dispersion` is what of the latter counts have around intensities that are known, and `free` says which may be moved."""
    made = evidence.base.mechanism
    if made.threshold is None or not math.isfinite(made.published_law.variance):
        return None
    values = evidence.base.values[cells]
    shows = _Shows.of(made, shape[free & np.isnan(values)])
    kinds = [
        kind
        for margin, row in _alone(margins, cells, free & np.isnan(values))
        for kind in _kinds(
            values, row, _level(evidence, margin), free, laws, np.log(np.maximum(intensity, 1e-3)), shows
        )
        if kind.alike < _SURE and kind.places.size
    ]
    if not kinds:
        return None
    listed = sum(len(kind.places) for kind in kinds) <= _MOST_LISTED and isinstance(laws, KeptLaws)
    moves: list[Floats] = []
    for kind in kinds:
        if listed and isinstance(laws, KeptLaws):
            laws, means = _mixed(laws, kind, 1 / shape[kind.places], dispersion[kind.places], made)
            middle = kind.chances @ means
        else:
            # Means stay where they are, and what others differ by from them is open.
            means = _means(laws, kind, shows)
            middle = means[0]
        for chance, mean in zip(kind.chances.tolist(), means, strict=True):
            move = np.zeros(len(cells))
            move[kind.places] = math.sqrt(chance) * (mean - middle)
            moves.append(move)
    people = np.array([float(laws.mean[kind.places].sum()) for kind in kinds])
    about = Division(
        rows=sum(len(np.unique(kind.rows)) for kind in kinds),
        cells=sum(len(kind.places) for kind in kinds),
        people=float(people.sum()),
        alike=float(people @ np.array([kind.alike for kind in kinds]) / max(people.sum(), 1e-9)),
    )
    return Divided(laws=laws, moves=tuple(moves), listed=listed, about=about)


def division_check(found: Sequence[Division], /) -> tuple[FitCheck, ...]:
    """What was assumed of rows of which little is shown; nothing where there are none."""
    if not found:
        return ()
    rows, cells = sum(one.rows for one in found), sum(one.cells for one in found)
    people = sum(one.people for one in found)
    alike = sum(one.alike * one.people for one in found) / max(people, 1e-9)
    says = (
        f"{rows:,} rows show few of their cells or none, and no other total tells how their {people:,.0f} hidden people are divided: "
        f"as in busier rows with {alike:.0%}, else more evenly, less so or the other way round; cells and parts of rows are widened by it"
    )
    return (
        FitCheck(
            name="division of rows",
            outcome="widened",
            says=says,
            numbers={"rows": rows, "cells": cells, "people": people, "alike": alike},
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shows:
    """What cells show at log-intensities, for the dispersion that is usual among hidden ones."""

    missing: Missing
    dispersion: float

    @classmethod
    def of(cls, mechanism: Mechanism, shape: Floats, /) -> _Shows:
        usual = 1 / max(float(np.median(shape)), 1e-9) if shape.size else 1.0
        place = int(np.argmin(np.abs(np.log(DISPERSIONS / usual))))
        table = missing_tables(mechanism, tuple(DISPERSIONS.tolist()))[place]
        return cls(missing=table, dispersion=float(DISPERSIONS[place]))

    def means(self, eta: Floats, /) -> Floats:
        """What hidden cells hold on average."""
        return self.missing.at(eta, self.missing.mean)[0]

    def logs(self, eta: Floats, values: Floats, /) -> Floats:
        """How likely it is that cells show what they do, NaN being nothing."""
        found, of = np.empty(len(eta)), self.missing
        shown = np.flatnonzero(~np.isnan(values))
        hidden = np.isnan(values)
        found[hidden] = of.at(eta[hidden], of.logs)[0]
        place = np.rint(values[shown]).astype(np.int64) - of.least
        near = place < of.near.shape[1]
        far, some = shown[~near], shown[near]
        found[far] = log_mass(np.rint(values[far]), np.exp(eta[far]), 1 / self.dispersion)
        left = np.clip((eta[some] - of.grid[0]) / of.scale[1], 0, len(of.grid) - 1.001).astype(np.int64)
        found[some] = of.near[left, np.maximum(place[near], 0), 2]
        return found


def _level(evidence: Evidence, margin: Observation, /) -> Floats:
    """What the cells of each row hold on average: that it is little does not depend on how it is divided, as it would if rows were chosen by what they show."""
    rows = np.arange(len(margin.values))
    return np.maximum(margin.total(rows), 0.0) / np.maximum(evidence.cells_in(margin), 1)


def _alone(
    margins: Sequence[Observation], cells: Ints, hidden: Bools, /
) -> Iterator[tuple[Observation, Ints]]:
    """For each margin that alone tells some hidden cells the row of these and of those that are not, -1 elsewhere; a coarser one does not tell how rows of a finer one are divided."""
    rows = []
    for margin in margins:
        row = margin.where.of(cells)
        rows.append(np.where((row >= 0) & margin.shown(np.maximum(row, 0)), row, -1))
    for place, row in enumerate(rows):
        told = hidden & (row >= 0)
        for other, theirs in enumerate(rows):
            if other != place:
                both = told & (theirs >= 0)
                if both.any() and not _coarser(theirs[both], row[both], keep_first=other > place):
                    told &= theirs < 0
        if told.any():
            # Hidden cells that another margin tells as well add up to that.
            yield margins[place], np.where(told | ~hidden, row, -1)


def _coarser(theirs: Ints, mine: Ints, /, *, keep_first: bool) -> bool:
    """Whether each of my rows lies in one of theirs; of two that are the same the first one tells."""
    _, first, place = np.unique(mine, return_index=True, return_inverse=True)
    within = bool((theirs[first][place] == theirs).all())
    if not within:
        return False
    _, first, place = np.unique(theirs, return_index=True, return_inverse=True)
    return keep_first or not bool((mine[first][place] == mine).all())


def _kinds(
    values: Floats,
    row: Ints,
    level: Floats,
    free: Bools,
    laws: AnyLaws,
    logs: Floats,
    shows: _Shows,
    /,
) -> Iterator[_Kind]:
    """The kinds of rows of one margin of which little would be shown if they were divided evenly, the busier ones first, and how they may be divided."""
    inside = (row >= 0) & free
    # By how many cells they have, and not by how many are hidden: rows of two cells that show one of these say how others are divided.
    number = np.bincount(row[inside], minlength=len(level))
    eta = np.clip(np.log(np.maximum(level, 1e-3)), LEAST_LOG, MOST_LOG)
    share = -np.expm1(shows.logs(eta, np.full(len(level), np.nan)))
    alike = 1.0
    for most, least in pairwise((*_FEW_SHOWN, -1.0)):
        rows = (number >= _LEAST_CELLS) & (share <= most) & (share > least)
        if rows.any():
            chosen = inside & rows[np.maximum(row, 0)]
            before = _ALIKE * np.eye(len(POWERS))[0] * alike + (1 - _ALIKE * alike) * _BEFOREHAND
            kind = _weighed(values, np.flatnonzero(chosen), row, laws, logs, shows, before)
            alike = kind.alike
            yield kind


def _weighed(
    values: Floats, places: Ints, row: Ints, laws: AnyLaws, logs: Floats, shows: _Shows, before: Floats, /
) -> _Kind:
    """How some rows are divided, by what they show."""
    rows, codes = compact(row[places])
    hidden = np.isnan(values[places])
    # All that a row holds, and not what is hidden of it: how much that is the row says, and what is hidden is chosen by what it holds.
    sums = np.bincount(codes, weights=laws.mean[places], minlength=len(rows)).astype(np.float64)
    factors, scores = [], np.log(before)
    for number, power in enumerate(POWERS.tolist()):
        mine = power * logs[places]
        held = np.bincount(codes, weights=np.exp(np.clip(mine, LEAST_LOG, MOST_LOG)), minlength=len(rows))
        factor = np.log(np.maximum(sums, 1e-6) / held)
        eta = np.clip(factor[codes] + mine, LEAST_LOG, MOST_LOG)
        scores[number] += WORTH / (WORTH + len(places)) * float(shows.logs(eta, values[places]).sum())
        factors.append(factor)
    chances = np.exp(scores - scores.max())
    divided = hidden & (np.bincount(codes, weights=hidden, minlength=len(rows)) >= _LEAST_CELLS)[codes]
    return _Kind(
        places=places[divided],
        rows=codes[divided],
        logs=logs[places[divided]],
        chances=chances / chances.sum(),
        factors=np.stack(factors),
    )


def _means(laws: AnyLaws, kind: _Kind, shows: _Shows, /) -> Floats:
    """What hidden cells hold on average under each power, as they are for the first."""
    found = [laws.mean[kind.places]]
    sums = np.bincount(kind.rows, weights=found[0])
    for power in range(1, len(POWERS)):
        mean = shows.means(kind.intensity(power))
        have = np.bincount(kind.rows, weights=mean)
        found.append(mean * (sums / np.maximum(have, 1e-9))[kind.rows])
    return np.stack(found)


def _mixed(
    laws: KeptLaws, kind: _Kind, relative: Floats, dispersion: Floats, mechanism: Mechanism, /
) -> tuple[KeptLaws, Floats]:
    """The laws with those of hidden cells of a kind of rows mixed over powers, and the means of these under each; rows keep their sums.

    Counts have the variance m + relative m^2, of which the dispersion is their own: the rest is how unsure intensities are, and goes with their power.
    """
    places, every = kind.places, np.arange(len(kind.places))
    found, means = [laws.pmfs(places)], [laws.mean[places]]
    sums = np.bincount(kind.rows, weights=means[0]).astype(np.float64)
    for power in range(1, len(POWERS)):
        unsure = max(float(POWERS[power] ** 2), _LEAST_UNSURE) * np.log1p(
            np.maximum(relative - dispersion, 0.0)
        )
        width = np.minimum(relative, dispersion) + np.expm1(np.minimum(unsure, MOST_SPREAD))
        own = KeptLaws.listed(_under(kind.intensity(power), 1 / width, mechanism))
        move_groups(own, every, kind.rows, sums, np.ones(len(places)))
        found.append(own.pmfs(every))
        means.append(own.mean)
    return laws.replaced(places, Pmfs.mixed(found, kind.chances)), np.stack(means)


def _under(eta: Floats, shape: Floats, mechanism: Mechanism, /) -> Pmfs:
    """The laws of hidden cells that are negative binomial around intensities, or empty for a reason of their own."""
    counts = np.arange((mechanism.whole_threshold or 0) + math.ceil(mechanism.reach(_NATS)) + 1)
    hidden = np.exp(np.maximum(mechanism.log_likelihood(np.full(len(counts), np.nan), counts), -700.0))
    pieces = []
    for first in range(0, len(eta), _AT_ONCE):
        mean, wide = np.exp(eta[first : first + _AT_ONCE]), shape[first : first + _AT_ONCE]
        mass = (1 - EMPTY_SHARE) * negative_binomials(mean, wide, len(counts)) * hidden
        mass[:, 0] += EMPTY_SHARE * hidden[0]
        mass /= mass.sum(axis=1, keepdims=True)
        start = np.arange(len(mean) + 1, dtype=np.int64) * len(counts)
        pieces.append(Pmfs(low=np.zeros(len(mean), np.int64), start=start, p=mass.ravel()))
    return Pmfs.joined(pieces).trimmed(_TRIM)
