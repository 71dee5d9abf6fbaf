"""Counting in another engine through Ibis: the events stay where they are.

The engine groups; what comes back is one row for each cell, and one row for each cell of the few
units that have too many. Which of those are kept is decided here, by our own noise source, since no
engine's random numbers are made for secrets. It is a single query, so that the engine answers it
from one state of the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from noisegate.engine.bounding import add_counts, count_runs, keep_cells
from noisegate.engine.counts import Counts, Tally
from noisegate.engine.plan import CellPlan, CountPlan, DimensionPlan, NestPlan, plan_cells
from noisegate.engine.private_log import keep_words
from noisegate.errors import DataError, InternalError, NoisegateError
from noisegate.laws import Entropy
from noisegate.spec import (
    BandDimension,
    CalendarDimension,
    ContributionBound,
    DateDimension,
    ListedDimension,
    LookupDimension,
    TimeDimension,
    did_you_mean,
)
from noisegate.tables import Ints

_DAY_S = 86_400
_WEEKS_BEFORE = 1_000_000
#: Errors behind an error that are looked at.
_DEEPEST = 20


def count_with_ibis(
    wanted: CountPlan,
    connection: Any,
    /,
    *,
    entropy: Entropy,
    progress: Callable[[int], None] | None,
) -> Counts:
    """The counts of a plan, whose source is a table of an Ibis connection."""
    plan = plan_cells(wanted)
    if wanted.weight is not None:
        raise InternalError("rows that stand for several events are counted by DuckDB only")
    with asking(wanted.source_name):
        events = _open_table(connection, wanted.source_name)
        coded = _coded(wanted, plan, events)
        if wanted.bound is None:
            rows = coded.group_by("key").aggregate(events=coded.count(), kept=coded.count()).to_pyarrow()
        else:
            rows = _grouped_units(coded, wanted.bound).to_pyarrow()
    if not wanted.total and not rows.num_rows:
        raise DataError(f"{wanted.source_name} holds no events.")
    counts = _finish(rows, plan, wanted, entropy)
    if progress is not None:
        progress(counts.tally.events)
    return counts


@contextmanager
def asking(name: str, /) -> Iterator[None]:
    """Turn whatever an engine raises into a sentence; its own text may quote the data, so it goes to a private log.

    Of Python's own errors those of sockets are the engine's too: a server that died in the middle.
    """
    try:
        with warnings.catch_warnings():
            # Those of drivers are not about the user's doing, and may quote the data too.
            warnings.simplefilter("ignore")
            yield
    except NoisegateError:
        raise
    except Exception as error:
        if _was_stopped(error):
            raise KeyboardInterrupt from None
        if type(error).__module__ == "builtins" and not isinstance(error, OSError | EOFError):
            raise
        kind = type(error).__name__
        raise DataError(
            f"{name} cannot be counted: the engine reports an error of kind {kind!r}.{keep_words(error)}"
        ) from None


def _was_stopped(error: BaseException, /) -> bool:
    """Whether an error is only what became of Ctrl-C: what a driver says when it clears up after one."""
    before, seen = error.__context__, 0
    while before is not None and seen < _DEEPEST:
        if isinstance(before, KeyboardInterrupt):
            return True
        before, seen = before.__context__, seen + 1
    return False


def _open_table(connection: Any, name: str, /) -> Any:
    *database, table = name.split(".")
    try:
        return connection.table(table, database=".".join(database) or None)
    except ibis.common.exceptions.TableNotFound:
        raise DataError(f"There is no table {name!r} in the database.") from None


def _coded(wanted: CountPlan, plan: CellPlan, events: Any, /) -> Any:
    """For each event its key (the cell, or a negative reason), its person and its day."""
    by_person = wanted.unit != "event"
    columns = {f"v{n}": _value(events, dim, wanted.source_name) for n, dim in enumerate(plan.dimensions)}
    person = _person(events, str(wanted.person), wanted.source_name) if by_person else ibis.null("string")
    table = events.select(person=person, **columns)
    for n, dim in enumerate(plan.dimensions):
        lookup = ibis.memtable(_lookup_table(dim, n))
        table = table.left_join(lookup, table[f"v{n}"] == lookup[f"value{n}"])
    terms = [f"t{n}" for n, dim in enumerate(plan.dimensions) if not dim.nested]
    for n, nest in enumerate(plan.nests):
        lookup = ibis.memtable(_nest_table(nest, n))
        table = table.left_join(lookup, _key(table, nest) == lookup[f"key{n}"])
        terms.append(f"n{n}")
    sums = [sum(table[f"{term}_{b}"] for term in terms) for b in range(plan.blocks)]
    cell = ibis.coalesce(*sums) if len(sums) > 1 else sums[0]
    key = ibis.coalesce(cell, ibis.cases(*_reasons(plan, table), else_=plan.code(plan.reasons[-1])))
    if by_person:
        nobody = next(plan.code(reason) for reason in plan.reasons if reason.cause == "person")
        key = ibis.ifelse(cell.notnull() & table.person.isnull(), nobody, key)
    return table.select(key=key.cast("int64"), person=table.person, day=_day(wanted, plan, table))


def _reasons(plan: CellPlan, table: Any, /) -> Iterator[tuple[Any, int]]:
    names = [dim.name for dim in plan.dimensions]
    for reason in plan.reasons:
        if reason.cause == "missing":
            yield table[f"v{names.index(reason.dimension)}"].isnull(), plan.code(reason)
        elif reason.cause == "outside":
            yield table[f"code{names.index(reason.dimension)}"].isnull(), plan.code(reason)


def _lookup_table(dimension: DimensionPlan, n: int, /) -> pa.Table:
    texts, codes = dimension.keys
    values = pa.array(texts)
    if isinstance(dimension.spec, DateDimension):
        values = pa.array(np.datetime64(dimension.spec.first) + codes, pa.date32())
    terms = {
        f"t{n}_{b}": pa.array(term[codes], mask=term[codes] < 0) for b, term in enumerate(dimension.terms)
    }
    return pa.table({f"value{n}": values, f"code{n}": pa.array(codes), **terms})


def _nest_table(nest: NestPlan, n: int, /) -> pa.Table:
    terms = {f"n{n}_{b}": pa.array(term, mask=term < 0) for b, term in enumerate(nest.terms)}
    return pa.table({f"key{n}": pa.array(nest.keys), **terms})


def _key(table: Any, nest: NestPlan, /) -> Any:
    """The number of an event's combination of values; NULL if one of them is not in its list."""
    first, *rest = nest.dimensions
    key = table[f"code{first}"]
    for n, size in zip(rest, nest.sizes[1:], strict=True):
        key = key * size + table[f"code{n}"]
    return key


