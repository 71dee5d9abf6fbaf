"""Trip microdata: from raw events to the share of persons who are unique, against brute force."""

import json
from datetime import datetime, timedelta
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.assessment import Microdata, PersonEvents, assess, read_person_events
from noisegate.errors import DataError
from noisegate.laws import SeededNoise
from noisegate.reading import find_structure, read_table
from noisegate.releases import release
from noisegate.report import write_assessment
from noisegate.simulation import simulate
from noisegate.spec import load_spec
from noisegate.workload import TruthFile


def some_events(rng, *, persons=120, places=6, days=2):
    first = datetime(2016, 7, 25)  # noqa: DTZ001 - wall clock
    who, where, when = [], [], []
    for person in range(persons):
        for _ in range(rng.integers(1, 7)):
            who.append(f"card {person}")
            where.append(f"stop {rng.integers(places)}")
            when.append(first + timedelta(minutes=int(rng.integers(360, 600) + 1440 * rng.integers(days))))
    return pa.table({"person": who, "place": where, "time": pa.array(when, pa.timestamp("us"))})


def true_share(table, minutes, *, places, number):
    """Over all persons with enough points, the share of their sets of points that nobody else has."""
    points = {}
    for row in table.to_pylist():
        bin_of = int((row["time"] - datetime(2016, 7, 25)).total_seconds() // 60) // minutes  # noqa: DTZ001 - wall clock
        points.setdefault(row["person"], set()).add((row["place"], bin_of) if places else bin_of)
    shares = []
    for who, own in points.items():
        if len(own) >= number:
            alone = [
                not any(set(pick) <= other for whom, other in points.items() if whom != who)
                for pick in combinations(own, number)
            ]
            shares.append(np.mean(alone))
    return float(np.mean(shares))


@pytest.mark.parametrize(("minutes", "places"), [(15, True), (60, True), (1440, True), (15, False)])
def test_uniqueness_at_each_coarsening_is_that_of_brute_force(minutes, places):
    rng = np.random.default_rng(minutes)
    table = some_events(rng)
    events = PersonEvents.of(table, person="person", place="place", time="time")
    runs = [
        Microdata.of(events, rng=rng, coarsenings=[(minutes, places)]).coarsenings[0].found for _ in range(80)
    ]
    for number in (1, 2, 3):
        shares = np.array([run[number - 1].share for run in runs])
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        truth = true_share(table, minutes, places=places, number=number)
        assert abs(shares.mean() - truth) < 4 * error + 1e-9


def test_coarser_points_single_out_fewer():
    rng = np.random.default_rng(1)
    events = PersonEvents.of(some_events(rng, persons=400), person="person", place="place", time="time")
    found = Microdata.of(events, rng=rng).to_json()
    shares = [one["unique"][1]["share"] for one in found["coarsenings"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1] + 0.2
    assert found["persons"] == 400


def test_rows_without_a_person_a_place_or_a_time_are_left_out():
    when = [datetime(2016, 7, 25, 6, n) for n in range(3)]  # noqa: DTZ001 - wall clock
    columns = {"p": ["a", None, "b"], "s": ["x", "y", None], "n": [1, 2, 3]}
    table = pa.table(columns | {"t": pa.array(when, pa.timestamp("us"))})
    assert PersonEvents.of(table, person="p", place="s", time="t").events.tolist() == [1]
    with pytest.raises(DataError, match="must hold timestamps"):
        PersonEvents.of(table, person="p", place="s", time="n")
    with pytest.raises(DataError, match="no row with a person"):
        PersonEvents.of(table.slice(1, 1), person="p", place="s", time="t")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("microdata")
    made = simulate(folder / "world", days=4, persons=3_000, seed=6)
    release(load_spec(made.spec_2016), out=folder / "r", ledger=folder / "l.db", entropy=SeededNoise(seed=1))
    return made, [folder / "r" / f"{name}.csv" for name in ("time-loc", "time", "loc")]


def test_the_raw_events_of_a_world_are_read(world):
    made, paths = world
    base = find_structure([read_table(path) for path in paths]).base
    events = read_person_events(TruthFile.open(made.taps, base), base)
    taps = pq.read_table(made.taps)
    assert events.events.sum() == taps.num_rows
    assert np.sort(events.events).tolist() == sorted(
        taps.group_by("card_id").aggregate([("card_id", "count")]).column("card_id_count").to_pylist()
    )


def test_the_same_file_gives_the_same_shares_every_time(world, tmp_path):
    """Persons are drawn by number: rows must come in the order of the file, however many threads read it."""
    made, paths = world
    base = find_structure([read_table(path) for path in paths]).base
    taps, file = pq.read_table(made.taps), tmp_path / "taps.parquet"
    pq.write_table(pa.concat_tables([taps] * 40), file, row_group_size=5_000)
    found = read_person_events(TruthFile.open(file, base), base)
    cards = pq.read_table(file).column("card_id").dictionary_encode().combine_chunks()
    again = np.bincount(cards.indices.to_numpy())
    np.testing.assert_array_equal(found.events, again)
    shares = [Microdata.of(found, rng=np.random.default_rng(0)).coarsenings[0].to_json() for _ in range(2)]
    assert shares[0] == shares[1]


def test_an_assessment_with_raw_events_has_the_section_and_no_card(world, tmp_path):
    made, paths = world
    out = tmp_path / "out"
    found = assess(paths, truth=made.taps, attacker=None)
    write_assessment(found, out)
    content = json.loads((out / "assessment.json").read_text())
    section = content["microdata"]
    finest = section["coarsenings"][0]["unique"]
    assert [one["points"] for one in finest] == [1, 2, 3, 4]
    for one in finest:
        low, high = one["interval"]
        assert low <= one["share"] <= high
    assert finest[3]["share"] > 0.8
    (finding,) = [one for one in found.findings if one.id == "microdata"]
    assert "unique from" in finding.title
    text = json.dumps(section) + " ".join(finding.evidence)
    cards = set(pq.read_table(made.taps).column("card_id").to_pylist())
    assert not any(str(card) in text for card in cards if len(str(card)) > 4)


def test_counts_in_place_of_events_tell_nothing_about_persons(world):
    _, paths = world
    found = assess(paths, truth=paths[0], attacker=None)
    assert found.to_json()["microdata"] is None
