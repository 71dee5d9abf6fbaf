"""What was decided about each table, in plain values for people and for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from noisegate.mechanisms import Marker, Threshold
from noisegate.reading.published import ExtraColumn, PublishedTable, SetAside
from noisegate.reading.structure import Structure
from noisegate.tables import Kind, MarginLink, Table, how_many

#: How many values a list in the summary shows.
_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionSummary:
    """A dimension of a table: how it is written, and the values that the table covers.

    `values` counts what the table covers, shown or suppressed; `shown` what the file itself has.
    """

    name: str
    kind: str
    written: str
    values: int
    shown: int
    first: str
    last: str
    unknown: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, position: int, /) -> DimensionSummary:
        """The summary of one dimension of a table."""
        codes = np.unique(np.concatenate([block.labels(position) for block in table.domain.blocks]))
        dimension = table.dimensions[position].take(codes)
        gone = dimension.unknown.tolist()
        written = dimension.keys if dimension.kind in {Kind.DATE, Kind.TIME} else dimension.labels
        known = [value for value, away in zip(written, gone, strict=True) if not away]
        return cls(
            name=dimension.name,
            kind=str(dimension.kind),
            written=dimension.written,
            values=dimension.size,
            shown=how_many(table.codes(table.cells)[position]),
            first=known[0] if known else "",
            last=known[-1] if known else "",
            unknown=tuple(label for label, away in zip(dimension.labels, gone, strict=True) if away),
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "written": self.written,
            "values": self.values,
            "shown": self.shown,
            "first": self.first,
            "last": self.last,
            "unknown": list(self.unknown),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerSummary:
    """What stands in place of counts, in how many cells; `absent` is what it means that a cell has no row."""

    marker: Marker
    cells: int
    absent: bool = False

    @classmethod
    def all_of(cls, table: Table, /) -> tuple[MarkerSummary, ...]:
        """Every marker of a table that stands in some cell."""
        cells = np.bincount(table.marks[table.marks >= 0], minlength=len(table.markers)).tolist()
        found = [
            cls(marker=one, cells=times) for one, times in zip(table.markers, cells, strict=True) if times
        ]
        if table.absent is not None:
            empty = table.size - table.published - table.hidden.size
            found.append(cls(marker=table.absent, cells=empty, absent=True))
        return tuple(found)

    def describe(self) -> str:
        """In words, for people."""
        cells = f"{self.cells:,} cell{'s' if self.cells != 1 else ''}"
        what = f"no row means {self.marker.low}" if self.absent else self.marker.describe()
        return f"{what} ({cells}): {self.marker.evidence}"

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {**self.marker.to_json(), "cells": self.cells, "absent": self.absent}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSummary:
    """How a margin compares with the base.

    `comparable` and `complete` count published cells of the margin: those that are sums of base table,
    and those whose base cells are all published. `coverage` says which slice that is.
    """

    base: str
    summed: tuple[str, ...]
    coarser: tuple[str, ...]
    comparable: int
    complete: int
    coverage: tuple[str, ...]
    unlisted: tuple[str, ...]

    @classmethod
    def of(cls, link: MarginLink, /) -> LinkSummary:
        """The summary of a link."""
        return cls(
            base=link.base.name,
            summed=link.summed,
            coarser=link.coarser,
            comparable=int((link.comparable & link.published).sum()),
            complete=int(link.complete.sum()),
            coverage=tuple(part.describe() for part in link.coverage()),
            unlisted=link.unlisted,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "base": self.base,
            "summed": list(self.summed),
            "coarser": list(self.coarser),
            "comparable": self.comparable,
            "complete": self.complete,
            "coverage": list(self.coverage),
            "unlisted": list(self.unlisted[:_SHOWN]),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSummary:
    """Everything that was decided about one table; `link` is None for the base."""

    name: str
    files: tuple[str, ...]
    rows: int
    dimensions: tuple[str, ...]
    domain_size: int
    suppressed: int
    hidden: int
    threshold: Threshold
    count_column: str
    dialect: str
    details: tuple[DimensionSummary, ...]
    markers: tuple[MarkerSummary, ...]
    set_aside: tuple[SetAside, ...]
    extra: tuple[ExtraColumn, ...]
    notes: tuple[str, ...]
    link: LinkSummary | None = None

    @classmethod
    def of(cls, table: Table, source: PublishedTable, link: MarginLink | None = None, /) -> TableSummary:
        """The summary of a table, of what was read, and of its link to the base."""
        return cls(
            name=table.name,
            files=tuple(str(file) for file in source.files),
            rows=table.published,
            dimensions=tuple(dimension.name for dimension in table.dimensions),
            domain_size=table.size,
            suppressed=table.suppressed,
            hidden=int(table.hidden.size),
            threshold=table.threshold,
            count_column=table.count_name,
            dialect=source.dialect,
            details=tuple(DimensionSummary.of(table, place) for place in range(len(table.dimensions))),
            markers=MarkerSummary.all_of(table),
            set_aside=source.set_aside,
            extra=source.extra,
            notes=source.notes,
            link=None if link is None else LinkSummary.of(link),
        )

    @property
    def role(self) -> str:
        """`base` or `margin`."""
        return "base" if self.link is None else "margin"

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON, with the keys of `assessment.json`."""
        return {
            "name": self.name,
            "role": self.role,
            "files": [Path(file).name for file in self.files],
            "rows": self.rows,
            "dimensions": list(self.dimensions),
            "domain_size": self.domain_size,
            "suppressed": self.suppressed,
            "hidden": self.hidden,
            "threshold": self.threshold.to_json(),
            "count_column": self.count_column,
            "dialect": self.dialect,
            "details": [detail.to_json() for detail in self.details],
            "markers": [one.to_json() for one in self.markers],
            "set_aside": [one.to_json() for one in self.set_aside],
            "extra": [{"name": one.name, "reason": one.reason} for one in self.extra],
            "notes": list(self.notes),
            "link": None if self.link is None else self.link.to_json(),
        }


def summarise(structure: Structure, /) -> tuple[TableSummary, ...]:
    """What was decided about each table: the base first, then the margins.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> read = noisegate.read_tables({"towns": pyarrow.table({"town": ["A", "B"], "count": [4, 7]})})
    >>> [(table.role, table.name, table.dimensions) for table in noisegate.summarise(read)]
    [('base', 'towns', ('town',))]
    """
    links = (None, *structure.links)
    pairs = zip(structure.tables, structure.sources, links, strict=True)
    return tuple(TableSummary.of(table, source, link) for table, source, link in pairs)
