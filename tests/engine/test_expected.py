"""Counting without a spec: the mean over the lots of bounding, rows with a weight, and plans that make no sense."""

from collections import Counter
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate import limits
from noisegate.engine import CountPlan, ExpectedCounts, Source, count, expect_events, expected_counts
from noisegate.errors import InternalError, RandomnessError
from noisegate.laws import SeededNoise
from noisegate.spec import ContributionBound

BITS = 4

events_of_units = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=50)


@given(
    events=events_of_units, cells=st.integers(1, 4), each=st.integers(1, 3), chunk=st.sampled_from([1, 64])
)
def test_the_mean_is_that_of_even_chances(events, cells, each, chunk):
    keys = np.sort(np.array([(unit << BITS) | cell for unit, cell in events], dtype=np.int64))
    with limits.override(keys_at_once=chunk):
        found = expect_events(keys, cell_bits=BITS, bound=ContributionBound(cells=cells, per_cell=each))
    times = Counter(events)
    held = Counter(unit for unit, _ in times)
    mean, drawing = Counter(), Counter()
    for (unit, cell), number in times.items():
        mean[cell] += min(number, each) * min(1.0, cells / held[unit])
        drawing[cell] += min(number, each) if held[unit] > cells else 0
    assert dict(zip(found.cells.tolist(), found.mean.tolist(), strict=True)) == pytest.approx(dict(mean))
    assert found.drawing.tolist() == [drawing[cell] for cell in found.cells.tolist()]
    assert (found.variance[found.drawing == 0] == 0).all()


@pytest.mark.parametrize("unit", ["person", "person-day"])
def test_the_mean_is_the_count_where_nobody_has_too_many_cells(town, unit):
    town.write(town.events(400))
    spec = town.spec(unit=unit)
    mean, counts = expected_counts(CountPlan.of(spec)), town.count(spec)
    assert mean.cells.tolist() == counts.cells.tolist()
    assert mean.mean.tolist() == counts.raw_counts.tolist()
    assert not mean.drawing.any()


@pytest.mark.slow
def test_the_mean_is_near_that_of_many_counts(town):
    town.write(town.events(300, persons=5, strays=False))
    spec = town.spec(max_cells=3)
    mean = expected_counts(CountPlan.of(spec))
    draws = np.zeros((200, spec.domain.size))
    for seed, row in enumerate(draws):
        found = count(spec, entropy=SeededNoise(seed=seed))
        row[found.cells] = found.raw_counts
    # The chance of more than five standard errors in one of 300 cells is below 2 in 10,000.
    error = np.sqrt(mean.variance / len(draws))
    assert (np.abs(draws.mean(axis=0)[mean.cells] - mean.mean) <= 5 * error + 1e-9).all()


def test_passes_and_single_events_give_the_same_mean(town):
    town.write(town.events(400, persons=40))
    plan = CountPlan.of(town.spec(max_cells=2))
    once = expected_counts(plan)
    with limits.override(events_at_once=50):
        often = expected_counts(plan)
    assert often.cells.tolist() == once.cells.tolist()
    assert often.mean == pytest.approx(once.mean)
    every = expected_counts(plan.every_event())
    assert every.mean.tolist() == count(plan.every_event()).raw_counts.tolist()


def test_a_row_counts_by_its_weight(town):
    events = town.events(200)
    town.write(events)
    plan = CountPlan.of(town.spec(unit="event"))
    alone = count(plan)
    table = town.table(events).append_column("n", pa.array([2] * 100 + [3] * 100))
    connection = duckdb.connect()
    connection.register("weighted", pa.concat_tables([table, table.slice(0, 100)]))
    weighted = count(replace(plan, source="weighted", weight="n"), connection=connection)
    # The first half stands there twice with a weight of two each.
    town.write(events[:100] * 4 + events[100:] * 3)
    repeated = count(plan)
    assert weighted.cells.tolist() == repeated.cells.tolist() == alone.cells.tolist()
    assert weighted.raw_counts.tolist() == repeated.raw_counts.tolist()
    assert weighted.tally == repeated.tally


def test_a_source_that_is_open_is_counted_as_it_is(town):
    events = town.events(100)
    town.write(events)
    plan = CountPlan.of(town.spec(unit="event"))
    path = town.folder / "taps.parquet"
    kinds = {"mode": "VARCHAR", "tap": "VARCHAR", "tapped_at": "TIMESTAMP", "stop": "VARCHAR"}
    source = Source(name="taps", sql=f"read_parquet('{path}')", columns=kinds, rows=100)
    found = count(replace(plan, source=source))
    assert found.raw_counts.tolist() == count(plan).raw_counts.tolist()


def test_lots_need_entropy_and_plans_what_they_count_by(town):
    town.write(town.events(20))
    plan = CountPlan.of(town.spec())
    with pytest.raises(RandomnessError):
        count(plan)
    with pytest.raises(InternalError, match="needs a person, a bound and single events"):
        replace(plan, weight="n")
    with pytest.raises(InternalError, match="dimension of dates"):
        replace(plan, dimensions={name: one for name, one in plan.dimensions.items() if name != "date"})


def test_parts_add_up():
    one = ExpectedCounts.sure_of(np.array([5, 2, 5]), np.array([1, 2, 3]))
    assert (one.cells.tolist(), one.sure.tolist()) == ([2, 5], [2, 4])
    assert ExpectedCounts.sum_of([]).cells.size == 0
    assert ExpectedCounts.sum_of([one, one]).mean.tolist() == [4.0, 8.0]
