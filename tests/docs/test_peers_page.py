"""The page that puts noisegate beside the field is made from the figures that were measured."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((ROOT / "bench/results/peers.json").read_text())


@pytest.fixture
def maker(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs/_make"))
    import peers_page

    return peers_page


def test_the_page_is_made_from_the_figures(maker):
    assert maker.PAGE.read_text("utf-8") == maker.page(KEPT), "run 'python docs/_make/peers_page.py'"
    assert maker.PICTURE.read_text("utf-8").startswith("<svg")
    assert str(ROOT) not in maker.PAGE.read_text("utf-8")


def test_every_peer_was_measured_or_is_left_out_with_a_reason():
    measured = {row["way"] for row in KEPT["speed"]}
    for way in KEPT["includes"]:
        assert way in measured or any(
            why and (way == name or name in way.lower()) for name, why in KEPT["left_out"].items()
        )
    assert {row["events"] for row in KEPT["speed"] if row["way"].startswith("plain")} == {
        500_000,
        1_000_000,
        2_000_000,
    }


def test_ratios_are_those_of_the_times():
    for size in {row["events"] for row in KEPT["speed"]}:
        rows = {row["way"]: row for row in KEPT["speed"] if row["events"] == size}
        plain = rows["plain GROUP BY (DuckDB)"]["wall_s"]
        for row in rows.values():
            assert row["to_plain"] == pytest.approx(row["wall_s"] / plain, rel=0.03, abs=0.06)
            assert row["memory_mb"] > 10


def test_ways_to_bound_hidden_counts_agree():
    """Whole counts can be known where fractions are not: ours is never less."""
    found = {(row["cells"], row["way"]): row["exact"] for row in KEPT["bounds"] if "exact" in row}
    sizes = {row["cells"] for row in KEPT["bounds"]}
    assert len(sizes) == 3
    for size in sizes:
        assert found[size, "noisegate assess"] >= found[size, "HiGHS, two programmes a cell"]
