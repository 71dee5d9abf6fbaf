"""Read one published table: a CSV or Parquet file as agencies publish them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from noisegate.errors import DataError
from noisegate.reading.columns import Column, RawTable, read_csv, read_parquet
from noisegate.reading.counts import Numbers, find_count
from noisegate.reading.dialect import check_file, find_dialect, is_parquet
from noisegate.reading.dimensions import choose_dimensions, encode, used
from noisegate.reading.overrides import Overrides, TableOverride, table_name
from noisegate.reading.published import Bools, Codes, Counts, Ints, PublishedTable, SetAside, row_ids
from noisegate.reading.values import is_total

_Test = Callable[[str], bool]

#: Share of rows that may repeat a cell; beyond it a dimension was missed.
MOST_REPEATED = 0.05
#: Share of lines that must be rows of the table.
LEAST_USED = 0.5


def read_table(
    path: Path | str | os.PathLike[str], /, *, overrides: Overrides | None = None
) -> PublishedTable:
    """The table that a file publishes.

    Finds the delimiter, the encoding, the count column, the dimensions and how their values are written.
    Rows that are not part of the table are set aside, counted by reason, with the line of the first one.
    A cell that comes twice keeps its first count: sums of published counts carry two noises and two cuts,
    so rows are never added up.

    Parameters
    ----------
    path
        A CSV file (comma, semicolon, tab or bar; gzip, bzip2 or zstd allowed) or a Parquet file.
    overrides
        What is decided already, see `load_overrides`.

    Raises
    ------
    DataError
        If the file is not such a table; one sentence says why. Memory is bounded whatever the file holds.
    SpecError
        If the overrides name columns that are not there.
    """
    where = Path(path)
    check_file(where)
    override = (overrides or Overrides()).of(where)
    raw, delimiter = _raw(where, override)
    if raw.rows == 0:
        raise DataError(f"{where} has a header but no rows that fit it; there is nothing to assess.")
    position, numbers = find_count(raw.columns, table=where.name, delimiter=delimiter, given=override.count)
    return _Rows(where, raw, position, numbers).table(override)


def _raw(path: Path, override: TableOverride) -> tuple[RawTable, str]:
    if is_parquet(path):
        return read_parquet(path), ","
    dialect = find_dialect(
        path, delimiter=override.delimiter, encoding=override.encoding, columns=override.columns
    )
    return read_csv(path, dialect), dialect.delimiter


@dataclass(slots=True)
class _Rows:
    """Sorts the rows of a file into published, hidden and set aside."""

    path: Path
    raw: RawTable
    position: int
    numbers: Numbers
    aside: list[SetAside] = field(default_factory=list)

    def table(self, override: TableOverride) -> PublishedTable:
        """The table made of the rows that belong to it."""
        shown, hidden = self._sorted()
        rows = np.concatenate([shown, hidden])
        others = [column for place, column in enumerate(self.raw.columns) if place != self.position]
        columns, extra = choose_dimensions([used(c, rows) for c in others], override, table=self.path.name)
        if not columns:
            raise DataError(
                f"{self.path} has counts but no dimension; a table needs at least one column of values."
            )
        parts, notes = [], [self.numbers.note] if self.numbers.note else []
        for column in columns:
            encoded, remarks = encode(column, override)
            parts += encoded
            notes += remarks
        dimensions = tuple(dimension for dimension, _ in parts)
        self._check_names([dimension.name for dimension in dimensions])
        codes = np.stack([code for _, code in parts])
        ids = row_ids(codes, tuple(dimension.size for dimension in dimensions))
        counts = self._counts(shown)
        keep = self._first_of_each(ids[: shown.size], counts, shown)
        return PublishedTable(
            name=table_name(self.path),
            files=(self.path,),
            dimensions=dimensions,
            codes=codes[:, : shown.size][:, keep],
            counts=counts[keep],
            hidden=self._hidden(codes[:, shown.size :], ids, shown.size),
            count_name=self.raw.columns[self.position].name,
            dialect=self.raw.dialect,
            set_aside=tuple(sorted(self.aside, key=lambda one: one.first_line)),
            extra=tuple(extra),
            notes=tuple(notes),
        )

    def _check_names(self, names: list[str]) -> None:
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise DataError(
                f"{self.path} would have two dimensions named {twice!r}; rename one with 'as' in the spec."
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
        self._put_aside("no count", blank & ~empty)
        self._put_aside("the count is not a number", ~(number | marked | blank))
        shown, hidden = number & ~totals, marked & ~number
        if shown.sum() < LEAST_USED * (self.raw.rows + misfits - hidden.sum() - empty.sum()):
            raise DataError(
                f"{self.path} has more lines that are no rows of a table than rows; "
                f"the first one is line {min(one.first_line for one in self.aside)}."
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
                        file=self.path.name,
                    )
                )
        return sum(1 + one.breaks for one in rejected)

    def _put_aside(self, reason: str, which: Bools) -> None:
        rows = np.flatnonzero(which)
        if rows.size:
            first = int(rows[0])
            text = ",".join(column.labels[column.codes[first]] for column in self.raw.columns)
            self.aside.append(
                SetAside(
                    reason=reason,
                    rows=int(rows.size),
                    first_line=self.raw.line_of(first),
                    example=text[:60],
                    file=self.path.name,
                )
            )

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
        _, first, cell = np.unique(ids, return_index=True, return_inverse=True)
        again = np.ones(ids.size, dtype=bool)
        again[first] = False
        if again.sum() > MOST_REPEATED * ids.size:
            line = self.raw.line_of(int(rows[np.flatnonzero(again)[0]]))
            raise DataError(
                f"{self.path} gives {again.mean():.0%} of its rows for cells that it has given before (first on line "
                f"{line}); a dimension was missed, or the file holds several tables. Name its columns in the spec."
            )
        same = counts == counts[first][cell]
        for reason, which in (("the same row again", same), ("another count for the same cell", ~same)):
            mask = np.zeros(self.raw.rows, dtype=bool)
            mask[rows[again & which]] = True
            self._put_aside(reason, mask)
        return np.sort(first)

    def _hidden(self, codes: Codes, ids: Ints, shown: int) -> Codes:
        """Cells named without a count, once each, unless they are published elsewhere in the file."""
        if not codes.size:
            return codes
        own, first = np.unique(ids[shown:], return_index=True)
        return codes[:, first[~np.isin(own, ids[:shown])]]
