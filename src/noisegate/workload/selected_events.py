"""Which raw events a release counts: those that a spec selects by dimensions that no table shows."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import Path

from noisegate.errors import SpecError
from noisegate.spec import DateDimension, ListedDimension, ReleaseSpec


def selected(
    source: str, spec: ReleaseSpec, /, *, shown: Container[str], kinds: Mapping[str, str], path: Path
) -> str:
    """`source`, a table in SQL, with only the events that have a value of every dimension not in `shown`.

    Raises
    ------
    SpecError
        If the file lacks the column of such a dimension.
    """
    conditions = []
    for name, dimension in spec.dimensions.items():
        if name in shown or not isinstance(dimension, ListedDimension | DateDimension):
            continue
        if dimension.column not in kinds:
            raise SpecError(
                f"{path} has no column {dimension.column!r}, by which the spec selects events ({name}); "
                "give the raw events that the spec is about."
            )
        column = quoted(dimension.column)
        if isinstance(dimension, ListedDimension):
            values = ", ".join("'" + value.replace("'", "''") + "'" for value in dimension.values)
            conditions.append(f"{column}::VARCHAR IN ({values})")
        else:
            days = f"strftime({column}, '%Y-%m-%d')" if is_moment(kinds[dimension.column]) else column
            conditions.append(f"{days} BETWEEN '{dimension.first}' AND '{dimension.last}'")
    if not conditions:
        return source
    return f"(SELECT * FROM {source} WHERE {' AND '.join(conditions)})"  # noqa: S608 - quoted parts


def on_the_clock_of(
    timezone: str | None, source: str, kinds: Mapping[str, str], /
) -> tuple[str, dict[str, str]]:
    """`source` with moments in time as a clock of `timezone` shows them, and the types that its columns then have."""
    moments = [name for name, kind in kinds.items() if kind == "TIMESTAMP WITH TIME ZONE"]
    if timezone is None or not moments:
        return source, dict(kinds)
    shown = ", ".join(f"timezone('{timezone}', {quoted(name)}) AS {quoted(name)}" for name in moments)
    return (
        f"(SELECT * REPLACE ({shown}) FROM {source})",  # noqa: S608 - quoted parts and a checked zone
        {**kinds, **dict.fromkeys(moments, "TIMESTAMP")},
    )


def is_moment(kind: str, /) -> bool:
    """Whether a column of this type of DuckDB's holds days."""
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def quoted(name: str, /) -> str:
    """A column as SQL names it."""
    return '"' + name.replace('"', '""') + '"'
