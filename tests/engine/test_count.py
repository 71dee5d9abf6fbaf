"""Counting against a counter that is too simple to be wrong, and the bounds that it must keep."""

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisegate import limits
from noisegate.engine import CellRuns, accumulator
from noisegate.errors import RandomnessError
from noisegate.laws import SeededNoise

UNITS = ["event", "person-day", "person"]
NIGHT = {"time": {"from": "23:00", "to": "02:00"}, "mode": ["bus"]}


@pytest.mark.parametrize("unit", UNITS)
def test_equals_the_simple_counter(town, unit):
    events = town.events(2000)
    town.write(events)
    spec = town.spec(unit=unit)
    counts = town.count(spec)
    assert town.labelled(spec, counts) == town.expected(events, unit=unit)
    assert counts.tally.events == len(events)
    assert counts.tally.counted == counts.raw_counts.sum()


def test_several_events_in_a_cell_count_if_the_spec_says_so(town):
    events = town.events(3000, persons=3)
    town.write(events)
    spec = town.spec(max_per_cell=2)
    counts = town.count(spec)
    assert town.labelled(spec, counts) == town.expected(events, unit="person-day", per_cell=2)
    assert counts.tally.repeated > 0


@pytest.mark.parametrize("unit", ["person-day", "person"])
@pytest.mark.parametrize("most", [1, 3])
def test_every_unit_keeps_exactly_its_most(town, unit, most):
    # Every person has a stop of their own, so the cells tell who is in them.
    events = town.events(900, persons=6, strays=False)
    for event in events:
        event["stop"] = list(town.stops)[event["card_id"] % 6]
    town.write(events)
    spec = town.spec(unit=unit, max_cells=most)
    found = town.labelled(spec, town.count(spec))
    assert set(found.values()) == {1}

    def owner(cell):
        return (cell[-1], cell[1] if unit == "person-day" else None)

    own = Counter(map(owner, {town.cell(event) for event in events}))
    assert max(own.values()) > most
    assert Counter(map(owner, found)) == {who: min(number, most) for who, number in own.items()}


taps_of_people = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0, 6, 8]), st.integers(0, 5)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(taps=taps_of_people, unit=st.sampled_from(UNITS[1:]), most=st.integers(1, 3), salt=st.integers(0, 50))
def test_removing_one_person_moves_the_table_by_at_most_the_bound(
    *, town, keyed_entropy, taps, unit, most, salt
):
    spec = town.spec(unit=unit, max_cells=most, max_per_cell=2)
    start = dt.datetime.fromisoformat("2016-07-25")

    def counted(taps):
        # One more person, whom nobody removes, so that there is always an event.
        events = [
            {
                "card_id": 10 + person,
                "mode": "bus",
                "tap": "on",
                "tapped_at": start + dt.timedelta(days=day, hours=hour),
                "stop": list(town.stops)[stop],
            }
            for person, day, hour, stop in [*taps, (99, 0, 0, 0)]
        ]
        town.write(events)
        cells = [number_of(spec, town.cell(event)) for event in events]
        units = [(e["card_id"], e["tapped_at"].day if unit == "person-day" else 0) for e in events]
        entropy = keyed_entropy(list(zip(units, cells, strict=True)), most=most, salt=salt)
        return town.labelled(spec, town.count(spec, entropy=entropy))

    gone = taps[0][0]
    before, after = counted(taps), counted([tap for tap in taps if tap[0] != gone])
    moved = [before[cell] - after[cell] for cell in before | after]
    units = len({day for person, day, _, _ in taps if person == gone}) if unit == "person-day" else 1
    assert min(moved) >= 0
    assert sum(change > 0 for change in moved) <= most * units
    assert max(moved) <= 2 * units
    assert sum(moved) <= spec.privacy.contribution.total * units


