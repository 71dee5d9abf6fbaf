"""Spark: the contract of every engine, what crosses to the driver, and noise that is committed once."""

import datetime as dt
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.engine import connect, count_slices
from noisegate.errors import DataError
from noisegate.laws import OsNoise
from noisegate.releases import make_plan, publish_tables, release

pytest.importorskip("pyspark", reason="pyspark is not installed (noisegate[spark])")
if shutil.which("java") is None:
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

#: The fast suite keeps one of each kind.
SLOW = pytest.mark.slow
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def spark():
    """A session with two workers in one process, whose tasks are tried again."""
    return connect("local[2,4]")


@pytest.fixture
def in_spark_files(spark):
    def place(town, events):
        town.write(events[:700], "taps-1.parquet")
        town.write(events[700:], "taps-2.parquet")
        return {"source": "taps-*.parquet"}, spark

    return place


@pytest.fixture
def in_spark_table(spark):
    def place(town, events):
        town.write(events)
        spark.read.parquet(str(town.folder / "taps.parquet")).createOrReplaceTempView("taps")
        return {"source": "taps"}, spark

    return place


def test_every_kind_of_dimension_is_counted_as_elsewhere(town, in_spark_table, check_kinds):
    check_kinds(town, in_spark_table)


@pytest.mark.parametrize("unit", ["event", "person-day"])
def test_spark_counts_files_the_same(town, in_spark_files, check_contract, unit):
    check_contract(town, in_spark_files, unit=unit)


@SLOW
def test_spark_counts_a_table_with_merges_and_nesting_the_same(town, in_spark_table, check_contract):
    merge = [{"dimension": "time", "into": "4h", "where": {"time": {"from": "20:00", "to": "04:00"}}}]
    nested = {"location": {"column": "stop", "values": "stops.csv"}}
    check_contract(town, in_spark_table, unit="person", merge=merge, dimensions=nested)


def test_bounds_hold_on_spark(town, in_spark_files, check_bounds):
    check_bounds(town, in_spark_files)


@SLOW
def test_bounds_hold_whatever_persons_do(town, in_spark_table, check_any_bounds):
    check_any_bounds(town, in_spark_table, examples=8)


@SLOW
@pytest.mark.parametrize("kind", ["offset", "text"])
def test_times_with_an_offset_are_read_on_the_clock_of_the_table(town, spark, kind):
    sydney = dt.timezone(dt.timedelta(hours=10))
    events = town.events(300, strays=False)
    times = [event["tapped_at"].replace(tzinfo=sydney) for event in events]
    column = (
        pa.array(times, pa.timestamp("us", "UTC"))
        if kind == "offset"
        else pa.array([one.isoformat() for one in times])
    )
    town.write(town.table(events).set_column(3, "tapped_at", column))
    spec = town.spec(events={"timezone": "Australia/Sydney"})
    assert town.labelled(spec, town.count(spec, connection=spark)) == town.expected(events, unit="person-day")
    with pytest.raises(DataError, match=r"UTC offset; say with events\.timezone|text that is not a time"):
        town.count(town.spec(), connection=spark)


@SLOW
@pytest.mark.parametrize(
    ("order", "written"), [("day-first", "%d/%m/%Y %H:%M"), ("month-first", "%m-%d-%Y %H:%M")]
)
def test_dates_with_the_day_or_the_month_first(town, spark, order, written):
    events = town.events(300, strays=False)
    column = pa.array([event["tapped_at"].strftime(written) for event in events])
    town.write(town.table(events).set_column(3, "tapped_at", column))
    spec = town.spec(events={"dates": order})
    assert town.labelled(spec, town.count(spec, connection=spark)) == town.expected(events, unit="person-day")


UNITS = {"event": {}, "person-day": {"max_cells": 4}, "person": {"max_cells": 6}}
FAST = [("event", "derive"), ("person-day", "reconcile")]
PAIRS = [
    pytest.param(unit, margins, marks=[] if (unit, margins) in FAST else SLOW)
    for unit in UNITS
    for margins in ("derive", "reconcile", "independent")
]


def without_noise(card):
    """What a card says that neither noise nor the ledger changes."""
    return re.sub(r'"(reservation|rows|suppressed)": [^,}]+', "", json.dumps(card))


