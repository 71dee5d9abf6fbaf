"""Everything that published tables say about the cells of the base: the one place where it becomes a problem.

A missing row is evidence: its noisy count was below the threshold. How the tables hang together depends on how they were
made:

*derive*: margins are sums of published base cells and say nothing new; the base stands alone.
*independent*: each table has its own noise; margins are further observations of sums of base cells.
*reconcile*: the published tables are sums of one estimate e of the counts x. Its likelihood is that of independent
observations, the base's e with the base's noise and each measured margin's sums of e with that margin's noise:
the precision of e is the sum over measured tables of M'M / v. So the tables can be used like independent
ones with their *own* noise, although what is published of them is consistent. Consistency says one thing more: a shown
total less its shown cells is the sum of e over the missing ones, with one noise of the base for each.

Cells that are known to hold the same count, and cells that are empty for a public reason, are evidence too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import cast

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.inference.excess import (
    RawHistogram,
    ThresholdExcess,
    ThresholdSelection,
    TotalSeen,
    threshold_of,
)
from noisegate.inference.linked.problem import Bools, Floats, Identities, Ints, Problem, Sums
from noisegate.inference.nonnegative import taken_off
from noisegate.inference.profile.observed import AT_MOST, EQUAL, NoisySums
from noisegate.inference.roles import Layout, Roles
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LatticeLaw,
    RoundedGaussian,
    fourth_cumulant,
)
from noisegate.mechanisms import Mechanism, Zeros
from noisegate.tables import Card, Domain, Margin, Release, Table, numbered

#: A scale that is known better than this, as a share of itself, is taken as it is: intervals would be wider by less than 1 in 100.
MATTERS = 0.03
#: Rows below this number are kept in 32 bits.
_NARROW = 1 << 31
#: Of more cells than this, making counts non-negative is not tried again.
_MANY_LIVE = 100_000
#: Sums of more noises than this are taken as normal.
_FEW_NOISES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowMap:
    """Where the cells of a base add up in a margin.

    Attributes
    ----------
    of
        The row of each of some base cells; -1 for none.
    codes
        The label codes of some rows, by dimension.
    labels
        How many labels each dimension of the margin has.
    """

    of: Callable[[Ints], Ints]
    codes: Callable[[Ints], Mapping[str, Ints]]
    labels: Mapping[str, int]

    @classmethod
    def between(cls, margin: Margin, /, *, names: Sequence[str] | None = None) -> RowMap:
        """The rows of a margin of a public domain; `names` are those of its dimensions, if they are to be others."""
        called = margin.domain.names if names is None else tuple(names)
        sizes = (len(d.labels) for d in margin.domain.dimensions)
        return cls(
            of=_RowsOf(margin=margin),
            codes=_CodesOf(domain=margin.domain, names=called),
            labels=dict(zip(called, sizes, strict=True)),
        )


@dataclass(slots=True, kw_only=True, eq=False)
class _RowsOf:
    """The row of each of some base cells, looked up among those of all cells from the second time on."""

    margin: Margin
    _asked: bool = False
    _known: NDArray[np.integer] | None = None

    def __call__(self, cells: Ints, /) -> Ints:
        size = self.margin.base.size
        if self._known is None:
            if not self._asked or size > limits.current().series_cells:
                self._asked = True
                return self.margin.of(cells)
            every = self.margin.every()
            self._known = every.astype(np.int32) if self.margin.domain.size < _NARROW else every
        return self._known[cells].astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CodesOf:
    """The label codes of some cells, by dimension."""

    domain: Domain
    names: tuple[str, ...]

    def __call__(self, cells: Ints, /) -> Mapping[str, Ints]:
        return dict(zip(self.names, self.domain.decode(cells), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Observation:
    """A published table as evidence.

    Attributes
    ----------
    values
        What was published for each row, NaN where it was suppressed. A row that is not listed although nothing is
        suppressed shows zero.
    mechanism
        How a raw count of this table became a published one, by its own noise.
    rows
        For a margin, the rows that base cells add up in; None for the base.
    measured
        Whether the table has noise of its own; else it was only summed.
    usable
        Which rows are evidence; all if None.
    """

    name: str
    values: Floats
    mechanism: Mechanism
    rows: RowMap | None = None
    measured: bool = True
    usable: Bools | None = None

    @property
    def where(self) -> RowMap:
        """The rows of a margin."""
        assert self.rows is not None
        return self.rows

    @property
    def noise(self) -> float:
        """The variance of the noise of one row; infinite if it was only summed."""
        return self.mechanism.published_law.variance if self.measured else math.inf

    @property
    def fourth(self) -> float:
        """The fourth cumulant of the noise of one row; none if it was only summed."""
        return fourth_cumulant(self.mechanism.law) if self.measured else 0.0

    @property
    def usable_rows(self) -> Bools:
        """Which rows are evidence."""
        return np.ones(len(self.values), bool) if self.usable is None else self.usable

    @property
    def least(self) -> float:
        """No row that is missing was above this."""
        return float(self.mechanism.threshold or 0)

    def at_scale(self, factor: float, /) -> Observation:
        """The same table under noise of another scale; one without such noise stays as it is."""
        law = self.mechanism.law
        if not isinstance(law, Laplace | DiscreteLaplace | Gaussian | DiscreteGaussian):
            return self
        scaled = replace(law, scale=factor * law.scale)
        return replace(self, mechanism=replace(self.mechanism, law=scaled))

    def shown(self, rows: Ints, /) -> Bools:
        """Which of these rows have a value."""
        return np.asarray(~np.isnan(self.values[rows]))

    def total(self, rows: Ints, /) -> Floats:
        """The values of these rows, 0 where there is none."""
        return np.nan_to_num(self.values[rows], nan=0.0)

    def relative_noise(self, rows: Ints, /) -> Floats:
        """The variance of the noise of these rows, as a share of the squares of what they show; -1 is no row."""
        return np.asarray(self.noise / np.maximum(self.total(np.maximum(rows, 0)), 1.0) ** 2)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RivalNoise:
    """Other noise that tables may have: how likely it is, what it is called, and how it makes each of some tables by name."""

    weight: float
    name: str
    mechanisms: Mapping[str, Mechanism]

    def __post_init__(self) -> None:
        if not 0 < self.weight < 1:
            raise SpecError.for_value(
                "the weight of a rival", found=self.weight, allowed="above 0 and below 1"
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """A published table, the margins that observe sums of its cells, and what else is known of them.

    Attributes
    ----------
    layout
        The dimensions of the base.
    base, margins
        The tables that are used.
    consistent
        Whether these are exact sums of one estimate.
    equal
        Pairs of cells, shape (2, pairs), that hold the same raw count.
    zero
        Cells that are empty for a public reason.
    scale_doubt
        How unsure the scale of all noise is, where it was recovered: the standard deviation of its log; 0 where it is stated.
    rivals
        Other laws that recovered noise may have; the law that tables are given with has what is left of 1.
    """

    layout: Layout
    base: Observation
    margins: tuple[Observation, ...] = ()
    consistent: bool = False
    equal: Ints | None = None
    zero: Bools | None = None
    scale_doubt: float = 0.0
    rivals: tuple[RivalNoise, ...] = ()
    _excess: list[ThresholdExcess] = field(default_factory=list, init=False, repr=False)
    _cells_in: dict[str, Ints] = field(default_factory=dict, init=False, repr=False)
    _wider: list[Population] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def of(cls, release: Release, /, *, equal: Ints | None = None, zero: Bools | None = None) -> Evidence:
        """What the tables of a release say about the cells of its base, as its card describes them."""
        assert release.card is not None
        card = release.card
        margins = () if card.margins == "derive" else release.margins
        return cls(
            layout=Layout.of(release.domain),
            base=_observation(release.base, release, card),
            margins=tuple(_observation(margin, release, card) for margin in margins),
            consistent=card.margins == "reconcile",
            equal=equal,
            zero=zero,
        )

    def without(self, *tables: str) -> Evidence:
        """The evidence without what some tables say.

        Raises
        ------
        SpecError
            If there is no such table among those that are evidence.
        """
        known = (self.base.name, *(margin.name for margin in self.margins))
        for name in tables:
            if name not in known:
                raise SpecError.for_choice("table", found=name, allowed=known)
        base = self.base
        if base.name in tables:
            base = replace(base, usable=np.zeros(len(base.values), bool))
        kept = tuple(margin for margin in self.margins if margin.name not in tables)
        return replace(self, base=base, margins=kept)

    def at_scale(self, factor: float, /) -> Evidence:
        """The same tables under noise of another scale, which is taken as it is."""
        return replace(
            self,
            base=self.base.at_scale(factor),
            margins=tuple(margin.at_scale(factor) for margin in self.margins),
            scale_doubt=0.0,
            rivals=(),
        )

    @property
    def unsure_noise(self) -> bool:
        """Whether scale or law of the noise are so unsure that it matters."""
        return bool(self.rivals) or self.scale_doubt >= MATTERS

    def under(self, rival: RivalNoise, /) -> Evidence:
        """The same tables under other noise, which is taken as it is."""
        made = rival.mechanisms

        def renewed(one: Observation) -> Observation:
            return replace(one, mechanism=made.get(one.name, one.mechanism))

        margins = tuple(renewed(margin) for margin in self.margins)
        return replace(self, base=renewed(self.base), margins=margins, scale_doubt=0.0, rivals=())

    def among(self, cells: Ints, /) -> Evidence:
        """The evidence about some cells, numbered from 0; of margins those rows that hold no other cells."""
        layout = self.layout
        size = len(cells)
        margins = []
        for margin in self.margins:
            row = margin.where.of(cells)
            inside = np.bincount(row[row >= 0], minlength=len(margin.values))
            whole = (
                inside
                == np.bincount(margin.where.of(np.arange(layout.size)) + 1, minlength=len(margin.values) + 1)[
                    1:
                ]
            )
            usable = whole if margin.usable is None else whole & margin.usable
            rows = replace(margin.where, of=_within(margin.where.of, cells))
            margins.append(replace(margin, rows=rows, usable=usable))
        base = self.base
        return replace(
            self,
            layout=replace(layout, size=size, decode=_decoded(layout.decode, cells)),
            base=replace(
                base, values=base.values[cells], usable=None if base.usable is None else base.usable[cells]
            ),
            margins=tuple(margins),
            equal=self.equal_among(cells) if self.equal is not None else None,
            zero=None if self.zero is None else self.zero[cells],
        )

    def block(self, cells: Ints, /) -> Evidence:
        """The evidence about some cells, numbered from 0, that share no row of a margin with others; rows are numbered from 0 as well."""
        base, layout = self.base, self.layout
        own = replace(
            base, values=base.values[cells], usable=None if base.usable is None else base.usable[cells]
        )
        return replace(
            self,
            layout=replace(layout, size=len(cells), decode=_decoded(layout.decode, cells)),
            base=own,
            margins=tuple(_block_of(margin, cells) for margin in self.margins),
            equal=self.equal_among(cells) if self.equal is not None else None,
            zero=None if self.zero is None else self.zero[cells],
        )

    def learn_from(self, whole: Evidence, wider: Population | None, /) -> None:
        """Hold the excess of shown cells, and how many hidden ones hold 0, 1, 2 ..., for what more cells of the same noise tell of it, of which these are some drawn at random."""
        self._excess[:] = [whole.excess]
        self._wider[:] = [] if wider is None else [wider]

    @property
    def wider(self) -> Population | None:
        """More cells of which these are some drawn at random, and which tell how many hidden ones hold 0, 1, 2 ...; None if nobody has said so."""
        return self._wider[0] if self._wider else None

    @property
    def roles(self) -> Roles:
        """What each dimension is to a profile of counts."""
        return Roles.of(self.layout)

    @property
    def excess(self) -> ThresholdExcess:
        """By how much shown cells exceed their raw counts, because low noise was cut away."""
        if not self._excess:
            self._excess.append(self._base_excess())
        return self._excess[0]

    def _base_excess(self) -> ThresholdExcess:
        """From the cells of the margin that says most of them, and what these add up to."""
        base = self.base
        every = base.values[~np.isnan(base.values)]
        population = self.population(self.live)
        if population is None or len(population.values) < len(every) / 2:
            return ThresholdExcess.of(every, base.mechanism)
        found = ThresholdExcess.of(
            population.values, base.mechanism, hidden=len(population.hidden), total=population.total
        )
        told = self.raw_histogram(self.live) if self.consistent else None
        if told is None:
            return found
        return self._as_made(found.lacking(population.values, told.hidden, base.mechanism), told)

    def _as_made(self, found: ThresholdExcess, told: RawHistogram, /) -> ThresholdExcess:
        """The excess with what making counts non-negative took off shown ones, row by row and column by column; as it is for tables of very many cells."""
        live, base = self.live, self.base
        rows = [margin.where.of(live) for margin in self.margins]
        if len(live) > _MANY_LIVE or any((row < 0).any() for row in rows):
            return found
        values = base.values[live]
        lost = taken_off(values, told.hidden, rows, base.mechanism.law, found.weights_of(values))
        return found.lacking_by(lost, values)

    @property
    def selection(self) -> ThresholdSelection | None:
        """How the threshold of the base selects; None without one, or without noise."""
        at = threshold_of(self.base.mechanism)
        return None if at is None else ThresholdSelection.of(self.base.mechanism, edge=at[0], scale=at[1])

    def raw_histogram(self, cells: Ints, /) -> RawHistogram | None:
        """How many hidden ones of these cells held 0, 1, 2 ..., by what their totals, their shown values and their number tell."""
        population, selection = self.population(cells), self.selection
        if population is None or selection is None or not population.hidden.size:
            return None
        law = selection.raw_law(population.values, hidden=len(population.hidden), total=population.total)
        return RawHistogram.of(selection, law, hidden_cells=population.hidden, shown=len(population.values))

    def population(self, cells: Ints, /) -> Population | None:
        """The cells among these of shown rows of the margin that says most of them; None if none does."""
        base = self.base
        # What was summed from an estimate says what the estimate adds up to.
        telling = [margin for margin in self.margins if margin.measured or self.consistent]
        if not telling or (base.usable is not None and not base.usable[cells].all()):
            return None
        rows = [margin.where.of(cells) for margin in telling]
        covered = [
            (row >= 0) & margin.shown(np.maximum(row, 0)) for margin, row in zip(telling, rows, strict=True)
        ]
        best = max(range(len(telling)), key=lambda k: (int(covered[k].sum()), -len(telling[k].values)))
        margin, inside = telling[best], cells[covered[best]]
        held = np.bincount(rows[best][covered[best]], minlength=len(margin.values))
        used = np.flatnonzero(held)
        # Rows of which only some cells are asked for say nothing of these.
        if not used.size or (held != self.cells_in(margin))[used].any():
            return None
        values = base.values[inside]
        shown = ~np.isnan(values)
        noise = base.noise * len(values)
        if margin.measured:
            noise = margin.noise * len(used) + base.noise * int(shown.sum())
        return Population(
            values=values[shown],
            shown=inside[shown],
            hidden=inside[~shown],
            total=TotalSeen(sum=float(margin.values[used].sum()), variance=max(noise, 1e-6)),
        )

    @property
    def live(self) -> Ints:
        """The cells that could hold something."""
        return np.arange(self.layout.size) if self.zero is None else np.flatnonzero(~self.zero)

    def cells_in(self, margin: Observation, /) -> Ints:
        """How many cells that could hold something each row of a margin adds up."""
        if margin.name not in self._cells_in:
            row = margin.where.of(self.live)
            self._cells_in[margin.name] = np.bincount(row[row >= 0], minlength=len(margin.values))
        return self._cells_in[margin.name]

    @property
    def linked(self) -> bool:
        """Whether anything but a cell's own record speaks about it."""
        return bool(self.margins) or (self.equal is not None and self.equal.size > 0)

    def problem(self, cells: Ints | None = None, /, *, linked: bool = True) -> Problem:
        """All that was published about these cells, or about all; of their own records only if not `linked`."""
        chosen = np.arange(self.layout.size) if cells is None else cells
        zero = None if self.zero is None else self.zero[chosen]
        tables = [self._own(chosen)]
        if not linked:
            return Problem(cells=len(chosen), tables=tuple(tables), structural_zero=zero)
        measured = [margin for margin in self.margins if margin.measured]
        tables += [_sums(margin, chosen) for margin in measured]
        if self.consistent and self.margins:
            tables += self._remainders(chosen, self._sharpest())
        pairs = self.equal_among(chosen)
        return Problem(
            cells=len(chosen),
            tables=tuple(tables),
            identities=(Identities.between_cells(*pairs),) if pairs.size else (),
            structural_zero=zero,
        )

    def _own(self, cells: Ints, /) -> Sums:
        """What was published of the cells one by one."""
        base = self.base
        if base.usable is None:
            return Sums.of_cells(base.values[cells], mechanism=base.mechanism, name=base.name)
        usable = np.flatnonzero(base.usable[cells])
        return Sums.of_cells(
            base.values[cells[usable]], cells=usable, mechanism=base.mechanism, name=base.name
        )

    def equal_among(self, cells: Ints, /) -> Ints:
        """The pairs of equal cells of which both are among these, by their places."""
        if self.equal is None or not self.equal.size:
            return np.zeros((2, 0), np.int64)
        place = np.full(self.layout.size, -1, np.int64)
        place[cells] = np.arange(len(cells))
        pairs = place[self.equal]
        return np.asarray(pairs[:, (pairs >= 0).all(axis=0)])

    def left_over(self, cells: Ints, /) -> list[NoisySums]:
        """What margins leave for the missing ones of these cells, and with how much noise; the cells are a whole part."""
        hidden = ~self.base.shown(cells)
        between = [self._between(cells, *pair, hidden=hidden) for pair in self._pairs()]
        return [self._left_by(cells, margin) for margin in self._serving] + between

    def wide_sums(self, cells: Ints, /) -> list[NoisySums]:
        """What margins say of sums of these cells; the cells are a whole part."""
        found = []
        for margin in self._serving:
            if margin.measured:
                distinct, codes = numbered(margin.where.of(cells))
                there = margin.shown(distinct)
                seen = np.where(there, margin.total(distinct), margin.least)
                variance = np.full(len(distinct), margin.noise)
                found.append(NoisySums(codes=codes, seen=seen, variance=variance, side=_sides(there)))
        if self.consistent and self.margins:
            found.append(self._left_of(cells, self._sharpest()))
        return found + [self._between(cells, *pair, hidden=None) for pair in self._pairs()]

    @property
    def _serving(self) -> list[Observation]:
        """The margins that lie within the parts."""
        roles = self.roles
        return [margin for margin in self.margins if roles.serves(margin.where.labels)]

    def _pairs(self) -> list[tuple[Observation, Observation]]:
        """Margins with noise of their own, each with each: what one shows the other may lack."""
        return list(permutations([m for m in self._serving if m.measured], 2))

    def _between(
        self, cells: Ints, lacking: Observation, other: Observation, /, *, hidden: Bools | None
    ) -> NoisySums:
        """What only one margin lacks, less what only the other lacks: the difference of their shown totals.

        Both add up the same cells wherever the dimensions that they share agree. With `hidden`, what is left of it for these
        cells.
        """
        shared = [name for name in lacking.where.labels if name in other.where.labels]
        mine, theirs = _Rows.of(lacking, cells, shared), _Rows.of(other, cells, shared)
        size = 1 + max(int(mine.stratum.max(initial=0)), int(theirs.stratum.max(initial=0)))
        seen = theirs.total(size) - mine.total(size)
        variance = theirs.noise(size, missing=self.consistent) + mine.noise(size, missing=self.consistent)
        more = ~mine.there[mine.of_cell] & theirs.there[theirs.of_cell]
        less = mine.there[mine.of_cell] & ~theirs.there[theirs.of_cell]
        stratum = mine.stratum[mine.of_cell]
        if hidden is not None:
            known = (more | less) & ~hidden
            values = np.where(more, -1, 1) * self.base.total(cells)
            seen += np.bincount(stratum[known], weights=values[known], minlength=size)
            variance += self.base.noise * np.bincount(stratum[known], minlength=size)
            more, less = more & hidden, less & hidden
        return NoisySums(
            codes=np.where(more, stratum, -1),
            seen=seen,
            variance=np.maximum(variance, 1e-9),
            side=np.full(size, EQUAL, np.int8),
            less=np.where(less, stratum, -1),
        )

    def differences(self) -> tuple[Floats, Floats]:
        """What margins with noise of their own differ by, each from each, wherever both show all that they add up; and the variances of that noise."""
        live, found, noise = self.live, [np.zeros(0)], [np.zeros(0)]
        every = [one for one in self.margins if one.measured and one.usable_rows.all()]
        every = [one for one in every if (one.where.of(live) >= 0).all()]
        for one, other in combinations(every, 2):
            shared = [name for name in one.where.labels if name in other.where.labels]
            sides = [_Rows.of(margin, live, shared) for margin in (one, other)]
            size = 1 + max(int(side.stratum.max(initial=0)) for side in sides)
            lacks = sum(np.bincount(side.stratum, weights=~side.there, minlength=size) for side in sides)
            rows = sum(np.bincount(side.stratum, minlength=size) for side in sides)
            whole = np.flatnonzero((np.asarray(lacks) == 0) & (np.asarray(rows) > 0))
            found.append((sides[0].total(size) - sides[1].total(size))[whole])
            noise.append(np.sum([side.noise(size, missing=False) for side in sides], axis=0)[whole])
        return np.concatenate(found), np.concatenate(noise)

    def _left_of(self, cells: Ints, margin: Observation, /) -> NoisySums:
        """Shown totals less their shown cells: sums over the missing ones, one noise of the base for each."""
        left = _Left.of(self.base, margin, cells, self.excess)
        usable = left.there & (left.missing > 0) & (left.rest >= 0)
        return NoisySums(
            codes=np.where(left.hidden & usable[left.codes], left.codes, -1),
            seen=left.rest,
            variance=np.maximum(left.missing, 1) * self.base.noise,
            side=_sides(usable),
        )

    def _left_by(self, cells: Ints, margin: Observation, /) -> NoisySums:
        """What a margin leaves for the missing cells, and with how much noise."""
        left = _Left.of(self.base, margin, cells, self.excess)
        rest = np.where(left.there, left.rest, left.rest + margin.least)
        noise = margin.noise + (left.cells - left.missing) * self.base.noise
        if self.consistent:
            noise = 1 / (1 / noise + 1 / np.maximum(left.missing * self.base.noise, 1e-9))
        usable = np.isfinite(noise) & (left.missing > 0)
        return NoisySums(
            codes=np.where(left.hidden & usable[left.codes], left.codes, -1),
            seen=np.maximum(rest, 0.0),
            variance=np.where(usable, noise, 1.0),
            side=_sides(left.there),
        )

    def _sharpest(self) -> Observation:
        """The margin whose remainders are used: one without noise of its own, else the one of the fewest cells."""

        def rank(margin: Observation) -> tuple[bool, float]:
            return margin.measured, self.layout.size / len(margin.values)

        return min(self._serving or self.margins, key=rank)

    def _remainders(self, cells: Ints, margin: Observation, /) -> Iterator[Sums]:
        """Shown totals less their shown cells: noisy sums over the missing ones, by how many these are."""
        law = self.base.mechanism.published_law
        assert isinstance(law, LatticeLaw)
        left = _Left.of(self.base, margin, cells, self.excess)
        usable = left.there & (left.missing > 0) & (left.rest >= 0)
        missing = left.missing.astype(np.int64)
        steps = np.where(missing <= _FEW_NOISES, missing, _steps(missing))
        for step in np.unique(steps[usable]).tolist():
            rows = usable & (steps == step)
            number = np.where(rows, np.cumsum(rows) - 1, -1)
            asked = np.where(left.hidden, number[left.codes], -1)
            mechanism = Mechanism(law=_many(law, int(step)), zeros="perturb")
            # Whole numbers with the same sum, up to one.
            rest = np.diff(np.rint(np.cumsum(left.rest[rows])), prepend=0.0)
            yield Sums.by(asked, rest, mechanism=mechanism, name="remainders")