def _value(events: Any, dimension: DimensionPlan, name: str, /) -> Any:
    """The value of an event: text, a date, or the number of a time bin."""
    column = _column(events, dimension.column, name)
    if isinstance(dimension.spec, ListedDimension | LookupDimension):
        return column.cast("string")
    kind = column.type()
    if isinstance(dimension.spec, BandDimension):
        if not kind.is_numeric():
            raise DataError(_wrong_type(name, dimension, str(kind), "a number"))
        return _band(column, dimension)
    if kind.is_timestamp() and kind.timezone is not None:
        raise DataError(
            f"Column {dimension.column!r} of {name} has a time zone; count a view with local times instead."
        )
    if isinstance(dimension.spec, DateDimension):
        if not (kind.is_timestamp() or kind.is_date()):
            raise DataError(_wrong_type(name, dimension, str(kind), "a date or a timestamp"))
        return column if kind.is_date() else column.date()
    if isinstance(dimension.spec, CalendarDimension):
        if not (kind.is_timestamp() or kind.is_date()):
            raise DataError(_wrong_type(name, dimension, str(kind), "a date or a timestamp"))
        return _calendar(column, dimension.spec)
    if not (kind.is_timestamp() or kind.is_time()):
        raise DataError(_wrong_type(name, dimension, str(kind), "a time or a timestamp"))
    return _time_bin(column, dimension.spec)


def _calendar(column: Any, spec: CalendarDimension, /) -> Any:
    """The number of a day of the week, a week or a month, by arithmetic that all engines share."""
    if spec.each == "month":
        months = column.year().cast("int64") * 12 + column.month().cast("int64")
        return months - (12 * spec.start.year + spec.start.month)
    # Days since a Monday long ago, so that nothing is negative; that of 1970 was a Thursday.
    days = column.cast("timestamp").epoch_seconds().cast("int64") // _DAY_S + 3 + 7 * _WEEKS_BEFORE
    if spec.each == "weekday":
        return days % 7
    start = (spec.start - date(1970, 1, 1)).days + 3 + 7 * _WEEKS_BEFORE
    return days // 7 - start // 7


def _band(column: Any, dimension: DimensionPlan, /) -> Any:
    """The number of a band; NULL only where the column is."""
    assert isinstance(dimension.spec, BandDimension)
    bands, number = dimension.spec.bands, column.cast("float64")
    first, *rest = bands.borders
    cases = [(number.isnull(), ibis.null("int64")), (number.isnan(), -1)]
    cases.append((number < float(first), 0 if bands.under else -1))
    cases += [(number < float(border), int(bands.under) + place) for place, border in enumerate(rest)]
    return ibis.cases(*cases, else_=dimension.size - 1 if bands.over else dimension.size).cast("int64")


def _time_bin(column: Any, spec: TimeDimension, /) -> Any:
    seconds = column.hour().cast("int64") * 3600 + column.minute().cast("int64") * 60
    if spec.every % 60:
        seconds += column.second().cast("int64")
    return (seconds - seconds % spec.every) // spec.every


def _column(events: Any, wanted: str, name: str, /) -> Any:
    if wanted not in events.columns:
        hint = did_you_mean(wanted, events.columns) or f"; it has {', '.join(events.columns)}"
        raise DataError(f"{name} has no column {wanted!r}{hint}{'' if hint.endswith('?') else '.'}")
    return events[wanted]


