"""A published table as it was read: dimensions, codes, counts, and what was set aside and why; and its place in a domain that somebody states.

What tables reveal of their domain is less than what a card states: a bin in which nobody was ever shown, a stop that was
always suppressed. Where a domain is stated it is believed, as long as every published row has a cell in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, InternalError, SpecError
from noisegate.mechanisms import Marker
from noisegate.reading.values import find_form, find_unknown
from noisegate.tables import NO_ORDINAL, Dimension, Domain, Margin, folded, how_many, locate

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64] | NDArray[np.float64]
#: Where a table comes from: a file, or a frame by its name.
Source = Path | str

_ENDINGS = (".gz", ".bz2", ".zst", ".csv", ".tsv", ".txt", ".parquet", ".pq")


def source_name(source: Source, /) -> str:
    """A file's name without its folder, or a frame's own."""
    return source if isinstance(source, str) else source.name


def table_files(path: Path, /) -> list[Path]:
    """The tables at `path`: itself, or all CSV files of a directory, else all its Parquet files, else all its workbooks."""
    if not path.is_dir():
        return [path]
    for endings in ((".csv",), (".parquet",), (".xlsx", ".xlsb", ".xlsm", ".xls", ".ods")):
        found = sorted(
            file for file in path.iterdir() if file.suffix.casefold() in endings and file.is_file()
        )
        if found:
            return found
    raise DataError(
        f"{path} is a directory without a CSV or Parquet file or a workbook; name the published tables."
    )


def table_name(source: Source, /) -> str:
    """The name of the table: a frame's own, or the file's without its endings."""
    name = source_name(source)
    if isinstance(source, str):
        return name
    while any(name.casefold().endswith(ending) and len(name) > len(ending) for ending in _ENDINGS):
        name = name[: name.rindex(".")]
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """Rows that are not part of the table: why, how many, and where the first one is."""

    reason: str
    rows: int
    first_line: int
    example: str = ""
    file: str = ""

    def to_json(self) -> dict[str, object]:
        """As plain values for JSON."""
        return {
            "reason": self.reason,
            "rows": self.rows,
            "file": self.file,
            "first_line": self.first_line,
            "example": self.example,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraColumn:
    """A column that is neither the count nor a dimension, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hierarchy:
    """For values of one dimension the value of a coarser one that they belong to, both in one spelling."""

    fine: str
    coarse: str
    parents: Mapping[str, str] = field(repr=False)
    how: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedTable:
    """One table as published.

    Attributes
    ----------
    name
        The file's name without its endings.
    sources
        The files it was read from, or the names of the frames: one, or several pieces with the same dimensions.
    codes
        Shape (dimensions, rows): the code of each dimension in each published row. No cell twice.
    counts
        The published count of each row: int64, or float64 when some are not whole.
    hidden
        Shape (dimensions, rows): cells that the file names without a count ("<5", "np").
    markers, marks
        What stands in place of counts, and for each hidden row which of these it shows. `find_meanings` finds their ranges.
    absent
        What it means that a cell has no row; None if nothing is known of that.
    count_name
        The name of the count column.
    measure
        What is counted, where a file has several counts side by side; empty if it has one.
    legend
        Notes of the file that may say what markers mean.
    part_of
        The table whose totals or subtotals it is; empty for a table of its own.
    dates
        Texts such as 02/03/2020 anywhere in the file, which together tell whether day or month comes first.
    hierarchies
        For dimensions that hold subtotals, what each of them sums.
    dialect
        How the file is written, in words.
    set_aside, extra, notes
        Rows and columns left out, and what else a reader should know.
    """

    name: str
    sources: tuple[Source, ...]
    dimensions: tuple[Dimension, ...]
    codes: Codes
    counts: Counts
    hidden: Codes
    markers: tuple[Marker, ...] = ()
    marks: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    absent: Marker | None = None
    count_name: str = "count"
    measure: str = ""
    legend: tuple[str, ...] = ()
    part_of: str = ""
    dates: frozenset[str] = frozenset()
    hierarchies: tuple[Hierarchy, ...] = ()
    dialect: str = ""
    set_aside: tuple[SetAside, ...] = ()
    extra: tuple[ExtraColumn, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = (len(self.dimensions), self.counts.size)
        if self.codes.shape != shape or self.hidden.shape[0] != shape[0]:
            raise InternalError(f"the codes of table {self.name!r} do not line up with its counts")
        if self.marks.size != self.hidden.shape[1]:
            object.__setattr__(self, "marks", np.zeros(self.hidden.shape[1], np.int64))
            object.__setattr__(self, "markers", (Marker(text=""),))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files it was read from; none where it came as a frame."""
        return tuple(source for source in self.sources if isinstance(source, Path))

    @property
    def rows(self) -> int:
        """How many counts are published."""
        return int(self.counts.size)

    @property
    def possible(self) -> int:
        """How many cells its values combine to."""
        return math.prod(dimension.size for dimension in self.dimensions)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the dimensions, in the order of the columns."""
        return tuple(dimension.name for dimension in self.dimensions)

    def keep(self, which: Bools, /, *, name: str | None = None) -> Self:
        """The table with some of its rows (a mask) and all its dimensions."""
        return replace(self, name=name or self.name, codes=self.codes[:, which], counts=self.counts[which])


def row_ids(codes: NDArray[np.integer], sizes: tuple[int, ...], /) -> Ints:
    """One number for each column of `codes`, equal exactly where the whole columns are equal.

    Mixed-radix numbers while they fit in 62 bits; where they do not, what has been combined so far is
    numbered anew.
    """
    ids = np.zeros(codes.shape[1], dtype=np.int64)
    span = 1
    for row, size in zip(codes, sizes, strict=True):
        if span * size >= 2**62:
            _, ids = np.unique(ids, return_inverse=True)
            span = int(ids.max(initial=0)) + 1
        ids = ids * size + row
        span *= size
    return ids


def has_twice(ids: Ints, /) -> bool:
    """Whether a number is there more than once; rows are often in order."""
    if not ids.size or (ids[1:] > ids[:-1]).all():
        return False
    return how_many(ids) < ids.size


class MisplacedError(SpecError):
    """A table does not fit into the domain that is stated."""


def describe(domain: Domain, /) -> Domain:
    """The same cells, with what the labels of each dimension mean: dates, times of day, numbers, unknown.

    Examples
    --------
    >>> stated = Domain.product([Dimension(name="time", values=("06:00", "06:15"))])
    >>> describe(stated).dimensions[0].step
    15
    """
    return replace(domain, dimensions=tuple(map(_described, domain.dimensions)))


def _described(dimension: Dimension) -> Dimension:
    unknown = find_unknown(dimension.labels)
    form = find_form(dimension.name, dimension.labels, unknown=unknown)
    if len(set(form.keys)) != len(form.keys):
        return dimension
    return replace(
        dimension,
        kind=form.kind,
        written=form.written,
        keys=form.keys,
        ordinals=np.array([NO_ORDINAL if one is None else one for one in form.ordinals], dtype=np.int64),
        unknown=np.array(unknown, dtype=bool),
        step=form.step,
    )


def place_rows(dimensions: Sequence[Dimension], codes: NDArray[np.integer], domain: Domain, /) -> Ints:
    """The cell of each row of a table in a domain over the same dimensions; -1 where the domain has none.

    Dimensions are the same by name, labels by their keys or as written, whatever case and blanks they have.

    Raises
    ------
    MisplacedError
        If the table has other dimensions than the domain.
    """
    columns = codes_in(domain, dimensions, codes)
    if len(columns) != len(domain.dimensions):
        raise MisplacedError(
            f"it is stated over {', '.join(domain.names)}, the table has {', '.join(d.name for d in dimensions)}"
        )
    if not columns:
        return locate(domain, np.zeros((0, codes.shape[1]), np.int64))
    return domain.encode(*(columns[place] for place in range(len(columns))))


def codes_in(
    domain: Domain, dimensions: Sequence[Dimension], codes: NDArray[np.integer], /
) -> dict[int, Ints]:
    """The label codes of rows in a domain, by the position of the dimension there; -1 for labels that it does not list.

    Raises
    ------
    MisplacedError
        If the domain does not have a dimension.
    """
    places = {folded(name): place for place, name in enumerate(domain.names)}
    found = {}
    for dimension, row in zip(dimensions, codes, strict=True):
        if folded(dimension.name) not in places:
            raise MisplacedError(f"it does not list {dimension.name}")
        place = places[folded(dimension.name)]
        found[place] = _recode(dimension, domain.dimensions[place])[row]
    return found


def shown_in(domain: Domain, table: PublishedTable, /) -> dict[int, Ints]:
    """The label codes in a domain of all cells that a table names, with or without a count, as far as it lists them."""
    named = np.concatenate([table.codes, table.hidden], axis=1)
    found = codes_in(domain, table.dimensions, named)
    listed = np.logical_and.reduce(
        [np.ones(named.shape[1], dtype=bool), *(row >= 0 for row in found.values())]
    )
    return {place: row[listed] for place, row in found.items()}


def _recode(read: Dimension, stated: Dimension) -> Ints:
    """For each label code as it was read the code in the stated dimension; -1 for none."""
    known = {folded(text): code for texts in (stated.keys, stated.labels) for code, text in enumerate(texts)}
    pairs = zip(read.keys, read.labels, strict=True)
    return np.array([known.get(folded(key), known.get(folded(label), -1)) for key, label in pairs])


def margins_in(domain: Domain, tables: Sequence[PublishedTable], /) -> list[Margin]:
    """The margin of each table over the dimensions that it has, in their order."""
    names = {folded(name): name for name in domain.names}
    found = []
    for table in tables:
        kept = [names.get(folded(name)) for name in table.names]
        strange = [own for own, name in zip(table.names, kept, strict=True) if name is None]
        if strange or not kept:
            raise MisplacedError(f"it does not list {', '.join(strange) or 'a total'} of {table.name}")
        found.append(Margin.over(domain, [name for name in kept if name is not None]))
    return found


def check_places(table: PublishedTable, cells: Ints, /) -> None:
    """Refuse a domain that lacks a cell which a table publishes."""
    lost = np.flatnonzero(cells < 0)
    if lost.size:
        first = table.codes[:, lost[0]].tolist()
        shown = ", ".join(
            f"{dimension.name}={dimension.labels[code]}"
            for dimension, code in zip(table.dimensions, first, strict=True)
        )
        raise MisplacedError(f"{table.name} shows {shown}, which it does not list")
