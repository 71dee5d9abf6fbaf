"""What an assessment takes as evidence about the cells of the base (MATH 4).

A release with a card is read as its card describes it, so that an assessment and a query hand the same problem to the same
engine. Of other tables the base and every margin with noise of its own are evidence; a margin that was summed from the
published base adds nothing and is left out. Couplings that hold and cells that are empty for a public reason count in
either case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Words
from noisegate.errors import DataError
from noisegate.inference import (
    CellEstimates,
    Evidence,
    LatentScale,
    Layout,
    Observation,
    RowMap,
    likely_scale,
)
from noisegate.laws import PointMass
from noisegate.reading import Structure, assemble
from noisegate.recovery import Coupling, Makers, MarginRows, Seen, equal_pairs, perturbed_apart
from noisegate.tables import Counts, Domain, Kind, MarginLink, Release, Table

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

#: A scale that identities leave more open than this is known to a factor of four, and no interval says more.
_MOST_DOUBT = 0.7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackEvidence:
    """Everything that speaks about the cells of the base, ready for the engine.

    Attributes
    ----------
    base
        The base as evidence; `margins` are the links used with theirs.
    left_out
        Margins that are not used, each with the reason.
    zero
        Cells that are empty for a public reason.
    known
        What the engine is handed.
    place
        The number of each cell of the base in what the engine is handed, -1 for none; None if they are the same.
    """

    base: Seen
    margins: tuple[tuple[MarginRows, Seen], ...]
    left_out: tuple[tuple[str, str], ...]
    known: Evidence
    place: Ints | None = None
    released: bool = False
    couplings: tuple[Coupling, ...] = ()
    zero: Bools | None = None

    @classmethod
    def of(
        cls,
        structure: Structure,
        rows: Sequence[MarginRows],
        makers: Makers,
        /,
        *,
        couplings: Sequence[Coupling] = (),
        zero: Bools | None = None,
    ) -> AttackEvidence | None:
        """The evidence in these tables; None if nothing is known about the noise of the base."""
        base = makers.of(structure.base, structure)
        if base is None:
            return None
        release = _released(structure, makers)
        used, left_out = [], []
        for one in rows:
            seen = makers.of(one.link.margin, structure)
            reason = _why_not(one, seen, makers, stated=release is not None)
            if seen is None or reason:
                left_out.append((one.link.margin.name, reason))
            else:
                used.append((one, seen))
        inside = tuple(c for c in couplings if c.cells is structure.base)
        clear = None if zero is None else zero & np.isnan(base.values)
        equal = equal_pairs(inside) if inside else None
        place = None
        if release is None:
            known = _as_read(base, used, equal=equal, zero=clear)
            tables = [base, *(seen for _, seen in used)]
            known = replace(known, scale_doubt=_scale_doubt(tables, makers), rivals=makers.rivals(tables))
        else:
            place = _places(structure.base, release.domain)
            known = _as_stated(release, base, place, equal=equal, zero=clear)
        return cls(
            base=base,
            margins=tuple(used),
            left_out=tuple(left_out),
            known=known,
            place=place,
            released=release is not None,
            couplings=inside,
            zero=zero,
        )

    @classmethod
    def without_noise_known(
        cls,
        structure: Structure,
        rows: Sequence[MarginRows],
        makers: Makers,
        /,
        *,
        couplings: Sequence[Coupling] = (),
        zero: Bools | None = None,
    ) -> AttackEvidence | None:
        """The evidence where no sum is whole, with the scale of noise as far as totals tell it that lack a part; None if none does."""
        trying = replace(makers, latent=LatentScale(scale=1.0, doubt=0.0, totals=0))
        found = cls.of(structure, rows, trying, couplings=couplings, zero=zero)
        told = None if found is None or not found.margins else likely_scale(found.known)
        if told is None:
            return None
        return cls.of(structure, rows, replace(makers, latent=told), couplings=couplings, zero=zero)

    @property
    def cells(self) -> Table:
        """The base on its domain."""
        return self.base.cells

    def placed(self, estimates: CellEstimates, /) -> CellEstimates:
        """What the engine says of every cell of the base, in the order of the base."""
        if self.place is None:
            return estimates
        found = CellEstimates.empty(len(self.place), level=estimates.level)
        inside = np.flatnonzero(self.place >= 0)
        for mine, theirs in zip(found.arrays, estimates.arrays, strict=True):
            mine[inside] = theirs[self.place[inside]]
        return found.judged(
            iterations=estimates.iterations, change=estimates.change, unsettled=estimates.unsettled
        )

    @property
    def suppressed(self) -> Bools:
        """Cells of the base that are not published and could hold something."""
        hidden: Bools = np.isnan(self.base.values)
        return hidden if self.zero is None else hidden & ~self.zero

    @property
    def linked(self) -> bool:
        """Whether anything but a cell's own record speaks about it."""
        return bool(self.margins or self.couplings)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What had to be assumed about the making of the tables, without repetition."""
        said = [line for seen in (self.base, *(s for _, s in self.margins)) for line in seen.assumes]
        said += [f"{coupling.title}: equal counts" for coupling in self.couplings]
        if self.margins:
            said.append(f"{self.cells.name} lists every cell that its margins count")
        return tuple(dict.fromkeys(said))


def _why_not(rows: MarginRows, seen: Seen | None, makers: Makers, /, *, stated: bool) -> str:
    """Why a margin is not used; empty if it is."""
    if not stated and rows.link.unlisted:
        return f"it counts what the base does not list ({', '.join(rows.link.unlisted[:2])})"
    if seen is None:
        return "nothing is known about its noise"
    said = makers.card.margins if makers.card is not None else None
    if said == "derive" or not rows.residual.any():
        return "it was summed from the published base and adds nothing"
    if stated:
        return ""
    exact = isinstance(seen.mechanism.law, PointMass)
    if said == "reconcile" or (perturbed_apart(rows) is False and not exact):
        return "it adds up with the base, so its noise is not its own"
    return ""


def consistent_tables(rows: Sequence[MarginRows], /) -> frozenset[str]:
    """Tables that add up where it can be checked, and hold more than their published parts."""
    found = [one for one in rows if perturbed_apart(one) is False and one.residual.any()]
    names = {one.link.margin.name for one in found} | {one.link.base.name for one in found}
    return frozenset(names)


def _as_read(
    base: Seen, margins: Sequence[tuple[MarginRows, Seen]], /, *, equal: Ints | None, zero: Bools | None
) -> Evidence:
    """The evidence of tables without a card, on the domain that the tables reveal."""
    cells = base.cells
    layout = Layout(
        size=cells.size,
        labels={d.name: d.size for d in cells.dimensions},
        days=frozenset(d.name for d in cells.dimensions if d.kind is Kind.DATE),
        times=frozenset(d.name for d in cells.dimensions if d.kind is Kind.TIME),
        decode=cells.domain.decode,
    )
    return Evidence(
        layout=layout,
        base=_observed(base),
        margins=tuple(replace(_observed(seen), rows=_row_map(rows.link)) for rows, seen in margins),
        equal=equal,
        zero=zero,
    )


def _scale_doubt(tables: Sequence[Seen], makers: Makers, /) -> float:
    """How unsure the scale of noise is that was recovered, as the standard deviation of its log; 0 if a person states it, or a card."""
    if makers.stated is not None:
        return 0.0
    if makers.latent is not None:
        return min(makers.latent.doubt, _MOST_DOUBT)
    recovered = [one for one in tables if one.known.source in {"recovered", "borrowed"}]
    fits = [fit for one in recovered if (fit := makers.noise[one.cells.name].fit) is not None]
    spans = [
        math.log(fit.interval[1] / fit.interval[0]) / (2 * NormalDist().inv_cdf((1 + fit.level) / 2))
        for fit in fits
        if 0 < fit.interval[0] < fit.interval[1] < math.inf
    ]
    return min(max(spans, default=0.0), _MOST_DOUBT)


def _observed(seen: Seen, /) -> Observation:
    return Observation(name=seen.cells.name, values=seen.values, mechanism=seen.mechanism, usable=seen.usable)


def _row_map(link: MarginLink, /) -> RowMap:
    """Where base cells add up in a margin; wider bins are a dimension of their own."""
    cells = link.margin
    names = [f"{d.name} (wider)" if d.name in link.coarser else d.name for d in cells.dimensions]
    return RowMap.between(link.map, names=names)


def _released(structure: Structure, makers: Makers, /) -> Release | None:
    """The release that a card describes, all tables with the card's labels; None if there is no such card, a person states other noise, or the tables are others."""
    card = makers.card
    if any(makers.against_stated(table) for table in structure.tables):
        return None
    tables = {table.name: table for table in structure.tables}
    if card is None or not card.complete or set(tables) != {stated.name for stated in card.tables}:
        return None
    try:
        release = assemble(card, lambda stated, domain: _rows(tables[stated.name], domain))
    except DataError:
        return None
    return release if structure.base.name == release.base.name else None


