"""A person's map of published locations to stops of a timetable."""

from __future__ import annotations

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from noisegate.errors import DataError
from noisegate.timetable.feed import Feed

_COLUMNS = ("location", "stop")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMap:
    """The location of stops, and how many lines of the file were of no use.

    Attributes
    ----------
    location_of
        From the id, code or name of a stop to its location.
    unknown_stops, unknown_locations
        Lines that name a stop the feed does not have, or a location the table does not have.
    """

    location_of: dict[str, str]
    unknown_stops: int = 0
    unknown_locations: int = 0


def read_stop_map(path: Path, /, *, feed: Feed, locations: Collection[str]) -> StopMap:
    """The map in a CSV file with the columns `location` and `stop`: one line for each stop.

    A location with several stops, such as a postcode, has several lines. A stop is named by its id, code or name.

    Raises
    ------
    DataError
        If the file cannot be read, or none of its lines fits the feed and the table.
    """
    lines = _lines(path)
    known = {*feed.stops.ids, *feed.stops.codes, *feed.stops.names} - {""}
    wanted = frozenset(locations)
    found: dict[str, str] = {}
    strange, elsewhere = 0, 0
    for location, stop in lines:
        if stop not in known:
            strange += 1
        elif location not in wanted:
            elsewhere += 1
        elif found.get(stop, location) != location:
            raise DataError(
                f"{str(path)!r} sends the stop {stop!r} to two locations, {found[stop]!r} and {location!r}; name one."
            )
        else:
            found[stop] = location
    if not found:
        raise DataError(
            f"No line of {str(path)!r} has both a stop of the feed and a location of the table; "
            f"{strange} of {len(lines)} stops are not in the feed. Stops are named by id, code or name."
        )
    return StopMap(location_of=found, unknown_stops=strange, unknown_locations=elsewhere)


def _lines(path: Path, /) -> list[tuple[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = [name.strip().casefold() for name in reader.fieldnames or []]
            reader.fieldnames = header
            for name in _COLUMNS:
                if name not in header:
                    raise DataError(
                        f"The map {str(path)!r} must have the columns location and stop, got {', '.join(header) or 'none'}."
                    )
            return [
                (row["location"].strip(), row["stop"].strip())
                for row in reader
                if row["location"] and row["stop"]
            ]
    except OSError as error:
        raise DataError(f"The map of stops {str(path)!r} cannot be opened: {error.strerror}.") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The map of stops {str(path)!r} is not UTF-8 text with commas.") from error
