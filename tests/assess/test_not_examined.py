"""What was not looked at is named, with the reason, and trips the gate that asks for it."""

import numpy as np
import pytest

import noisegate
from noisegate import limits
from noisegate.report import verdict_of


@pytest.fixture
def measures(tmp_path):
    """Two measures side by side, with exact totals over ages."""
    counts = np.random.default_rng(1).integers(20, 90, (12, 3, 2))
    lines = ["region,age,births,deaths"]
    for k in range(12):
        lines += [
            f"r{k},{age},{b},{d}" for age, (b, d) in zip(("0-14", "15-64", "65+"), counts[k], strict=True)
        ]
        lines.append(f"r{k},All ages,{counts[k, :, 0].sum()},{counts[k, :, 1].sum()}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_tables_beyond_the_limit_are_named_and_trip_the_gate(measures):
    with limits.override(assessed_beside=0):
        found = noisegate.assess(measures, attacker=None)
    ((name, why),) = [(n, w) for n, w in found.not_examined.items() if "beside" in n]
    assert name == "1 tables beside these (deaths)"
    assert "assess them by themselves" in why
    assert "1 tables that were not assessed" in found.failures("unrecognised")
    assert any("deaths" in gap for gap in verdict_of(found, dict.fromkeys(range(99), "")).gaps)
    assert found.to_json()["not_examined"] == found.not_examined


def test_words_of_rides_stay_with_rides(measures, tmp_path):
    found = noisegate.assess(measures, attacker=None)
    assert found.not_examined == {}
    assert not found.about_transport
    page = found.report(tmp_path / "report.html").read_text().casefold()
    assert "not examined" not in page
    for word in ("ferry", "a tap", "timetable", "vehicle"):
        assert word not in page


def test_what_likely_totals_prove_is_said_with_its_condition(tmp_path):
    """Too few totals to tell whether they are exact: what follows if they are is said, as a condition, and is right."""
    rng = np.random.default_rng(12)
    counts = rng.poisson(9 * rng.gamma(1, 1, (12, 10)))
    gone = (counts >= 1) & (counts <= 4)
    tables = {
        "cells": [["row", "column", "count"]]
        + [[f"r{i}", f"c{j}", "*" if gone[i, j] else counts[i, j]] for i, j in np.ndindex(12, 10)],
        "by-row": [["row", "count"], *([f"r{i}", n] for i, n in enumerate(counts.sum(axis=1)))],
        "by-column": [["column", "count"], *([f"c{j}", n] for j, n in enumerate(counts.sum(axis=0)))],
    }
    files = []
    for name, rows in tables.items():
        files.append(tmp_path / f"{name}.csv")
        files[-1].write_text("\n".join(",".join(map(str, row)) for row in rows))
    known = noisegate.assess(files).finding("known-exactly")
    assert known.severity == "medium"
    assert known.title.startswith("If by-column and by-row show counts as they are, 2 of 37 counts")
    listed = {(one["row"], one["column"]): one["low"] for one in known.numbers["listed"]}
    assert listed == {(f"r{i}", f"c{j}"): counts[i, j] for i, j in ((3, 3), (7, 8))}
