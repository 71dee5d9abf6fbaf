"""Numbers for persons, so that a person and a cell fit into one integer.

A number stands for exactly one person: whole numbers are counted from the smallest, anything else is
numbered through a table of all persons. A hash would be quicker, but two persons with the same hash
would share one bound, and the stated bound would hold only almost surely.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from noisegate.engine.columns import person_kind
from noisegate.engine.source import Source, one_row, reading


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """How persons are numbered: SQL of the column, of the number, and the JOIN that it needs.

    Numbers are at least 0 and less than `size`; a missing person has none.
    """

    column: str
    number: str
    join: str
    size: int


@contextmanager
def numbered_people(
    source: Source, column: str, /, *, connection: duckdb.DuckDBPyConnection, most: int
) -> Iterator[People]:
    """The numbering of the persons in a column; whole numbers spread over more than `most` get a table."""
    name, whole = person_kind(source, column)
    if whole:
        with reading(source.name):
            query = f"SELECT min({name})::BIGINT, max({name})::BIGINT FROM {source.sql}"  # noqa: S608 - quoted parts
            low, high = one_row(connection, query)
        size = 1 if low is None else high - low + 1
        if size <= most:
            # Persons that appear between this look and the count would overflow their key, so they have no number.
            number = f"(CASE WHEN e.person BETWEEN {low or 0} AND {high or 0} THEN e.person::BIGINT - ({low or 0}) END)"
            yield People(column=name, number=number, join="", size=size)
            return
    table = f"noisegate_{secrets.token_hex(6)}"
    persons = f"SELECT DISTINCT {name} AS person FROM {source.sql} WHERE {name} IS NOT NULL"  # noqa: S608
    try:
        with reading(source.name):
            connection.execute(
                f"CREATE TEMP TABLE {table} AS SELECT person, row_number() OVER () - 1 AS number FROM ({persons})"  # noqa: S608
            )
            (size,) = one_row(connection, f"SELECT count(*) FROM {table}")  # noqa: S608
        join = f" LEFT JOIN {table} AS p ON e.person = p.person"
        yield People(column=name, number="p.number", join=join, size=max(size, 1))
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
