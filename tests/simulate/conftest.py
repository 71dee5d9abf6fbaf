"""Worlds that several tests look at, and an independent reading of what they contain."""

from __future__ import annotations

import csv
import io
import zipfile
from collections import defaultdict
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from noisegate.simulation import simulate

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "gtfs"


@pytest.fixture(scope="session")
def week(tmp_path_factory):
    """60,000 people from Monday to Sunday."""
    return simulate(tmp_path_factory.mktemp("worlds") / "week", days=7, persons=60_000, seed=5)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """2,000 people from Friday to Sunday, so that both calendar exceptions are inside."""
    out = tmp_path_factory.mktemp("worlds") / "small"
    return simulate(out, days=3, persons=2_000, seed=3, start=date(2016, 7, 29))


@pytest.fixture(scope="session")
def punctual(tmp_path_factory):
    """The small world with vehicles that run to the second."""
    out = tmp_path_factory.mktemp("worlds") / "punctual"
    return simulate(out, days=3, persons=2_000, seed=3, start=date(2016, 7, 29), punctual=True)


@pytest.fixture(scope="session", params=["cairns_2014/cairns_gtfs.zip", "seattle_area_2017"])
def real_feed(request):
    path = DATA / request.param
    if not path.exists():
        pytest.skip("the real GTFS feeds are not on this machine")
    return path


class Timetable:
    """A feed read with the csv module alone."""

    def __init__(self, path):
        self.tables = {}
        if path.is_dir():
            texts = {p.name: p.read_bytes() for p in path.glob("*.txt")}
        else:
            with zipfile.ZipFile(path) as archive:
                texts = {name: archive.read(name) for name in archive.namelist()}
        for name, text in texts.items():
            self.tables[name] = list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"))))
        self.trips = {row["trip_id"]: row for row in self.tables["trips.txt"]}
        self.calls = defaultdict(list)
        for row in self.tables["stop_times.txt"]:
            self.calls[row["trip_id"]].append(row)
        for rows in self.calls.values():
            rows.sort(key=lambda row: int(row["stop_sequence"]))
        self.route_types = {row["route_id"]: int(row["route_type"]) for row in self.tables["routes.txt"]}
        self.names = {row["stop_id"]: row["stop_name"] for row in self.tables["stops.txt"]}

    def calls_by_name(self, trip):
        """Arrival and departure second by stop name; trips here call nowhere twice."""
        return {
            self.names[row["stop_id"]]: (seconds(row["arrival_time"]), seconds(row["departure_time"]))
            for row in self.calls[trip]
        }

    def runs_on(self, service, day):
        for row in self.tables.get("calendar_dates.txt", []):
            if row["service_id"] == service and row["date"] == f"{day:%Y%m%d}":
                return row["exception_type"] == "1"
        for row in self.tables["calendar.txt"]:
            if row["service_id"] == service and row["start_date"] <= f"{day:%Y%m%d}" <= row["end_date"]:
                return row[f"{day:%A}".lower()] == "1"
        return False


def seconds(clock):
    hours, minutes, rest = clock.split(":")
    return 3600 * int(hours) + 60 * int(minutes) + int(rest)


@pytest.fixture(scope="session")
def read_timetable():
    return Timetable


@pytest.fixture(scope="session")
def read_rides():
    """Pairs of tap-on and tap-off, each a dict of record and truth; rides cut by the window are left out."""

    def read(world):
        taps, truth = pq.read_table(world.taps).to_pylist(), pq.read_table(world.truth).to_pylist()
        assert len(taps) == len(truth) == world.events
        by_ride = defaultdict(list)
        for tap, fact in zip(taps, truth, strict=True):
            midnight = datetime.combine(fact["service_date"], datetime.min.time())
            row = tap | {f"true_{key}": value for key, value in fact.items()}
            row["second"] = (tap["tapped_at"] - midnight) / timedelta(seconds=1)
            by_ride[tap["card_id"], fact["trip_id"], fact["service_date"]].append(row)
        return [tuple(pair) for pair in by_ride.values() if len(pair) == 2]

    return read