@pytest.mark.parametrize(("unit", "margins"), PAIRS)
def test_a_release_has_the_card_that_duckdb_gives_it(town, spark, tmp_path, unit, margins):
    """Every unit with every way of making margins."""
    town.write(town.events(1200, strays=False))
    privacy = UNITS[unit] | {"unit": unit, "margins": margins, "unsafe": True, "suppress": {"below": 2}}
    spec = town.spec(**privacy, population="town")
    made = {}
    for name, engine in (("duckdb", None), ("spark", spark)):
        (tmp_path / name).mkdir()  # apart: each is paid from a ledger of its own
        made[name] = release(
            spec, out=tmp_path / name / "made", engine=engine, ledger=tmp_path / f"{name}.sqlite", yes=True
        )
    cards = {name: without_noise(one.card.to_json()) for name, one in made.items()}
    assert cards["spark"] == cards["duckdb"]
    assert sorted(path.name for path in made["spark"].folder.iterdir()) == sorted(
        path.name for path in made["duckdb"].folder.iterdir()
    )
    base, margin = (pq.read_table(made["spark"].folder / f"{name}.parquet") for name in ("base", "time"))
    assert base.num_rows == made["spark"].card.to_json()["tables"]["base"]["rows"]
    if margins == "derive":  # totals are sums of what is published
        *kept, _ = margin.column_names
        sums = Counter()
        for row in base.to_pylist():
            sums[tuple(row[name] for name in kept)] += row["count"]
        assert sums == {tuple(row[name] for name in kept): row["count"] for row in margin.to_pylist()}


def test_only_tallies_and_noisy_rows_cross_to_the_driver(town, spark, monkeypatch):
    """Whatever is collected has no person, and of raw counts only their histogram."""
    from pyspark.sql.classic.dataframe import DataFrame

    crossed, collect = [], DataFrame.toArrow

    def watched(self):
        rows = collect(self)
        crossed.append((tuple(rows.column_names), rows.num_rows))
        return rows

    def refused(*_, **__):
        raise AssertionError("rows are collected")

    monkeypatch.setattr(DataFrame, "toArrow", watched)
    for name in ("collect", "toPandas", "toLocalIterator", "take"):
        monkeypatch.setattr(DataFrame, name, refused)
    town.write(town.events(1500, persons=40, strays=False))
    spec = town.spec(unit="person", max_cells=3, suppress={"below": 2}, margins="derive")
    with count_slices(spec, entropy=OsNoise(), connection=spark) as counts:
        counts.histogram()
        publish_tables(make_plan(spec), counts, entropy=OsNoise())
        assert counts.tally.beyond > 0
    assert {names for names, _ in crossed} == {("cell", "events", "parts"), ("count", "times")}
    assert max(rows for _, rows in crossed) <= 40


def test_the_plan_has_broadcast_joins_and_one_shuffle_by_person(town, spark, monkeypatch):
    from pyspark.sql.readwriter import DataFrameWriter

    plans, write = [], DataFrameWriter.parquet

    def watched(self, path, *arguments, **options):
        plans.append(self._df._jdf.queryExecution().executedPlan().toString())
        return write(self, path, *arguments, **options)

    monkeypatch.setattr(DataFrameWriter, "parquet", watched)
    town.write(town.events(300))
    for unit in ("event", "person-day"):
        town.count(town.spec(unit=unit), connection=spark)
    event, person = plans
    for plan in plans:
        assert "BroadcastHashJoin" in plan
        assert "SortMergeJoin" not in plan
        assert len(re.findall(r"Exchange hashpartitioning", plan)) == 1
    assert re.search(r"Exchange hashpartitioning\(spread", person)
    assert "card_id" not in event  # where every event counts nobody reads whose it is


