"""What bounding leaves out is told with noise of its own, charged, and read back."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from noisegate import SeededNoise, open_release
from noisegate import release as make
from noisegate.engine import CountPlan, count, own_connection
from noisegate.errors import SpecError
from noisegate.releases import make_plan
from noisegate.spec import parse_spec

RNG = np.random.default_rng(5)
PERSONS = np.repeat(np.arange(3000), RNG.integers(1, 8, 3000))
EVENTS = {"card": PERSONS, "cell": [f"c{n}" for n in RNG.integers(0, 12, PERSONS.size)]}


def spec(**privacy):
    return parse_spec(
        {
            "name": "clipped",
            "events": {"source": "events", "person": "card"},
            "budget": {"dataset": "people", "epsilon": "10"},
            "dimensions": {"cell": {"column": "cell", "values": [f"c{n}" for n in range(12)]}},
            "tables": {"cells": ["cell"]},
            "privacy": {"unit": "person", "max_cells": 3, "epsilon": 1, "report_clipped": "0.5", **privacy},
        },
        folder=Path(),
    )


def truth(cells):
    """Units, units beyond, kept and lost events, by going through the events one by one."""
    by_person = {}
    for who, cell in zip(PERSONS.tolist(), EVENTS["cell"], strict=True):
        by_person.setdefault(who, []).append(cell)
    units = beyond = kept = lost = 0
    for own in by_person.values():
        stays = min(len(set(own)), cells)  # one event in each cell counts
        units, beyond = units + 1, beyond + (len(own) > stays)
        kept, lost = kept + stays, lost + min(len(own) - stays, cells)
    return units, beyond, kept, lost


@pytest.mark.parametrize("cells", [1, 3])
def test_the_engine_counts_what_goes_through_one_by_one(cells):
    with own_connection() as connection:
        connection.register("events", pa.table(EVENTS))
        wanted = CountPlan.of(spec(max_cells=cells))
        found = count(wanted, connection=connection, entropy=SeededNoise(seed=1)).clipping
    assert (found.units, found.beyond, found.kept, found.lost) == truth(cells)
    assert repr(found) == "Clipping()"


def test_it_is_charged_in_every_unit():
    plan, plain = make_plan(spec()), make_plan(spec(report_clipped=None))
    assert plan.charged.epsilon == plain.charged.epsilon + Fraction(1, 2)
    assert plan.losses.event.epsilon == plain.losses.event.epsilon + Fraction(1, 2)


def test_the_card_states_shares_that_hold_the_truth_and_the_release_reads_them_back(tmp_path):
    hits, (units, beyond, kept, lost) = 0, truth(3)
    for seed in range(12):
        place = tmp_path / str(seed)
        place.mkdir()
        out = place / "out"
        made = make(
            spec(),
            events=pa.table(EVENTS),
            out=out,
            ledger=place / "ledger.db",
            entropy=SeededNoise(seed=seed),
        )
        told = open_release(out).card.bounding.clipped
        assert told == made.card.bounding.clipped
        hits += told.units_low <= beyond / units <= told.units_high
        hits += told.events_low <= lost / (lost + kept) <= told.events_high
    assert hits >= 18  # of 24 at 95 %: fewer have a chance below one in ten thousand
    assert told.events_high - told.events_low < 0.05
    card = json.loads((out / "card.json").read_text())
    assert card["privacy_parameters"]["epsilon"] == 1.5
    assert "of the events, at least, are not counted" in (out / "CARD.md").read_text()


def test_a_query_says_that_counts_lack_what_is_beyond_the_bound(noisegate, tmp_path):
    out, file = tmp_path / "out", tmp_path / "answer.json"
    make(spec(), events=pa.table(EVENTS), out=out, ledger=tmp_path / "l.db", entropy=SeededNoise(seed=1))
    code, text, _ = noisegate("query", out, "--json", file)
    assert code == 0
    assert "beyond the bound and in no count" in " ".join(text.split())
    found = json.loads(file.read_text())
    assert 0.1 < found["clipped"]["events"] < 0.4
    # Wider than the answer, by the interval of the share that is beyond the bound.
    (low,), (high,) = found["for_all_events"]["low"], found["for_all_events"]["high"]
    (answer,) = found["answers"]
    assert low >= answer["low"]
    assert high > answer["high"] / (1 - found["clipped"]["events"])
    assert "All events, those beyond the bound too" in text


def test_events_have_no_bound_to_tell_of():
    with pytest.raises(SpecError, match="events are not bounded"):
        spec(unit="event", max_cells=None)
