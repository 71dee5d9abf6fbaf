"""Files and frames through DuckDB: their columns as texts, numbered by what they hold.

DuckDB is loaded when somebody asks it, not before: it costs as much as all that a short command does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.columns.frame import Columns

if TYPE_CHECKING:
    import duckdb

    from noisegate.columns.arrow import CodedTexts

_NESTED = ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "VARIANT", "GEOMETRY")
_FRACTIONS = {"TIMESTAMP": ".%f", "TIMESTAMP_S": "", "TIMESTAMP_MS": ".%g", "TIMESTAMP_NS": ".%n"}
#: Floats from here on are not all told apart from their neighbours, and are written with an exponent.
_LARGE = 10**15


@contextmanager
def own_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection without any tables, that loads nothing from elsewhere; it closes with the context."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute("SET enable_progress_bar = false")
        yield connection


@contextmanager
def registered(connection: duckdb.DuckDBPyConnection, name: str, source: Any, /) -> Iterator[None]:
    """A frame that can be asked under a name, as long as the context."""
    from noisegate.columns.arrow import arrow_table

    connection.register(name, arrow_table(source) if isinstance(source, Columns) else source)
    try:
        yield
    finally:
        connection.unregister(name)


def store(connection: duckdb.DuckDBPyConnection, name: str, frame: Columns, /) -> None:
    """Keep a small frame as a temporary table, so that the optimiser knows how small it is."""
    with registered(connection, f"{name}_frame", frame):
        connection.execute(f"CREATE TEMP TABLE {name} AS FROM {name}_frame")


def quoted(name: str, /) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str, /) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def kinds_of(relation: duckdb.DuckDBPyRelation, /) -> dict[str, str]:
    """The columns of a relation and their types, in DuckDB's words."""
    return dict(zip(relation.columns, map(str, relation.types), strict=True))


def is_nested(kind: str, /) -> bool:
    """Whether a type of DuckDB's has parts, or is made of octets."""
    return kind.endswith("]") or kind.startswith(_NESTED)


def text_sql(name: str, kind: str, /) -> str:
    """SQL for the text of a column, blank where there is nothing: moments to the unit they are kept in, whole floats without a point."""
    column = quoted(name)
    text = f"{column}::VARCHAR"
    if kind in {"FLOAT", "DOUBLE"}:
        whole = f"{column} = trunc({column}) AND abs({column}) < {_LARGE}"
        text = f"CASE WHEN {whole} THEN {column}::BIGINT::VARCHAR ELSE {text} END"
    elif kind in _FRACTIONS:
        text = f"strftime({column}, '%Y-%m-%d %H:%M:%S{_FRACTIONS[kind]}')"
    elif kind == "TIMESTAMP WITH TIME ZONE":
        text = f"strftime({column} AT TIME ZONE 'UTC', '%Y-%m-%d %H:%M:%S.%fZ')"
    return f"coalesce({text}, '')"


def read_texts(
    relation: duckdb.DuckDBPyRelation,
    kinds: Mapping[str, str],
    /,
    *,
    check: Callable[[int], None] = lambda _: None,
) -> CodedTexts:
    """Columns of a relation as texts; `check` is told how many octets they take, as they grow."""
    from noisegate.columns.arrow import coded_texts

    select = ", ".join(
        f"{text_sql(name, kind)} AS c{place}" for place, (name, kind) in enumerate(kinds.items())
    )
    return coded_texts(relation.project(select), len(kinds), check=check)


def read_numbers(relation: Any, names: Sequence[str], /, *, kind: Any = np.int64) -> dict[str, NDArray[Any]]:
    """Columns of numbers without gaps, each whole."""
    from noisegate.columns.arrow import batches, concatenated, numbers

    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for batch in batches(relation):
        for name, held in parts.items():
            held.append(numbers(batch.column(name)))
    return {name: concatenated(held, kind) for name, held in parts.items()}
