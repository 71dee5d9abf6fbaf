"""Answers to one question: an estimate and an interval for each group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisegate.tables import Ints, arrow_numbers, arrow_texts

Floats = NDArray[np.float64]

#: How many groups are shown when answers are printed.
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answers:
    """One row for each group; the interval from `low` to `high` holds the truth with probability `level`.

    `cells` counts the published table's cells in a group, `suppressed` those of them without a row. `published` is
    the sum of the rows that are there: what adding up the file gives.

    Examples
    --------
    >>> import numpy as np
    >>> eight, nine = np.array([8]), np.array([9])
    >>> Answers(
    ...     labels={"mode": ["ferry"]}, estimate=eight + 0.2, low=eight - 2, high=nine, cells=nine, suppressed=eight,
    ...     published=nine, level=0.95, table="base",
    ... )
    mode   estimate  95 % interval  cells  missing
    ferry         8         6 to 9      9        8
    """

    labels: dict[str, list[str]]
    estimate: Floats
    low: Ints
    high: Ints
    cells: Ints
    suppressed: Ints
    published: Ints
    level: float
    table: str

    def __len__(self) -> int:
        return len(self.estimate)

    def largest(self, count: int, /) -> Answers:
        """The groups with the largest estimates, largest first."""
        order = np.argsort(-self.estimate, kind="stable")[:count]
        return Answers(
            labels={name: [labels[i] for i in order.tolist()] for name, labels in self.labels.items()},
            estimate=self.estimate[order],
            low=self.low[order],
            high=self.high[order],
            cells=self.cells[order],
            suppressed=self.suppressed[order],
            published=self.published[order],
            level=self.level,
            table=self.table,
        )

    @property
    def columns(self) -> dict[str, Any]:
        """The answers by column, as they stand in every output."""
        rows = len(self)
        return {
            **self.labels,
            "estimate": self.estimate,
            "low": self.low,
            "high": self.high,
            "level": np.full(rows, self.level),
            "cells": self.cells,
            "suppressed": self.suppressed,
            "published": self.published,
            "table": [self.table] * rows,
        }

    def to_arrow(self) -> Any:
        """The answers as an Arrow table; its `to_pandas` gives a frame."""
        return pa.table(
            {
                name: arrow_texts(column) if isinstance(column, list) else arrow_numbers(column)
                for name, column in self.columns.items()
            }
        )

    def to_pandas(self) -> Any:
        """The answers as a pandas frame."""
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        names = len(self.labels)
        table = [self._head, *self._lines]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if place < names else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in table
        ]
        return "\n".join([*lines, *self._rest])

    def _repr_html_(self) -> str:
        head, *lines = (_html_row(line, tag) for tag, line in self._tagged)
        below = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._rest)
        return f"<table><thead>{head}</thead><tbody>{''.join(lines)}</tbody></table>{below}"

    @property
    def _tagged(self) -> Iterable[tuple[str, Sequence[str]]]:
        return [("th", self._head), *(("td", line) for line in self._lines)]

    @property
    def _head(self) -> list[str]:
        return [*self.labels, "estimate", f"{100 * self.level:g} % interval", "cells", "missing"]

    @property
    def _lines(self) -> list[list[str]]:
        """The first groups, as they are printed."""
        return [
            [
                *(labels[row] for labels in self.labels.values()),
                f"{self.estimate[row]:,.0f}",
                f"{self.low[row]:,} to {self.high[row]:,}",
                f"{self.cells[row]:,}",
                f"{self.suppressed[row]:,}",
            ]
            for row in range(min(len(self), _SHOWN))
        ]

    @property
    def _rest(self) -> list[str]:
        """What is said below the groups: how many are not shown."""
        more = len(self) - _SHOWN
        return [f"and {more:,} more; to_pandas() has all"] if more > 0 else []

    def to_rows(self) -> list[dict[str, Any]]:
        """The answers as plain data."""
        plain = {
            name: column if isinstance(column, list) else column.tolist()
            for name, column in self.columns.items()
        }
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _html_row(cells: Sequence[str], tag: str, /) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
