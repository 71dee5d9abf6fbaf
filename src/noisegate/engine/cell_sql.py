"""SQL of DuckDB that gives the cell of every event, or the reason why it has none."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from noisegate.engine.columns import column_sql
from noisegate.engine.count_plan import CountPlan
from noisegate.engine.plan import CellPlan, DimensionPlan, NestPlan, Reason
from noisegate.engine.source import Source, literal, one_row
from noisegate.spec import DateDimension, ListedDimension


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSql:
    """The pieces of a query.

    `events` is the FROM clause, in which `e.person` is the person and `e.weight` how many events a row stands for; `cell` the number of the cell, NULL
    outside; `why` the negative number of a reason, NULL inside; `day` the number of the day, if any.
    """

    events: str
    cell: str
    why: str
    day: str


@contextmanager
def cell_sql(
    wanted: CountPlan,
    plan: CellPlan,
    source: Source,
    /,
    *,
    connection: duckdb.DuckDBPyConnection,
    person: str = "NULL",
    weight: str = "1",
) -> Iterator[CellSql]:
    """The pieces for counting `source`; lookup tables live in the connection as long as the context."""
    columns = [column_sql(dim, source, timezone=wanted.timezone) for dim in plan.dimensions]
    selected = [f"{col.value} AS v{n}, {col.raw} AS r{n}" for n, col in enumerate(columns)]
    events = f"(SELECT {', '.join(selected)}, {person} AS person, {weight} AS weight FROM {source.sql}) AS e"  # noqa: S608 - quoted parts
    tables = {
        n: f"noisegate_{secrets.token_hex(6)}" for n, dim in enumerate(plan.dimensions) if dim.steps is None
    }
    nests = [f"noisegate_{secrets.token_hex(6)}" for _ in plan.nests]
    with _clock_of(connection, wanted.timezone):
        try:
            for n, name in tables.items():
                store(connection, name, lookup_table(plan.dimensions[n]))
                events += f" LEFT JOIN {name} AS l{n} ON e.v{n} = l{n}.value"
            for n, (name, nest) in enumerate(zip(nests, plan.nests, strict=True)):
                store(connection, name, nest_table(nest))
                events += f" LEFT JOIN {name} AS n{n} ON {_key(plan, nest)} = n{n}.key"
            cell = _cell(plan)
            yield CellSql(events=events, cell=cell, why=_why(plan, cell), day=_day(plan))
        finally:
            for name in (*tables.values(), *nests):
                connection.execute(f"DROP TABLE IF EXISTS {name}")


def lookup_table(dimension: DimensionPlan, /) -> pa.Table:
    """For each value (text, or the number of a day or bin) its number and its term in each block."""
    spec = dimension.spec
    values = pa.array(spec.values if isinstance(spec, ListedDimension) else range(dimension.size))
    terms = {f"t{b}": pa.array(term, mask=term < 0) for b, term in enumerate(dimension.terms)}
    return pa.table({"value": values, "code": pa.array(range(dimension.size), pa.int64()), **terms})


def nest_table(nest: NestPlan, /) -> pa.Table:
    """For each combination that exists its number and its term in each block."""
    terms = {f"t{b}": pa.array(term, mask=term < 0) for b, term in enumerate(nest.terms)}
    return pa.table({"key": pa.array(nest.keys), **terms})


def store(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table, /) -> None:
    """Keep a small Arrow table as a temporary table, so that the optimiser knows how small it is."""
    connection.register(f"{name}_arrow", table)
    connection.execute(f"CREATE TEMP TABLE {name} AS FROM {name}_arrow")
    connection.unregister(f"{name}_arrow")


@contextmanager
def _clock_of(connection: duckdb.DuckDBPyConnection, timezone: str | None, /) -> Iterator[None]:
    """Let text without an offset mean the clock of `timezone`, as long as the context."""
    if timezone is None:
        yield
        return
    (before,) = one_row(connection, "SELECT current_setting('TimeZone')")
    connection.execute(f"SET TimeZone = {literal(timezone)}")
    try:
        yield
    finally:
        connection.execute(f"SET TimeZone = {literal(before)}")


def _cell(plan: CellPlan, /) -> str:
    alone = [(n, dim) for n, dim in enumerate(plan.dimensions) if not dim.nested]
    sums = [
        " + ".join(
            [_term(n, dim, block) for n, dim in alone] + [f"n{n}.t{block}" for n in range(len(plan.nests))]
        )
        for block in range(plan.blocks)
    ]
    return f"coalesce({', '.join(sums)})"


def _key(plan: CellPlan, nest: NestPlan, /) -> str:
    """The number of an event's combination of values; NULL if one of them is not in its list."""
    digits = []
    for n, size in zip(nest.dimensions, nest.sizes, strict=True):
        inside = f"CASE WHEN e.v{n} BETWEEN 0 AND {size - 1} THEN e.v{n} END"
        digits.append(f"l{n}.code" if plan.dimensions[n].steps is None else f"({inside})::BIGINT")
    key = digits[0]
    for digit, size in zip(digits[1:], nest.sizes[1:], strict=True):
        key = f"({key} * {size} + {digit})"
    return key


def _term(n: int, dimension: DimensionPlan, block: int, /) -> str:
    if dimension.steps is None:
        return f"l{n}.t{block}"
    start, step = dimension.steps[block]
    return f"CASE WHEN e.v{n} BETWEEN 0 AND {dimension.size - 1} THEN {start} + e.v{n} * {step}::BIGINT END"


def _why(plan: CellPlan, cell: str, /) -> str:
    names = [dim.name for dim in plan.dimensions]
    whens = []
    for reason in plan.reasons:
        n = names.index(reason.dimension) if reason.dimension else None
        condition = f"({cell}) IS NULL" if n is None else _condition(reason, n, plan.dimensions[n])
        if reason.cause != "person":
            whens.append(f"WHEN {condition} THEN {plan.code(reason)}")
    return f"CASE {' '.join(whens)} END"


def _condition(reason: Reason, n: int, dimension: DimensionPlan, /) -> str:
    if reason.cause == "unreadable":
        return f"e.r{n} IS NOT NULL AND e.v{n} IS NULL"
    if reason.cause == "missing":
        return f"e.r{n} IS NULL"
    return (
        f"l{n}.code IS NULL" if dimension.steps is None else f"e.v{n} NOT BETWEEN 0 AND {dimension.size - 1}"
    )


def _day(plan: CellPlan, /) -> str:
    days = [n for n, dim in enumerate(plan.dimensions) if isinstance(dim.spec, DateDimension)]
    return f"e.v{days[0]}" if days else "0"
