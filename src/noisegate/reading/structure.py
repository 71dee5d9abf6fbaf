"""Which table is the base, which are margins of it, and which base cells every margin cell sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.mechanisms import Threshold, find_threshold
from noisegate.reading.alignment import AlignedTable, Alignment, Matching, align, match
from noisegate.reading.coverage import Domains, find_domains, find_nests, nest_shown
from noisegate.reading.markers import find_meanings
from noisegate.reading.overrides import Overrides
from noisegate.reading.parts import split_totals, stack_pieces
from noisegate.reading.placing import MisplacedError, check_places, describe, margins_in, place_rows, shown_in
from noisegate.reading.published import Ints, PublishedTable
from noisegate.tables import (
    Card,
    Dimension,
    Domain,
    Kind,
    Margin,
    MarginLink,
    Release,
    SharedMargin,
    Table,
    folded,
    locate,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Structure:
    """How published tables hang together.

    Attributes
    ----------
    release
        The tables on their domains, the base first, and the card that lies beside them.
    links
        For each margin, the base cells that each of its cells sums.
    sources
        For each table, the base first, what was read.
    beside
        Other tables of the same files that do not fit into this base, each with its margins: another measure over the same
        dimensions (deaths of one cause beside deaths of all), or tables that overlap with these. Theirs are empty.
    shared
        For tables that overlap, here and beside, what both sum to.
    measure
        What is counted, where files have several counts side by side; empty if there is one.
    """

    release: Release
    links: tuple[MarginLink, ...]
    sources: tuple[PublishedTable, ...]
    beside: tuple[Structure, ...] = ()
    shared: tuple[SharedMargin, ...] = ()
    measure: str = ""

    @classmethod
    def of(cls, tables: Sequence[Table], sources: Sequence[PublishedTable], card: Card | None, /) -> Self:
        """The structure of tables that know their domains, the base first."""
        base, *margins = tables
        links = tuple(MarginLink(base=base, margin=margin) for margin in margins)
        return cls(release=Release(tables=tuple(tables), card=card), links=links, sources=tuple(sources))

    @property
    def base(self) -> Table:
        """The finest table, on its domain."""
        return self.release.base

    @property
    def nests(self) -> tuple[tuple[str, ...], ...]:
        """Names of dimensions that share an axis because they depend on each other."""
        domain = self.base.domain
        return tuple(tuple(domain.names[place] for place in nest) for nest in domain.nests)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The base, then the margins."""
        return self.release.tables

    @property
    def every(self) -> tuple[Structure, ...]:
        """The structure itself, then those beside it."""
        return (self, *self.beside)

    @property
    def sisters(self) -> tuple[Structure, ...]:
        """The same dimensions with other measures: what adds up in one should add up in all."""
        names = set(self.base.domain.names)
        return tuple(
            one for one in self.beside if one.measure != self.measure and set(one.base.domain.names) == names
        )

    def __repr__(self) -> str:
        return "\n".join(["Published tables, the base first", *(f"  {table!r}" for table in self.tables)])


def find_structure(
    tables: Sequence[PublishedTable], /, *, overrides: Overrides | None = None, card: Card | None = None
) -> Structure:
    """How `tables` hang together, in whichever order they are given.

    Totals inside a column become margins; files that are pieces of one table are put together. The base
    is the table that has every dimension of all others, at least as fine. The domain of a dimension is
    what all tables show of it, time grids filled; a table covers the part of it that it shows or that it
    can have suppressed. Where a card states the domain of the base, that is taken instead, unless a table publishes
    what it does not list; a note on the base says which.

    Raises
    ------
    DataError
        If there are two bases, or tables that share no dimension or no cell.
    """
    if not tables:
        raise DataError("There is no table to assess; name at least one CSV or Parquet file.")
    told = overrides or Overrides()
    told.check(tables)
    parts = [part for table in tables for part in _parts(table, told)]
    whole = _distinct_names(stack_pieces(parts))
    stated = _stated_base(whole, card)
    chosen = None if stated is not None else _choose_base(whole, told)
    refused = ""
    if card is not None and card.domain is not None:
        first = stated if chosen is None else chosen[0]
        assert first is not None
        try:
            return _on_card(first, [table for table in whole if table is not first], card, told)
        except SpecError as problem:
            refused = f"the domain on the card was not used: {problem}"
    base, margins = chosen or _choose_base(whole, told)
    if refused:
        base = replace(base, notes=(*base.notes, refused))
    alignment = align(base, margins, domain=told.domain)
    members = [alignment.base.in_base_codes(), *(margin.in_base_codes() for margin in alignment.margins)]
    nests = find_nests(alignment.base.dimensions, members)
    return _assemble(alignment, find_domains(alignment, nests), told, card)