def number_of(spec, labels):
    codes = [[dim.values.index(label)] for dim, label in zip(spec.domain.dimensions, labels, strict=True)]
    return int(spec.domain.locate(*codes)[0])


@pytest.mark.parametrize("unit", UNITS)
def test_merged_cells_are_counted_as_one(town, unit):
    events = town.events(2000)
    town.write(events)
    by_postcode = {"column": "stop", "values": "stops.csv", "group_by": {"postcode": {"mode": ["bus"]}}}
    spec = town.spec(
        unit=unit,
        dimensions={"location": by_postcode},
        merge=[{"dimension": "time", "into": "night", "where": NIGHT}],
    )

    def merged(event):
        cell = town.cell(event)
        if cell is None or cell[0] != "bus":
            return cell
        hour = "night" if cell[3] in {"23:00", "00:00", "01:00"} else cell[3]
        return (*cell[:3], hour, town.stops[cell[4]][1])

    assert len(spec.domain.blocks) == 3
    assert town.labelled(spec, town.count(spec)) == town.expected(events, unit=unit, cell=merged)


def test_pairs_that_are_ruled_out_have_no_cell(town):
    events = town.events(500, strays=False)
    town.write(events)
    only = {"location": {"column": "stop", "values": "stops.csv", "only": {"mode": "mode"}}}
    spec = town.spec(unit="event", dimensions=only)
    assert spec.domain.size == 3 * 2 * 24 * (3 + 4)
    assert town.labelled(spec, town.count(spec)) == town.expected(events, unit="event")
    events[0] |= {"mode": "train", "stop": "Lee St"}
    town.write(events)
    assert town.count(spec).tally.outside == {"a combination that is ruled out": 1}


def test_a_dimension_that_no_table_shows_still_selects(town):
    events = town.events(800)
    town.write(events)
    spec = town.spec(tables={"times": ["time"]})
    expected = town.expected(
        events, unit="person-day", cell=lambda event: (c := town.cell(event)) and (c[3],)
    )
    assert town.labelled(spec, town.count(spec)) == expected


@pytest.mark.parametrize("unit", ["person-day", "person"])
@pytest.mark.parametrize("ids", ["text", "wide", "uuid"])
def test_persons_of_any_kind_are_told_apart(town, unit, ids):
    events = town.events(800, strays=False)
    wide = np.array([(event["card_id"] * 0x9E3779B97F4A7C15) % 2**64 for event in events], dtype=np.uint64)
    column = {
        "text": pa.array([f"card {n:x}" for n in wide]),
        "wide": pa.array(wide.view(np.int64)),
        "uuid": pa.array([int(n).to_bytes(16) for n in wide], pa.uuid()),
    }[ids]
    town.write(town.table(events).set_column(0, "card_id", column))
    spec = town.spec(unit=unit)
    assert town.labelled(spec, town.count(spec)) == town.expected(events, unit=unit)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("most", [0, 1 << 24])
def test_however_it_is_added_up_the_counts_are_the_same(town, unit, most, monkeypatch):
    town.write(town.events(2000))
    spec = town.spec(unit=unit)
    once = town.count(spec)
    monkeypatch.setattr(accumulator.DenseAccumulator, "at_once", 300)
    monkeypatch.setattr(CellRuns, "at_once", 300)
    with limits.override(dense_cells=most, events_at_once=300, pairs_at_once=100):
        again = town.count(spec)
    assert (again.cells == once.cells).all()
    assert (again.raw_counts == once.raw_counts).all()
    assert again.tally == once.tally


@pytest.mark.parametrize("most", [0, 1 << 24])
def test_many_batches_add_up(town, most, monkeypatch):
    town.write(town.events(1000))
    spec = town.spec(unit="event")
    once = town.count(spec)
    town.write(pa.concat_tables([town.table(town.events(1000))] * 400))
    monkeypatch.setattr(accumulator.DenseAccumulator, "at_once", 150_000)
    monkeypatch.setattr(CellRuns, "at_once", 150_000)
    batches = []
    with limits.override(dense_cells=most):
        many = town.count(spec, progress=batches.append)
    assert len(batches) > 2
    assert (many.cells == once.cells).all()
    assert (many.raw_counts == 400 * once.raw_counts).all()


