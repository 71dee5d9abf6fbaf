"""The directory a simulation leaves behind: contents, repeatability, refusals."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from datetime import date

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from scipy.stats import binomtest

from noisegate.errors import DataError, OutputError, SpecError
from noisegate.simulation import simulate

FILES = {"taps.parquet", "taps_truth.parquet", "stops.csv", "gtfs.zip", "spec.yaml", "spec-2016.yaml"}

GOLDEN_TAPS = {
    "card_id": "02a7be6aed2d",
    "mode": "b4faa20ffe47",
    "tap": "b569464df564",
    "tapped_at": "2b8eff30c282",
    "stop": "ab1da53fa4c0",
}
GOLDEN_TRUTH = {
    "trip_id": "10544ae6c23e",
    "vehicle": "5ab99fcba3be",
    "service_date": "97a87366b80a",
    "stop": "27305b04bcd7",
}


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_files_and_columns(small):
    assert {path.name for path in small.folder.iterdir()} == FILES
    taps = pq.read_table(small.taps)
    assert taps.column_names == ["card_id", "mode", "tap", "tapped_at", "stop"]
    assert pa.types.is_timestamp(taps["tapped_at"].type)
    assert taps["tapped_at"].type.tz is None
    assert len(taps) == small.events > 4_000
    assert set(taps["mode"].to_pylist()) == {"train", "bus", "ferry", "lightrail"}
    assert set(taps["tap"].to_pylist()) == {"on", "off"}
    moments = taps["tapped_at"].to_pylist()
    assert moments == sorted(moments)
    assert all(moment.microsecond == 0 for moment in moments[:1000])
    assert [moments[0].date(), moments[-1].date()] == [date(2016, 7, 29), date(2016, 7, 31)]
    cards = taps["card_id"].to_numpy()
    assert cards.min() >= 1
    assert cards.max() <= 2_000


def test_every_stop_is_listed_once_and_unknown_is_a_value(small):
    with small.places.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["stop", "mode", "postcode", "lat", "lon"]
    names = [row["stop"] for row in rows]
    assert len(set(names)) == len(names) == small.stops + 1
    assert names[-1] == "UNKNOWN"
    modes = {row["stop"]: row["mode"] for row in rows}
    for tap in pq.read_table(small.taps).to_pylist():
        assert modes[tap["stop"]] in ({tap["mode"]} if tap["stop"] != "UNKNOWN" else {""})
    assert len({row["postcode"] for row in rows}) < len(rows) / 2


def test_specs_are_those_of_the_design(small):
    sound, old = (yaml.safe_load(path.read_text()) for path in (small.spec, small.spec_2016))
    assert sound["dimensions"] == old["dimensions"]
    assert sound["dimensions"]["date"] == {
        "column": "tapped_at",
        "from": date(2016, 7, 29),
        "to": date(2016, 7, 31),
    }
    assert sound["dimensions"]["tap"]["values"] == ["on", "off"]
    assert sound["dimensions"]["location"]["values"] == "stops.csv"
    assert sound["privacy"]["unit"] == "person-day"
    assert old["privacy"] == {
        "unit": "event",
        "scale": 1.4,
        "law": "laplace",
        "zeros": "keep",
        "suppress": {"below": 18},
        "margins": "independent",
        "unsafe": True,
    }


def test_same_seed_same_bytes_whatever_the_threads_and_the_process(tmp_path, small):
    again = simulate(tmp_path / "again", days=3, persons=2_000, seed=3, start=date(2016, 7, 29))
    assert digests(again.folder) == digests(small.folder)
    code = (
        "import sys, datetime, pathlib, pyarrow; pyarrow.set_cpu_count(4);"
        "from noisegate.simulation import simulate;"
        "simulate(pathlib.Path(sys.argv[1]), days=3, persons=2_000, seed=3, start=datetime.date(2016, 7, 29))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "3", "TZ": "America/New_York"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], check=True, env=environment)
    assert digests(tmp_path / "other") == digests(small.folder)


def column_digests(path):
    """Every column by its values as text: independent of how Parquet lays them out."""
    table = pq.read_table(path)
    text = {name: "\n".join(map(str, table[name].to_pylist())) for name in table.column_names}
    return {name: hashlib.sha256(column.encode()).hexdigest()[:12] for name, column in text.items()}


def test_a_seed_means_the_same_world_in_every_version(tmp_path):
    """Golden: as made before readers of timetables became one; change only in a commit that says why."""
    world = simulate(tmp_path / "golden", days=3, persons=2_000, seed=1)
    assert column_digests(world.taps) == GOLDEN_TAPS
    assert column_digests(world.truth) == GOLDEN_TRUTH


def test_another_seed_gives_another_world(tmp_path, small):
    other = simulate(tmp_path / "other", days=3, persons=2_000, seed=4, start=date(2016, 7, 29))
    mine, yours = digests(small.folder), digests(other.folder)
    assert all(mine[name] != yours[name] for name in FILES - {"spec.yaml", "spec-2016.yaml"})


def test_people_are_simulated_in_chunks_with_cards_of_their_own(tmp_path):
    """65,536 people make a chunk, so that here are one and a third."""
    world = simulate(tmp_path / "chunks", days=1, persons=87_000)
    cards = np.unique(pq.read_table(world.taps)["card_id"].to_numpy())
    assert cards.min() >= 1
    assert cards.max() <= 87_000
    assert len(cards) > 30_000
    share = np.histogram(cards, bins=8, range=(1, 87_001))[0] / (87_000 / 8)
    assert np.ptp(share) < 0.04


def test_two_percent_forget_to_tap_off_except_on_the_closed_ferry(week):
    asked = f"""
        SELECT count(*) FILTER (t.stop = 'UNKNOWN'), count(*)
        FROM (SELECT *, row_number() OVER () AS i FROM read_parquet('{week.taps}')) t
        JOIN (SELECT *, row_number() OVER () AS i FROM read_parquet('{week.truth}')) u USING (i)
        WHERE t.tap = 'off' AND u.trip_id {{}} 'F0.%'"""
    forgotten, total = duckdb.sql(asked.format("NOT LIKE")).fetchall()[0]
    assert binomtest(forgotten, total, 0.02).pvalue > 1e-9
    assert all(binomtest(forgotten, total, rate).pvalue < 1e-9 for rate in (0.018, 0.022))
    forgotten, total = duckdb.sql(asked.format("LIKE")).fetchall()[0]
    assert (forgotten, total > 1_000) == (0, True)
    on_unknown = f"SELECT count(*) FROM read_parquet('{week.taps}') WHERE tap = 'on' AND stop = 'UNKNOWN'"
    assert duckdb.sql(on_unknown).fetchall() == [(0,)]


def test_forget_rate_is_a_choice(tmp_path):
    world = simulate(tmp_path / "careful", days=2, persons=2_000, forget_rate=0)
    assert "UNKNOWN" not in pq.read_table(world.taps)["stop"].to_pylist()


def test_popularity_falls_like_zipf(week):
    asked = f"SELECT count(*) AS n FROM read_parquet('{week.taps}') WHERE tap = 'on' GROUP BY stop ORDER BY n DESC"
    counts = np.array([n for (n,) in duckdb.sql(asked).fetchall()], dtype=float)
    half = len(counts) // 2
    slope = np.polyfit(np.log(np.arange(1, half + 1)), np.log(counts[:half]), 1)[0]
    assert -1.6 < slope < -0.6
    assert counts[: len(counts) // 10].sum() > 0.4 * counts.sum()


def test_cells_run_from_one_to_hundreds_and_most_are_small(week):
    cells = f"""SELECT count(*) AS n FROM read_parquet('{week.taps}')
        GROUP BY tap, stop, time_bucket(INTERVAL 15 MINUTE, tapped_at)"""
    small_share, least, most = duckdb.sql(
        f"SELECT avg((n < 18)::INT), min(n), max(n) FROM ({cells})"
    ).fetchall()[0]
    assert least == 1
    assert most > 200
    assert 0.8 < small_share < 0.98


def test_days_have_their_shapes(week):
    by_hour = dict(
        duckdb.sql(
            f"""SELECT hour(tapped_at), count(*) FROM read_parquet('{week.taps}')
            WHERE tap = 'on' AND dayofweek(tapped_at) = 3 GROUP BY ALL"""
        ).fetchall()
    )
    assert by_hour[8] > 2 * by_hour[11] > 0
    assert by_hour[17] > 1.5 * by_hour[11]
    assert 0 < by_hour[2] < 30
    by_day = dict(
        duckdb.sql(
            f"SELECT dayofweek(tapped_at), count(*) FROM read_parquet('{week.taps}') GROUP BY ALL"
        ).fetchall()
    )
    assert by_day[6] < 0.5 * by_day[3]


def test_commuters_keep_their_habits(week):
    spread = duckdb.sql(
        f"""SELECT median(sd) FROM (
            SELECT stddev(epoch(tapped_at::TIME)) AS sd FROM (
                SELECT card_id, tapped_at::DATE AS day, min(tapped_at) AS tapped_at
                FROM read_parquet('{week.taps}') WHERE dayofweek(tapped_at) BETWEEN 1 AND 5 AND tap = 'on' GROUP BY ALL)
            GROUP BY card_id HAVING count(*) = 5)"""
    ).fetchall()[0][0]
    overall = duckdb.sql(
        f"""SELECT stddev(epoch(tapped_at::TIME)) FROM (
            SELECT min(tapped_at) AS tapped_at FROM read_parquet('{week.taps}') WHERE tap = 'on'
            GROUP BY card_id, tapped_at::DATE)"""
    ).fetchall()[0][0]
    assert spread < 20 * 60 < 0.2 * overall


@pytest.mark.parametrize("stops", [24, 25, 300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_the_number_of_stops_is_a_choice(tmp_path, stops):
    world = simulate(tmp_path / "wide", days=1, persons=2_000, stops=stops)
    assert world.stops == stops
    assert len(world.places.read_text().splitlines()) == stops + 2


def test_progress_counts_days(tmp_path):
    seen = []
    simulate(tmp_path / "w", days=3, persons=100, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"days": 0}, "days must be from 1 to 366, got 0."),
        ({"persons": 0}, "persons must be from 1 to 10000000, got 0."),
        ({"seed": -1}, "seed must be 0 or a positive whole number, got -1."),
        ({"stops": 5}, "stops must be from 24 to 15360, got 5."),
        ({"forget_rate": 1.5}, "forget_rate must be from 0 to 1, got 1.5."),
        ({"straggler_rate": -0.1}, "straggler_rate must be from 0 to 1, got -0.1."),
    ],
)
def test_bad_choices_are_refused_and_leave_nothing(tmp_path, options, message):
    with pytest.raises(SpecError) as refusal:
        simulate(tmp_path / "world", **options)
    assert str(refusal.value) == message
    assert list(tmp_path.iterdir()) == []


def test_an_existing_directory_is_left_alone(tmp_path):
    (tmp_path / "world").mkdir()
    with pytest.raises(OutputError, match="exists already"):
        simulate(tmp_path / "world", days=1, persons=10)
    assert list((tmp_path / "world").iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be made"):
        simulate(tmp_path / "file" / "world", days=1, persons=10)


def test_a_failure_half_way_leaves_nothing(tmp_path):
    def fail(done, total):
        raise DataError(f"stop at {done} of {total}")

    with pytest.raises(DataError, match="stop at 1 of 2"):
        simulate(tmp_path / "world", days=2, persons=100, progress=fail)
    assert list(tmp_path.iterdir()) == []