def test_a_task_that_dies_between_noise_and_commit_is_drawn_again_and_committed_once(
    town, spark, tmp_path, monkeypatch
):
    """The first attempt of one slice draws, shows what it drew, and is killed; what is published is the second attempt's."""
    from pyspark import cloudpickle

    from noisegate.engine import spark_counts
    from noisegate.engine.spark_work import SliceNoise

    class DiesOnce(SliceNoise):
        def __call__(self, batches):
            import os

            from pyspark import TaskContext

            drawn = list(SliceNoise.__call__(self, batches))
            task = TaskContext.get()
            name = f"{task.partitionId()}-{task.attemptNumber()}.parquet"
            pq.write_table(pa.Table.from_batches(drawn), Path(tmp_path) / name)
            if task.partitionId() == 1 and task.attemptNumber() == 0:
                os._exit(1)  # the Python worker is gone, its rows with it
            yield from drawn

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(spark_counts, "SliceNoise", DiesOnce)
    town.write(town.events(600, strays=False))
    spec = town.spec(unit="event", margins="derive", epsilon="0.1", suppress={"below": 1})
    with count_slices(spec, entropy=OsNoise(), connection=spark) as counts:
        made = publish_tables(make_plan(spec), counts, entropy=OsNoise())["base"]
        slices = [part.values.tolist() for part in made]
        again = [part.values.tolist() for part in made]
    drawn = {path.stem: pq.read_table(path)["value"].to_pylist() for path in tmp_path.glob("*-*.parquet")}
    assert {"1-0", "1-1"} <= drawn.keys()
    assert drawn["1-0"] != drawn["1-1"]
    assert slices == again == [drawn["0-0"], drawn["1-1"]]


@SLOW
def test_every_cell_of_an_empty_slice_can_be_published(town, spark):
    """All events in one cell: the slices without any are drawn like all others."""
    events = [event | {"mode": "train", "stop": "Central"} for event in town.events(50, strays=False)]
    town.write(events)
    spec = town.spec(unit="event", margins="derive", epsilon="0.01", suppress={"below": 1})
    with count_slices(spec, entropy=OsNoise(), connection=spark) as counts:
        made = publish_tables(make_plan(spec), counts, entropy=OsNoise())["base"]
        assert (np.diff(made.cells) > 0).all()
        assert made.cells.max() > spec.domain.size // 2  # buses: nobody took one
        assert abs(made.rows / spec.domain.size - 0.5) < 0.15


@SLOW
def test_what_cannot_be_counted_is_said(town, spark):
    town.write(town.events(20), "taps.csv")
    said = {
        "taps.csv": "are no Parquet files; Spark reads Parquet or a table of its catalogue here",
        "nowhere": "There is no table 'nowhere' in the catalogue of Spark",
        "gone.parquet": "do not exist beside the spec",
    }
    for source, sentence in said.items():
        with pytest.raises(DataError, match=sentence):
            town.count(town.spec(source=source), connection=spark)
    (town.folder / "bad.parquet").write_bytes(b"PAR1 this is not Parquet PAR1")
    with pytest.raises(DataError, match="the engine reports an error of kind") as caught:
        town.count(town.spec(source="bad.parquet"), connection=spark)
    assert "Its own words" in str(caught.value)


@SLOW
def test_a_session_is_left_as_it_was(town, spark):
    town.write(town.events(50))
    before = {
        key: spark.conf.get(key, None) for key in ("spark.sql.session.timeZone", "spark.sql.ansi.enabled")
    }
    town.count(town.spec(), connection=spark)
    assert {key: spark.conf.get(key, None) for key in before} == before


def test_java_that_was_being_started_at_ctrl_c_is_ended(monkeypatch):
    """Nobody would ever speak to it: it waited for minutes, with the terminal's output in its hands."""
    from pyspark.sql import SparkSession

    started = []

    def launch_gateway(_):
        proc = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        started.append(proc)
        raise KeyboardInterrupt

    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", launch_gateway)
    with pytest.raises(KeyboardInterrupt):
        connect("local[1]")
    assert started[0].wait(30) != 0


@SLOW
@pytest.mark.parametrize("unit", ["event", "person-day"])
def test_a_day_without_anybody_is_released_like_any(town, in_spark_files, check_empty_days, unit):
    check_empty_days(town, in_spark_files, unit=unit)


def test_a_delta_table_without_delta_is_said(town, spark):
    """Its folder is not read as Parquet: it holds rows that are deleted."""
    folder = town.folder / "taps.delta"
    (folder / "_delta_log").mkdir(parents=True)
    town.write(town.events(20), "taps.delta/part.parquet")
    for source in ("taps.delta", f"delta.`{folder}`"):
        with pytest.raises(
            DataError, match="a Delta table, which this session of Spark cannot read; start it with"
        ):
            town.count(town.spec(source=source), connection=spark)
    with pytest.raises(DataError, match=r"lie in 'taps\.delta', which is a Delta table"):
        town.count(town.spec(source="taps.delta/*.parquet"), connection=spark)