def _block_of(margin: Observation, cells: Ints, /) -> Observation:
    """The rows of a margin that some cells add up in; no row holds other cells."""
    rows, place = numbered(margin.where.of(cells))
    codes = margin.where.codes
    where = replace(margin.where, of=lambda places: place[places], codes=lambda some: codes(rows[some]))
    usable = None if margin.usable is None else margin.usable[rows]
    return replace(margin, values=margin.values[rows], rows=where, usable=usable)


def _within(of: Callable[[Ints], Ints], cells: Ints, /) -> Callable[[Ints], Ints]:
    return lambda places: of(cells[places])


def _decoded(decode: Callable[[Ints], Sequence[Ints]], cells: Ints, /) -> Callable[[Ints], Sequence[Ints]]:
    return lambda places: decode(cells[places])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Population:
    """Cells whose sum is known: those that are shown, with their values, those that are not, and the sum."""

    values: Floats
    shown: Ints
    hidden: Ints
    total: TotalSeen


def _observation(table: Table, release: Release, card: Card, /) -> Observation:
    """A table as evidence, by its own noise."""
    law = table.law if table.law is not None else release.base.law
    assert law is not None
    values, shown = table.filled()
    threshold = table.threshold.value
    # A zero that is kept is not listed, and neither is a noisy value of zero: both were shown as nothing.
    missing = 0.0 if threshold is None else np.nan
    return Observation(
        name=table.name,
        values=np.where(shown, values.astype(np.float64), missing),
        mechanism=Mechanism(law=law, threshold=threshold, rule="ge", zeros=cast("Zeros", card.zeros)),
        rows=None if table.margin is None else RowMap.between(table.margin),
        measured=table.law is not None,
    )


