"""The table of mechanisms is made from the figures that were measured, and these meet what the page says of them."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = json.loads((ROOT / "bench/results/mechanisms.json").read_text())


@pytest.fixture
def maker(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs/_make"))
    import mechanisms_table

    return mechanisms_table


def test_the_table_is_made_from_the_figures(maker):
    text = maker.PAGE.read_text("utf-8")
    assert maker.page(text, KEPT) == text, "run 'python docs/_make/mechanisms_table.py'"


def test_no_condition_is_false_and_enough_regimes_were_looked_at():
    assert len(KEPT["kinds"]) >= 12
    assert all(one["worlds"] >= 50 for one in (*KEPT["kinds"], *KEPT["markers"]))
    assert not any(one["false_condition"] or one["leading"] for one in KEPT["kinds"])


def test_a_table_of_other_figures_is_seen(maker):
    other = json.loads(json.dumps(KEPT))
    other["kinds"][0]["named"] -= 1
    text = maker.PAGE.read_text("utf-8")
    assert maker.page(text, other) != text
