"""Which values are made up of others: files that list districts of areas, and subtotals inside a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from noisegate.reading.columns import Column, RawTable
from noisegate.reading.published import Hierarchy
from noisegate.tables import folded


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookupFile:
    """A file without counts that says what belongs to what, such as areas to districts.

    Attributes
    ----------
    name
        What it is called.
    columns
        The texts of each column in one spelling, row by row.
    """

    name: str
    columns: Mapping[str, tuple[str, ...]] = field(repr=False)

    def hierarchies(self) -> list[Hierarchy]:
        """Every column that another one determines, finer values first."""
        found = []
        for fine, coarse in permutations(self.columns, 2):
            pairs = {(a, b) for a, b in zip(self.columns[fine], self.columns[coarse], strict=True) if a and b}
            parents = dict(pairs)
            if len(parents) == len(pairs) and 1 <= len(set(parents.values())) < len(parents):
                found.append(
                    Hierarchy(fine=fine, coarse=coarse, parents=parents, how=f"{self.name} lists them")
                )
        return found


def find_lookup(raw: RawTable, /, *, name: str) -> LookupFile | None:
    """The rows as a list of what belongs to what; None if no column says more than another."""
    columns = [column for column in raw.columns if any(column.labels) and not _is_running(column)]
    whole = LookupFile(name=name, columns={column.name: _texts(column) for column in columns})
    return whole if len(columns) > 1 and raw.rows > 1 and whole.hierarchies() else None


def _is_running(column: Column) -> bool:
    """Whether a column numbers its rows."""
    return len(column.labels) == column.codes.size and all(label.isdecimal() for label in column.labels)


def _texts(column: Column) -> tuple[str, ...]:
    labels = np.array([folded(label) for label in column.labels], dtype=object)
    return tuple(labels[column.codes].tolist())


def parents_of(keys: Sequence[str], labels: Sequence[str], hierarchy: Hierarchy, /) -> list[str | None]:
    """For each value, by its key or its label, the coarser value that it belongs to; None for one that is not listed."""
    return [
        hierarchy.parents.get(key, hierarchy.parents.get(folded(label)))
        for key, label in zip(keys, labels, strict=True)
    ]
