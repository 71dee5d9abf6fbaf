"""Of very many cells some are worked out, block by block; what is held fixed for that changes neither cells nor sums, and both hold the truth."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from noisegate import limits
from noisegate.inference import BlockPosterior, MixedNoise, engine_for
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

MADE = Mechanism(law=DiscreteLaplace(3.0), threshold=14, rule="ge", zeros="perturb")
LEVEL = 0.95
DAYS, SLOTS, PLACES = 12, 48, 220
#: Twelve days of 10,560 cells each: five days may be touched, six are looked at.
FEW = {"whole_cells": 60_000, "looked_cells": 55_000}


def city(rng):
    """Places and hours differ, days hardly; counts stray from their product."""
    place = rng.gamma(0.7, 1 / 0.7, PLACES)
    slot = 0.2 + np.exp(-((np.arange(SLOTS) - 16) ** 2) / 20)
    day = rng.gamma(20, 1 / 20, DAYS)
    rate = 9 * day[:, None, None] * slot[:, None] * place * rng.gamma(6, 1 / 6, (DAYS, SLOTS, PLACES))
    return make_world(
        {"day": DAYS, "slot": SLOTS, "place": PLACES},
        margins={"by place": ["day", "place"], "by slot": ["day", "slot"]},
        mechanism=MADE,
        counts=rng.poisson(rate),
        rng=rng,
    )


@pytest.fixture(scope="module")
def world():
    return city(np.random.default_rng(5))


@pytest.fixture(scope="module")
def whole(world):
    found = engine_for(world.evidence())
    found.prepare()
    return found


@pytest.fixture(scope="module")
def blocks(world):
    with limits.override(**FEW):
        found = engine_for(world.evidence())
        assert isinstance(found, BlockPosterior)
        found.cells(LEVEL)
    return found


def grouped(world, which, *names):
    cells = np.flatnonzero(which)
    codes = dict(zip(world.domain.names, world.domain.decode(cells), strict=True))
    key = np.zeros(len(cells), np.int64)
    for name in names:
        key = key * 1000 + codes[name]
    used, group = np.unique(key, return_inverse=True)
    return cells, group, len(used)


def covered(world, found, cells, group, size):
    truth = np.bincount(group, weights=world.counts[cells], minlength=size)
    return (truth >= found.low) & (truth <= found.high), truth


def codes_of(world):
    return dict(zip(world.domain.names, world.domain.decode(np.arange(world.domain.size)), strict=True))


def test_cells_that_are_looked_at_are_those_of_all_cells_at_once(world, whole, blocks):
    with limits.override(**FEW):
        looked = np.concatenate(blocks.looked_at)
        mine = blocks.cells(LEVEL)
    theirs = whole.cells(LEVEL)
    assert 55_000 <= len(looked) < 70_000
    away = np.abs(mine.mean - theirs.mean)[looked] / np.maximum(theirs.sd[looked], 0.1)
    assert away.mean() < 0.1
    assert np.quantile(away, 0.99) < 0.5
    hidden = looked[np.isnan(world.published["base"][looked])]
    assert len(hidden) > 10_000
    widths = [(one.high - one.low)[hidden].mean() for one in (mine, theirs)]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)
    for one in (mine, theirs):
        inside = (world.counts[hidden] >= one.low[hidden]) & (world.counts[hidden] <= one.high[hidden])
        assert inside.mean() > 0.94


def test_sums_over_some_blocks_are_those_of_all_cells_at_once(world, whole, blocks):
    codes = codes_of(world)
    asked = grouped(world, (codes["day"] < 5) & (codes["slot"] >= 12) & (codes["slot"] < 24), "place")
    cells, group, size = asked
    with limits.override(**FEW):
        mine = blocks.sums(cells, group, size=size, level=LEVEL)
    theirs = whole.sums(cells, group, size=size, level=LEVEL)
    assert np.mean(np.abs(mine.mean - theirs.mean) / theirs.sd) < 0.25
    assert np.median(mine.sd / theirs.sd) == pytest.approx(1.0, abs=0.15)
    hits = covered(world, mine, *asked)[0].sum()
    others = covered(world, theirs, *asked)[0].sum()
    assert abs(int(hits) - int(others)) <= 0.04 * size
    # What blocks have in common counts: as if they were apart, sums would be too sure.
    with limits.override(**FEW):
        apart = [
            blocks.sums(
                cells[codes["day"][cells] == day], group[codes["day"][cells] == day], size=size, level=LEVEL
            )
            for day in range(5)
        ]
    assert np.mean(sum(one.sd**2 for one in apart)) < np.mean(mine.sd**2)
    np.testing.assert_allclose(sum(one.mean for one in apart), mine.mean)


def test_whole_rows_of_all_blocks_answer_for_themselves():
    """Size and power: 440 sums of 576 cells in every block."""
    hits, halved, size = 0, 0, 0
    for seed in (6, 7):
        world = city(np.random.default_rng(seed))
        asked = grouped(world, np.ones(world.domain.size, bool), "place")
        with limits.override(**FEW):
            engine = engine_for(world.evidence())
            found = engine.sums(asked[0], asked[1], size=asked[2], level=LEVEL)
        inside, truth = covered(world, found, *asked)
        half = (found.high - found.low) / 4
        hits += int(inside.sum())
        halved += int((np.abs(found.mean - truth) <= half).sum())
        size += asked[2]
    assert binomtest(hits, size, LEVEL).pvalue > 1e-6 > binomtest(halved, size, LEVEL).pvalue


def test_sums_that_are_no_rows_go_by_profiles_and_records(world, whole, blocks):
    rng = np.random.default_rng(8)
    chosen = [rng.choice(world.domain.size, 600, replace=False) for _ in range(150)]
    asked = np.concatenate(chosen), np.repeat(np.arange(150), 600), 150
    with limits.override(**FEW):
        mine = blocks.sums(*asked[:2], size=150, level=LEVEL)
    theirs = whole.sums(*asked[:2], size=150, level=LEVEL)
    assert np.median(mine.sd / theirs.sd) == pytest.approx(1.0, abs=0.25)
    hits = int(covered(world, mine, *asked)[0].sum())
    assert binomtest(hits, 150, LEVEL).pvalue > 1e-4


def test_hidden_cells_of_a_day_add_up_to_what_rows_leave(world, blocks):
    asked = grouped(world, np.isnan(world.published["base"]), "day")
    with limits.override(**FEW):
        found = blocks.sums(*asked[:2], size=asked[2], level=LEVEL)
    inside, truth = covered(world, found, *asked)
    assert inside.sum() >= 10
    np.testing.assert_allclose(found.mean, truth, rtol=0.1)


def test_draws_of_several_blocks_vary_as_their_sums_do(world, blocks):
    codes = codes_of(world)
    cells = np.flatnonzero((codes["day"] < 2) & (codes["place"] < 30) & (codes["slot"] < 20))
    rng = np.random.default_rng(9)
    with limits.override(**FEW):
        said = blocks.sums(cells, np.zeros(len(cells), np.int64), size=1, level=LEVEL)
        drawn = np.array([counts.sum() for counts in blocks.draws(150, rng=rng, cells=cells)])
    assert drawn.mean() == pytest.approx(float(said.mean[0]), abs=4 * float(said.sd[0]) / np.sqrt(150))
    assert drawn.std() == pytest.approx(float(said.sd[0]), rel=0.35)


def test_several_laws_of_noise_are_averaged_over_blocks(world):
    unsure = replace(world.evidence(), scale_doubt=0.1)
    codes = codes_of(world)
    asked = grouped(world, (codes["day"] < 1) & (codes["slot"] < 24), "place")
    with limits.override(whole_cells=3 * 60_000, looked_cells=3 * 40_000):
        mine = engine_for(unsure)
        assert isinstance(mine, MixedNoise)
        assert isinstance(mine.middle, BlockPosterior)
        found = mine.sums(*asked[:2], size=asked[2], level=LEVEL)
        cells = mine.cells(LEVEL)
        looked = np.concatenate(mine.looked_at or [])
    theirs = engine_for(unsure).sums(*asked[:2], size=asked[2], level=LEVEL)
    assert np.mean(np.abs(found.mean - theirs.mean) / theirs.sd) < 0.25
    assert np.median(found.sd / theirs.sd) == pytest.approx(1.0, abs=0.15)
    hidden = looked[np.isnan(world.published["base"][looked])]
    inside = (world.counts[hidden] >= cells.low[hidden]) & (world.counts[hidden] <= cells.high[hidden])
    assert inside.mean() > 0.94


def test_where_totals_tie_all_cells_there_are_no_blocks():
    world = make_world(
        {"day": 4, "slot": 30, "place": 40},
        margins={"by place": ["place"], "by slot": ["slot"]},
        mechanism=MADE,
        rng=np.random.default_rng(1),
    )
    with limits.override(whole_cells=1_000, looked_cells=1_000):
        assert not isinstance(engine_for(world.evidence()), BlockPosterior)
