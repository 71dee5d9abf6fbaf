"""Times of a service day: text like 25:10:00 as seconds, in SQL and in Python.

In SQL most times are looked up in a table of the usual spellings, which is twice as fast as taking them
apart; only what is not found there is taken apart.
"""

from __future__ import annotations

import re

from noisegate.errors import DataError

#: A time that is not there, and one that is no time.
BLANK, BROKEN = -1, -2
#: Hours that a service day may run to: a week.
_MOST_HOURS = 168
LATEST_S = 3600 * _MOST_HOURS - 1
_USUAL_HOURS = 48
_CLOCK = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)", re.ASCII)

ALLOWED = f"a time from 00:00:00 to {_MOST_HOURS - 1}:59:59"

USUAL_TIMES = f"""
    CREATE TABLE usual_times AS
    SELECT n::INTEGER AS n, lpad((n // 3600)::VARCHAR, width, '0') || strftime(make_timestamp(n * 1000000), ':%M:%S') AS id
    FROM range({_USUAL_HOURS * 3600}) AS seconds(n), (VALUES (1), (2)) AS widths(width)
    WHERE width = 2 OR n < 36000
"""  # noqa: S608 - our own numbers


def seconds_sql(text: str, found: str, /) -> str:
    """SQL for the seconds of a time: `found` if the look-up found them, else from the text; BLANK or BROKEN."""
    digits = f"TRY_CAST(replace({text}, ':', '') AS INTEGER)"
    return (
        f"coalesce({found}, CASE WHEN {text} IS NULL THEN {BLANK} "
        f"WHEN regexp_full_match({text}, '[0-9]{{1,3}}:[0-5][0-9]:[0-5][0-9]') AND {digits} < {_MOST_HOURS}0000 "
        f"THEN {digits} // 10000 * 3600 + {digits} // 100 % 100 * 60 + {digits} % 100 ELSE {BROKEN} END)"
    )


def clock(seconds: int, /) -> str:
    """HH:MM:SS, past 24 hours where a service day runs on into the next date."""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def seconds(text: str, /, *, table: str, column: str) -> int:
    """The seconds of a time that must be there."""
    match = _CLOCK.fullmatch(text)
    hours, minutes, rest = (int(part) for part in match.groups()) if match else (_MOST_HOURS, 0, 0)
    if hours >= _MOST_HOURS:
        raise DataError(f"{table}: {column} must be {ALLOWED}, got {text!r}.")
    return 3600 * hours + 60 * minutes + rest
