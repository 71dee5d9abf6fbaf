"""What is inferred about every cell of four published worlds, and what is found in them."""

import pyarrow.parquet as pq
import pytest

WORLDS = ["linked", "one-margin", "exact", "as-in-2016"]
#: Below this, a standard deviation or a probability is rounding in sums over a support, not a figure.
NOTHING = 1e-12
#: Laws of cells are kept in single precision: which way its last digit goes depends on the processor (seen: 3e-8).
SINGLE = 1e-6


def cells_of(folder):
    """One list for each column; counts and labels as they are."""
    return pq.read_table(folder / "cells.parquet").to_pydict()


@pytest.mark.parametrize("world", WORLDS)
def test_cells(hold, published, world):
    found = cells_of(published(world).folder)
    for name in ("mean", "sd", "p_zero"):
        found[name] = [0.0 if abs(value) < NOTHING else value for value in found[name]]
    hold(f"posteriors/{world}", found, rel=SINGLE)


@pytest.mark.parametrize("world", WORLDS)
def test_findings(hold, published, world):
    content = published(world).content
    found = {
        "findings": [[one["id"], one["severity"]] for one in content["findings"]],
        "checks": [[one["id"], one["outcome"]] for one in content["checks"]],
    }
    hold(f"findings/{world}", found)


def test_what_is_likely_does_not_contradict_what_is_proven(published):
    """Counts that tables prove are in the cells what they are in the findings: both rest on the same tables."""
    world = published("exact")
    (proven,) = [one for one in world.content["findings"] if one["id"] == "known-exactly"]
    cells = cells_of(world.folder)
    place = {pair: k for k, pair in enumerate(zip(cells["town"], cells["age"], strict=True))}
    assert len(proven["numbers"]["listed"]) == 4
    for one in proven["numbers"]["listed"]:
        k = place[one["town"], one["age"]]
        assert cells["lo"][k] == cells["hi"][k] == one["low"] == one["high"]
    assert not world.content["inference"]["left_out"]


@pytest.mark.parametrize("which", ["plain", "truth", "gtfs", "weeks"])
def test_findings_in_a_city(hold, city_assessed, which):
    content = city_assessed(which).content
    hold(f"findings/city-{which}", [[one["id"], one["severity"]] for one in content["findings"]])