def _parts(table: PublishedTable, told: Overrides) -> list[PublishedTable]:
    """A table without its totals, then these; with what its markers mean."""
    override = told.of(table.sources[0], table.name)
    return find_meanings(split_totals(table, override), told=override.markers)


def _stated_base(tables: Sequence[PublishedTable], card: Card | None) -> PublishedTable | None:
    """The table with the dimensions of the base that a card states; None if there is no such card or table."""
    if card is None or card.domain is None or card.base is None:
        return None
    wanted = {folded(name) for name in card.base.dimensions}
    return next((table for table in tables if {folded(name) for name in table.names} == wanted), None)


def _distinct_names(tables: list[PublishedTable]) -> list[PublishedTable]:
    """The tables, those of one name told apart by their folders."""
    names = [table.name for table in tables]
    return [
        replace(table, name=f"{table.files[0].parent.name}/{table.name}")
        if names.count(table.name) > 1 and table.files
        else table
        for table in tables
    ]


def _choose_base(
    tables: list[PublishedTable], told: Overrides
) -> tuple[PublishedTable, list[tuple[PublishedTable, Matching]]]:
    """The table that contains all others, and how the others match it."""
    named = [table for table in tables if any(told.of(source, table.name).base for source in table.sources)]
    if len({table.sources for table in named}) > 1:
        raise SpecError("The spec calls more than one table the base; leave 'base: true' on the finest one.")
    candidates = [table for table in named if "(total over" not in table.name][:1] or tables
    best: tuple[tuple[int, int, int], int] | None = None
    matchings = {}
    for place, table in enumerate(candidates):
        found = [(other, match(table, other)) for other in tables if other is not table]
        matchings[place] = found
        if all(matching.complete for _, matching in found):
            rank = (sum(len(m.dropped) for _, m in found), -len(table.dimensions), -table.rows)
            if best is None or rank < best[0]:
                best = (rank, place)
    if best is None:
        raise _no_base(candidates, tables)
    base, margins = candidates[best[1]], matchings[best[1]]
    for table, matching in margins:
        _check_clear(base, table, matching)
    return base, margins


def _no_base(candidates: list[PublishedTable], tables: list[PublishedTable]) -> DataError:
    """Why no table contains all others: the first two that do not fit into each other."""
    largest = max(candidates, key=lambda t: (len(t.dimensions), t.rows))
    other, ours = next(
        (t, m) for t in tables if t is not largest for m in [match(largest, t)] if not m.complete
    )
    theirs = match(other, largest)
    if not ours.pairs and not theirs.pairs:
        return DataError(
            f"{largest.name} ({', '.join(largest.names)}) and {other.name} ({', '.join(other.names)}) share no dimension; "
            "assess them separately, or say which columns are the same with 'as' in the spec."
        )
    lacks = ", ".join(_lack(other.dimensions[i], largest) for i in ours.missing)
    misses = ", ".join(_lack(largest.dimensions[i], other) for i in theirs.missing) or "nothing"
    return DataError(
        f"{largest.name} and {other.name} are two bases: the first lacks {lacks}, the second lacks {misses}. "
        "Assess them separately, or add the table that has both."
    )


def _lack(dimension: Dimension, other: PublishedTable) -> str:
    """The dimension that the other table lacks, or has in wider bins only."""
    wide = [d for d in other.dimensions if d.kind is Kind.TIME and d.step and dimension.kind is Kind.TIME]
    return (
        f"{dimension.name} in bins of {dimension.step} min (it has {wide[0].step})"
        if wide
        else dimension.name
    )


def _check_clear(base: PublishedTable, margin: PublishedTable, matching: Matching) -> None:
    if matching.unclear:
        mine, one, two = matching.unclear
        raise DataError(
            f"Column {margin.names[mine]!r} of {margin.name} could be {base.names[one]!r} or {base.names[two]!r} of "
            f"{base.name}; say which with 'as' in the spec."
        )
    if not matching.pairs and margin.dimensions:
        raise DataError(
            f"{base.name} ({', '.join(base.names)}) and {margin.name} ({', '.join(margin.names)}) share no dimension; "
            "assess them separately, or say which columns are the same with 'as' in the spec."
        )


