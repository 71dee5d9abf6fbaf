"""Selections against cells listed one by one, and questions put to a base."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import DataError, SpecError
from noisegate.tables import Dimension, Domain, Margin, Question, Selection

MODES, STOPS = ("train", "bus"), ("A", "B", "C", "D")
HOURS = tuple(f"{hour:02d}:00" for hour in range(0, 24, 6))


def merged():
    """Bus stops shown by region, the night as one, and stop A only for trains."""
    product = Domain.product(
        [
            Dimension(name="mode", values=MODES),
            Dimension(name="time", values=HOURS),
            Dimension(name="stop", values=STOPS),
        ]
    )
    bus = np.array([False, True])
    north = product.merge("stop", groups=["A", "north", "north", "D"], where={"mode": bus})
    night = north.merge(
        "time",
        groups=["night", "night", "12:00", "18:00"],
        where={"time": np.array([True, True, False, False])},
    )
    return night.nest("stop", "mode", [[0, 1, 2, 3, 1, 2, 3], [0, 0, 0, 0, 1, 1, 1]])


DOMAIN = merged()
VALUES = np.random.default_rng(5).integers(0, 50, DOMAIN.size)
MEMBERS = {"night": {"00:00", "06:00"}, "north": {"B", "C"}}


def share(label, meant):
    """How much of a label is meant, if these values are."""
    values = MEMBERS.get(label, {label})
    return len(values & meant) / len(values)


@given(
    modes=st.sets(st.sampled_from(MODES), min_size=1),
    times=st.sets(st.sampled_from(HOURS), min_size=1),
    stops=st.sets(st.sampled_from(STOPS), min_size=1),
    by=st.permutations(["mode", "time", "stop"]).flatmap(lambda p: st.integers(0, 3).map(lambda n: p[:n])),
)
def test_sums_are_those_of_cells_listed_one_by_one(modes, times, stops, by):
    where = {"mode": sorted(modes), "time": sorted(times), "stop": sorted(stops)}
    selection = Selection.parse(where, DOMAIN, by=by, whole=False)
    groups = selection.groups(DOMAIN)
    sums, counts = {}, {}
    labels = DOMAIN.labels(np.arange(DOMAIN.size))
    for cell, (mode, time, stop) in enumerate(
        zip(labels["mode"], labels["time"], labels["stop"], strict=True)
    ):
        weight = share(mode, modes) * share(time, times) * share(stop, stops)
        key = tuple({"mode": mode, "time": time, "stop": stop}[name] for name in by)
        if weight:
            sums[key] = sums.get(key, 0) + weight * VALUES[cell]
            counts[key] = counts.get(key, 0) + 1
    there = np.flatnonzero(groups.counts())
    names = groups.labels(there)
    keys = list(zip(*(names[name] for name in by), strict=True)) if by else [()] * len(there)
    assert dict(zip(keys, groups.counts()[there].tolist(), strict=True)) == counts
    assert dict(zip(keys, groups.sums(VALUES)[there].tolist(), strict=True)) == pytest.approx(sums)
    cells, group = groups.numbers()
    again = np.bincount(group, weights=groups.weights() * VALUES[cells], minlength=groups.size)
    assert again == pytest.approx(groups.sums(VALUES))
    assert selection.empty == (not counts)


@pytest.mark.parametrize("by", list(itertools.permutations(["mode", "time"])))
def test_a_margin_answers_as_the_base_does(by):
    margin = Margin.over(DOMAIN, ["mode", "time"])
    sums = np.bincount(margin.of(np.arange(DOMAIN.size)), weights=VALUES, minlength=margin.domain.size)
    selection = Selection.parse({"time": "06:00..18:00"}, DOMAIN, by=by, whole=False)
    assert selection.restricted == {"mode", "time"}
    found = selection.groups(margin.domain).sums(sums)
    assert found == pytest.approx(selection.groups(DOMAIN).sums(VALUES))


def test_a_part_of_what_is_shown_as_one_is_refused_only_where_it_is_shown():
    with pytest.raises(
        SpecError, match="asks for a part of time 'night', which is published only as a whole"
    ):
        Selection.parse("time=00:00..06:00", DOMAIN)
    with pytest.raises(SpecError, match="asks for a part of stop 'north'"):
        Selection.parse("stop=B", DOMAIN)
    assert Selection.parse("stop=B,mode=train", DOMAIN).groups(DOMAIN).counts().sum() == 3
    whole = Selection.parse("stop=north,time=night", DOMAIN)
    assert sorted(whole.groups(DOMAIN).numbers()[0].tolist()) == sorted(
        Selection.parse("stop=B|C,time=00:00..12:00", DOMAIN).groups(DOMAIN).numbers()[0].tolist()
    )


def test_questions_say_why_nothing_answers_them():
    assert Question.ask("x", by="colour").put(DOMAIN).reason == "no table has colour"
    nowhere = Question.ask("x", where="mode=bus,stop=A").put(DOMAIN)
    assert nowhere.reason == "no cell of the domain meets its conditions"
    asked = Question.ask("x", where={"time": "06:00..18:00"}, by="mode", top=1, wanted=5.0)
    assert asked.form == "rank"
    assert asked.dimensions == {"mode", "time"}
    assert asked.put(DOMAIN).reason is None
    assert not asked.put(DOMAIN).selection.whole
    with pytest.raises(SpecError, match=r"workload\.x\.where\.stop has no 'E'; it has A, B, C, D, north"):
        Question.ask("x", where="stop=E").put(DOMAIN, at="workload.x.where")


def test_a_question_is_the_same_on_a_card():
    asked = Question.ask("x", where={"time": "06:00..18:00", "mode": ["bus", "train"]}, by=["stop"], top=3)
    assert Question.from_json({**asked.to_json(), "answered": True}) == asked
    refused = Question.from_json({**asked.to_json(), "answered": False, "reason": "no table has colour"})
    assert refused.put(DOMAIN).reason == "no table has colour"
    with pytest.raises(DataError, match="workload in another form"):
        Question.from_json({"name": "odd"})
