"""Raw events on the cells of a release: counted as fine as its questions ask, and with every person held to the bound.

A question may ask for a part of a cell (07:15 to 08:30 of hourly bins). A reader of the tables counts the cell by its even
share; what that costs is the error of aggregation, and needs events in finer bins.

Raw data: for the custodian's eyes only. What leaves the engine are sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from noisegate.engine import count
from noisegate.errors import DataError, SpecError
from noisegate.laws.entropy import Entropy
from noisegate.reading.structure import Structure
from noisegate.releases.plan import Plan
from noisegate.spec import DateDimension, ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock
from noisegate.tables.question import Question
from noisegate.tables.where import folded
from noisegate.workload.draws import Floats, Reader
from noisegate.workload.frame import AnyDimension, Frame, WorkloadSource
from noisegate.workload.truth_file import Truth, TruthFile, is_moment, quoted


def finest_step(dimension: TimeDimension, conditions: Sequence[tuple[str, ...]], /) -> int:
    """Bins, in seconds, that are as fine as the dimension's and as the borders of all these conditions."""
    borders = [at_s for parts in conditions for at_s in _borders(parts)]
    return math.gcd(dimension.every, DAY_S, *borders)


def _borders(parts: tuple[str, ...], /) -> Iterator[int]:
    """The borders of ranges of times; what is no range is refused where the question is put."""
    for part in parts:
        first, dots, last = part.partition("..")
        if dots:
            with suppress(ValueError):
                yield from (clock(first.strip()), clock(last.strip()))


Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Raw counts after bounding, cell by cell: events that stay for sure, those that draw lots, and how many of these stay.

    `kept` is the mean of the last; how many really stayed is not known.
    """

    sure: Ints
    drawing: Ints
    kept: Floats

    @property
    def mean(self) -> Floats:
        """The expected count."""
        return self.sure + self.kept

    def take(self, which: NDArray[np.bool_] | Ints, /) -> Kept:
        """Some of the cells."""
        return Kept(sure=self.sure[which], drawing=self.drawing[which], kept=self.kept[which])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawCells:
    """Raw counts on the domain of a release; events outside of it are in none of them.

    Attributes
    ----------
    dimensions
        As fine as the questions: times in bins that have all their borders.
    codes, counts
        For each combination of values that occurs: its codes by dimension, and how many events it has.
    cells
        The base cell of each combination.
    bounded
        The cells that events fall into, ascending, and what is left there of units held to their bound; None if that
        cannot be told.
    why_not
        Why it cannot.
    coarse
        Dimensions of times that the file has no finer than the tables, although a question asks for them finer.
    """

    dimensions: Mapping[str, AnyDimension]
    codes: Mapping[str, Ints]
    counts: Ints
    cells: Ints
    bounded: tuple[Ints, Kept] | None
    why_not: str = ""
    coarse: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawEvents:
    """A file of raw events or counts, read as a release reads them."""

    file: TruthFile
    frame: Frame

    def count(self, questions: Sequence[Question], /) -> RawCells:
        """The raw counts that these questions need.

        Raises
        ------
        DataError
            If the file cannot be read, or nothing in it falls into a cell.
        """
        dimensions = {
            name: self._as_fine(dimension, [one.where.get(name, ()) for one in questions])
            for name, dimension in self.frame.dimensions.items()
        }
        with self._opened(dimensions) as connection:
            values = ", ".join(f"d{j}" for j in range(len(dimensions)))
            combined = _arrow(connection, f"SELECT {values}, sum(n)::BIGINT AS n FROM e GROUP BY ALL")  # noqa: S608 - our names
            codes = {
                name: _codes(combined.column(f"d{j}"), dimension)
                for j, (name, dimension) in enumerate(dimensions.items())
            }
            cells = self._locate(codes, dimensions)
            inside = cells >= 0
            if not inside.any():
                raise DataError(
                    f"No row of {self.file.path} falls into a cell of the release; it holds other dates or places."
                )
            why_not = self._why_not()
            bounded = None if why_not else self._bounded(connection, combined, cells, codes)
        return RawCells(
            dimensions=dimensions,
            codes={name: column[inside] for name, column in codes.items()},
            counts=combined.column("n").to_numpy()[inside],
            cells=cells[inside],
            bounded=bounded,
            why_not=why_not,
            coarse=frozenset(
                name for name, one in dimensions.items() if self._is_coarse(name, one, codes[name][inside])
            ),
        )

    def _is_coarse(self, name: str, fine: AnyDimension, codes: Ints, /) -> bool:
        """Whether times are wanted in finer bins than the tables have, and all lie at the start of theirs."""
        pieces = len(fine.values) // len(self.frame.dimensions[name].values)
        return pieces > 1 and not bool((codes % pieces).any())

    def _as_fine(self, dimension: AnyDimension, conditions: Sequence[tuple[str, ...]], /) -> AnyDimension:
        if not isinstance(dimension, TimeDimension):
            return dimension
        return dimension.model_copy(update={"every": finest_step(dimension, conditions)})

    def _locate(self, codes: Mapping[str, Ints], fine: Mapping[str, AnyDimension], /) -> Ints:
        """The base cell of each combination of fine codes; -1 outside the domain."""
        columns = []
        for name in self.frame.domain.names:
            own, new = len(self.frame.dimensions[name].values), len(fine[name].values)
            column = codes[name]
            columns.append(np.where(column >= 0, column * own // new, -1))
        return self.frame.domain.locate(*columns)

    @contextmanager
    def _opened(self, dimensions: Mapping[str, AnyDimension], /) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection with the view `e`: unit `u`, values `d0` and on, number `n`."""
        values = ", ".join(
            f"{self._value(d, name)} AS d{j}" for j, (name, d) in enumerate(dimensions.items())
        )
        who = "NULL" if self.file.person is None else quoted(self.file.person)
        number = "1" if self.file.count is None else quoted(self.file.count)
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            view = f"CREATE VIEW e AS SELECT {who} AS u, {values}, {number} AS n FROM {self.file.source}"  # noqa: S608 - quoted parts
            try:
                connection.execute(view)
                yield connection
            except duckdb.Error:
                # What DuckDB says may quote the file's content.
                raise DataError(
                    f"{self.file.path} cannot be counted as the release counts; give the raw events that it was made from."
                ) from None

    def _column(self, name: str, /) -> str:
        if name not in self.file.columns:
            raise SpecError(
                f"the tables that were read do not have {name}, which the release has; give all tables of the release."
            )
        return self.file.columns[name]

    def _value(self, dimension: AnyDimension, name: str, /) -> str:
        """SQL for a value: text, or for times the second of the day at which its bin starts."""
        column = self._column(name)
        kind = self.file.kinds[column]
        if isinstance(dimension, TimeDimension):
            at = quoted(column) if kind.startswith("TIME") else f"try_cast({quoted(column)} AS TIME)"
            second = f"(hour({at}) * 3600 + minute({at}) * 60 + second({at}))"
            return f"({second} // {dimension.every})::BIGINT"
        if isinstance(dimension, DateDimension) and is_moment(kind):
            return f"strftime({quoted(column)}, '%Y-%m-%d')"
        return f"{quoted(column)}::VARCHAR"

    def _why_not(self) -> str:
        """Why what bounding did cannot be told; empty if it can."""
        if self.frame.bound is None:
            return "" if self.frame.unit == "event" else "nobody states how much of a person was counted"
        if self.file.count is not None:
            return "the raw data are counts, which do not say whose events they are"
        if self.file.person is None:
            return "the raw events have no column that says whose they are (name it with --person)"
        if self.frame.unit == "person-day" and self.frame.day is None:
            return "the tables have no dates, by which days of a person are told"
        return ""

    def _bounded(
        self, connection: duckdb.DuckDBPyConnection, combined: Any, cells: Ints, codes: Mapping[str, Ints], /
    ) -> tuple[Ints, Kept]:
        """What is left in each cell of units held to their bound, on average over their lots."""
        bound = self.frame.bound
        if bound is None:
            found, place = np.unique(cells[cells >= 0], return_inverse=True)
            number = np.bincount(place, weights=combined.column("n").to_numpy()[cells >= 0])
            sure = np.rint(number).astype(np.int64)
            return found, Kept(sure=sure, drawing=np.zeros_like(sure), kept=np.zeros(sure.size))
        names = [name for name in combined.column_names if name != "n"]
        day = (
            codes[self.frame.day]
            if self.frame.unit == "person-day" and self.frame.day
            else np.zeros_like(cells)
        )
        placed = (
            combined.select(names).append_column("cell", pa.array(cells)).append_column("day", pa.array(day))
        )
        connection.register("placed", placed.filter(pa.array(cells >= 0)))
        same = " AND ".join(f"e.{name} = placed.{name}" for name in names)
        rows = _arrow(connection, _BOUNDED.format(same=same, each=bound.per_cell))
        cell, k, number = (rows.column(name).to_numpy() for name in ("cell", "k", "n"))
        found, place = np.unique(cell, return_inverse=True)
        free = k <= bound.cells

        def sums(weights: NDArray[Any]) -> NDArray[np.float64]:
            return np.bincount(place, weights=weights, minlength=found.size).astype(np.float64)

        return found, Kept(
            sure=np.rint(sums(np.where(free, number, 0))).astype(np.int64),
            drawing=np.rint(sums(np.where(free, 0, number))).astype(np.int64),
            kept=sums(np.where(free, 0, number * (bound.cells / k))),
        )


