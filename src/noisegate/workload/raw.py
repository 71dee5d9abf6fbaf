"""Raw events on the cells of a release: counted as fine as its questions ask, and with every unit held to its bound.

A question may ask for a part of a cell (07:15 to 08:30 of hourly bins). A reader of the tables counts the cell by its even
share; what that costs is the error of aggregation, and needs events in finer bins.

Raw data: for the custodian's eyes only. The engine that counts for the release counts here too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.engine import CountPlan, ExpectedCounts, Unit, count, expected_counts
from noisegate.errors import DataError, SpecError
from noisegate.reading import Structure, place_rows
from noisegate.spec import AnyDimension, DateDimension, TimeDimension, clock
from noisegate.tables import DAY_S, Dimension, Domain, Margin, Question, folded, members, shares_of_values
from noisegate.workload.error_parts import Floats, Reader
from noisegate.workload.frame import Frame, WorkloadSource
from noisegate.workload.truth_file import Truth, TruthFile, ValueReader, is_moment

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RawCells:
    """Raw counts on the domain of a release; events outside of it are in none of them.

    Attributes
    ----------
    domain
        The cells of the base.
    dimensions
        As fine as the questions: times in bins that have all their borders.
    codes, counts
        For each combination of values that occurs: its codes by dimension, and how many events it has.
    cells
        The base cell of each combination.
    events
        How many events were read, with those outside.
    coarse
        Dimensions of times that a file has no finer than the tables, although a question asks for them finer.
    expected
        What is left of units held to their bound, on average; None if that cannot be told, or was not asked for.
    why_not
        Why it cannot.
    """

    domain: Domain
    dimensions: Mapping[str, AnyDimension]
    codes: Mapping[str, Ints]
    counts: Ints
    cells: Ints
    events: int
    coarse: frozenset[str] = frozenset()
    expected: ExpectedCounts | None = None
    why_not: str = ""

    @property
    def kept(self) -> ExpectedCounts:
        """What is left of raw counts after bounding; all of them where that cannot be told."""
        if self.expected is not None:
            return self.expected
        return ExpectedCounts.sure_of(self.cells, self.counts)

    def sums(self, margin: Margin | None, /) -> Floats:
        """All events by the cells of the base, or of a margin."""
        size = self.domain.size if margin is None else margin.domain.size
        places = self.cells if margin is None else margin.of(self.cells)
        return np.bincount(places, weights=self.counts, minlength=size).astype(np.float64)

    def answer(self, reader: Reader, aggregated: Floats, /) -> Floats:
        """The exact answer to a question: every event as asked. `aggregated` is the one from whole cells.

        Raises
        ------
        SpecError
            If the events are not fine enough for it.
        """
        asked = reader.asked
        if asked.selection.whole:
            return aggregated
        for name, shares in zip(self.domain.names, asked.selection.shares, strict=True):
            if name in self.coarse and not np.isin(shares, (0.0, 1.0)).all():
                raise SpecError(
                    f"the raw data have {name} in bins as wide as the tables, so the truth is not known"
                )
        weights = self.counts.astype(np.float64)
        for name, parts in asked.question.where.items():
            weights *= self._shares(name, parts)[self.codes[name]]
        labels = dict(zip(self.domain.names, self.domain.decode(self.cells), strict=True))
        groups = np.zeros(weights.size, np.int64)
        for name, size in zip(asked.question.by, reader.cells.group_shape, strict=True):
            groups = groups * size + labels[name]
        found = np.bincount(groups, weights=weights, minlength=reader.cells.size).astype(np.float64)
        return found[reader.groups]

    def _shares(self, name: str, parts: tuple[str, ...], /) -> Floats:
        """How much of each fine value of a dimension a condition means."""
        values, axis = self.dimensions[name].values, self.domain.axis(name)
        finer = len(values) // len(self.domain.dimensions[axis].values)
        merged = {label: np.repeat(mask, finer) for label, mask in members(self.domain, axis).items()}
        return shares_of_values(values, parts, subject=name, merged=merged)


def count_raw(plan: CountPlan, questions: Sequence[Question], /, *, connection: Any = None) -> RawCells:
    """Every event of a plan, whoever has how many, in bins as fine as these questions need.

    Raises
    ------
    DataError
        If the events cannot be read.
    """
    fine = {
        name: _as_fine(one, [question.where.get(name, ()) for question in questions])
        for name, one in plan.dimensions.items()
    }
    names = plan.domain.names
    domain = Domain.product([Dimension(name=name, values=fine[name].values) for name in names])
    every = replace(plan.every_event(), domain=domain, dimensions=fine)
    found = count(every, connection=connection)
    pieces = {name: len(fine[name].values) // len(plan.dimensions[name].values) for name in names}
    codes = dict(zip(names, domain.decode(found.cells), strict=True))
    cells = plan.domain.locate(*(codes[name] // pieces[name] for name in names))
    inside = cells >= 0
    codes = {name: column[inside] for name, column in codes.items()}
    return RawCells(
        domain=plan.domain,
        dimensions={name: fine[name] for name in names},
        codes=codes,
        counts=found.raw_counts[inside],
        cells=cells[inside],
        events=found.tally.events,
    )


def count_file(file: TruthFile, frame: Frame, questions: Sequence[Question], /) -> RawCells:
    """The raw data in a file, counted as the release counts them, and what bounding leaves of them.

    Raises
    ------
    DataError
        If the file cannot be read, or nothing in it falls into a cell.
    """
    readers = {name: _reader(file, name, one) for name, one in frame.dimensions.items()}
    values = {name: _value(file, name, one) for name, one in frame.dimensions.items()}
    why_not = _why_not(file, frame)
    with file.opened(readers, values) as events:
        plan = events.plan(frame.domain)
        found = count_raw(plan, questions, connection=events.connection)
        if not found.cells.size:
            raise DataError(
                f"No row of {file.path} falls into a cell of the release; it holds other dates or places."
            )
        found = replace(found, coarse=_coarse(found, frame), why_not=why_not)
        if why_not:
            return found
        if frame.bound is None:
            return replace(found, expected=found.kept)
        unit: Unit = "person-day" if frame.unit == "person-day" else "person"
        bounded = replace(plan, unit=unit, bound=frame.bound, person="who")
        return replace(found, expected=expected_counts(bounded, connection=events.connection))


def merged_truth(asked: WorkloadSource, structure: Structure, file: TruthFile, /) -> Truth | None:
    """The raw counts of a base whose labels stand for several values in places, such as 00:00-04:00 or a postcode.

    What such a label stands for is not to be seen in the tables; the card or the spec says it. None if they merge nothing,
    or not all of the release is there.
    """
    try:
        frame = asked.frame(structure)
        if not any(dimension.groups for dimension in frame.domain.dimensions):
            return None
        raw = count_file(file, replace(frame, bound=None), ())
        codes = np.stack(frame.domain.decode(raw.cells))
        flat = place_rows(frame.domain.dimensions, codes, structure.base.domain)
    except (DataError, SpecError):
        return None
    there = flat >= 0
    counts = np.bincount(flat[there], weights=raw.counts[there], minlength=structure.base.size)
    return Truth.of(counts, events=raw.events, file=file)


def _reader(file: TruthFile, name: str, dimension: AnyDimension, /) -> ValueReader:
    """How the values of a dimension of the release are told by what the file holds."""
    moment = is_moment(file.column(name)[1])
    if isinstance(dimension, TimeDimension) or (isinstance(dimension, DateDimension) and moment):
        return ValueReader(dimension=dimension)
    known = {folded(value): value for value in dimension.values} | {
        value: value for value in dimension.values
    }
    return ValueReader(dimension=dimension, known=known)


def _value(file: TruthFile, name: str, dimension: AnyDimension, /) -> str:
    """SQL for what the file holds of a dimension: a time of day, a day, or text."""
    column, kind = file.column(name)
    local = f"CAST({column} AS TIMESTAMP)" if kind == "TIMESTAMP WITH TIME ZONE" else column
    if isinstance(dimension, TimeDimension):
        return f"TRY_CAST({local} AS TIME)"
    if isinstance(dimension, DateDimension) and is_moment(kind):
        return f"CAST({local} AS DATE)"
    return f"{column}::VARCHAR"


def _why_not(file: TruthFile, frame: Frame, /) -> str:
    """Why what bounding did cannot be told; empty if it can."""
    if frame.bound is None:
        return "" if frame.unit == "event" else "nobody states how much of a person was counted"
    if file.count is not None:
        return "the raw data are counts, which do not say whose events they are"
    if file.person is None:
        return "the raw events have no column that says whose they are (name it with --person)"
    if frame.unit == "person-day" and frame.day is None:
        return "the tables have no dates, by which days of a person are told"
    return ""


def _coarse(raw: RawCells, frame: Frame, /) -> frozenset[str]:
    """Times that are wanted in finer bins than the tables have, and all lie at the start of theirs."""
    pieces = {
        name: len(one.values) // len(frame.dimensions[name].values) for name, one in raw.dimensions.items()
    }
    return frozenset(n for n, many in pieces.items() if many > 1 and not (raw.codes[n] % many).any())


def _as_fine(dimension: AnyDimension, conditions: Sequence[tuple[str, ...]], /) -> AnyDimension:
    """The dimension in bins that are as fine as its own and as the borders of all these conditions."""
    if not isinstance(dimension, TimeDimension):
        return dimension
    borders = [at_s for parts in conditions for at_s in _borders(parts)]
    return dimension.model_copy(update={"every": math.gcd(dimension.every, DAY_S, *borders)})


def _borders(parts: tuple[str, ...], /) -> Iterator[int]:
    """The borders of ranges of times; what is no range is refused where the question is put."""
    for part in parts:
        first, dots, last = part.partition("..")
        if dots:
            with suppress(ValueError):
                yield from (clock(first.strip()), clock(last.strip()))