def _on_card(base: PublishedTable, margins: list[PublishedTable], card: Card, told: Overrides) -> Structure:
    """The tables on the domain that a card states for the base.

    Cards of specs without nesting list combinations that cannot be, such as a ferry at a railway station. There the tables tell
    which values go together, as they do without a card.
    """
    whole = describe(card.build_domain())
    if whole.size > limits.current().margin_cells:
        raise MisplacedError(f"it has {whole.size:.3g} cells, too many to look at one by one")
    note = "its cells are those that the card states"
    tables = _on_domain(base, margins, whole, told)
    if whole.is_product:
        nested = nest_shown(whole, [shown_in(whole, table) for table in (base, *margins)])
        if nested.nests:
            note += ", less combinations that no table shows of values that depend on each other"
            tables = _on_domain(base, margins, nested, told)
    noted = replace(base, notes=(*base.notes, note))
    return Structure.of(tables, (noted, *margins), card)


def _on_domain(
    base: PublishedTable, margins: list[PublishedTable], domain: Domain, told: Overrides
) -> list[Table]:
    tables = [_placed(base, domain, None, told)]
    for table, margin in zip(margins, margins_in(domain, margins), strict=True):
        tables.append(_placed(table, margin.domain, margin, told))
    return tables


def _placed(table: PublishedTable, domain: Domain, margin: Margin | None, told: Overrides) -> Table:
    """A table on a domain that is stated."""
    cells = place_rows(table.dimensions, table.codes, domain)
    check_places(table, cells)
    hidden = place_rows(table.dimensions, table.hidden, domain)
    return _sorted(table, domain, margin, cells, hidden, told)


def _assemble(alignment: Alignment, domains: Domains, told: Overrides, card: Card | None) -> Structure:
    base = _table(alignment.base, domains.base, None, told)
    tables = [base]
    for aligned, margin in zip(alignment.margins, domains.margins, strict=True):
        _check_meeting(base, aligned, margin)
        tables.append(_table(aligned, margin.domain, margin, told))
    sources = (alignment.base.table, *(aligned.table for aligned in alignment.margins))
    return Structure.of(tables, sources, card)


def _table(aligned: AlignedTable, domain: Domain, margin: Margin | None, told: Overrides) -> Table:
    """A table on its domain."""
    cells, hidden = locate(domain, aligned.codes), locate(domain, aligned.hidden)
    return _sorted(aligned.table, domain, margin, cells, hidden, told)


def _sorted(
    table: PublishedTable, domain: Domain, margin: Margin | None, cells: Ints, hidden: Ints, told: Overrides
) -> Table:
    """A table whose rows lie in these cells."""
    order = np.argsort(cells, kind="stable")
    place = np.argsort(hidden, kind="stable")
    place = place[hidden[place] >= 0]
    return Table(
        name=table.name,
        domain=domain,
        margin=margin,
        cells=cells[order],
        values=table.counts[order],
        hidden=hidden[place],
        markers=table.markers,
        marks=table.marks[place],
        absent=table.absent,
        threshold=_threshold(table, told),
        count_name=table.count_name,
    )


def _threshold(table: PublishedTable, told: Overrides) -> Threshold:
    stated = [told.of(source, table.name).threshold for source in table.sources]
    return next((one for one in stated if one is not None), None) or find_threshold(table.counts)


def _check_meeting(base: Table, aligned: AlignedTable, margin: Margin) -> None:
    """Refuse a margin that shares no cell with the base; another date is another table."""
    here = base.entries(base.cells)
    for axis, (place, entries) in zip(margin.domain.blocks[0].axes, margin.entry_maps(), strict=True):
        dated = any(aligned.dimensions[i].kind is Kind.DATE for i in axis.dimensions)
        reached = entries[here[place]] if dated else entries
        if not np.isin(axis.find(aligned.codes[list(axis.dimensions)]), reached).any():
            names = " and ".join(aligned.dimensions[i].name for i in axis.dimensions)
            raise DataError(
                f"{base.name} and {aligned.table.name} have no {names} in common, so nothing can be compared; "
                "assess them separately."
            )
