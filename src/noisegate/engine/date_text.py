"""Dates that people write with the day or the month first, as SQL turns them into what every engine reads."""

from __future__ import annotations

from noisegate.engine.quoting import literal
from noisegate.spec import DateOrder

#: Day and month in either order, then the year, with the same kinds of signs between them in every engine's syntax.
_WRITTEN = "^ *([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4}),?"


def year_first(column: str, order: DateOrder | None, /, *, group: str = "\\") -> str:
    """SQL of a column of text with the year of its dates first, and all that follows as it is.

    Parameters
    ----------
    column
        The column, quoted.
    order
        What comes first in it; None if that is the year, and nothing is to be done.
    group
        How the engine names what a pair of brackets holds.

    Examples
    --------
    >>> year_first("at", "day-first", group="$").split(", ")[-1]
    "'$3-$2-$1')"
    """
    if order is None:
        return column
    day, month = (1, 2) if order == "day-first" else (2, 1)
    shown = f"{group}3-{group}{month}-{group}{day}"
    return f"regexp_replace({column}, {literal(_WRITTEN)}, {literal(shown)})"