#: Events in each cell by how many cells their unit has, no more of one unit than counts in one cell. A unit with k cells
#: keeps each with the chance max_cells / k, or surely if k is at most that.
_BOUNDED = """
    WITH pairs AS (
        SELECT e.u, placed.day, placed.cell, least(count(*), {each}) AS n
        FROM e JOIN placed ON {same}
        WHERE e.u IS NOT NULL
        GROUP BY ALL
    ), sized AS (
        SELECT cell, n, count(*) OVER (PARTITION BY u, day) AS k FROM pairs
    )
    SELECT cell, k, sum(n)::BIGINT AS n FROM sized GROUP BY cell, k ORDER BY cell, k
"""


def _arrow(connection: duckdb.DuckDBPyConnection, query: str, /) -> Any:
    return connection.sql(query).to_arrow_table()


def _codes(column: Any, dimension: AnyDimension, /) -> Ints:
    """The code of each value of an Arrow column; -1 for values that the dimension does not have."""
    if isinstance(dimension, TimeDimension):
        return np.asarray(column.fill_null(-1).to_numpy(), dtype=np.int64)
    known = {folded(value): code for code, value in enumerate(dimension.values)}
    known |= {value: code for code, value in enumerate(dimension.values)}
    encoded = column.combine_chunks().dictionary_encode()
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    words = encoded.dictionary.to_pylist()
    table = np.array([known.get(word, known.get(folded(word), -1)) for word in words] + [-1], dtype=np.int64)
    return np.asarray(table[encoded.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)])


