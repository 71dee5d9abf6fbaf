"""Bands, weekdays, weeks, months, lookups and levels: counted, described, read back."""

import json
from collections import Counter
from datetime import date, datetime, timedelta

import ibis
import numpy as np
import pyarrow as pa
import pytest

from noisegate import open_release
from noisegate.engine import count
from noisegate.errors import SpecError
from noisegate.laws import SeededNoise
from noisegate.releases import release
from noisegate.spec import parse_spec
from noisegate.tables import Selection

STOPS = "stop,suburb,city\nA1,Manly,North\nA2,Manly,North\nB1,Ryde,North\nC1,Sutherland,South\nC2,,South\n"
RNG = np.random.default_rng(17)
FIRST = datetime(2016, 7, 25)  # noqa: DTZ001 - wall clock
EVENTS = [
    {
        "card": int(RNG.integers(200)),
        "at": FIRST + timedelta(minutes=int(RNG.integers(40 * 1440))),
        "stop": str(RNG.choice(["A1", "A2", "B1", "C1", "C2", "ZZ"])),
        "age": float(RNG.choice([-1, 0, 14.5, 15, 24, 25, 64, 65, 99, np.nan])),
    }
    for _ in range(3000)
]
DIMENSIONS = {
    "date": {"column": "at", "from": "2016-07-25", "to": "2016-08-28"},
    "weekday": {"column": "at", "each": "weekday"},
    "week": {"column": "at", "each": "week", "from": "2016-07-25", "to": "2016-08-28"},
    "month": {"column": "at", "each": "month", "from": "2016-07-25", "to": "2016-08-28"},
    "age": {"column": "age", "bands": ["0", "15", "25", "65+"]},
    "stop": {"column": "stop", "values": "stops.csv"},
    "suburb": {"of": "stop", "column": "suburb"},
    "city": {"of": "suburb", "column": "city"},
    "zone": {
        "column": "stop",
        "join": {"A1": "inner", "A2": "outer", "B1": "outer", "C1": "outer", "C2": None},
    },
}


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "stops.csv").write_text(STOPS)
    lines = ["card,at,stop,age"] + [
        f"{e['card']},{e['at']:%Y-%m-%d %H:%M:%S},{e['stop']},{'' if np.isnan(e['age']) else e['age']}"
        for e in EVENTS
    ]
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")

    def make(*tables, dimensions=None, **privacy):
        used = {name for names in tables for name in names}
        used |= {"stop", "suburb"} if used & {"suburb", "city"} else set()
        return parse_spec(
            {
                "name": "kinds",
                "events": {"source": "events.csv", "person": "card"},
                "dimensions": dimensions or {name: DIMENSIONS[name] for name in DIMENSIONS if name in used},
                "tables": {f"t{n}": list(names) for n, names in enumerate(tables)},
                "privacy": {"unit": "person", "max_cells": 40, "epsilon": 9, **privacy},
            },
            folder=tmp_path,
        )

    return make


def label(name, event):  # noqa: PLR0911 - one for each kind
    """What each kind should show, said in plain Python."""
    day, age = event["at"].date(), event["age"]
    if name == "weekday":
        return f"{day:%A}"
    if name == "week":
        return "{}-W{:02d}".format(*day.isocalendar()[:2]) if day <= date(2016, 8, 28) else None
    if name == "month":
        return f"{day:%Y-%m}" if day < date(2016, 9, 1) else None
    if name == "date":
        return day.isoformat() if day <= date(2016, 8, 28) else None
    if name == "age":
        bands = ((0, 15, "0-14"), (15, 25, "15-24"), (25, 65, "25-64"), (65, np.inf, "65+"))
        return next((text for low, high, text in bands if low <= age < high), None)
    of_stop = dict(line.split(",", 1) for line in STOPS.splitlines()[1:])
    if event["stop"] not in of_stop:
        return None
    suburb, city = of_stop[event["stop"]].split(",")
    zone = DIMENSIONS["zone"]["join"][event["stop"]]
    return {"stop": event["stop"], "suburb": suburb, "city": city, "zone": zone}[name] or None


def truth(names):
    rows = [tuple(label(name, event) for name in names) for event in EVENTS]
    return Counter(row for row in rows if None not in row)


def counted(spec, connection=None):
    made = spec.model_copy(
        update={"privacy": spec.privacy.model_copy(update={"unit": "event", "max_cells": None})}
    )
    found = count(made, connection=connection)
    codes = spec.domain.decode(found.cells)
    labels = [
        [dim.labels[c] for c in column] for dim, column in zip(spec.domain.dimensions, codes, strict=True)
    ]
    return Counter(dict(zip(zip(*labels, strict=True), found.raw_counts.tolist(), strict=True)))


