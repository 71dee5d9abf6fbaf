"""Which table is the base, which are margins of it, and which base cells every margin cell sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.mechanisms import Threshold, find_threshold
from noisegate.reading.alignment import AlignedTable, Alignment, Matching, align, match
from noisegate.reading.coverage import Domains, find_domains, find_nests, nest_shown
from noisegate.reading.dates import settle_dates
from noisegate.reading.dimensions import spellings
from noisegate.reading.hierarchy import LookupFile
from noisegate.reading.markers import find_meanings
from noisegate.reading.overlap import find_shared
from noisegate.reading.overrides import Overrides
from noisegate.reading.parts import split_totals, stack_pieces
from noisegate.reading.published import (
    Hierarchy,
    Ints,
    MisplacedError,
    PublishedTable,
    check_places,
    describe,
    margins_in,
    place_rows,
    row_ids,
    shown_in,
)
from noisegate.reading.secondary import find_secondary, with_meanings
from noisegate.reading.series import join_series
from noisegate.tables import (
    Card,
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
    left_out
        Sheets that were not read, and why.
    """

    release: Release
    links: tuple[MarginLink, ...]
    sources: tuple[PublishedTable, ...]
    beside: tuple[Structure, ...] = ()
    shared: tuple[SharedMargin, ...] = ()
    measure: str = ""
    left_out: tuple[str, ...] = ()

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
    tables: Sequence[PublishedTable],
    /,
    *,
    overrides: Overrides | None = None,
    card: Card | None = None,
    lookups: Sequence[LookupFile] = (),
    left_out: Sequence[str] = (),
) -> Structure:
    """How `tables` hang together, in whichever order they are given.

    Totals inside a column become margins; files that are pieces of one table are put together. The base
    is the table that has every dimension of all others, at least as fine. Where none has, the first of `Structure.every` has the
    table with the most dimensions as its base, and the others stand beside it with what they share; so do tables that count
    something else. `lookups` list which values belong to which, `left_out` says what was not read. The domain of a dimension is
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
    hierarchies = [one for lookup in lookups for one in lookup.hierarchies()]
    whole = join_series(settle_dates(tables, told)) if card is None else settle_dates(tables, told)
    every = [_of_measure(group, told, card, hierarchies) for group in _by_measure(whole)]
    structures = [one for group in every for one in group]
    first, *beside = structures
    shared = tuple(link for group in every if len(group) > 1 for link in find_shared(group, hierarchies))
    return replace(first, beside=tuple(beside), shared=shared, left_out=tuple(left_out))


def _by_measure(tables: Sequence[PublishedTable]) -> list[list[PublishedTable]]:
    """The tables of each measure, in order; those that name none go with the only one that is named."""
    names = list(dict.fromkeys(table.measure for table in tables))
    named = [name for name in names if name]
    if len(named) <= 1:
        return [list(tables)]
    return [[table for table in tables if table.measure == name] for name in names]


def _of_measure(
    tables: Sequence[PublishedTable], told: Overrides, card: Card | None, hierarchies: Sequence[Hierarchy]
) -> list[Structure]:
    """How the tables of one measure hang together: as one base with its margins, or as several that overlap."""
    parts = _parts(tables, told)
    whole = _distinct_names(stack_pieces(parts))
    stated = _stated_base(whole, card)
    chosen = [] if stated is not None else _choose_bases(whole, told, hierarchies)
    refused = ""
    if card is not None and card.domain is not None:
        first = stated if not chosen else chosen[0][0]
        assert first is not None
        try:
            return [place_on_card(first, [table for table in whole if table is not first], card, told)]
        except SpecError as problem:
            refused = f"the domain on the card was not used: {problem}"
    found = []
    for base, margins in chosen or _choose_bases(whole, told, hierarchies):
        noted = replace(base, notes=(*base.notes, refused)) if refused else base
        alignment = align(noted, margins, domain=told.domain)
        listed = np.concatenate([alignment.base.codes, alignment.base.hidden], axis=1)
        members = [dict(enumerate(listed)), *(margin.in_base_codes() for margin in alignment.margins)]
        nests = find_nests(alignment.base.dimensions, members)
        structure = _assemble(alignment, find_domains(alignment, nests), told, card)
        found.append(replace(structure, measure=base.measure))
    return found


def _parts(tables: Sequence[PublishedTable], told: Overrides) -> list[PublishedTable]:
    """Each table without its totals, then these; with what markers mean, which follow one rule in each file."""
    parts = [part for table in tables for part in split_totals(table, told.of(table.sources[0], table.name))]
    for file in dict.fromkeys(part.sources[0] for part in parts):
        mine = [place for place, part in enumerate(parts) if part.sources[0] == file]
        said = {
            text: one
            for k in mine
            for text, one in told.of(file, parts[k].part_of or parts[k].name).markers.items()
        }
        for place, part in zip(mine, find_meanings([parts[k] for k in mine], told=said), strict=True):
            parts[place] = part
    return parts


def _stated_base(tables: Sequence[PublishedTable], card: Card | None) -> PublishedTable | None:
    """The table with the dimensions of the base that a card states; None if there is no such card or table."""
    if card is None or card.domain is None or card.base is None:
        return None
    wanted = {folded(name) for name in card.base.dimensions}
    return next((table for table in tables if {folded(name) for name in table.names} == wanted), None)


def _distinct_names(tables: list[PublishedTable]) -> list[PublishedTable]:
    """The tables, those of one name told apart by their folders."""
    names = [table.name for table in tables]
    twice = {name for name in names if names.count(name) > 1}
    return [
        replace(
            table,
            name=_in_folder(table, table.name),
            part_of=_in_folder(table, table.part_of) if table.part_of else "",
        )
        if table.files and {table.name, table.part_of} & twice
        else table
        for table in tables
    ]


def _in_folder(table: PublishedTable, name: str) -> str:
    return f"{table.files[0].parent.name}/{name}"


_Chosen = tuple[PublishedTable, list[tuple[PublishedTable, Matching]]]
#: With so many tables, the totals inside one are no longer tried as margins of the others.
_FEW = 12


def _choose_bases(
    tables: list[PublishedTable], told: Overrides, hierarchies: Sequence[Hierarchy]
) -> list[_Chosen]:
    """Each table that no other contains, the largest first, and how those that it contains match it."""
    heads = [table for table in tables if not table.part_of]
    named = [table for table in heads if any(told.of(source, table.name).base for source in table.sources)]
    if len({table.sources for table in named}) > 1:
        raise SpecError("The spec calls more than one table the base; leave 'base: true' on the finest one.")
    pairs = {
        (one.name, other.name): match(one, other, hierarchies=hierarchies)
        for one in heads
        for other in heads
        if one is not other
    }
    left, found = list(heads), list[_Chosen]()
    while left:
        able = [table for table in named[:1] if table in left] or left
        base = min(able, key=lambda table: _rank(table, pairs, left))
        alone = all(pairs[base.name, other.name].complete for other in heads if other is not base)
        inside = [
            other
            for other in heads
            if other is not base
            and pairs[base.name, other.name].complete
            and (alone or _agrees(base, other, pairs[base.name, other.name]))
        ]
        margins = _margins(base, inside, tables, pairs, hierarchies, few=len(heads) <= _FEW and not alone)
        for table, matching in margins:
            _check_clear(base, table, matching)
        found.append((base, margins))
        left = [table for table in left if table is not base and table not in inside]
    if len(found) > 1:
        _check_related(found, hierarchies)
    return found


def _margins(
    base: PublishedTable,
    inside: Sequence[PublishedTable],
    tables: Sequence[PublishedTable],
    pairs: Mapping[tuple[str, str], Matching],
    hierarchies: Sequence[Hierarchy],
    /,
    *,
    few: bool,
) -> list[tuple[PublishedTable, Matching]]:
    """What the base contains: its own totals, other tables with theirs, and totals of tables that overlap with it."""
    names = {base.name, *(table.name for table in inside)}
    found = []
    for table in tables:
        if table in inside:
            found.append((table, pairs[base.name, table.name]))
        elif table.part_of and (table.part_of in names or few):
            matching = match(base, table, hierarchies=hierarchies)
            own = table.part_of == base.name
            if matching.complete and (own or _agrees(base, table, matching)):
                found.append((table, matching))
    return found


def _rank(
    table: PublishedTable, pairs: Mapping[tuple[str, str], Matching], left: Sequence[PublishedTable]
) -> tuple[bool, int, int, int, int]:
    """The best base comes first: it contains most of what is left, then with most dimensions, then with most rows."""
    inside = [m for other in left if other is not table and (m := pairs[table.name, other.name]).complete]
    outside = len(left) - 1 - len(inside)
    return outside > 0, sum(len(m.dropped) for m in inside), outside, -len(table.dimensions), -table.rows


#: Cells that must be comparable before sums that differ tell that two tables count different things, and by how much.
_COMPARED, _APART = 10, 0.05


def _agrees(base: PublishedTable, margin: PublishedTable, matching: Matching) -> bool:
    """Whether sums of the base may be the counts of a table that could be its margin; where few can be compared, they may."""
    if (not matching.pairs and margin.dimensions) or not _share_values(base, margin, matching):
        return False
    alignment = align(base, [(margin, matching)], domain={})
    (other,) = alignment.margins
    onto = [np.asarray(m)[alignment.base.codes[j]] for j, m in zip(other.origin, other.maps, strict=True)]
    sizes = tuple(dimension.size for dimension in other.dimensions)
    rows = np.array(onto, dtype=np.int64).reshape(len(onto), base.rows)
    kept = (rows >= 0).all(axis=0)
    mine = row_ids(rows[:, kept], sizes)
    theirs = row_ids(other.codes, sizes)
    cells, place = np.unique(mine, return_inverse=True)
    sums = np.bincount(place, weights=base.counts[kept].astype(np.float64), minlength=cells.size)
    order = np.argsort(theirs)
    at = np.searchsorted(theirs[order], cells)
    met = (at < theirs.size) & (theirs[order][np.minimum(at, theirs.size - 1)] == cells)
    counts = margin.counts[order][at[met]].astype(np.float64)
    if not counts.size:
        return False
    if counts.size < _COMPARED:
        return True
    # Hidden cells make sums smaller, never larger.
    excess = sums[met] - counts
    whole = base.rows >= 0.9 * base.possible
    gap = np.abs(excess) if whole else np.maximum(excess, 0)
    return bool(np.mean(gap <= _APART * np.abs(counts) + 10) >= 0.9)


def _share_values(base: PublishedTable, margin: PublishedTable, matching: Matching) -> bool:
    """Whether dimensions that are taken to be the same have at least half of their values in common."""
    for pair in matching.pairs:
        ours, theirs = spellings(base.dimensions[pair.base]), spellings(margin.dimensions[pair.margin])
        if not pair.coarser and 2 * len(ours & theirs) < min(len(ours), len(theirs)):
            return False
    return True


def _check_related(chosen: list[_Chosen], hierarchies: Sequence[Hierarchy]) -> None:
    """Refuse tables of different files that have nothing to do with each other; a workbook may hold anything."""
    (first, margins), *others = chosen
    family = [first, *(table for table, _ in margins)]
    for other, _ in others:
        if set(first.sources) & set(other.sources):
            continue
        found = [match(one, other, hierarchies=hierarchies) for one in family]
        back = [match(other, one, hierarchies=hierarchies) for one in family]
        if not any(one.pairs for one in (*found, *back)):
            raise DataError(
                f"{first.name} ({', '.join(first.names)}) and {other.name} ({', '.join(other.names)}) share no dimension; "
                "assess them separately, or say which columns are the same with 'as' in the spec."
            )
        apart = _days_apart(first, other, found[0])
        if apart:
            raise DataError(
                f"{first.name} and {other.name} have no {apart} in common, so nothing can be compared; assess them separately."
            )


def _days_apart(first: PublishedTable, other: PublishedTable, matching: Matching) -> str:
    """The name of a date that both have without a day in common; empty if there is none."""
    for pair in matching.pairs:
        ours, theirs = first.dimensions[pair.base], other.dimensions[pair.margin]
        if ours.kind is theirs.kind is Kind.DATE and set(ours.keys).isdisjoint(theirs.keys):
            return ours.name
    return ""


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


def place_on_card(
    base: PublishedTable, margins: list[PublishedTable], card: Card, told: Overrides | None = None, /
) -> Structure:
    """The tables on the domain that a card states for the base.

    Cards of specs without nesting list combinations that cannot be, such as a ferry at a railway station. There the tables tell
    which values go together, as they do without a card.
    """
    whole = describe(card.build_domain())
    if whole.size > limits.current().margin_cells:
        raise MisplacedError(f"it has {whole.size:.3g} cells, too many to look at one by one")
    note = "its cells are those that the card states"
    decided = told or Overrides()
    tables = _on_domain(base, margins, whole, decided)
    if whole.is_product:
        nested = nest_shown(whole, [shown_in(whole, table) for table in (base, *margins)])
        if nested.nests:
            note += ", less combinations that no table shows of values that depend on each other"
            tables = _on_domain(base, margins, nested, decided)
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
    tables, sources, notes = [base], [alignment.base.table], list(alignment.base.table.notes)
    for aligned, margin in zip(alignment.margins, domains.margins, strict=True):
        if _meets(base, aligned, margin):
            tables.append(_table(aligned, margin.domain, margin, told))
            sources.append(aligned.table)
        else:
            notes.append(f"{aligned.table.name} has no value in common with the rest, and was left out")
    sources[0] = replace(sources[0], notes=tuple(notes))
    if meanings := find_secondary(tables, told=told.of(sources[0].sources[0], sources[0].name).markers):
        tables = [with_meanings(one, meanings) for one in tables]
        sources = [
            replace(one, markers=tuple(meanings.get(marker.text, marker) for marker in one.markers))
            for one in sources
        ]
    return Structure.of(tables, sources, card)


def _table(aligned: AlignedTable, domain: Domain, margin: Margin | None, told: Overrides) -> Table:
    """A table on its domain."""
    cells, hidden = locate(domain, aligned.codes), locate(domain, aligned.hidden)
    return _sorted(aligned.table, domain, margin, cells, hidden, told)


def _sorted(
    table: PublishedTable, domain: Domain, margin: Margin | None, cells: Ints, hidden: Ints, told: Overrides
) -> Table:
    """A table whose rows lie in these cells."""
    values = table.counts
    if not (cells[1:] > cells[:-1]).all():
        order = np.argsort(cells, kind="stable")
        cells, values = cells[order], values[order]
    place = np.argsort(hidden, kind="stable")
    place = place[hidden[place] >= 0]
    return Table(
        name=table.name,
        domain=domain,
        margin=margin,
        cells=cells,
        values=values,
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


def _meets(base: Table, aligned: AlignedTable, margin: Margin) -> bool:
    """Whether a margin shares a cell with the base; refused if not, unless it is a total inside another table."""
    here = base.entries(base.cells)
    for axis, (place, entries) in zip(margin.domain.blocks[0].axes, margin.entry_maps(), strict=True):
        dated = any(aligned.dimensions[i].kind is Kind.DATE for i in axis.dimensions)
        reached = entries[here[place]] if dated else entries
        if not np.isin(axis.find(aligned.codes[list(axis.dimensions)]), reached).any():
            if aligned.table.part_of:
                return False
            names = " and ".join(aligned.dimensions[i].name for i in axis.dimensions)
            raise DataError(
                f"{base.name} and {aligned.table.name} have no {names} in common, so nothing can be compared; "
                "assess them separately, or add a lookup file: each value of one beside the value of the other that it is part of."
            )
    return True