def _as_stated(
    release: Release, base: Seen, place: Ints | None, /, *, equal: Ints | None, zero: Bools | None
) -> Evidence:
    """The evidence of a release, on the card's domain."""
    if place is None:
        found = Evidence.of(release, equal=equal, zero=zero)
        # The same numbers need not be held twice.
        same = np.array_equal(found.base.values, base.values, equal_nan=True)
        return replace(found, base=replace(found.base, values=base.values)) if same else found
    pairs, empty = None, None
    if equal is not None:
        pairs = place[equal]
        pairs = pairs[:, (pairs >= 0).all(axis=0)]
    if zero is not None:
        empty = np.zeros(release.domain.size, bool)
        empty[place[zero & (place >= 0)]] = True
    return Evidence.of(release, equal=pairs, zero=empty)


def _rows(table: Table, domain: Domain, /) -> tuple[Ints, Counts]:
    """A table's published cells by the card's numbers, ascending, and their values; refused if it has others."""
    same = _same_cells(table.domain, domain)
    numbers = table.cells if same else _numbers(table, domain, table.cells)
    if (numbers < 0).any() or (table.values != np.rint(table.values)).any():
        raise DataError(f"table {table.name!r} has rows that are not cells of its card.")
    if same:
        return numbers, table.values.astype(np.int64, copy=False)
    order = np.argsort(numbers, kind="stable")
    return numbers[order], table.values[order].astype(np.int64)


