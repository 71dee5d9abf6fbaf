"""Is the harness itself right? It must give honest engines their level, and catch those that claim too much, or withdraw wrongly."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from noisegate.inference import SumEstimates
from noisegate.testing import (
    CASES,
    HIDDEN,
    KINDS,
    LEVELS,
    WAYS,
    Replies,
    Scoreboard,
    Tallied,
    ask_world,
    can_be_published,
    publish_case,
)


def said_of(law, truth, *, narrower=1.0):
    """What an engine says whose posterior is `law` for each truth; some claim too much."""
    tails = [(1 - level) / 2 for level in LEVELS]
    middle = law.mean()
    ends = np.array([[law.ppf(tail), law.ppf(1 - tail)] for tail in tails])
    ends = np.rint(middle + (ends - middle) * narrower) if narrower != 1 else ends
    size = len(truth)
    return Replies(
        kind="random sums",
        truth=truth.astype(float),
        low=np.repeat(ends[:, :1], size, axis=1),
        high=np.repeat(ends[:, 1:], size, axis=1),
        withdrawn=np.zeros(size, bool),
    )


@pytest.mark.parametrize("law", [stats.poisson(400), stats.poisson(60), stats.nbinom(8, 0.05)])
def test_an_honest_engine_reaches_its_level_and_a_bold_one_does_not(law):
    truth = law.rvs(20_000, random_state=1)
    found = Tallied.of([said_of(law, truth)])
    assert found.wide == pytest.approx(0.95, abs=0.012)
    assert found.half == pytest.approx(0.5, abs=0.03)
    bold = Tallied.of([said_of(law, truth, narrower=0.7)])
    assert bold.wide < 0.9
    assert bold.half < 0.43
    assert bold.score > found.score


def test_certain_and_right_counts_the_level():
    exact = Replies(
        kind="cells",
        truth=np.array([3.0, 0.0, 5.0, 7.0, 8.0]),
        low=np.array([[3.0, 0.0, 4.0, 7.0, 5.0]] * 2),
        high=np.array([[3.0, 2.0, 4.0, 8.0, 8.0]] * 2),
        withdrawn=np.zeros(5, bool),
    )
    assert exact.covered(1).tolist() == [0.95, 1.0, 0.0, 0.95, 0.5]
    assert exact.holds(1).tolist() == [True, True, False, True, True]


def test_a_withdrawn_answer_is_right_only_if_its_bounds_hold():
    some = Replies(
        kind="random sums",
        truth=np.array([10.0, 10.0, 10.0, 10.0]),
        low=np.array([[0.0, 12.0, 9.0, 11.0]] * 2),
        high=np.array([[90.0, 90.0, 11.0, 12.0]] * 2),
        withdrawn=np.array([True, True, False, False]),
    )
    found = Tallied.of([some])
    assert (found.asked, found.withdrawn, found.bounds_held, found.held) == (4, 2, 0.5, 0.5)
    assert found.right == 0.5


class Clairvoyant:
    """Knows the truth of a world, and says so: an engine for trying the harness."""

    def __init__(self, world, *, off=0):
        self.counts, self.off = world.counts, off

    def cells(self, level):
        size = len(self.counts)
        return SimpleNamespace(
            low=self.counts - 1, high=self.counts + 1, p_zero=np.full(size, 0.5), level=level
        )

    def sums(self, cells, groups, *, size, level):
        found = np.bincount(groups, weights=self.counts[cells], minlength=size).astype(np.int64) + self.off
        return SumEstimates(level=level, mean=found * 1.0, sd=np.ones(size), low=found - 1, high=found + 1)

    def draws(self, n, *, rng):
        for _ in range(n):
            yield self.counts + rng.integers(0, 2, len(self.counts)) * (self.off > 0)


@pytest.mark.parametrize("way", WAYS)
def test_every_kind_of_question_is_asked_and_somebody_who_knows_is_right(way):
    rng = np.random.default_rng(1)
    world = publish_case("lognormal", way, rng=rng, rows=12, columns=10)
    board = Scoreboard()
    board.add("lognormal", way, ask_world(world, Clairvoyant(world), rng=rng, draws=20))
    for kind in KINDS:
        found = board.tally(kind=kind)
        if kind in HIDDEN and way == "random rounding":
            assert found is None
        else:
            assert found.right == 1.0
    wrong = ask_world(world, Clairvoyant(world, off=5), rng=rng, draws=20)
    assert {one.kind for one in wrong if one.holds(1).all()} <= {
        "cells",
        "differences",
        "ratios",
        "top-ten ranks",
    }
    assert "lognormal" in board.to_markdown()


@pytest.mark.parametrize("case", CASES)
def test_every_case_is_a_world_whose_truth_its_tables_allow(case):
    for way in ("as in 2016", "exact margins", "derive"):
        if not can_be_published(case, way):
            continue
        size = {"columns": 30} if case == "villages" else {"rows": 8, "columns": 6}
        world = publish_case(case, way, rng=np.random.default_rng(3), **size)
        for name, shown in world.published.items():
            made = world.mechanisms[name]
            if way != "derive":
                assert (made.log_likelihood(shown, world.raw(name)) > -np.inf).all()
        assert (world.zero is not None) == (case == "structural zeros")
        assert bool(world.remainder) == (case == "remainder")
    if case == "remainder":
        rest = world.raw("by-column").sum() - world.counts.sum() if way != "derive" else None
        assert rest is None or rest > 0