@pytest.mark.parametrize("unit", UNITS[1:])
@pytest.mark.parametrize("spare", [4, 1])
def test_a_narrow_key_makes_persons_and_cells_be_numbered(town, unit, spare):
    town.write(town.events(2000))
    spec = town.spec(unit=unit)
    once = town.count(spec)
    cell_bits = (spec.domain.size - 1).bit_length()
    with limits.override(key_bits=cell_bits + spare):
        again = town.count(spec)
    assert again.tally == once.tally
    assert (again.cells == once.cells).all()
    assert (again.raw_counts == once.raw_counts).all()


@pytest.mark.parametrize("unit", UNITS)
def test_a_domain_of_billions_costs_no_more(town, unit):
    events = town.events(500)
    town.write(events)
    places = [*town.stops, *(f"Stop {n}" for n in range(30_000))]
    dims = {"location": {"column": "stop", "values": places}, "time": {"column": "tapped_at", "every": "5s"}}
    spec = town.spec(unit=unit, dimensions=dims)
    assert spec.domain.size > 3_000_000_000

    def fine(event):
        at = event["tapped_at"]
        cell = town.cell(event)
        return cell and (*cell[:3], f"{at:%H:%M}:{at.second // 5 * 5:02d}", cell[4])

    assert town.labelled(spec, town.count(spec)) == town.expected(events, unit=unit, cell=fine)


def test_the_domain_does_not_depend_on_the_events(town):
    spec = town.spec()
    seen = set()
    for seed in range(3):
        town.write(town.events(50, seed=seed))
        town.count(spec)
        seen.add((spec.domain.size, spec.domain.dimensions))
    assert len(seen) == 1


def test_progress_hears_of_every_event(town):
    town.write(town.events(700))
    heard = []
    town.count(town.spec(), progress=heard.append)
    assert sum(heard) == 700


def test_raw_numbers_do_not_show_in_a_log(town):
    town.write(town.events(7919, persons=2))
    counts = town.count(town.spec(max_cells=2))
    assert repr(counts) == "Counts(tally=Tally())"
    assert counts.tally.lines()[0].startswith("7,919 events read, ")
    assert counts.tally.lines()[-1].endswith(" left out: in cells beyond the most that a unit may add to")


def test_a_generator_for_simulations_is_refused(town):
    town.write(town.events(10))
    with pytest.raises(RandomnessError):
        town.count(town.spec(), entropy=np.random.default_rng(1))


def test_the_same_seed_gives_the_same_counts(town):
    town.write(town.events(900, persons=2))
    spec = town.spec(max_cells=3)
    first, second = (town.count(spec, entropy=SeededNoise(seed=4)) for _ in range(2))
    assert (first.cells == second.cells).all()


@pytest.mark.parametrize("unit", UNITS)
def test_events_whose_place_does_not_go_with_their_mode_are_tallied(town, unit):
    """The column `mode` of stops.csv says which mode a stop has; an empty one goes with all."""
    events = town.events(900, strays=False)
    for event in events[::3]:
        event["mode"] = "train" if event["mode"] == "bus" else "bus"
    town.write(events)
    many = {} if unit == "event" else {"max_per_cell": 99}
    spec = town.spec(unit=unit, dimensions={"location": {"column": "stop", "values": "stops.csv"}}, **many)
    assert spec.domain.nests
    counts = town.count(spec)
    inside = [event for event in events if town.stops[event["stop"]][0] in ("", event["mode"])]
    assert town.labelled(spec, counts) == Counter(map(town.cell, inside))
    assert counts.tally.outside == {"a combination that is ruled out": len(events) - len(inside)}
