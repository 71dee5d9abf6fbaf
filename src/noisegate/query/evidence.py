"""What published margins say of sums of a table's cells, in the forms that the fit and the posteriors ask for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.problem import Problem, Sums
from noisegate.inference.profile.noisy_sums import AT_MOST, EQUAL, NoisySums
from noisegate.laws._law import LatticeLaw
from noisegate.laws.gaussian import RoundedGaussian
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.query.roles import numbered
from noisegate.tables.domain import Ints
from noisegate.tables.table import Table

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: Sums of more noises than this are taken as normal.
_FEW_NOISES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shown:
    """A published table: its values by cell, and which cells have one."""

    table: Table
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
                    there,
                    margin.values[distinct].astype(np.float64),
                    float(margin.table.threshold.value or 0),
                )
                variance = np.full(len(distinct), law.variance)
                found.append(NoisySums(codes=codes, seen=seen, variance=variance, side=_sides(there)))
        if self.consistent and self.linked:
            found.append(self._left_of(cells, self._sharpest()))
        return found + [self._between(cells, *pair, hidden=None) for pair in self._pairs()]

    def _pairs(self) -> list[tuple[Shown, Shown]]:
        """Margins with noise of their own, each with each: what one shows the other may lack."""
        return list(permutations([m for m in self.linked if m.table.law is not None], 2))

    def _between(self, cells: Ints, lacking: Shown, other: Shown, /, *, hidden: Bools | None) -> NoisySums:
        """What only one margin lacks, less what only the other lacks: the difference of their shown totals.

        Both add up the same cells wherever the dimensions that they share agree. With `hidden`, what is left of it for these
        cells.
        """
        shared = [name for name in lacking.table.domain.names if name in other.table.domain.names]
        mine, theirs = _Rows.of(lacking, cells, shared), _Rows.of(other, cells, shared)
        size = 1 + max(int(mine.stratum.max(initial=0)), int(theirs.stratum.max(initial=0)))
        seen = theirs.total(size) - mine.total(size)
        variance = theirs.noise(size, missing=self.consistent) + mine.noise(size, missing=self.consistent)
        more = ~mine.there[mine.of_cell] & theirs.there[theirs.of_cell]
        less = mine.there[mine.of_cell] & ~theirs.there[theirs.of_cell]
        stratum = mine.stratum[mine.of_cell]
        if hidden is not None:
            known = (more | less) & ~hidden
            values = np.where(more, -1, 1) * self.shown.values[cells]
            seen += np.bincount(stratum[known], weights=values[known], minlength=size)
            variance += self.shown.mechanism.law.variance * np.bincount(stratum[known], minlength=size)
            more, less = more & hidden, less & hidden
        return NoisySums(
            codes=np.where(more, stratum, -1),
            seen=seen,
            variance=np.maximum(variance, 1e-9),
            side=np.full(size, EQUAL, np.int8),
            less=np.where(less, stratum, -1),
        )

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
            side=_sides(usable),
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

    def left_over(self, cells: Ints, /) -> list[NoisySums]:
        """What margins leave for the missing cells, and with how much noise."""
        hidden = ~self.shown.shown[cells]
        between = [self._between(cells, *pair, hidden=hidden) for pair in self._pairs()]
        return [self._left_by(cells, margin) for margin in self.linked] + between

    def _left_by(self, cells: Ints, margin: Shown, /) -> NoisySums:
        """What a margin leaves for the missing cells, and with how much noise."""
        where = margin.table.margin
        base = self.shown.mechanism.law.variance
        assert where is not None
        distinct, codes = numbered(where.of(cells))
        hidden = ~self.shown.shown[cells]
        missing = np.bincount(codes, weights=hidden)
        seen = np.bincount(codes, weights=np.where(hidden, 0, self.shown.values[cells]))
        there = margin.shown[distinct]
        least = float(margin.table.threshold.value or 0)
        rest = np.where(there, margin.values[distinct], least) - seen
        own = math.inf if margin.table.law is None else margin.table.law.variance
        noise = own + (np.bincount(codes) - missing) * base
        if self.consistent:
            noise = 1 / (1 / noise + 1 / np.maximum(missing * base, 1e-9))
        usable = np.isfinite(noise) & (missing > 0)
        return NoisySums(
            codes=np.where(hidden & usable[codes], codes, -1),
            seen=np.maximum(rest, 0.0),
            variance=np.where(usable, noise, 1.0),
            side=_sides(there),
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Rows of a margin that hold some cells: which of them each cell is in, which are shown, and how they go together."""

    margin: Shown
    rows: Ints
    of_cell: Ints
    there: Bools
    stratum: Ints

    @classmethod
    def of(cls, margin: Shown, cells: Ints, shared: list[str], /) -> _Rows:
        """The rows of `cells`; those that agree in the `shared` dimensions are one stratum."""
        where, domain = margin.table.margin, margin.table.domain
        assert where is not None
        rows, of_cell = numbered(where.of(cells))
        codes = dict(zip(domain.names, domain.decode(rows), strict=True))
        stratum = np.zeros(len(rows), np.int64)
        for name in shared:
            stratum = stratum * len(domain.dimensions[domain.axis(name)].labels) + codes[name]
        return cls(margin=margin, rows=rows, of_cell=of_cell, there=margin.shown[rows], stratum=stratum)

    def total(self, size: int, /) -> Floats:
        """What is shown of each stratum."""
        values = np.where(self.there, self.margin.values[self.rows], 0)
        return np.bincount(self.stratum, weights=values, minlength=size).astype(np.float64)

    def noise(self, size: int, /, *, missing: bool) -> Floats:
        """The variance of what is shown of each stratum; of tables that agree, that of what is missing."""
        law = self.margin.table.law
        assert law is not None
        counted = np.bincount(self.stratum[self.there != missing], minlength=size)
        return np.asarray(law.variance * counted, dtype=np.float64)


def _steps(counts: Ints, /) -> Ints:
    """Counts rounded to about five in a hundred, so that alike sums share a law."""
    steps = np.rint(np.log(np.maximum(counts, 1).astype(np.float64)) * 20)
    return np.asarray(np.rint(np.exp(steps / 20)), dtype=np.int64)


def _many(law: LatticeLaw, count: int, /) -> LatticeLaw:
    if count <= _FEW_NOISES:
        return law.sum_of(count)
    return RoundedGaussian(float(np.sqrt(count * law.variance)))


def _sides(shown: Bools, /) -> NDArray[np.int8]:
    """A row that is shown says what its sum is, one that is missing that it is not above the cut."""
    return np.where(shown, EQUAL, AT_MOST).astype(np.int8)
