"""Figures of others, recomputed: at least forty printed figures in all, each with its source and a verdict."""

import pytest

import noisegate


@pytest.fixture(scope="module")
def items():
    return {item.id: item for item in noisegate.reproduce(more=True)}


def test_there_are_more_than_forty_with_sources_and_verdicts(items):
    own = noisegate.reproduce()
    assert len(items) >= len(own) + 14 >= 54
    assert all(item.where and item.claim for item in items.values())
    assert sum(item.printed is not None for item in items.values()) >= 40


def test_flows_are_those_of_the_papers(items):
    assert items["flows-32-trips"].exact == pytest.approx(0.9552, abs=5e-4)
    assert items["flows-delta"].exact == pytest.approx(2.1e-29, rel=0.01)
    assert items["flows-gain"].formula == pytest.approx(0.16, abs=0.005)
    verdicts = {name: item.verdict for name, item in items.items() if name.startswith("flows-")}
    assert [name for name, verdict in verdicts.items() if verdict != "agrees"] == [
        "flows-32-trips",
        "flows-typical",
    ]
    assert 15 < items["flows-typical"].exact["trips from which on it is above 90 %"] < 25


def test_page_views_and_census(items):
    assert items["views-epsilon"].formula == pytest.approx(1, abs=0.005)
    assert items["views-epsilon"].exact == pytest.approx(0.80, abs=0.005)
    assert items["views-noise"].verdict == "not told"
    assert items["census-unbiased"].exact == pytest.approx(17)
    assert items["census-17-up"].exact == pytest.approx(2 / 3)


def test_what_is_not_at_hand_is_said_to_be_so(items):
    for name in ("makers-algorithm", "makers-reply"):
        assert items[name].verdict == "not told"
        assert "arXiv" in items[name].where
