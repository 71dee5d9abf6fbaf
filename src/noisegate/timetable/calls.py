"""When vehicles call: the one long table, stop_times, and the trips that frequencies.txt repeats.

Times are text like 25:10:00, counted from the midnight that starts the service day. In SQL most of them are looked up
in a table of the usual spellings, which is twice as fast as taking them apart; only what is not found there is taken
apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError
from noisegate.timetable.places import Stops, Trips
from noisegate.timetable.rows import FeedTable, LineBreaks, Rows
from noisegate.timetable.visits import Flags, Ints, Ints32

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

#: Called with the number of rows of stop_times that have been read.
Progress = Callable[[int], None]
_NO_STOP = "1"
_BOARDS, _ALIGHTS = 1, 2


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Calls:
    """The rows of stop_times in the order of trips and stops; trip t has `start[t]` up to (not with) `start[t + 1]`.

    Times are seconds after the midnight that starts the service day. `boards` and `alights` say whether the
    feed lets people on and off.
    """

    start: Ints
    stop: Ints32
    arrival_s: Ints32
    departure_s: Ints32
    boards: Flags
    alights: Flags

    def __len__(self) -> int:
        return len(self.stop)


def read_calls(rows: Rows, /, *, trips: Trips, stops: Stops, progress: Progress | None) -> Calls:
    """The rows of stop_times, checked, sorted, and with missing times filled in evenly."""
    rows.keep("trips", ids=trips.ids)
    rows.keep("stops", ids=stops.ids)
    rows.connection.execute(USUAL_TIMES)
    try:
        columns = _stream(rows, parallel=True, progress=progress)
    except LineBreaks:
        columns = _stream(rows, parallel=False, progress=progress)
    return _arranged(*columns, trips=len(trips))


def _stream(rows: Rows, /, *, parallel: bool, progress: Progress | None) -> list[NDArray[np.int32]]:
    """Trip, stop, arrival, departure, sequence and flags of every row, in the order of the file."""
    source = rows.source(
        "stop_times.txt",
        required=("trip_id", "stop_id", "stop_sequence", "arrival_time", "departure_time"),
        optional=("pickup_type", "drop_off_type"),
        parallel=parallel,
    )
    assert source is not None
    pieces: list[list[NDArray[np.int32]]] = [[] for _ in range(6)]
    count = 0
    for read in rows.batches(_query(source), name=source.name):
        if min(int(column.min(initial=0)) for column in read[:5]) < 0:
            _check(rows, source, *read)
        for piece, column in zip(pieces, read, strict=True):
            piece.append(column)
        count += read[0].size
        if progress is not None:
            progress(count)
    return [_joined(piece) for piece in pieces]


def _joined(pieces: list[NDArray[np.int32]], /) -> NDArray[np.int32]:
    """All pieces in one array; the list is emptied, because it may be long."""
    whole = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
    pieces.clear()
    return whole


def _query(source: FeedTable, /) -> str:
    """SQL for the numbers of every row; -1 for an unknown id, BLANK or BROKEN for times."""
    arrival, departure = source.text("arrival_time", of="x"), source.text("departure_time", of="x")
    boards = f"coalesce({source.text('pickup_type', of='x')}, '0') <> '{_NO_STOP}'"
    alights = f"coalesce({source.text('drop_off_type', of='x')}, '0') <> '{_NO_STOP}'"
    return f"""
        SELECT coalesce(t.n, -1)::INTEGER, coalesce(s.n, -1)::INTEGER,
            {seconds_sql(arrival, "a.n")}::INTEGER, {seconds_sql(departure, "d.n")}::INTEGER,
            coalesce(TRY_CAST({source.text("stop_sequence", of="x")} AS INTEGER), -1)::INTEGER,
            (CASE WHEN {boards} THEN {_BOARDS} ELSE 0 END + CASE WHEN {alights} THEN {_ALIGHTS} ELSE 0 END)::TINYINT
        FROM {source.sql} x
        LEFT JOIN trips t ON t.id = {source.text("trip_id", of="x")}
        LEFT JOIN stops s ON s.id = {source.text("stop_id", of="x")}
        LEFT JOIN usual_times a ON a.id = x.arrival_time
        LEFT JOIN usual_times d ON d.id = x.departure_time
    """  # noqa: S608 - quoted parts


def _check(rows: Rows, source: FeedTable, /, *read: NDArray[np.int32]) -> None:
    """Refuse unknown ids, broken times and sequences, showing the first of them."""
    trip, stop, arrival, departure, sequence, _ = read
    wrong = [
        (trip, -1, "trip_id", "trips t", "the trip_id {!r}, which trips.txt does not have"),
        (stop, -1, "stop_id", "stops t", "the stop_id {!r}, which stops.txt does not have"),
    ]
    for column, bad, name, known, phrase in wrong:
        if (column == bad).any():
            text = source.text(name, of="x")
            query = f"SELECT {text} FROM {source.sql} x ANTI JOIN {known} ON t.id = {text} LIMIT 1"  # noqa: S608 - quoted parts
            raise DataError(f"stop_times.txt has {phrase.format(_first(rows, query) or '')}.")
    for column, name in ((arrival, "arrival_time"), (departure, "departure_time")):
        if (column == BROKEN).any():
            text = source.text(name)
            query = f"SELECT {text} FROM {source.sql} WHERE {seconds_sql(text, 'NULL')} = {BROKEN} LIMIT 1"  # noqa: S608 - quoted parts
            raise DataError(f"stop_times.txt: {name} must be {ALLOWED}, got {_first(rows, query)!r}.")
    if (sequence < 0).any():
        text = source.text("stop_sequence")
        query = f"SELECT {text} FROM {source.sql} WHERE coalesce(TRY_CAST({text} AS INTEGER), -1) < 0 LIMIT 1"  # noqa: S608 - quoted parts
        raise DataError(
            f"stop_times.txt: stop_sequence must be a whole number of at least 0, got {_first(rows, query)!r}."
        )


def _first(rows: Rows, query: str, /) -> str | None:
    found = rows.one(query, name="stop_times.txt")
    return str(found[0])[:60] if found and found[0] is not None else None


def _arranged(
    trip: Ints32,
    stop: Ints32,
    arrival: Ints32,
    departure: Ints32,
    sequence: Ints32,
    flags: Ints32,
    /,
    *,
    trips: int,
) -> Calls:
    """The rows by trip and sequence, with times at every call."""
    key = (trip.astype(np.int64) << 32) | sequence
    if (key[1:] < key[:-1]).any():
        order = np.argsort(key, kind="stable").astype(np.int32)
        trip, stop, arrival, departure, flags = (c[order] for c in (trip, stop, arrival, departure, flags))
    del key, sequence
    start = np.concatenate([[0], np.cumsum(np.bincount(trip, minlength=trips))])
    arrival = np.where(arrival == BLANK, departure, arrival)
    departure = np.where(departure == BLANK, arrival, departure)
    arrival, departure = _filled(arrival, departure, start, trip)
    return Calls(
        start=start,
        stop=stop,
        arrival_s=arrival,
        departure_s=departure,
        boards=(flags & _BOARDS) > 0,
        alights=(flags & _ALIGHTS) > 0,
    )


def _filled(arrival: Ints32, departure: Ints32, start: Ints, trip: Ints32, /) -> tuple[Ints32, Ints32]:
    """Times evenly between the timed calls around those that have none."""
    blank = arrival == BLANK
    if not blank.any():
        return arrival, departure
    used = start[:-1][np.diff(start) > 0]
    last = start[1:][np.diff(start) > 0] - 1
    if blank[used].any() or blank[last].any():
        raise DataError("stop_times.txt must give a time at the first and at the last stop of every trip.")
    # A gap lies between two timed calls of its own trip, so gaps of different trips cannot mix.
    near = np.flatnonzero(np.isin(trip, np.unique(trip[blank])))
    timed, gaps = near[~blank[near]], near[blank[near]]
    before = timed[np.searchsorted(timed, gaps) - 1]
    after = timed[np.searchsorted(timed, gaps)]
    part = (gaps - before) / (after - before)
    filled = departure[before] + part * (arrival[after].astype(np.float64) - departure[before])
    arrival[gaps] = departure[gaps] = np.rint(filled).astype(np.int32)
    return arrival, departure


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Departures:
    """Departures: a trip, how much later than its own times, and how uncertain."""

    trip: Ints32
    offset_s: Ints32
    slack_s: Ints32

    def __len__(self) -> int:
        return len(self.trip)


def read_departures(rows: Rows, /, *, trips: Trips, calls: Calls) -> Departures:
    """One departure for each trip, or as many as frequencies.txt says.

    Where it promises no exact times, a vehicle may come at any time within a headway of its nominal one.
    """
    usual = np.flatnonzero(np.diff(calls.start) > 0)
    table = rows.table(
        "frequencies.txt",
        required=("trip_id", "start_time", "end_time", "headway_secs"),
        optional=("exact_times",),
    )
    if not table or not table["trip_id"]:
        nothing = np.zeros(usual.size, dtype=np.int32)
        return Departures(trip=usual.astype(np.int32), offset_s=nothing, slack_s=nothing)
    number = {name: i for i, name in enumerate(trips.ids)}
    parts = [_repeated(*row, number=number, calls=calls) for row in zip(*table.values(), strict=True)]
    if sum(len(part) for part in parts) > limits.current().feed_departures:
        raise DataError(
            f"frequencies.txt repeats trips more than {limits.current().feed_departures} times a day; check the headways."
        )
    repeated = np.unique(np.concatenate([part.trip for part in parts]))
    usual = usual[~np.isin(usual, repeated)]
    nothing = np.zeros(usual.size, dtype=np.int32)
    return Departures(
        trip=np.concatenate([usual.astype(np.int32), *(part.trip for part in parts)]),
        offset_s=np.concatenate([nothing, *(part.offset_s for part in parts)]),
        slack_s=np.concatenate([nothing, *(part.slack_s for part in parts)]),
    )


def _repeated(
    name: str, start: str, end: str, headway: str, exact: str, /, *, number: dict[str, int], calls: Calls
) -> Departures:
    """The departures of one row of frequencies."""
    if name not in number:
        raise DataError(f"frequencies.txt has the trip_id {name!r}, which trips.txt does not have.")
    begins = seconds(start, table="frequencies.txt", column="start_time")
    ends = seconds(end, table="frequencies.txt", column="end_time")
    if not (headway.isascii() and headway.isdigit() and len(headway) < 7 and int(headway) > 0):
        raise DataError(
            f"frequencies.txt: headway_secs must be a whole number of seconds above 0, got {headway!r}."
        )
    trip = number[name]
    if calls.start[trip] == calls.start[trip + 1]:
        raise DataError(f"frequencies.txt repeats the trip {name!r}, which has no calls in stop_times.txt.")
    leaves = np.arange(begins, ends, int(headway), dtype=np.int32)
    return Departures(
        trip=np.full(leaves.size, trip, dtype=np.int32),
        offset_s=leaves - calls.departure_s[calls.start[trip]],
        slack_s=np.full(leaves.size, 0 if exact == "1" else int(headway), dtype=np.int32),
    )
