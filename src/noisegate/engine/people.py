"""Persons as whole numbers: as they are, or numbered through a table of all of them.

A number stands for exactly one person. A hash would be quicker, but two persons with the same hash would share one bound, and
the stated bound would hold only almost surely.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb

from noisegate.engine.source import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """SQL of the number of `e.person`, NULL for a missing person, and the JOIN that it needs."""

    number: str
    join: str = ""

    @property
    def number_or_none(self) -> str:
        """The same, whatever it is for a missing person; fails at one that has no number, and would otherwise be taken for another."""
        if not self.join:
            return self.number
        return f"coalesce({self.number}, CASE WHEN e.person IS NULL THEN 0 ELSE error('no number') END)"


@contextmanager
def numbered_people(
    connection: duckdb.DuckDBPyConnection, events: str, column: str, /, *, whole: bool, name: str
) -> Iterator[People]:
    """How the persons in a column of `events` (SQL) are numbered; `whole` says that they are 64-bit whole numbers."""
    if whole:
        yield People(number="e.person::BIGINT")
        return
    table = f"noisegate_{secrets.token_hex(6)}"
    persons = f"SELECT DISTINCT {column} AS person FROM {events} WHERE {column} IS NOT NULL"  # noqa: S608 - quoted parts
    try:
        with reading(name):
            connection.execute(
                f"CREATE TEMP TABLE {table} AS SELECT person, row_number() OVER () - 1 AS number FROM ({persons})"  # noqa: S608
            )
        yield People(number="p.number", join=f" LEFT JOIN {table} AS p ON e.person = p.person")
    finally:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
