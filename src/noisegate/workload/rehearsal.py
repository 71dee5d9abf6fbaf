"""A release rehearsed on counts that stand in for the truth: what clamping, rounding and missing rows do to its answers.

The noise is drawn again and again, tables are made of it by the code that makes the release, and every question is put to
them. What the plan predicts without knowing any counts (the error of the estimate before it is made whole and non-negative) is
worked out for the same draws; its expectation is known exactly. So chance that hits both is taken out (a control variate),
and few draws do for most questions. What is left of chance is stated.

The counts are those of a release that is public already: a plan must not look at the events, but it may look at last
month's release, or at one of a simulated city. Its cells are found by their labels; a date that it does not have is that
with the same day of the week, or one in the same place of the order. Labels that it does not know are taken to be empty.
Rows that were left out are filled in: what shown margins leave over for them is spread in proportion, then drawn as whole
numbers. Where no margin says anything they count as nothing, and the plan is the more optimistic for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.laws import Entropy, as_entropy, as_rng
from noisegate.margins import NoisyTable, Prediction, reconcile_tables
from noisegate.query import read_release
from noisegate.releases import Plan
from noisegate.spec import DateDimension, ReleaseSpec
from noisegate.tables import Asked, Margin, Release
from noisegate.workload.error_parts import Reader
from noisegate.workload.noised import (
    BaseCounts,
    Floats,
    made_tables,
    noisy_tables,
    raw_table,
    table_domain,
    unrestricted_tables,
)

#: Draws at least and at most, and the cells that are drawn in all if that allows for fewer.
DRAWS, MOST_DRAWS, MOST_DRAWN = 20, 400, 40_000_000
#: No more draws once the relative standard error of every question is below this.
PRECISION = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """Expected absolute errors of a question's groups, means over groups, if the truth were the stand-in.

    `noise` is that of noise and of making counts whole and non-negative; `published` that of missing rows as well, each
    counted as nothing; `bias` is the mean signed error of what is published. `standard_error` is that of `noise`, by chance of
    the draws.
    """

    noise: float
    published: float
    bias: float
    standard_error: float

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "noise": self.noise,
            "published": self.published,
            "bias": self.bias,
            "standard_error": self.standard_error,
        }


def rehearse(
    plan: Plan,
    counts: BaseCounts,
    predictions: Mapping[str, tuple[Asked, Prediction]],
    /,
    *,
    entropy: Entropy,
    draws: int | None = None,
    report: Callable[[], None] = lambda: None,
) -> dict[str, Rehearsed]:
    """What each question's error would be if the truth were `counts`.

    Noise is drawn `draws` times; by default until chance matters little or the work gets too much. `report` is called
    after each draw.
    """
    as_entropy(entropy)
    most = draws or max(DRAWS, min(MOST_DRAWS, MOST_DRAWN // plan.base.cells))
    stage = _Stage.of(plan, counts, predictions)
    errors: dict[str, list[Floats]] = {name: [] for name in predictions}
    found: dict[str, Rehearsed] = {}
    for draw in range(1, most + 1):
        for name, row in stage.errors(entropy).items():
            errors[name].append(row)
        report()
        if draw == most or (draw % DRAWS == 0 and draws is None):
            found = {n: _rehearsed(np.array(rows), predictions[n][1]) for n, rows in errors.items()}
            if draws is None and all(one.standard_error <= PRECISION * one.noise for one in found.values()):
                break
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stage:
    """Questions that are put to the tables of one plan, and their answers in truth."""

    plan: Plan
    counts: BaseCounts
    readers: Mapping[str, Reader]
    truth: Mapping[str, Floats]

    @classmethod
    def of(
        cls, plan: Plan, counts: BaseCounts, predictions: Mapping[str, tuple[Asked, Prediction]], /
    ) -> _Stage:
        readers = {
            name: Reader.of(asked, known.table, table_domain(plan, known.table))
            for name, (asked, known) in predictions.items()
        }
        truth = {name: one.answer(raw_table(plan, one.table, counts)) for name, one in readers.items()}
        return cls(plan=plan, counts=counts, readers=readers, truth=truth)

    def errors(self, entropy: Entropy, /) -> dict[str, Floats]:
        """For one draw: absolute errors of the estimate, of whole counts, of what is published; its signed error."""
        noisy = noisy_tables(self.plan, self.counts, entropy)
        plain = unrestricted_tables(self.plan, noisy)
        noised, published = made_tables(self.plan, self.counts, noisy)
        found = {}
        for name, reader in self.readers.items():
            tables = (plain[reader.table], noised[reader.table], published[reader.table].values)
            off = np.stack([reader.answer(values) - self.truth[name] for values in tables])
            found[name] = np.append(np.abs(off).mean(axis=1), off[-1].mean())
        return found


def _rehearsed(errors: Floats, prediction: Prediction, /) -> Rehearsed:
    plain, noised, published, signed = errors.T
    noise, chance = _steadied(noised, plain, prediction.expected_absolute)
    return Rehearsed(
        noise=noise,
        published=_steadied(published, plain, prediction.expected_absolute)[0],
        bias=float(signed.mean()),
        standard_error=chance,
    )


def _steadied(values: Floats, control: Floats, expected: float, /) -> tuple[float, float]:
    """The mean of `values`, less what it owes to chance in `control`, whose expectation is known; its standard error."""
    spread = float(control.var())
    slope = float(np.cov(values, control, bias=True)[0, 1]) / spread if spread > 0 else 0.0
    steady = values - slope * (control - expected)
    return max(0.0, float(steady.mean())), float(steady.std()) / math.sqrt(len(steady))


Ints = NDArray[np.int64]

_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StandIn:
    """Counts by cell of a spec's domain, without zeros, in the form of raw ones; but public.

    `left_out` is the share of the other release's base cells without a row, `unknown` how many labels of each dimension
    it does not have.
    """

    name: str
    cells: Ints = field(repr=False)
    raw_counts: Ints = field(repr=False)
    left_out: float
    unknown: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """What it is, without its counts."""
        return {"name": self.name, "left_out": self.left_out, "unknown": dict(self.unknown)}


def stand_in(spec: ReleaseSpec, folder: Path, /, *, rng: np.random.Generator) -> StandIn:
    """The counts of the release in `folder`, in the cells of `spec`.

    Reads what is published there and nothing else. `rng` is for rows that were left out.

    Raises
    ------
    DataError
        If there is no release, or none with the dimensions of the spec.
    """
    release = read_release(folder)
    counts, left_out = _whole_base(release, as_rng(rng))
    names = spec.domain.names
    lacking = [name for name in names if name not in release.domain.names]
    if lacking:
        raise DataError(
            f"The release in {folder} has no dimension {' or '.join(lacking)}, which the spec has; it has "
            f"{', '.join(release.domain.names)}. A release that stands in for the truth needs the same dimensions."
        )
    kept = Margin.over(release.domain, names)
    there = np.bincount(
        kept.of(np.arange(release.domain.size)), weights=counts, minlength=kept.domain.size
    ).astype(np.int64)
    sources = {name: _source(spec, release, name, folder) for name in names}
    codes = spec.domain.decode(np.arange(spec.domain.size))
    places = [sources[name][column] for name, column in zip(names, codes, strict=True)]
    known = np.logical_and.reduce([place >= 0 for place in places])
    found = kept.domain.encode(*(np.maximum(place, 0) for place in places))
    values = np.where(known & (found >= 0), there[np.maximum(found, 0)], 0)
    cells = np.flatnonzero(values)
    return StandIn(
        name=release.name,
        cells=cells,
        raw_counts=values[cells],
        left_out=left_out,
        unknown={name: int((source < 0).sum()) for name, source in sources.items() if (source < 0).any()},
    )


def _source(spec: ReleaseSpec, release: Release, name: str, folder: Path, /) -> Ints:
    """For each label of a dimension of the spec, the code of the label to use there; -1 if there is none."""
    labels = spec.domain.dimensions[spec.domain.axis(name)].labels
    others = release.domain.dimensions[release.domain.axis(name)].labels
    if isinstance(spec.dimensions[name], DateDimension):
        return _like_dates(labels, others)
    code = {label: place for place, label in enumerate(others)}
    source = np.array([code.get(label, -1) for label in labels], dtype=np.int64)
    if (source < 0).all():
        raise DataError(
            f"The release in {folder} has none of the values of {name} in the spec: it has {others[0]!r} where the spec "
            f"has {labels[0]!r}. A release that stands in for the truth needs the same values; dates may differ."
        )
    return source


def _like_dates(labels: tuple[str, ...], others: tuple[str, ...], /) -> Ints:
    """The same date, else one with the same day of the week, else one in the same place."""
    code = {label: place for place, label in enumerate(others)}
    by_day: dict[int, list[int]] = {}
    for label, place in code.items():
        by_day.setdefault(date.fromisoformat(label).weekday(), []).append(place)
    found = []
    for turn, label in enumerate(labels):
        alike = by_day.get(date.fromisoformat(label).weekday())
        if label in code:
            found.append(code[label])
        elif alike:
            found.append(alike[turn // 7 % len(alike)])
        else:
            found.append(turn % len(others))
    return np.array(found, dtype=np.int64)


def _whole_base(release: Release, rng: np.random.Generator, /) -> tuple[Ints, float]:
    """Counts of every base cell, none negative; and the share of cells that had no row."""
    values, shown = release.base.filled()
    if not shown.all():
        values = _filled(release, values, shown, rng)
    if values.min(initial=0) < 0:
        values = _clear_of_noise(release, values)
    return values, float((~shown).mean())


def _clear_of_noise(release: Release, values: Ints, /) -> Ints:
    """Whole counts of at least 0 from signed ones, by the same way as reconciled tables."""
    law = release.base.law
    assert law is not None
    margins = {one.name: one.margin for one in release.margins if one.margin is not None}
    noisy = NoisyTable(values=values, variance=law.variance)
    try:
        return reconcile_tables(release.domain, margins, base=noisy, measured={}).base
    except SpecError as problem:
        raise DataError(
            f"The release in {release.folder} has counts below zero that cannot be mended: {problem}"
        ) from None


def _filled(release: Release, values: Ints, shown: NDArray[np.bool_], rng: np.random.Generator, /) -> Ints:
    """The base with its missing rows drawn from what shown margins leave over for them."""
    missing = np.flatnonzero(~shown)
    rates = np.ones(len(missing))
    sides = []
    for table in release.margins:
        if table.margin is None or table.origin == "summed":
            continue  # Derived margins are sums of what is shown, and say nothing about what is not.
        totals, there = table.filled()
        groups = table.margin.of(np.arange(len(values)))
        left = np.where(there, totals - np.bincount(groups, weights=values, minlength=len(totals)), 0.0)
        sides.append((groups[missing], np.maximum(left, 0.0)))
    for _ in range(_ROUNDS if sides else 0):
        for groups, left in sides:
            sums = np.bincount(groups, weights=rates, minlength=len(left))
            rates *= np.divide(left, sums, out=np.zeros_like(left), where=sums > 0)[groups]
    filled = values.copy()
    filled[missing] = rng.poisson(rates) if sides else 0
    return filled
