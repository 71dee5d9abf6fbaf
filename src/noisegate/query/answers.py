"""Answers to one question: an estimate and an interval for each group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.columns import Columns, Values
from noisegate.query.joint import Bools, Spans
from noisegate.tables import Form, Ints

Floats = NDArray[np.float64]

#: What stands in place of an estimate that was withdrawn.
NOT_TOLD = "not told"

#: How many groups are shown when answers are printed.
_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answers:
    """One row for each group; the interval from `low` to `high` holds the truth with probability `level`.

    `cells` counts the published table's cells in a group, `suppressed` those of them without a row. `published` is
    the sum of the rows that are there: what adding up the file gives; of a difference or a ratio, what it gives for that.

    Where `withdrawn`, the tables do not tell: `low` and `high` are bounds, and there is no estimate (NaN). `ranks` are those of the groups among
    all groups of the question, 1 for the largest, if they were asked for.

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
    low: Ints | Floats
    high: Ints | Floats
    cells: Ints
    suppressed: Ints
    published: Ints | Floats
    level: float
    table: str
    form: Form = "total"
    withdrawn: Bools | None = None
    ranks: Spans | None = None

    def __post_init__(self) -> None:
        if self.withdrawn is None:
            object.__setattr__(self, "withdrawn", np.zeros(len(self.estimate), bool))
        else:
            object.__setattr__(self, "estimate", np.where(self.withdrawn, np.nan, self.estimate))

    def __len__(self) -> int:
        return len(self.estimate)

    def largest(self, count: int, /) -> Answers:
        """The groups with the largest estimates, largest first."""
        known = np.where(self.told, self.estimate, (self.low + self.high) / 2)
        order = np.argsort(-known, kind="stable")[:count]
        return replace(
            self,
            labels={name: [labels[i] for i in order.tolist()] for name, labels in self.labels.items()},
            estimate=self.estimate[order],
            low=self.low[order],
            high=self.high[order],
            cells=self.cells[order],
            suppressed=self.suppressed[order],
            published=self.published[order],
            withdrawn=~self.told[order],
            ranks=None if self.ranks is None else self.ranks.take(order),
        )

    @property
    def told(self) -> Bools:
        """Of which groups the tables tell something beyond bounds."""
        assert self.withdrawn is not None
        return ~self.withdrawn

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
            "withdrawn": ~self.told,
            **({} if self.ranks is None else self._rank_columns(self.ranks)),
        }

    def _rank_columns(self, ranks: Spans, /) -> dict[str, Any]:
        named = {"rank": np.rint(ranks.estimate), "rank_low": ranks.low, "rank_high": ranks.high}
        return {name: column.astype(np.int64) for name, column in named.items()}

    def to_frame(self) -> Columns:
        """The answers as columns, which Polars, DuckDB and Arrow take as they are."""
        return Columns({name: _values(column) for name, column in self.columns.items()})

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_frame().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """The answers as a table of pyarrow, if that is installed."""
        return self.to_frame().to_arrow()

    def to_pandas(self) -> Any:
        """The answers as a pandas frame."""
        return self.to_frame().to_pandas()

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
        ranks = [] if self.ranks is None else ["rank"]
        return [*self.labels, "estimate", f"{100 * self.level:g} % interval", *ranks, "cells", "missing"]

    def words(self, row: int, /) -> tuple[str, str]:
        """The estimate and the interval of a group as people read them; of what is withdrawn only bounds."""
        low, high = self._number(float(self.low[row])), self._number(float(self.high[row]))
        if not self.told[row]:
            return NOT_TOLD, f"between {low} and {high}" if np.isfinite(self.high[row]) else f"at least {low}"
        end = f"to {high}" if np.isfinite(self.high[row]) else "or more"
        return self._number(float(self.estimate[row])), f"{low} {end}"

    def rank_words(self, row: int, /) -> str:
        """The rank of a group and its interval."""
        assert self.ranks is not None
        low, high = int(self.ranks.low[row]), int(self.ranks.high[row])
        return f"{low}" if low == high else f"{low} to {high}"

    def _number(self, value: float, /) -> str:
        if self.form != "ratio":
            return f"{value:,.0f}"
        if not np.isfinite(value):
            return "no end"
        return f"{value:,.3g}" if value < 1_000 else f"{value:,.0f}"

    @property
    def notes(self) -> list[str]:
        """What must be said below answers that the tables do not give."""
        gone = int((~self.told).sum())
        if not gone:
            return []
        if len(self) == 1:
            return [f"The tables do not tell: {self.words(0)[1]}."]
        return [
            f"{NOT_TOLD}: the tables do not tell; nothing but the bounds is known of {gone:,} of {len(self):,} groups."
        ]

    @property
    def _lines(self) -> list[list[str]]:
        """The first groups, as they are printed."""
        return [
            [
                *(labels[row] for labels in self.labels.values()),
                *self.words(row),
                *([] if self.ranks is None else [self.rank_words(row)]),
                f"{self.cells[row]:,}",
                f"{self.suppressed[row]:,}",
            ]
            for row in range(min(len(self), _SHOWN))
        ]

    @property
    def _rest(self) -> list[str]:
        """What is said below the groups: how many are not shown, and of which the tables do not tell."""
        more = len(self) - _SHOWN
        return [*([f"and {more:,} more; to_pandas() has all"] if more > 0 else []), *self.notes]

    def to_rows(self) -> list[dict[str, Any]]:
        """The answers as plain data; None where there is no estimate, or no upper end."""
        plain = {
            name: column if isinstance(column, list) else [_plain(value) for value in column.tolist()]
            for name, column in self.columns.items()
        }
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def _plain(value: Any, /) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _values(column: Any, /) -> Values:
    """A column; numbers that are none are missing."""
    if isinstance(column, list):
        return Values.texts(column)
    return Values.numbers(column, missing=np.isnan(column) if column.dtype.kind == "f" else None)


def _html_row(cells: Sequence[str], tag: str, /) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