def merged_truth(asked: WorkloadSource, structure: Structure, file: TruthFile, /) -> Truth | None:
    """The raw counts, placed as the release places them; None if it merges nothing or is not all there."""
    try:
        frame = asked.frame(structure)
        if not any(dimension.groups for dimension in frame.domain.dimensions):
            return None
        raw = RawEvents(file=file, frame=frame).count(())
    except (DataError, SpecError):
        return None
    base = structure.base
    codes = dict(zip(frame.domain.names, frame.domain.decode(raw.cells), strict=True))
    found = np.full((len(base.dimensions), raw.cells.size), -1, dtype=np.int32)
    for row, dimension in enumerate(base.dimensions):
        known = {folded(label): code for code, label in enumerate(dimension.labels)}
        known |= {folded(key): code for code, key in enumerate(dimension.keys)}
        labels = frame.domain.dimensions[frame.domain.axis(dimension.name)].labels
        place = np.array([known.get(folded(label), -1) for label in labels], dtype=np.int32)
        found[row] = place[codes[dimension.name]]
    inside = (found >= 0).all(axis=0)
    flat = np.full(raw.cells.size, -1, dtype=np.int64)
    flat[inside] = base.locate(found[:, inside])
    there = flat >= 0
    counts = np.bincount(flat[there], weights=raw.counts[there], minlength=base.size).astype(np.int64)
    events = file.events()
    return Truth(counts=counts, events=events, outside=events - int(counts.sum()), file=file)