def _person(events: Any, column: str, name: str, /) -> Any:
    """The person as text: drivers that pass whole numbers with gaps through floats would blur large ones."""
    person = _column(events, column, name)
    if person.type().is_floating() or person.type().is_nested():
        raise DataError(
            f"Column {column!r} of {name} holds {person.type()}; a person needs whole numbers or text."
        )
    return person.cast("string")


def _wrong_type(name: str, dimension: DimensionPlan, kind: str, needed: str, /) -> str:
    return f"Column {dimension.column!r} of {name} holds {kind}; dimension {dimension.name} needs {needed}."


def _day(wanted: CountPlan, plan: CellPlan, table: Any, /) -> Any:
    if wanted.unit != "person-day":
        return ibis.literal(0, "int64")
    (n,) = (n for n, dim in enumerate(plan.dimensions) if isinstance(dim.spec, DateDimension))
    return table[f"code{n}"]


def _grouped_units(coded: Any, bound: ContributionBound, /) -> Any:
    """One row for each cell; and for units with too many cells, one for each of their cells.

    In the rows of single units `person` is not NULL. `kept` counts events up to the bound for one cell.
    """
    inside = coded.key >= 0
    pairs = coded.select(
        key=coded.key,
        person=ibis.ifelse(inside, coded.person, ibis.null(coded.person.type())),
        day=ibis.ifelse(inside, coded.day, 0),
    )
    pairs = pairs.group_by(["person", "day", "key"]).aggregate(events=pairs.count())
    pairs = pairs.mutate(size=pairs.count().over(group_by=["person", "day"]))
    many = pairs.person.notnull() & (pairs["size"] > bound.cells)
    rows = pairs.select(
        key=pairs.key,
        events=pairs.events,
        kept=ibis.least(pairs.events, bound.per_cell),
        day=ibis.ifelse(many, pairs.day, 0),
        person=ibis.ifelse(many, pairs.person, ibis.null(pairs.person.type())),
    )
    return rows.group_by(["person", "day", "key"]).aggregate(events=rows.events.sum(), kept=rows.kept.sum())


def _finish(rows: pa.Table, plan: CellPlan, wanted: CountPlan, entropy: Entropy, /) -> Counts:
    key, events, kept = (rows[name].to_numpy().astype(np.int64) for name in ("key", "events", "kept"))
    _check_range(rows, plan, wanted)
    strays = sorted(zip(key[key < 0].tolist(), events[key < 0].tolist(), strict=True), reverse=True)
    outside = {str(plan.reasons[-1 - code]): number for code, number in strays}
    alone = (
        rows["person"].is_valid().to_numpy()
        if "person" in rows.column_names
        else np.zeros(key.size, dtype=bool)
    )
    together = (key >= 0) & ~alone
    order = np.argsort(key[together])
    table = (key[together][order], kept[together][order])
    chosen, dropped = _choose(rows.filter(pa.array(alone)), wanted.bound, entropy)
    cells, counts = add_counts(table, chosen)
    repeated = int((events - kept)[key >= 0].sum())
    tally = Tally(events=int(events.sum()), outside=outside, repeated=repeated, beyond=dropped)
    return Counts(cells=cells, raw_counts=counts, tally=tally)


def _check_range(rows: pa.Table, plan: CellPlan, wanted: CountPlan, /) -> None:
    """Refuse an answer with numbers that are no cell, no day, or no count: whatever the engine compared, we look again."""
    days = wanted.day.days if wanted.unit == "person-day" and wanted.day else 1
    borders = {
        "key": (-len(plan.reasons), wanted.domain.size),
        "events": (1, 2**62),
        "kept": (0, 2**62),
        "day": (0, days),
    }
    for name, (low, high) in borders.items():
        if name in rows.column_names:
            column = rows[name]
            values = column.drop_null().to_numpy()
            missing = column.null_count and name != "day"
            if missing or (values.size and not (values.min() >= low and values.max() < high)):
                raise DataError(
                    f"{wanted.source_name} cannot be counted: the engine answers with cells, days or counts that do not "
                    "exist. Count a copy of the events with DuckDB instead."
                )


def _choose(
    rows: pa.Table, bound: ContributionBound | None, entropy: Entropy, /
) -> tuple[tuple[Ints, Ints], int]:
    """The counts of the cells that units with too many of them keep, and how many events they lose."""
    nothing = np.zeros(0, dtype=np.int64)
    if rows.num_rows == 0 or bound is None:
        return (nothing, nothing), 0
    person = rows["person"].combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    day, key, kept = (rows[name].to_numpy().astype(np.int64) for name in ("day", "key", "kept"))
    unit = person * (int(day.max()) + 1) + day
    order = np.argsort(unit, kind="stable")
    stay = keep_cells(unit[order], most=bound.cells, entropy=entropy)
    assert stay is not None
    cells = np.repeat(key[order][stay], kept[order][stay])
    return count_runs(np.sort(cells)), int(kept[order][~stay].sum())