TABLES = [
    ("weekday", "age"),
    ("week", "suburb"),
    ("month", "zone"),
    ("date", "weekday", "month"),
    ("stop", "suburb", "city"),
    ("suburb", "city", "age"),
]


@pytest.mark.parametrize("names", TABLES)
def test_each_kind_counts_what_plain_python_counts(spec, names):
    assert counted(spec(names)) == truth(names)


@pytest.mark.parametrize("names", [("weekday", "age"), ("week", "suburb"), ("month", "zone")])
def test_other_engines_count_the_same(spec, names):
    class Elsewhere:
        """DuckDB as if it were an engine that is counted with through Ibis."""

        name = "sqlite"

        def __init__(self, inner):
            self.table = inner.table

    connection = ibis.duckdb.connect()
    connection.con.register("arrow_events", pa.table({key: [e[key] for e in EVENTS] for key in EVENTS[0]}))
    connection.raw_sql("CREATE TABLE events AS FROM arrow_events")
    made = spec(names)
    made = made.model_copy(update={"events": made.events.model_copy(update={"source": "events"})})
    assert counted(made, connection=Elsewhere(connection)) == truth(names)


def test_the_calendar_and_levels_add_columns_and_no_cells(spec):
    assert spec(("date", "weekday", "month")).domain.size == 35
    # C2 has no suburb, so it is in no cell of a table that shows one.
    assert spec(("stop", "suburb", "city")).domain.size == 4
    assert spec(("suburb", "city")).domain.size == 3


@pytest.mark.parametrize("margins", ["derive", "reconcile"])
def test_levels_are_margins_that_add_up(spec, tmp_path, margins):
    made = spec(("date", "weekday", "stop", "suburb"), ("weekday", "suburb"), ("date",), margins=margins)
    release(made, out=tmp_path / "out", ledger=tmp_path / "l.db", entropy=SeededNoise(seed=1))
    base, coarse = (
        {tuple(row[:-1]): int(row[-1]) for row in rows}
        for rows in (
            [line.split(",") for line in (tmp_path / "out" / f"{name}.csv").read_text().splitlines()[1:]]
            for name in ("t0", "t1")
        )
    )
    sums = Counter()
    for (_, weekday, _, suburb), value in base.items():
        sums[weekday, suburb] += value
    assert sums == Counter(coarse)
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert card["domain"]["dimensions"]["weekday"][0] == "Monday"
    assert card["domain"]["described"]["suburb"] == "column suburb of stops.csv, by stop"
    answer = open_release(tmp_path / "out").query(where="weekday=Monday..Friday,suburb=Manly")
    shown = sum(value for (day, place), value in coarse.items() if place == "Manly" and day[0] != "S")
    assert answer.to_pylist()[0]["estimate"] == pytest.approx(shown, abs=1)


def test_ranges_are_read_in_the_order_of_the_labels(spec):
    made = spec(("weekday", "age"), ("week", "suburb", "weekday", "age"))
    chosen = Selection.parse("weekday=Saturday..Sunday,age=15..64", made.domain)
    by = dict(zip(made.domain.names, chosen.shares, strict=True))
    assert by["weekday"].tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert by["age"].tolist() == [0, 1, 1, 0]
    weeks = dict(
        zip(made.domain.names, Selection.parse("week=2016-W31..2016-W32", made.domain).shares, strict=True)
    )
    assert weeks["week"].tolist() == [0, 1, 1, 0, 0]
    with pytest.raises(SpecError, match="a part of age"):
        Selection.parse("age=15..19", made.domain)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"column": "age", "bands": ["5"]}, "has one border and so no band"),
        ({"column": "age", "bands": ["5", "5"]}, "ascending order"),
        ({"column": "age", "bands": ["5+", "6"]}, "the last as 65+"),
        ({"column": "age", "bands": "0..10 by 3"}, "whole steps"),
        ({"column": "at", "each": "day"}, "must be one of weekday, week, month"),
        ({"column": "at", "each": "week"}, "is missing; a list of weeks"),
        ({"column": "at", "each": "weekday", "from": "2016-07-25"}, "always seven"),
        ({"column": "stop", "join": "stops.csv"}, "the column of the file that is shown"),
        ({"column": "stop", "join": "stops.csv", "take": "citi"}, "did you mean 'city'"),
        ({"column": "stop", "join": {}}, "empty block"),
        ({"of": "stap", "column": "city"}, "did you mean 'stop'"),
        ({"of": "stop", "column": "citi"}, "did you mean 'city'"),
    ],
)
def test_a_kind_that_makes_no_sense_is_refused(spec, block, words):
    with pytest.raises(SpecError, match=words):
        spec(("stop", "x"), dimensions={"stop": DIMENSIONS["stop"], "x": block})
