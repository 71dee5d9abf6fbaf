"""A small town of taps, the spec that counts it, and a counter that is too simple to be wrong."""

import csv
import datetime as dt
import os
import pwd
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisegate.engine import count
from noisegate.laws import Entropy, OsNoise
from noisegate.releases import release
from noisegate.spec import parse_spec

FIRST, DAYS = dt.date(2016, 7, 25), 3
DIMENSIONS = {
    "mode": {"column": "mode", "values": ["train", "bus"]},
    "tap": {"column": "tap", "values": ["on", "off"]},
    "date": {"column": "tapped_at", "from": "2016-07-25", "to": "2016-07-27"},
    "time": {"column": "tapped_at", "every": "1h"},
    "location": {"column": "stop", "values": "stops.csv", "only": {}},
}
TABLES = {"base": ["mode", "date", "tap", "time", "location"], "time": ["mode", "date", "tap", "time"]}
SCHEMA = pa.schema(
    [
        ("card_id", pa.int64()),
        ("mode", pa.string()),
        ("tap", pa.string()),
        ("tapped_at", pa.timestamp("us")),
        ("stop", pa.string()),
    ]
)
STRAYS = [
    ("mode", "monorail"),
    ("mode", None),
    ("tap", None),
    ("tapped_at", dt.datetime.combine(FIRST, dt.time(6)) + dt.timedelta(days=400)),
    ("tapped_at", dt.datetime.combine(FIRST, dt.time(6)) - dt.timedelta(days=1000)),
    ("tapped_at", None),
    ("stop", "Nowhere"),
    ("card_id", None),
]