def _sums(margin: Observation, cells: Ints, /) -> Sums:
    """A margin's rows as sums of these cells."""
    distinct, codes = numbered(margin.where.of(cells))
    values = margin.values[distinct]
    if margin.usable is not None:
        fit = margin.usable[distinct]
        number = np.append(np.where(fit, np.cumsum(fit) - 1, -1), -1)
        codes, values = number[codes], values[fit]
    return Sums.by(codes, values, mechanism=margin.mechanism, name=margin.name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Left:
    """What the rows of a margin leave for cells that are not shown.

    Attributes
    ----------
    codes, hidden
        For each cell its row, and whether nothing is shown of it.
    there, rest
        For each row whether it is shown, and what it leaves when its shown cells are taken away, less what these exceed
        their raw counts by.
    cells, missing
        How many cells each row has, and how many of them are not shown.
    """

    codes: Ints
    hidden: Bools
    there: Bools
    rest: Floats
    cells: Floats
    missing: Floats

    @classmethod
    def of(cls, base: Observation, margin: Observation, cells: Ints, excess: ThresholdExcess, /) -> _Left:
        distinct, codes = numbered(margin.where.of(cells))
        if not distinct.size:  # a margin of other cells: a row of none of these
            distinct = np.zeros(1, np.int64)
        # A subtotal need not hold every cell: of those outside it leaves nothing.
        inside = codes >= 0
        hidden = ~base.shown(cells) & inside
        net = base.total(cells) - excess.over(base.values[cells])

        def added(what: Floats) -> Floats:
            return np.bincount(codes[inside], weights=what[inside], minlength=distinct.size).astype(
                np.float64
            )

        return cls(
            codes=codes,
            hidden=hidden,
            there=margin.shown(distinct),
            rest=margin.total(distinct) - added(net),
            cells=added(inside.astype(np.float64)),
            missing=added(hidden.astype(np.float64)),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Rows of a margin that hold some cells: which of them each cell is in, which are shown, and how they go together."""

    margin: Observation
    rows: Ints
    of_cell: Ints
    there: Bools
    stratum: Ints

    @classmethod
    def of(cls, margin: Observation, cells: Ints, shared: list[str], /) -> _Rows:
        """The rows of `cells`; those that agree in the `shared` dimensions are one stratum."""
        rows, of_cell = numbered(margin.where.of(cells))
        codes = margin.where.codes(rows)
        stratum = np.zeros(len(rows), np.int64)
        for name in shared:
            stratum = stratum * margin.where.labels[name] + codes[name]
        return cls(margin=margin, rows=rows, of_cell=of_cell, there=margin.shown(rows), stratum=stratum)

    def total(self, size: int, /) -> Floats:
        """What is shown of each stratum."""
        values = self.margin.total(self.rows)
        return np.bincount(self.stratum, weights=values, minlength=size).astype(np.float64)

    def noise(self, size: int, /, *, missing: bool) -> Floats:
        """The variance of what is shown of each stratum; of tables that agree, that of what is missing."""
        counted = np.bincount(self.stratum[self.there != missing], minlength=size)
        return np.asarray(self.margin.noise * counted, dtype=np.float64)


def _steps(counts: Ints, /) -> Ints:
    """Counts rounded to about five in a hundred, so that alike sums share a law."""
    steps = np.rint(np.log(np.maximum(counts, 1).astype(np.float64)) * 20)
    return np.asarray(np.rint(np.exp(steps / 20)), dtype=np.int64)


def _many(law: LatticeLaw, count: int, /) -> LatticeLaw:
    if count <= _FEW_NOISES:
        return law.sum_of(count)
    return RoundedGaussian(float(np.sqrt(count * law.variance)))


def _sides(shown: Bools, /) -> NDArray[np.int8]:
    """A row that is shown says what its sum is, one that is missing that it is not above the threshold."""
    return np.where(shown, EQUAL, AT_MOST).astype(np.int8)
