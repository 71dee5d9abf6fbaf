"""A whole release that could lie behind the published one: counts of all cells, drawn together, and their margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate.columns import Columns, Values
from noisegate.errors import SpecError
from noisegate.tables import Ints, Table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DrawnTables:
    """One draw: `counts` has a whole number for every cell of the base, and every other table is a sum of them.

    Attributes
    ----------
    tables
        The published tables, the base first: their dimensions and names.
    counts
        What the cells of the base hold in this draw.
    """

    tables: tuple[Table, ...]
    counts: Ints

    @property
    def names(self) -> tuple[str, ...]:
        """The tables, the base first."""
        return tuple(table.name for table in self.tables)

    def cells(self, table: str | None = None, /) -> Ints:
        """The counts of all cells of a table; of the base if none is named."""
        chosen = self._table(table)
        if chosen.margin is None:
            return self.counts
        place = chosen.margin.of(np.arange(len(self.counts)))
        inside = place >= 0
        sums = np.bincount(place[inside], weights=self.counts[inside], minlength=chosen.domain.size)
        return np.rint(sums).astype(np.int64)

    def to_frame(self, table: str | None = None, /) -> Columns:
        """A table as columns, which Polars, DuckDB and Arrow take as they are: its dimensions and `count`, one row for every cell."""
        chosen = self._table(table)
        codes = chosen.codes(np.arange(chosen.domain.size))
        columns = {
            one.name: Values(values=code, labels=one.labels, plain=True)
            for one, code in zip(chosen.dimensions, codes, strict=True)
        }
        return Columns({**columns, "count": Values.numbers(self.cells(table))})

    def to_arrow(self, table: str | None = None, /) -> Any:
        """A table as one of pyarrow, if that is installed."""
        return self.to_frame(table).to_arrow()

    def to_pandas(self, table: str | None = None, /) -> Any:
        """A table as a pandas frame."""
        return self.to_frame(table).to_pandas()

    def _table(self, name: str | None, /) -> Table:
        for table in self.tables:
            if name is None or table.name == name:
                return table
        raise SpecError.for_choice("table", found=name, allowed=self.names)

    def __repr__(self) -> str:
        return f"one draw of {', '.join(self.names)}: {len(self.counts):,} cells, {int(self.counts.sum()):,} in all"
