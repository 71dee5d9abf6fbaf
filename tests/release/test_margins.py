"""Margins: sums of what is published (derive), exact sums of what is estimated (reconcile), noise of their own."""

import math
from collections import Counter

import pytest

from noisegate import limits

PERSON_DAY = {"unit": "person-day", "max_cells": 4, "epsilon": "2"}


def sums(rows, dimensions, kept):
    """Base rows added up by plain Python."""
    places = [dimensions.index(name) for name in kept]
    total = Counter()
    for labels, count in rows:
        total[tuple(labels[place] for place in places)] += count
    return total


def margins_of(made):
    base = next(name for name, table in made.card["tables"].items() if table["base"])
    dimensions = made.card["tables"][base]["dimensions"]
    return {
        name: (dict(made.csv[name]), sums(made.csv[base], dimensions, table["dimensions"]))
        for name, table in made.card["tables"].items()
        if name != base
    }


@pytest.mark.parametrize(
    "privacy",
    [
        PERSON_DAY,
        {**PERSON_DAY, "split": {"time-loc": "1/2", "time": "1/2", "loc": "0"}},
        {**PERSON_DAY, "unit": "person", "law": "discrete-gaussian", "delta": "1e-6"},
        {"unit": "event", "scale": "1.4", "law": "rounded-laplace"},
    ],
    ids=["best-split", "one-unmeasured", "gaussian", "rounded-laplace"],
)
def test_reconciled_margins_are_the_exact_sums_and_nothing_is_negative(privacy, spec_of, make):
    made = make(spec_of(privacy, every="1h"))
    for rows in made.csv.values():
        assert all(count >= 0 for _, count in rows)
    for name, (published, summed) in margins_of(made).items():
        assert len(published) == made.card["tables"][name]["cells"]
        assert published == dict(summed)


def test_reconciled_margins_in_any_order_of_dimensions(spec_of, make):
    tables = {
        "base": ["mode", "date", "tap", "time", "location"],
        "late": ["time", "mode"],
        "places": ["location", "date"],
        "one": ["tap"],
    }
    made = make(spec_of(PERSON_DAY, every="6h", tables=tables))
    for published, summed in margins_of(made).values():
        assert published == dict(summed)


def test_what_is_suppressed_still_counts_in_reconciled_margins(spec_of, make):
    """Suppression comes last: margins are sums of base cells shown and not shown, so never below what is shown."""
    made = make(spec_of({**PERSON_DAY, "suppress": {"below": 3}}, every="1h"))
    shown = dict.fromkeys(made.csv, 0)
    for name, (published, summed) in margins_of(made).items():
        for labels, count in published.items():
            assert count >= max(3, summed[labels])
            shown[name] += count > summed[labels]
        for labels, count in summed.items():
            assert labels in published or count == 0 or count < 3
    assert min(count for _, count in made.csv["time-loc"]) == 3  # the threshold itself is shown
    assert shown["time"] > 10
    assert shown["loc"] > 10


@pytest.mark.parametrize(
    "suppress", [None, {"below": 4}, {"spurious": "0.001"}], ids=["whole", "below", "spurious"]
)
def test_derived_margins_are_sums_of_what_is_published(suppress, spec_of, make):
    privacy = {**PERSON_DAY, "margins": "derive"} | ({} if suppress is None else {"suppress": suppress})
    made = make(spec_of(privacy, every="1h"))
    for name, (published, summed) in margins_of(made).items():
        assert published == dict(summed)
        assert made.card["tables"][name]["noise"] is None
        if suppress is None:  # also the cells whose noise adds up to nothing
            assert len(published) == made.card["tables"][name]["cells"]
            assert 0 in published.values()


def test_independent_margins_disagree(spec_of, make):
    made = make(spec_of({**PERSON_DAY, "margins": "independent", "unsafe": "true"}, every="1h"))
    for published, summed in margins_of(made).values():
        assert sum(published[labels] != summed[labels] for labels in published) > 0.5 * len(published)


def test_a_margin_is_close_to_the_truth_however_it_is_made(spec_of, make, truth_of, tmp_path):
    """A sum of wrong cells would be thousands off; what is stated is a few dozen.

    The noise is fresh on every run: the mean of n errors is off by about 1.2 / sqrt(n) of itself, and six times that is chance.
    All tables together have errors enough for a tenth.
    """
    found = stated = 0.0
    for margins in ("reconcile", "derive", "independent"):
        privacy = {"unit": "event", "epsilon": "3", "margins": margins, "unsafe": "true"}
        made = make(spec_of(privacy, every="1h"), out=tmp_path / margins)
        for name, table in made.card["tables"].items():
            truth = truth_of(table["dimensions"], minutes=60)
            errors = [abs(count - truth[labels]) for labels, count in made.csv[name]]
            limit = (1 + 6 * 1.25 / math.sqrt(len(errors))) * table["error"]["expected_absolute"]
            assert sum(errors) / len(errors) < limit, (margins, name)
            assert len(errors) == table["cells"]
            found, stated = found + sum(errors), stated + len(errors) * table["error"]["expected_absolute"]
    assert found < 1.1 * stated


@pytest.mark.parametrize("margins", ["reconcile", "derive"])
def test_places_go_with_their_mode_and_margins_may_leave_both_out(margins, spec_of, make, world):
    """The column `mode` of stops.csv rules combinations out, and the card says so; totals over all modes add up."""
    tables = {
        "time-loc": ["mode", "date", "tap", "time", "location"],
        "time": ["date", "tap", "time"],
        "loc": ["mode", "date", "tap", "location"],
    }
    made = make(spec_of({**PERSON_DAY, "margins": margins}, every="1h", nested=True, tables=tables))
    home = dict(line.split(",")[:2] for line in (world.folder / "stops.csv").read_text().splitlines()[1:])
    assert all(home[labels[4]] in ("", labels[0]) for labels, _ in made.csv["time-loc"])
    (nesting,) = made.card["domain"]["nesting"]
    assert nesting["dimensions"] == ["mode", "location"]
    assert nesting["combinations"]["ferry"] == [stop for stop, mode in home.items() if mode in ("", "ferry")]
    assert "nesting_left_out" not in made.card["domain"]
    for published, summed in margins_of(made).values():
        assert published == dict(summed)


def test_what_cannot_be_nested_is_said_on_the_card(spec_of, make):
    """UNKNOWN goes with all modes: margins by mode and by place would divide them in ways that cross."""
    tables = {
        "time-loc": ["mode", "date", "tap", "time", "location"],
        "time": ["mode", "date", "tap", "time"],
        "loc": ["date", "tap", "location"],
    }
    made = make(spec_of(PERSON_DAY, every="6h", nested=True, tables=tables))
    (left_out,) = made.card["domain"]["nesting_left_out"]
    assert (left_out["dimension"], left_out["within"]) == ("location", "mode")
    assert "in ways that cross" in left_out["reason"]
    assert made.card["domain"]["product"]


def test_a_base_too_large_to_hold_is_reconciled_stretch_by_stretch(spec_of, make):
    """Every table keeps the mode, the first dimension: two modes at a time, and the sums are exact all the same."""
    spec = spec_of(PERSON_DAY, every="6h")
    each = spec.domain.size // len(spec.domain.dimensions[0].labels)
    with limits.override(reconciled_cells=spec.domain.size - 1, dense_cells=2 * each):
        made = make(spec)
    assert all(count >= 0 for rows in made.csv.values() for _, count in rows)
    for name, (published, summed) in margins_of(made).items():
        assert len(published) == made.card["tables"][name]["cells"]
        assert published == dict(summed)
