"""Worlds to release from, a spec with everything filled in, and an independent count of the truth."""

import json
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from noisegate.releases import release
from noisegate.simulation import simulate
from noisegate.spec import parse_spec

MODES = ["train", "bus", "ferry", "lightrail"]
FIRST, DAYS = "2016-07-25", 3


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """2,000 people, three days, some 10,000 taps."""
    return simulate(tmp_path_factory.mktemp("release") / "world", persons=2000, days=DAYS, seed=11)


@pytest.fixture(scope="session")
def planted(tmp_path_factory):
    """A table known cell by cell: 80 stops, 96 bins, 3 days, and in every cell 25 to 45 events of as many cards."""
    folder = tmp_path_factory.mktemp("planted")
    counts = np.random.default_rng(5).integers(25, 46, size=(3, 96, 80))
    day, bin_, stop = (axis.ravel() for axis in np.indices(counts.shape))
    times = counts.ravel()
    card = np.concatenate([np.arange(n) for n in times])
    base = np.datetime64("2016-07-25T00:00:00", "ms")
    tapped = base + (day.astype("m8[D]") + (15 * bin_).astype("m8[m]")).astype("m8[ms]")
    names = np.array([f"S{n:02d}" for n in range(80)])
    pq.write_table(
        pa.table(
            {
                "card_id": np.repeat(stop * 1000, times) + card,
                "tapped_at": np.repeat(tapped, times),
                "stop": np.repeat(names[stop], times),
            }
        ),
        folder / "taps.parquet",
    )
    spec = {
        "name": "planted",
        "population": "planted",
        "budget": {"epsilon": "100", "delta": "1/2"},
        "events": {"source": "taps.parquet", "person": "card_id"},
        "dimensions": {
            "date": {"column": "tapped_at", "from": FIRST, "to": "2016-07-27"},
            "time": {"column": "tapped_at", "every": "15min"},
            "location": {"column": "stop", "values": names.tolist()},
        },
        "tables": {
            "base": ["date", "time", "location"],
            "time": ["date", "time"],
            "loc": ["date", "location"],
        },
    }

    def made(privacy, **more):
        return parse_spec({**spec, **more, "privacy": privacy}, folder=folder)

    truth = {"base": counts, "time": counts.sum(axis=2), "loc": counts.sum(axis=1)}
    return SimpleNamespace(folder=folder, spec=made, truth=truth)


@pytest.fixture(scope="session")
def spec_of(world):
    """The spec of a release of the world, as a dictionary or as the thing itself."""

    def made(privacy, *, every="15min", to="2016-07-27", plain=False, nested=False, **more):
        content = {
            "name": "week",
            "population": "town",
            "budget": {"epsilon": "10", "delta": "0.999"},
            "events": {"source": "taps.parquet", "person": "card_id"},
            "dimensions": {
                "mode": {"column": "mode", "values": MODES},
                "tap": {"column": "tap", "values": ["on", "off"]},
                "date": {"column": "tapped_at", "from": FIRST, "to": to},
                "time": {"column": "tapped_at", "every": every},
                "location": {"column": "stop", "values": "stops.csv"} | ({} if nested else {"only": {}}),
            },
            "tables": {
                "time-loc": ["mode", "date", "tap", "time", "location"],
                "time": ["mode", "date", "tap", "time"],
                "loc": ["mode", "date", "tap", "location"],
            },
            "privacy": privacy,
        }
        content.update(more)
        if "dataset" in (more.get("budget") or {}):
            del content["population"]
        return content if plain else parse_spec(content, folder=world.folder)

    return made


@pytest.fixture(scope="session")
def hamlet(tmp_path_factory):
    """A folder with a spec and a few hundred taps: a release of it takes no time but that of the program's start."""
    folder = tmp_path_factory.mktemp("hamlet")
    rng = np.random.default_rng(3)
    lines = [
        f"card-{rng.integers(90)},2016-07-{25 + rng.integers(2)} {rng.integers(24):02d}:15:00,{'ABCD'[rng.integers(4)]}"
        for _ in range(400)
    ]
    (folder / "taps.csv").write_text("\n".join(["card,at,stop", *lines]) + "\n")
    (folder / "spec.yaml").write_text(HAMLET)
    return folder


HAMLET = """\
name: hamlet
population: hamlet
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2016-07-25, to: 2016-07-26}
  time: {column: at, every: 1h}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  base: [date, time, stop]
  time: [date, time]
privacy: {unit: person-day, max_cells: 3, epsilon: 1/2, margins: derive, suppress: {below: 3}}
budget: {epsilon: 10}
"""


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def make(tmp_path, ledger):
    """Make a release and read back everything that it wrote."""

    def make(spec, *, out=None, **more):
        folder = tmp_path / "out" if out is None else out
        result = release(spec, out=folder, ledger=ledger, **{"yes": True, **more})
        return SimpleNamespace(result=result, **vars(read_release(folder)))

    return make


def read_release(folder):
    """The card and, for each table, its rows by CSV and by Parquet as lists of (labels, count)."""
    card = json.loads((folder / "card.json").read_text())
    csv, parquet = {}, {}
    for name, table in card["tables"].items():
        text = dict.fromkeys(table["dimensions"], pa.string())
        read = pa_csv.read_csv(
            folder / f"{name}.csv",
            convert_options=pa_csv.ConvertOptions(
                column_types={**text, "count": pa.int64()}, strings_can_be_null=False
            ),
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        )
        csv[name] = rows_of(read)
        parquet[name] = rows_of(pq.read_table(folder / f"{name}.parquet"))
    return SimpleNamespace(folder=folder, card=card, csv=csv, parquet=parquet)


@pytest.fixture(scope="session", name="read_release")
def reader():
    return read_release


def rows_of(table):
    *labels, counts = (table.column(name).to_pylist() for name in table.column_names)
    assert table.column_names[-1] == "count"
    return list(zip(zip(*labels, strict=True), counts, strict=True))


@pytest.fixture(scope="session")
def truth_of(world):
    """Raw counts by labels, from the taps with plain Python; `unit` says what counts once in a cell."""
    taps = pq.read_table(world.taps).to_pylist()

    def truth(dimensions, *, base=None, unit="event", minutes=15):
        seen, counts = set(), Counter()
        for tap in taps:
            at = tap["tapped_at"]
            start = (at.hour * 60 + at.minute) // minutes * minutes
            everything = {
                "mode": tap["mode"],
                "tap": tap["tap"],
                "date": at.date().isoformat(),
                "time": f"{start // 60:02d}:{start % 60:02d}",
                "location": tap["stop"],
            }
            # The base holds the day, so both units of persons count alike.
            key = (tap["card_id"], *(everything[name] for name in base or everything))
            if unit != "event" and key in seen:
                continue
            seen.add(key)
            if in_domain(everything):
                counts[tuple(everything[name] for name in dimensions)] += 1
        return counts

    known = set(pa_csv.read_csv(world.folder / "stops.csv").column("stop").to_pylist())

    def in_domain(labels):
        inside = FIRST <= labels["date"] <= "2016-07-27"
        return inside and labels["location"] in known and labels["mode"] in MODES

    return truth


@pytest.fixture(scope="session")
def most_cells(world):
    """How many base cells the busiest card has, in a day and in all."""
    cells = defaultdict(set)
    for tap in pq.read_table(world.taps).to_pylist():
        at = tap["tapped_at"]
        cell = (tap["mode"], tap["tap"], at.date(), at.hour, at.minute // 15, tap["stop"])
        cells[tap["card_id"], at.date()].add(cell)
        cells[tap["card_id"], None].add(cell)
    return max(map(len, cells.values()))