def _same_cells(one: Domain, other: Domain, /) -> bool:
    """Whether two domains number the same cells in the same way."""
    return (
        [(d.name, d.labels) for d in one.dimensions] == [(d.name, d.labels) for d in other.dimensions]
        and one.axes == other.axes
        and len(one.blocks) == len(other.blocks)
        and all(
            np.array_equal(mine.entries, theirs.entries)
            for a, b in zip(one.blocks, other.blocks, strict=True)
            for mine, theirs in zip(a.axes, b.axes, strict=True)
        )
    )


def _places(base: Table, domain: Domain, /) -> Ints | None:
    """The card's number of each cell of the base, -1 for none; None if all are the same."""
    return None if _same_cells(base.domain, domain) else _numbers(base, domain, np.arange(base.size))


def _numbers(cells: Table, domain: Domain, flat: Ints, /) -> Ints:
    """The card's number of each of these cells, -1 for none."""
    place = {dimension.name: j for j, dimension in enumerate(cells.dimensions)}
    if set(place) != set(domain.names):
        return np.full(len(flat), -1, np.int64)
    codes, columns = cells.codes(flat), []
    for dimension in domain.dimensions:
        known = {label: code for code, label in enumerate(dimension.labels)}
        own = cells.dimensions[place[dimension.name]].labels
        columns.append(
            np.array([known.get(label, -1) for label in own], np.int64)[codes[place[dimension.name]]]
        )
    inside = np.logical_and.reduce([column >= 0 for column in columns])
    numbers = np.full(len(flat), -1, np.int64)
    numbers[inside] = domain.encode(*(column[inside] for column in columns))
    return numbers


if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

WORDS: Mapping[str, Words] = {
    "summed-cells": Words(
        says="Cells of the base are sums of counts that were cut one by one.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How many counts a cell of the base is a sum of, if it is one."""
    pieces = facts.pieces
    if pieces is None:
        return []
    name = facts.structure.base.name
    if pieces.number is None:
        title = f"{name}: its cells are sums of counts that were cut one by one, nobody says how many"
    else:
        title = f"{name}: its cells are sums of up to {pieces.number} counts of {pieces.minutes} min"
    said = [pieces.evidence]
    fit = facts.noise[name].fit
    if pieces.number is not None:
        said.append(f"Assumed: {pieces.assumption}.")
    if pieces.number is not None and fit is not None:
        said.append(
            f"If each cell held one noise only, the scale would be about {fit.scale * pieces.number**0.5:.2g}."
        )
    return [
        Check(
            id="summed-cells",
            outcome="known",
            title=title,
            numbers={"pieces": pieces.number, "minutes": pieces.minutes, "cut": pieces.cut},
            evidence=said,
        )
    ]


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