class Town:
    """A folder with stops.csv and events, and what a count of them must give."""

    stops: ClassVar = {
        "Central": ("train", "2000"),
        "Redfern": ("train", "2016"),
        "Lee St": ("bus", "2000"),
        "Cleveland St": ("bus", "2016"),
        "Abercrombie St": ("bus", "2016"),
        "UNKNOWN": ("", "none"),
    }

    def __init__(self, folder):
        self.folder = folder
        with (folder / "stops.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["stop", "mode", "postcode"])
            writer.writerows((stop, mode, postcode) for stop, (mode, postcode) in self.stops.items())

    def events(self, number, *, seed=0, persons=12, strays=True):
        """Random taps as dictionaries; some lie outside the domain if `strays`."""
        rng = random.Random(seed)
        return [self._event(rng, persons, strays=strays) for _ in range(number)]

    def _event(self, rng, persons, *, strays):
        hour = rng.choice([0, 1, 6, 8, 17, 23])
        time = dt.time(hour, rng.randrange(60), rng.randrange(60))
        stop = rng.choice(list(self.stops))
        event = {
            "card_id": 7_000_000_000_000_000 + rng.randrange(persons),
            "mode": self.stops[stop][0] or "bus",
            "tap": rng.choice(["on", "off"]),
            "tapped_at": dt.datetime.combine(FIRST + dt.timedelta(days=rng.randrange(DAYS)), time),
            "stop": stop,
        }
        if strays and rng.random() < 0.3:
            key, value = rng.choice(STRAYS)
            event[key] = value
        return event

    def table(self, events):
        return pa.Table.from_pylist(events, schema=SCHEMA)

    def write(self, events, name="taps.parquet"):
        """Write the events as Parquet or CSV, as the name says."""
        write = pq.write_table if name.endswith(".parquet") else pa_csv.write_csv
        table = events if isinstance(events, pa.Table) else self.table(events)
        write(table, self.folder / name)

    def spec(
        self,
        *,
        source="taps.parquet",
        dimensions=None,
        tables=None,
        merge=(),
        events=None,
        population=None,
        **privacy,
    ):
        """A spec of the town; unit person-day with many cells unless told otherwise."""
        unit = privacy.get("unit", "person-day")
        given = {"unit": unit, "epsilon": "1"} | ({} if unit == "event" else {"max_cells": 1000}) | privacy
        document = {
            "name": "town",
            **({} if population is None else {"population": population}),
            "events": {"source": source, "person": "card_id"} | (events or {}),
            "dimensions": DIMENSIONS | (dimensions or {}),
            "tables": tables or TABLES,
            "merge": list(merge),
            "privacy": given,
        }
        return parse_spec(document, folder=self.folder)

    def count(self, spec, **options):
        return count(spec, **({"entropy": OsNoise()} | options))

    def cell(self, event):
        """The labels of an event in base order, or None outside the domain; no merges."""
        at = event["tapped_at"]
        inside = (
            at is not None
            and FIRST <= at.date() < FIRST + dt.timedelta(days=DAYS)
            and event["mode"] in {"train", "bus"}
            and event["tap"] in {"on", "off"}
            and event["stop"] in self.stops
        )
        return (
            (event["mode"], str(at.date()), event["tap"], f"{at.hour:02d}:00", event["stop"])
            if inside
            else None
        )

    def expected(self, events, *, unit, cell=None, per_cell=1):
        """What counting must give when no unit has too many cells."""
        cells = [((cell or self.cell)(event), event) for event in events]
        if unit == "event":
            return Counter(where for where, _ in cells if where is not None)
        times = Counter()
        for where, event in cells:
            if where is not None and event["card_id"] is not None:
                times[event["card_id"], event["tapped_at"].date() if unit == "person-day" else 0, where] += 1
        counts = Counter()
        for (_, _, where), number in times.items():
            counts[where] += min(number, per_cell)
        return counts

    def labelled(self, spec, counts):
        """Counts by the labels of their cells."""
        columns = spec.domain.labels(counts.cells).values()
        return Counter(dict(zip(zip(*columns, strict=True), counts.raw_counts.tolist(), strict=True)))


@pytest.fixture
def town(tmp_path):
    return Town(tmp_path)


class KeyedNoise(Entropy):
    """Words that belong to (unit, cell) pairs, so that removing a unit leaves the others theirs.

    Takes all pairs of a count and hands out, in order, the words of units with more than `most` cells.
    """

    simulated = True
    mask = (1 << 64) - 1

    def __init__(self, pairs, *, most, salt):
        units = groupby(sorted(set(pairs)), key=lambda pair: pair[0])
        crowded = [pair for _, own in units if len(listed := list(own)) > most for pair in listed]
        self._words = [self._mix(hash((salt, *pair)) & self.mask) for pair in crowded]
        self._next = 0

    def _mix(self, x):
        x = (x + 0x9E3779B97F4A7C15) & self.mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & self.mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & self.mask
        return x ^ (x >> 31)

    def octets(self, count, /):
        raise AssertionError(f"bounding draws words of 64 bits, not {count} bytes")

    def words64(self, count, /):
        self._next += count
        return np.array(self._words[self._next - count : self._next], dtype=np.uint64)


@pytest.fixture(scope="session")
def keyed_entropy():
    return KeyedNoise


@contextmanager
def closed(connection):
    """Close a connection of DuckDB or Ibis at the end."""
    yield
    end = getattr(connection, "disconnect", getattr(connection, "close", None))
    if end is not None:  # a session of Spark goes on
        end()


def contract(town, place, *, unit, **grammar):
    """The source counts the same as Parquet does, which other tests hold against a simple counter."""
    events = town.events(1500)
    town.write(events, "reference.parquet")
    reference = town.count(town.spec(source="reference.parquet", unit=unit, **grammar))
    given, connection = place(town, events)
    with closed(connection):
        counts = town.count(town.spec(unit=unit, **given, **grammar), connection=connection)
    assert counts.cells.tolist() == reference.cells.tolist()
    assert counts.raw_counts.tolist() == reference.raw_counts.tolist()
    assert counts.tally == reference.tally
    assert list(counts.tally.outside) == list(reference.tally.outside)


def bounds(town, place):
    """Six persons, at a stop each, have one to six cells; of more than three exactly three are kept."""
    start = dt.datetime.fromisoformat("2016-07-25")
    events = [
        {
            "card_id": n,
            "mode": "bus",
            "tap": "on",
            "tapped_at": start + dt.timedelta(hours=hour),
            "stop": stop,
        }
        for n, stop in enumerate(town.stops)
        for hour in [*range(n + 1), 0]
    ]
    given, connection = place(town, events)
    spec = town.spec(unit="person", max_cells=3, **given)
    with closed(connection):
        counts = town.count(spec, connection=connection)
    found = town.labelled(spec, counts)
    assert [sum(cell[-1] == stop for cell in found) for stop in town.stops] == [1, 2, 3, 3, 3, 3]
    assert set(found.values()) == {1}
    assert (counts.tally.repeated, counts.tally.beyond) == (6, 1 + 2 + 3)


def any_bounds(town, place, *, examples):
    """Whatever persons do, at a stop each: of a unit's cells exactly as many are kept as may be, each with as many events as may be."""
    visit = st.tuples(st.integers(0, 5), st.integers(0, DAYS - 1), st.integers(0, 4), st.integers(1, 4))

    @settings(max_examples=examples, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(
        visits=st.lists(visit, min_size=1, max_size=60),
        unit=st.sampled_from(["person", "person-day"]),
        most=st.integers(1, 5),
        per_cell=st.integers(1, 3),
    )
    def check(visits, unit, most, per_cell):
        stops = list(town.stops)
        events = [
            {
                "card_id": person,
                "mode": "bus",
                "tap": "on",
                "tapped_at": dt.datetime.combine(FIRST + dt.timedelta(days=day), dt.time(hour)),
                "stop": stops[person],
            }
            for person, day, hour, times in visits
            for _ in range(times)
        ]
        given, connection = place(town, events)
        spec = town.spec(unit=unit, max_cells=most, max_per_cell=per_cell, **given)
        with closed(connection):
            counts = town.count(spec, connection=connection)
        found = town.labelled(spec, counts)
        times = Counter(town.cell(event) for event in events)

        def unit_of(cell):
            return (cell[-1], cell[1]) if unit == "person-day" else cell[-1]

        had, kept = (Counter(unit_of(cell) for cell in cells) for cells in (times, found))
        assert kept == {one: min(number, most) for one, number in had.items()}
        assert all(number == min(times[cell], per_cell) for cell, number in found.items())
        tally = counts.tally
        assert (tally.events, tally.counted, tally.outside) == (len(events), sum(found.values()), {})
        assert tally.repeated == sum(max(number - per_cell, 0) for number in times.values())

    check()


@pytest.fixture(scope="session")
def check_any_bounds():
    return any_bounds


@pytest.fixture(name="closed", scope="session")
def closed_fixture():
    return closed


@pytest.fixture(scope="session")
def check_contract():
    return contract


@pytest.fixture(scope="session")
def check_bounds():
    return bounds


def empty_days(town, place, *, unit):
    """Days without anybody, and a source without anybody at all: every cell is published, with noise."""
    busy = [event for event in town.events(300) if event["tapped_at"] and event["tapped_at"].date() == FIRST]
    for name, events in (("some", busy), ("none", [])):
        given, connection = place(town, events)
        spec = town.spec(**given, population=name, unit=unit, margins="derive", epsilon=1)
        out = town.folder / f"{name}-{unit}"
        ledger = town.folder / f"{name}-{unit}.sqlite"
        made = release(spec, out=out, engine=connection, ledger=ledger, yes=True)
        if hasattr(connection, "disconnect"):
            connection.disconnect()
        assert made.tally.events == len(events)
        table = pq.read_table(out / "base.parquet").to_pylist()
        assert len(table) == spec.domain.size
        empty = [row["count"] for row in table if row["date"] != FIRST.isoformat()]
        assert len(empty) == spec.domain.size * (DAYS - 1) // DAYS
        assert len(set(empty)) > 1
        assert min(empty) < 0 < max(empty)


@pytest.fixture(scope="session")
def check_empty_days():
    return empty_days


class Server:
    """A throw-away PostgreSQL server that is reached by a socket; it can be killed and started again."""

    def __init__(self):
        if shutil.which("pg_ctl") is None or shutil.which("initdb") is None:
            pytest.skip("no PostgreSQL server is installed (initdb and pg_ctl were not found)")
        self.user = {}
        if os.geteuid() == 0:
            if "postgres" not in {entry.pw_name for entry in pwd.getpwall()}:
                pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres'")
            self.user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.home = Path(tempfile.mkdtemp(prefix="ng-pg-"))
        if self.user:
            shutil.chown(self.home, "postgres", "postgres")
        self.url = f"postgresql://postgres@/postgres?host={self.home}"
        self._call("initdb", "-D", f"{self.home}/data", "-U", "postgres", "-A", "trust", "--no-sync")

    def _call(self, *command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self.user)

    def start(self):
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.home}' -c fsync=off"
        self._call(
            "pg_ctl", "-D", f"{self.home}/data", "-l", f"{self.home}/log", "-o", options, "-w", "start"
        )

    def kill(self):
        """End it at once, as a crash does: whoever is connected loses the connection."""
        self._call("pg_ctl", "-D", f"{self.home}/data", "-m", "immediate", "-w", "stop")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            shutil.rmtree(self.home, ignore_errors=True)
            raise
        return self

    def __exit__(self, *_):
        with suppress(subprocess.CalledProcessError):  # killed already
            self.kill()
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture(scope="session")
def new_server():
    return Server


KINDS = {
    "weekday": {"column": "tapped_at", "each": "weekday"},
    "week": {"column": "tapped_at", "each": "week", "from": "2013-01-01", "to": "2017-12-31"},
    "month": {"column": "tapped_at", "each": "month", "from": "2013-01-01", "to": "2017-12-31"},
    "band": {"column": "card_id", "bands": ["<2", "5", "9", "11+"]},
    "zone": {"column": "stop", "join": {"Central": "inner", "Lee St": "inner", "Redfern": "outer"}},
}


@pytest.fixture
def check_kinds():
    """Whether an engine counts bands, weekdays, weeks, months and lookups as DuckDB does."""

    def check(town, place):
        events = town.events(1200)
        town.write(events, "own.parquet")
        given, connection = place(town, events)
        for names in (["weekday", "zone"], ["week"], ["month", "band"]):
            chosen = {"dimensions": KINDS, "tables": {"base": [*names, "mode"]}, "unit": "event"}
            own, theirs = town.spec(source="own.parquet", **chosen), town.spec(**given, **chosen)
            ours, found = town.count(own), town.count(theirs, connection=connection)
            assert np.array_equal(ours.cells, found.cells)
            assert np.array_equal(ours.raw_counts, found.raw_counts)
            assert ours.raw_counts.sum() > 100
        if hasattr(connection, "disconnect"):
            connection.disconnect()

    return check
