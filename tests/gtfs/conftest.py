"""Small feeds written by hand, and an oracle that reads feeds with the csv module alone."""

import csv
import io
import zipfile
from collections import Counter
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

WEEK = "monday,tuesday,wednesday,thursday,friday,saturday,sunday".split(",")  # noqa: SIM905 - a header

#: One bus line, twice a day on weekdays, with the second trip past midnight.
PLAIN = {
    "routes.txt": "route_id,route_short_name,route_type\nR,12,3\n",
    "stops.txt": "stop_id,stop_name\nA,Alpha St\nB,Beta Rd\nC,Gamma Ave\n",
    "trips.txt": "route_id,service_id,trip_id\nR,W,t1\nR,W,t2\n",
    "stop_times.txt": (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "t1,08:00:00,08:00:00,A,1\nt1,08:10:00,08:11:00,B,2\nt1,08:20:00,08:20:00,C,3\n"
        "t2,23:55:00,23:55:00,A,1\nt2,24:05:00,24:06:00,B,2\nt2,24:15:00,24:15:00,C,3\n"
    ),
    "calendar.txt": f"service_id,{','.join(WEEK)},start_date,end_date\nW,1,1,1,1,1,0,0,20160725,20160731\n",
}


@pytest.fixture
def write_folder(tmp_path):
    """Write tables (text or bytes; None leaves one out) over the plain feed, as a folder."""

    def write(name="feed", **tables):
        folder = tmp_path / name
        folder.mkdir()
        for file, text in (PLAIN | {f"{key}.txt": value for key, value in tables.items()}).items():
            if text is not None:
                (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder

    return write


@pytest.fixture
def write_zip(tmp_path):
    """Write members (a dict, or a list of ZipInfo and text) as a zip."""

    def write(members=None, *, name="feed.zip"):
        path = tmp_path / name
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, text in members if isinstance(members, list) else (members or PLAIN).items():
                archive.writestr(member, text)
        return path

    return write


class CsvOracle:
    """Calls by the wall clock, from the csv module and datetime, one row at a time."""

    def __init__(self, path):
        self._path = Path(path)
        self._calls = {}
        self._known = {}
        for row in self._rows("stop_times.txt"):
            self._calls.setdefault(row["trip_id"], []).append(row)
        for rows in self._calls.values():
            rows.sort(key=lambda row: int(row["stop_sequence"]))
        self._trips = self._rows("trips.txt")
        self._weekly = {row["service_id"]: row for row in self._rows("calendar.txt")}
        self._dated = {
            (r["service_id"], r["date"]): r["exception_type"] for r in self._rows("calendar_dates.txt")
        }

    def _rows(self, name):
        if self._path.is_dir():
            file = self._path / name
            text = file.read_text("utf-8-sig") if file.is_file() else ""
        else:
            with zipfile.ZipFile(self._path) as archive:
                text = archive.read(name).decode("utf-8-sig") if name in archive.namelist() else ""
        return list(csv.DictReader(io.StringIO(text)))

    def runs_on(self, service, day):
        exception = self._dated.get((service, f"{day:%Y%m%d}"))
        if exception is not None:
            return exception == "1"
        weekly = self._weekly.get(service)
        if weekly is None:
            return False
        inside = weekly["start_date"] <= f"{day:%Y%m%d}" <= weekly["end_date"]
        return inside and weekly[WEEK[day.weekday()]] == "1"

    def _timed(self, trip):
        if trip not in self._known:
            self._known[trip] = _timed(self._calls.get(trip, []))
        return self._known[trip]

    def trips_on(self, day):
        return {trip["trip_id"] for trip in self._trips if self.runs_on(trip["service_id"], day)}

    def visits(self, dates):
        """(trip, service day, stop, arrival, departure, position, last) of all calls that touch one of the dates."""
        found = Counter()
        for service_day in sorted({day + timedelta(days=back) for day in dates for back in (-2, -1, 0)}):
            running = self.trips_on(service_day)
            for trip in self._trips:
                if trip["trip_id"] not in running:
                    continue
                rows = self._calls.get(trip["trip_id"], [])
                times = self._timed(trip["trip_id"])
                midnight = datetime(service_day.year, service_day.month, service_day.day)  # noqa: DTZ001 - wall clock
                for position, row in enumerate(rows):
                    arrival, departure = (midnight + timedelta(seconds=s) for s in times[position])
                    if arrival.date() in dates or departure.date() in dates:
                        last = position == len(rows) - 1
                        found[
                            trip["trip_id"], service_day, row["stop_id"], arrival, departure, position, last
                        ] += 1
        return found


def _seconds(clock):
    hours, minutes, seconds = map(int, clock.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def _timed(rows):
    """Arrival and departure of each row in seconds; rows without a time evenly between their neighbours."""
    known = {}
    for place, row in enumerate(rows):
        if row["arrival_time"] or row["departure_time"]:
            clocks = (
                row["arrival_time"] or row["departure_time"],
                row["departure_time"] or row["arrival_time"],
            )
            known[place] = tuple(_seconds(clock) for clock in clocks)
    out = []
    for place in range(len(rows)):
        if place in known:
            out.append(known[place])
        else:
            before = max(p for p in known if p < place)
            after = min(p for p in known if p > place)
            leaves, comes = known[before][1], known[after][0]
            at = round(leaves + Fraction(place - before, after - before) * (comes - leaves))
            out.append((at, at))
    return out


def told_visits(feed, dates):
    """The same tuples from our reader."""
    visits = feed.visits(dates)
    start = datetime(1970, 1, 1) + timedelta(days=int(visits.days[0]))  # noqa: DTZ001 - wall clock
    epoch = date(1970, 1, 1)
    trips, stops = np.array(feed.trips.ids, dtype=object), np.array(feed.stops.ids, dtype=object)
    return Counter(
        zip(
            trips[visits.trip],
            [epoch + timedelta(days=int(day)) for day in visits.runs.day[visits.run]],
            stops[visits.stop],
            [start + timedelta(seconds=int(s)) for s in visits.arrival_s],
            [start + timedelta(seconds=int(s)) for s in visits.departure_s],
            visits.position.tolist(),
            visits.last.tolist(),
            strict=True,
        )
    )


@pytest.fixture(scope="session")
def csv_oracle():
    return CsvOracle


@pytest.fixture(scope="session")
def our_visits():
    return told_visits