def unbounded(spec: ReleaseSpec, /) -> ReleaseSpec:
    """The spec with every event counted."""
    everything = spec.privacy.model_copy(update={"unit": "event", "max_cells": None, "max_per_cell": 1})
    return _remade(spec, privacy=everything)


def _remade(spec: ReleaseSpec, /, **changes: Any) -> ReleaseSpec:
    """A changed copy whose domain is worked out anew."""
    copy = spec.model_copy(update=changes)
    for name in ("domain", "margins"):
        copy.__dict__.pop(name, None)
    return copy


def exact_answer(reader: Reader, plan: Plan, entropy: Entropy, connection: Any, /) -> Floats:
    """The exact answer: events counted in bins as fine as the question, nothing merged.

    The groups are those of the published tables: labels of `by`.
    """
    asked = reader.asked
    spec = plan.spec
    fine = _remade(
        unbounded(spec),
        merge=(),
        dimensions={
            name: _finest(dim, asked.question.where.get(name, ())) for name, dim in spec.dimensions.items()
        },
        workload={},
    )
    counted = count(fine, entropy=entropy, connection=connection)
    codes = dict(zip(fine.domain.names, fine.domain.decode(counted.cells), strict=True))
    weights = counted.raw_counts.astype(np.float64)
    again = asked.question.put(fine.domain).selection
    for name in fine.domain.names:
        weights = weights * again.share(name)[codes[name]]
    group = np.zeros(len(weights), np.int64)
    for name in asked.question.by:
        group = group * len(spec.domain.dimensions[spec.domain.axis(name)].labels) + _labels(
            spec, fine, name, codes
        )
    found: Floats = np.bincount(group, weights=weights, minlength=reader.cells.size).astype(np.float64)
    return found[reader.groups]


def _labels(
    spec: ReleaseSpec, fine: ReleaseSpec, name: str, codes: Mapping[str, NDArray[np.int64]], /
) -> NDArray[np.int64]:
    """The published label of `by` that each fine cell belongs to."""
    values = {}
    for other in spec.domain.names:
        old, new = len(spec.dimensions[other].values), len(fine.dimensions[other].values)
        values[other] = codes[other] * old // new
    axis = spec.domain.axis(name)
    cells = spec.domain.locate(*(values[other] for other in spec.domain.names))
    return spec.domain.decode(cells)[axis]


def _finest(dimension: Any, parts: tuple[str, ...], /) -> Any:
    """A dimension as fine as the borders of a question."""
    if not isinstance(dimension, TimeDimension):
        return (
            dimension.model_copy(update={"group_by": None}) if hasattr(dimension, "group_by") else dimension
        )
    step = dimension.every
    for border in _truth_borders(parts):
        step = math.gcd(step, border)
    return dimension if DAY_S % step else dimension.model_copy(update={"every": step})


def _truth_borders(parts: tuple[str, ...], /) -> Iterator[int]:
    for part in parts:
        first, dots, last = part.partition("..")
        if dots:
            yield from (clock(first.strip()), clock(last.strip()))
