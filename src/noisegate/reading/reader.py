"""Read one published table: a CSV or Parquet file as agencies publish them, or a frame of its rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from noisegate import limits
from noisegate.errors import DataError
from noisegate.mechanisms import Marker
from noisegate.reading.columns import (
    Column,
    RawTable,
    is_frame,
    read_csv,
    read_frame,
    read_parquet,
    read_rows,
)
from noisegate.reading.counts import Numbers, no_count, without_flag, writes_commas
from noisegate.reading.dates import slashed
from noisegate.reading.dialect import check_file, column_names, find_dialect, is_archive, is_parquet
from noisegate.reading.dimensions import choose_dimensions, encode, used
from noisegate.reading.headers import Header, find_header, next_header, side_by_side
from noisegate.reading.headings import (
    clean_labels,
    filled_down,
    split_keys,
    with_headings,
    without_blanks,
    without_remarks,
)
from noisegate.reading.hierarchy import LookupFile, find_lookup
from noisegate.reading.layout import MOST_REPEATED, Laid, lay_out
from noisegate.reading.measures import split_measures
from noisegate.reading.overrides import Overrides, TableOverride
from noisegate.reading.published import (
    Bools,
    Codes,
    Counts,
    Ints,
    PublishedTable,
    SetAside,
    Source,
    has_twice,
    row_ids,
    source_name,
    table_files,
    table_name,
)
from noisegate.reading.words import is_total
from noisegate.reading.workbook import Sheet, is_workbook, read_sheets

_Test = Callable[[str], bool]

#: The path of a file, or a frame: anything that gives its columns as an Arrow stream.
TableSource = str | os.PathLike[str] | Any
#: One of these, several, or several by name.
TableSources = TableSource | Sequence[TableSource] | Mapping[str, TableSource]

#: Rows that are looked at for tables side by side.
_BESIDE = 400
#: Share of lines that must be rows of the table.
LEAST_USED = 0.5


def read_table(
    source: TableSource, /, *, name: str | None = None, overrides: Overrides | None = None
) -> PublishedTable:
    """The table that a file publishes, or that a frame holds.

    Finds the delimiter, the encoding, the layout, the counts, the dimensions and how their values are written.
    Rows that are not part of the table are set aside, counted by reason, with the line of the first one.
    A cell that comes twice keeps its first count: sums of published counts carry two noises and two cuts,
    so rows are never added up.

    Parameters
    ----------
    source
        A CSV file (comma, semicolon, tab or bar; gzip, bzip2 or zstd allowed), a workbook, a Parquet file, or a frame: pandas,
        Polars, Arrow, whatever gives its columns as an Arrow stream. The same is decided about a frame as about a file.
    name
        What the table is called; a file's name without its endings, and "table" for a frame, unless said otherwise.
    overrides
        What is decided already, see `load_overrides`.

    Raises
    ------
    DataError
        If the source is not such a table, or holds several; one sentence says why. Memory is bounded whatever a file holds.
    SpecError
        If the overrides name columns that are not there.
    """
    found = read_source(source, name=name, overrides=overrides)
    if len(found.tables) != 1:
        what = (
            f"{len(found.tables)} tables" if found.tables else "a list of what belongs to what, and no counts"
        )
        names = f" ({', '.join(table.name for table in found.tables[:4])})" if found.tables else ""
        raise DataError(
            f"{found.where} holds {what}{names}; read all with read_tables, or choose one with 'count' in the spec."
        )
    return found.tables[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contents:
    """What files and frames hold: tables, lists of what belongs to what, and parts that are neither, with the reason."""

    where: Source = ""
    tables: tuple[PublishedTable, ...] = ()
    lookups: tuple[LookupFile, ...] = ()
    left_out: tuple[str, ...] = ()


def read_source(
    source: TableSource, /, *, name: str | None = None, overrides: Overrides | None = None
) -> Contents:
    """All that a file or a frame holds; see `read_table`."""
    where = find_source(source, name=name)
    told = overrides or Overrides()
    if isinstance(where, str):
        return _of_raw(
            read_frame(source, where), where, told.of(where, name or ""), name=name or where, delimiter=","
        )
    check_file(where)
    if is_archive(where) and is_workbook(where):
        return _of_workbook(where, name, told)
    override = told.of(where, name or "")
    raw, delimiter = _raw(where, override)
    title, parts = name or table_name(where), _beside(raw)
    found = [
        _of_raw(
            part,
            where,
            override,
            name=title if len(parts) == 1 else f"{title} ({place})",
            delimiter=delimiter,
        )
        for place, part in enumerate(parts, start=1)
    ]
    return Contents(
        where=where,
        tables=tuple(table for one in found for table in one.tables),
        lookups=tuple(lookup for one in found for lookup in one.lookups),
    )


def _beside(raw: RawTable) -> list[RawTable]:
    """The tables of a text file that stand side by side; the whole of it if there is one."""
    if all(any(column.labels) for column in raw.columns):
        return [raw]
    shown = [[column.labels[k] for k in column.codes[:_BESIDE].tolist()] for column in raw.columns]
    parts = side_by_side(list(zip(*shown, strict=True)))
    if len(parts) < 2:
        return [raw]
    return [_only(raw, part) for part in parts]


def _only(raw: RawTable, part: range) -> RawTable:
    """Some columns of a file, called as they would be without the others."""
    columns = [raw.columns[k] for k in part]
    names = column_names([column.path or (column.name,) for column in columns])
    return replace(
        raw,
        columns=tuple(replace(column, name=name) for column, name in zip(columns, names, strict=True)),
    )


#: So many lines of sheets without a table are looked at for what markers mean.
_MOST_SAID = 500


def _said(sheets: Sequence[Sheet]) -> list[str]:
    """What sheets without a table say, line by line: there stands what the signs in the others mean, in one cell or in two beside each other."""
    lines = [[text for text in row if text] for sheet in sheets for row in sheet.rows]
    return [
        text
        for line in lines[:_MOST_SAID]
        for text in (*line, *(f"{one} = {other}" for one, other in itertools.pairwise(line)))
    ]


def _of_workbook(path: Path, name: str | None, told: Overrides) -> Contents:
    """The tables of all sheets. A sheet without one is left out; it is an error only if no sheet has one."""
    tables: list[PublishedTable] = []
    lookups: list[LookupFile] = []
    left_out: list[str] = []
    problems: list[DataError] = []
    sheets = [
        (sheet, [block for part in _parts(sheet) for block in _blocks(part)]) for sheet in read_sheets(path)
    ]
    elsewhere = _said([sheet for sheet, blocks in sheets if not blocks])
    for sheet, blocks in sheets:
        override = told.of(path, sheet.name)
        title = sheet.name if len(sheets) > 1 else name or table_name(path)
        if not blocks:
            left_out.append(f"sheet {sheet.name!r} of {path.name}: no row of text stands over numbers")
        for place, (rows, header) in enumerate(blocks, start=1):
            called = title if len(blocks) == 1 else f"{title} ({place})"
            above = [text for row in rows[: header.first] for text in row if text]
            raw = read_rows(
                rows,
                header,
                names=column_names(header.paths),
                dialect=f"sheet {sheet.name!r}",
                notes=[*above, *elsewhere],
            )
            try:
                found = _of_raw(raw, path, override, name=called, delimiter="\t")
            except DataError as problem:
                problems.append(problem)
                left_out.append(f"sheet {sheet.name!r} of {path.name}: {problem}")
            else:
                tables += found.tables
                lookups += found.lookups
    if not tables and not lookups:
        if len(problems) == 1:
            raise problems[0]
        raise DataError(f"{path} holds no table of counts; the first reason is {left_out[0]}")
    return Contents(where=path, tables=tuple(tables), lookups=tuple(lookups), left_out=tuple(left_out))


def _parts(sheet: Sheet) -> Iterator[Sheet]:
    """The parts of a sheet that stand side by side; the sheet itself if there is one."""
    parts = side_by_side(sheet.rows)
    if len(parts) < 2:
        yield sheet
        return
    for part in parts:
        first, last = part.start, part.stop - 1
        merged = tuple(
            (a, max(b, first) - first, c, min(d, last) - first)
            for a, b, c, d in sheet.merged
            if b <= last and d >= first
        )
        yield Sheet(name=sheet.name, rows=[row[first : last + 1] for row in sheet.rows], merged=merged)


def _blocks(sheet: Sheet) -> Iterator[tuple[list[list[str]], Header]]:
    """Each table of a sheet: its rows, with those above it, and its header."""
    rows, merged = sheet.rows, sheet.merged
    header = find_header(rows, merged=merged)
    while header is not None:
        end = next_header(rows, header)
        yield rows[:end], header
        if end is None:
            return
        rows, merged = rows[end:], tuple((a - end, b, c - end, d) for a, b, c, d in merged if a >= end)
        header = find_header(rows, merged=merged)


def _of_raw(
    raw: RawTable, where: Source, override: TableOverride, /, *, name: str, delimiter: str
) -> Contents:
    """The tables in the rows of a file, a sheet or a frame."""
    if raw.rows == 0:
        raise DataError(f"{where} has a header but no rows that fit it; there is nothing to assess.")
    file = source_name(where)
    dense, blank = without_blanks(raw, file=file)
    joined, over, said = split_keys(dense)
    plain, remarks = without_remarks(clean_labels(joined))
    delimiter = ";" if delimiter in "\t|" and writes_commas(plain.columns) else delimiter
    headed, notes, headings = with_headings(plain, delimiter=delimiter, file=file)
    filled, more = filled_down(headed, delimiter=delimiter)
    aside, said = [*blank, *notes], [*said, *more]
    laid = lay_out(filled, table=file, delimiter=delimiter, override=override, over=over)
    if laid is None:
        lookup = find_lookup(plain, name=name)
        if lookup is None:
            raise no_count(headed.columns, file, delimiter)
        return Contents(where=where, lookups=(lookup,))
    found: list[PublishedTable] = []
    for one in laid:
        parts, gone = split_measures(one, file=file)
        for part in parts:
            rows = _Rows(
                where, part.raw, part.position, part.numbers, aside=[*aside, *gone] if not found else []
            )
            noted = replace(part, notes=(*said, *part.notes))
            full = replace(noted, extra=(*remarks, *headings, *part.extra)) if not found else noted
            found.append(rows.table(override, full, name=name))
    dates = slashed(raw.columns)
    return Contents(where=where, tables=tuple(replace(one, dates=dates) for one in _told_apart(found)))


def _told_apart(tables: list[PublishedTable]) -> list[PublishedTable]:
    """The tables of one file, called by what they count where they are several."""
    if len(tables) == 1:
        return tables
    names = [f"{table.name}: {table.measure}" if table.measure else table.name for table in tables]
    return [
        replace(table, name=name if names.count(name) == 1 else f"{name} ({', '.join(table.names)})")
        for table, name in zip(tables, names, strict=True)
    ]


def read_tables(
    sources: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[PublishedTable]:
    """All tables that files and frames hold, as `read_table` reads them; several where a file holds several.

    Parameters
    ----------
    sources
        A file, a frame, a directory of tables, several of these, or a mapping that names them. Frames without a name are
        called "table 1", "table 2" by their place.
    overrides
        What is decided already, see `load_overrides`.
    progress
        Told what is read.
    """
    return list(read_sources(sources, overrides=overrides, progress=progress).tables)


def read_sources(
    sources: TableSources,
    /,
    *,
    overrides: Overrides | None = None,
    progress: Callable[[str], None] | None = None,
) -> Contents:
    """All that files and frames hold: tables, and lists of what belongs to what; see `read_tables`."""
    found = []
    for name, source in _named(sources):
        if progress is not None:
            progress(f"reading {name or Path(source).name}")
        found.append(read_source(source, name=name, overrides=overrides))
    return Contents(
        tables=tuple(table for one in found for table in one.tables),
        lookups=tuple(lookup for one in found for lookup in one.lookups),
        left_out=tuple(text for one in found for text in one.left_out),
    )


def _named(sources: TableSources, /) -> Iterator[tuple[str | None, TableSource]]:
    """Each file or frame with the name it is given; None for a file that keeps its own."""
    if isinstance(sources, Mapping) and not is_frame(sources):
        yield from ((str(name), source) for name, source in sources.items())
        return
    alone = is_frame(sources) or not isinstance(sources, Iterable) or isinstance(sources, str)
    listed = [sources] if alone else cast("Iterable[TableSource]", sources)
    for place, source in enumerate(listed, start=1):
        if is_frame(source):
            yield f"table {place}", source
        else:
            yield from ((None, file) for file in table_files(Path(find_source(source))))


def find_source(source: TableSource, /, *, name: str | None = None) -> Source:
    """The file, or what a frame is called."""
    if is_frame(source):
        return name or "table"
    if not isinstance(source, str | os.PathLike):
        raise DataError(
            f"A table cannot be read from {type(source).__name__}; give the path of a file, or a pandas, Polars or "
            "Arrow frame."
        )
    return Path(source)


def _raw(path: Path, override: TableOverride) -> tuple[RawTable, str]:
    check_file(path)
    if is_parquet(path):
        return read_parquet(path), ","
    dialect = find_dialect(
        path, delimiter=override.delimiter, encoding=override.encoding, columns=override.columns
    )
    return read_csv(path, dialect), dialect.delimiter


@dataclass(slots=True)
class _Rows:
    """Sorts the rows of a file into published, hidden and set aside."""

    where: Source
    raw: RawTable
    position: int
    numbers: Numbers
    aside: list[SetAside] = field(default_factory=list)

    def table(self, override: TableOverride, laid: Laid, /, *, name: str) -> PublishedTable:
        """The table made of the rows that belong to it."""
        others = [column for place, column in enumerate(self.raw.columns) if place != self.position]
        most = limits.current().dimension_values
        many = [c.name for c in others if len(c.labels) > most and c.name not in override.ignore]
        if many:
            raise DataError(
                f"Column {many[0]!r} of {self.where} has more than {most:,} different values, which is no dimension of a "
                f"table of counts; leave it out (--spec with ignore: [{many[0]}]), or give a table that was summed over it."
            )
        shown, hidden = self._sorted()
        rows = np.concatenate([shown, hidden])
        columns, twins, extra = choose_dimensions(
            [used(c, rows) for c in others], override, table=source_name(self.where)
        )
        if not columns and rows.size > 1:
            raise DataError(
                f"{self.where} has counts but no dimension; a table needs at least one column of values."
            )
        parts, notes = [], [*laid.notes, *([self.numbers.note] if self.numbers.note else [])]
        for column in columns:
            encoded, remarks = encode(column, override, code=twins.get(column.name))
            parts += encoded
            notes += remarks
        dimensions = tuple(dimension for dimension, _ in parts)
        self._check_names([dimension.name for dimension in dimensions])
        codes = np.array([code for _, code in parts], dtype=np.int32).reshape(len(parts), rows.size)
        ids = row_ids(codes, tuple(dimension.size for dimension in dimensions))
        counts = self._counts(shown)
        keep = self._first_of_each(ids[: shown.size], counts, shown)
        covered, texts, marks = self._hidden(codes[:, shown.size :], ids, hidden)
        return PublishedTable(
            name=f"{name} ({laid.name})" if laid.name else name,
            sources=(self.where,),
            dimensions=dimensions,
            codes=codes[:, : shown.size][:, keep],
            counts=counts[keep],
            hidden=covered,
            markers=tuple(Marker(text=text) for text in texts),
            marks=marks,
            count_name=self.raw.columns[self.position].name,
            measure=laid.measure,
            legend=self.raw.notes,
            dialect=self.raw.dialect,
            set_aside=tuple(sorted(self.aside, key=lambda one: one.first_line)),
            extra=(*laid.extra, *extra),
            notes=tuple(notes),
        )

    def _check_names(self, names: list[str]) -> None:
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DataError(
                f"{self.where} would have two dimensions named {twice!r}; rename one with 'as' in the spec."
            )

    def _sorted(self) -> tuple[Ints, Ints]:
        """Rows with a count, and rows that hide theirs; all others are set aside."""
        misfits = self._reject_misfits()
        codes = self.raw.columns[self.position].codes
        number, marked, blank = (
            mask[codes] for mask in (self.numbers.is_number, self.numbers.marked, self.numbers.blank)
        )
        empty = self._empty()
        self._put_aside("blank line", empty)
        totals = self._grand_totals() & number
        self._put_aside("a total of the whole table", totals)
        named = blank & ~empty & self._named(number)
        self._put_aside("no count", blank & ~empty & ~named)
        self._put_aside("the count is not a number", ~(number | marked | blank))
        shown, hidden = number & ~totals, (marked & ~number) | named
        if shown.sum() < LEAST_USED * (self.raw.rows + misfits - hidden.sum() - empty.sum()):
            raise DataError(
                f"{self.where} has more lines that are no rows of a table than rows; "
                f"the first one is {self.raw.unit} {min(one.first_line for one in self.aside)}."
            )
        return np.flatnonzero(shown), np.flatnonzero(hidden)

    def _reject_misfits(self) -> int:
        """Set aside the records that do not fit the header; how many lines that is."""
        rejected = self.raw.rejected
        for open_quote, reason in (
            (False, "another number of fields than the header"),
            (True, "a quotation mark that is not closed"),
        ):
            which = [place for place, one in enumerate(rejected) if bool(one.breaks) is open_quote]
            if which:
                self.aside.append(
                    SetAside(
                        reason=reason,
                        rows=sum(1 + rejected[place].breaks for place in which),
                        first_line=self.raw.line_of_rejected(which[0]),
                        example=rejected[which[0]].text[:60].replace("\n", " "),
                        file=source_name(self.where),
                    )
                )
        return sum(1 + one.breaks for one in rejected)

    def _put_aside(self, reason: str, which: Bools) -> None:
        if which.any():
            self.aside.append(self.raw.aside(reason, which, source_name(self.where)))

    def _masks(self, test: _Test) -> list[Bools]:
        """For each column but the count, the rows whose value passes a test."""
        others = [column for place, column in enumerate(self.raw.columns) if place != self.position]
        return [
            np.array([test(label) for label in column.labels], dtype=bool)[column.codes] for column in others
        ]

    def _empty(self) -> Bools:
        count: Column = self.raw.columns[self.position]
        blank = self.numbers.blank[count.codes]
        return np.asarray(np.logical_and.reduce([blank, *self._masks(lambda label: not label)]))

    def _named(self, number: Bools) -> Bools:
        """Rows that name a cell: they have a value wherever rows with a count always have one."""
        filled = self._masks(bool)
        always = [mask for mask in filled if mask[number].all()]
        return np.asarray(np.logical_and.reduce(always)) if always else np.zeros(self.raw.rows, dtype=bool)

    def _grand_totals(self) -> Bools:
        """Rows that say "Total" once and leave every other value blank."""
        blank = self._masks(lambda label: not label)
        total = self._masks(is_total)
        lone = (np.sum(total, axis=0) == 1) & (np.sum(blank, axis=0) == len(blank) - 1)
        return np.asarray(lone & (len(blank) > 1))

    def _counts(self, rows: Ints) -> Counts:
        values = self.numbers.values[self.raw.columns[self.position].codes[rows]]
        whole = values.astype(np.int64)
        return whole if bool((whole == values).all()) else values

    def _first_of_each(self, ids: Ints, counts: Counts, rows: Ints) -> Ints:
        """The first row of each cell, in file order; later ones are set aside."""
        if not has_twice(ids):
            return np.arange(ids.size)
        _, first, cell = np.unique(ids, return_index=True, return_inverse=True)
        again = np.ones(ids.size, dtype=bool)
        again[first] = False
        if again.sum() > MOST_REPEATED * ids.size:
            line = self.raw.line_of(int(rows[np.flatnonzero(again)[0]]))
            raise DataError(
                f"{self.where} gives {again.mean():.0%} of its rows for cells that it has given before (first on "
                f"{self.raw.unit} {line}); a dimension was missed, or the file holds several tables. Name its columns in the spec."
            )
        same = counts == counts[first][cell]
        for reason, which in (("the same row again", same), ("another count for the same cell", ~same)):
            mask = np.zeros(self.raw.rows, dtype=bool)
            mask[rows[again & which]] = True
            self._put_aside(reason, mask)
        return np.sort(first)

    def _hidden(self, codes: Codes, ids: Ints, rows: Ints) -> tuple[Codes, tuple[str, ...], Ints]:
        """Cells named without a count, once each, unless they are published elsewhere in the file; and what stands there."""
        shown = ids.size - rows.size
        own, first = np.unique(ids[shown:], return_index=True)
        first = first[~np.isin(own, ids[:shown])]
        column = self.raw.columns[self.position]
        present, marks = np.unique(column.codes[rows[first]], return_inverse=True)
        bare = [without_flag(column.labels[code]) for code in present.tolist()]
        texts = tuple(dict.fromkeys(bare))
        place = np.array([texts.index(text) for text in bare], dtype=np.int64)
        return codes[:, first], texts, place[marks] if place.size else marks.astype(np.int64)
