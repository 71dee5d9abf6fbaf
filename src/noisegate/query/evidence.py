"""What published margins say of sums of a table's cells, in the forms that the fit and the posteriors ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.core.domain import Ints
from noisegate.core.laws import LatticeLaw, RoundedGaussian
from noisegate.core.linked import Problem, Sums
from noisegate.core.mechanism import Mechanism
from noisegate.core.workload import NoisySums, Remainders
from noisegate.query.roles import numbered
from noisegate.query.statement import StatedTable

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Sums of more noises than this are taken as normal.
_FEW_NOISES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A published table: its values by cell, and which cells have one."""

    table: StatedTable
    mechanism: Mechanism
    values: Ints
    shown: Bools

    def at(self, cells: Ints, /) -> Floats:
        """Published values of some cells, NaN where there is none."""
        seen = self.values[cells].astype(np.float64)
        # A zero that is kept is not listed, and neither is a noisy value of zero: both were shown as nothing.
        missing = 0.0 if self.mechanism.threshold is None else np.nan
        return np.where(self.shown[cells], seen, missing)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """A published table and the margins that observe sums of its cells.

    `consistent` says that these are exact sums of one estimate.
    """

    shown: Shown
    linked: tuple[Shown, ...]
    consistent: bool

    def wide_sums(self, cells: Ints, /) -> list[NoisySums]:
        """What linked margins say of sums of these cells."""
        found = []
        for margin in self.linked:
            where, law = margin.table.margin, margin.table.law
            assert where is not None
            if law is not None:
                distinct, codes = numbered(where.of(cells))
                there = margin.shown[distinct]
                seen = np.where(
                    there, margin.values[distinct].astype(np.float64), float(margin.table.least or 0)
                )
                variance = np.full(len(distinct), law.variance)
                found.append(NoisySums(codes=codes, seen=seen, variance=variance, upper=~there))
        if self.consistent and self.linked:
            found.append(self._left_of(cells, self._sharpest()))
        return found

    def _left_of(self, cells: Ints, margin: Shown, /) -> NoisySums:
        """Shown totals less their shown cells: sums over the missing ones, one noise of the base for each."""
        where = margin.table.margin
        assert where is not None
        distinct, codes = numbered(where.of(cells))
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        rest = margin.values[distinct].astype(np.float64) - seen
        usable = margin.shown[distinct] & (missing > 0) & (rest >= 0)
        return NoisySums(
            codes=np.where(hidden & usable[codes], codes, -1),
            seen=rest,
            variance=np.maximum(missing, 1) * self.shown.mechanism.law.variance,
            upper=~usable,
        )

    def problem(self, cells: Ints, /) -> Problem:
        """All that links these cells, for `core.linked`."""
        own = self.shown.at(cells)
        tables = [Sums.of_cells(own, mechanism=self.shown.mechanism)]
        for margin in self.linked:
            where = margin.table.margin
            assert where is not None
            distinct, codes = numbered(where.of(cells))
            if margin.table.law is not None:
                tables.append(Sums.by(codes, margin.at(distinct), mechanism=margin.mechanism))
        if self.consistent and self.linked:
            tables += self._remainders(cells, self._sharpest())
        return Problem(cells=len(cells), tables=tuple(tables))

    def left_over(self, cells: Ints, margin: Shown, /) -> Remainders:
        """What a margin leaves for the missing cells, and with how much noise."""
        where = margin.table.margin
        base = self.shown.mechanism.law.variance
        assert where is not None
        distinct, codes = numbered(where.of(cells))
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        there = margin.shown[distinct]
        least = float(margin.table.least or 0)
        rest = np.where(there, margin.values[distinct], least) - seen
        own = math.inf if margin.table.law is None else margin.table.law.variance
        noise = own + (np.bincount(codes) - missing) * base
        if self.consistent:
            noise = 1 / (1 / noise + 1 / np.maximum(missing * base, 1e-9))
        usable = np.isfinite(noise) & (missing > 0)
        return Remainders(
            codes=np.where(hidden & usable[codes], codes, -1),
            rest=np.maximum(rest, 0.0),
            variance=np.where(usable, noise, 1.0),
            upper=~there,
        )

    def _sharpest(self) -> Shown:
        """The margin whose remainders are used: one without noise of its own, else the one of the fewest cells."""

        def rank(margin: Shown) -> tuple[bool, float]:
            return margin.table.law is not None, self.shown.table.domain.size / margin.table.domain.size

        return min(self.linked, key=rank)

    def _remainders(self, cells: Ints, margin: Shown, /) -> Iterator[Sums]:
        """Shown totals less their shown cells: noisy sums over the missing ones, by how many these are."""
        where, law = margin.table.margin, self.shown.table.law
        assert where is not None
        assert law is not None
        distinct, codes = numbered(where.of(cells))
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden).astype(np.int64)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        rest = margin.values[distinct] - seen
        usable = margin.shown[distinct] & (missing > 0) & (rest >= 0)
        steps = np.where(missing <= _FEW_NOISES, missing, _steps(missing))
        for step in np.unique(steps[usable]).tolist():
            rows = usable & (steps == step)
            number = np.where(rows, np.cumsum(rows) - 1, -1)
            asked = np.where(hidden, number[codes], -1)
            mechanism = Mechanism(law=_many(law, int(step)), zeros="perturb")
            yield Sums.by(asked, rest[rows], mechanism=mechanism, name="remainders")


def _steps(counts: Ints, /) -> Ints:
    """Counts rounded to about five in a hundred, so that alike sums share a law."""
    steps = np.rint(np.log(np.maximum(counts, 1).astype(np.float64)) * 20)
    return np.asarray(np.rint(np.exp(steps / 20)), dtype=np.int64)


def _many(law: LatticeLaw, count: int, /) -> LatticeLaw:
    if count <= _FEW_NOISES:
        return law.sum_of(count)
    return RoundedGaussian(float(np.sqrt(count * law.variance)))
