"""Answers to one question: an estimate and an interval for each group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisegate.tables.arrow import arrow_numbers, arrow_texts
from noisegate.tables.domain import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers:
    """One row for each group; the interval from `low` to `high` holds the truth with probability `level`.

    `cells` counts the published table's cells in a group, `suppressed` those of them without a row. `published` is
    the sum of the rows that are there: what adding up the file gives.
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

    def to_rows(self) -> list[dict[str, Any]]:
        """The answers as plain data."""
        plain = {
            name: column if isinstance(column, list) else column.tolist()
            for name, column in self.columns.items()
        }
        return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
