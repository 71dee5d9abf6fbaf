"""What the cells of the base say in sum: by day and time, and the few that are told most sharply.

`cells.parquet` has a row for each cell of the base, millions of them; everything is added up inside the
embedded engine, and only what is drawn comes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import duckdb

from noisegate.errors import DataError
from noisegate.pictures.exposed import Exposed

#: What a cell's row holds beside its dimensions.
_COLUMNS = ("published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level")
#: A cell less likely to be empty than this is shown to hold somebody.
SURE = 0.01
#: More days or times than this are no picture.
_MOST_DAYS, _MOST_TIMES = 21, 48


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The cells of one day and time: how many there are, are published, and are shown to hold somebody."""

    day: str
    time: str
    cells: int
    published: int
    told: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Suppressed cells: how many there are, shown to hold somebody, and told to within 0, 2 and 5."""

    suppressed: int
    told: int
    within: tuple[int, int, int]


class CellFile:
    """`cells.parquet`, open for questions; closed with `with`."""

    def __init__(self, file: Path, /) -> None:
        self._connection = duckdb.connect()
        try:
            self._cells = self._connection.read_parquet(str(file))
        except duckdb.Error as problem:
            self._connection.close()
            raise DataError(f"{file} cannot be read as Parquet; assess the tables again.") from problem
        missing = [name for name in _COLUMNS if name not in self._cells.columns]
        if missing:
            self._connection.close()
            raise DataError(f"{file} has no column {missing[0]!r}; assess the tables again.")
        self._connection.register("cells", self._cells)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    @property
    def dimensions(self) -> list[str]:
        """The columns that name a cell."""
        return [name for name in self._cells.columns if name not in _COLUMNS]

    def widths(self) -> Widths:
        """How sharply suppressed cells are told; those that are most likely empty are not counted as told."""
        held = "p_zero < 0.5 AND hi - lo <="
        row = self._all(
            f"SELECT count(*), count(*) FILTER (p_zero < {SURE}), count(*) FILTER ({held} 0), "  # noqa: S608 - numbers of ours
            f"count(*) FILTER ({held} 2), count(*) FILTER ({held} 5) FROM cells WHERE published IS NULL"
        )[0]
        return Widths(suppressed=row[0], told=row[1], within=(row[2], row[3], row[4]))

    def moments(self, *, date: str | None, time: str) -> list[Moment]:
        """The cells by day and time; many days are added up by day of the week, many times by neighbours."""
        if time not in self.dimensions or (date is not None and date not in self.dimensions):
            return []
        day = "'all days'" if date is None else f"CAST({_name(date)} AS VARCHAR)"
        if date is not None and self._count(date) > _MOST_DAYS:
            day = f"strftime(TRY_CAST({_name(date)} AS DATE), '%u %a')"
        every = -(-self._count(time) // _MOST_TIMES)
        rows = self._all(
            f"WITH bins AS (SELECT bin, (row_number() OVER (ORDER BY bin) - 1) // {every} AS part "  # noqa: S608 - names are quoted
            f"FROM (SELECT DISTINCT {_name(time)} AS bin FROM cells)), "
            "names AS (SELECT bin, left(CAST(min(bin) OVER (PARTITION BY part) AS VARCHAR), 5) AS name FROM bins) "
            f"SELECT {day} AS day, name, count(*), count(published), "
            f"count(*) FILTER (published IS NULL AND p_zero < {SURE}) "
            f"FROM cells JOIN names ON {_name(time)} = bin GROUP BY ALL ORDER BY ALL"
        )
        return [
            Moment(day=str(day), time=str(name), cells=n, published=shown, told=told)
            for day, name, n, shown, told in rows
            if day is not None and name is not None
        ]

    def exposed(self, *, most: int) -> list[Exposed]:
        """Suppressed cells that are shown to hold somebody, those told most sharply first."""
        names = ", ".join(f"CAST({_name(name)} AS VARCHAR)" for name in self.dimensions)
        order = ", ".join(_name(name) for name in self.dimensions)
        rows = self._all(
            f"SELECT list_value({names}), lo, hi, mode_count, p_zero FROM cells "  # noqa: S608 - names are quoted
            f"WHERE published IS NULL AND p_zero < {SURE} ORDER BY hi - lo, sd, {order} LIMIT {int(most)}"
        )
        return [
            Exposed(name=_title(values), low=low, high=high, mode=mode, chance_empty=empty)
            for values, low, high, mode, empty in rows
        ]

    def _count(self, name: str, /) -> int:
        return int(self._all(f"SELECT count(DISTINCT {_name(name)}) FROM cells")[0][0])  # noqa: S608 - the name is quoted

    def _all(self, question: str, /) -> list[tuple[Any, ...]]:
        return self._connection.sql(question).fetchall()


def _name(column: str, /) -> str:
    """A column's name, quoted: it came from a file."""
    return '"' + column.replace('"', '""') + '"'


def _title(values: Sequence[object], /) -> str:
    return " ".join(str(value).removesuffix(":00") if _clock(value) else str(value) for value in values)


def _clock(value: object, /) -> bool:
    """Whether a value is a time of day with seconds, which bins do not need."""
    text = str(value)
    return len(text) == 8 and text[2] == text[5] == ":"
