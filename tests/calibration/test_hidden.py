"""Do shown totals say what is hidden, whatever the law of the counts? Nine laws, six ways of publishing, three sizes of sums.

An interval of whole numbers holds a little more than its level; so coverage is judged by the law of the error itself: one Laplace noise is within 0.67 standard deviations in 61 of 100 and
within 1.96 in 94, so that a normal law would be the wrong measure for single totals.
"""

import numpy as np
import pytest

from noisegate.inference import ShownTotals, ThresholdExcess
from noisegate.laws import DiscreteGaussian, DiscreteLaplace, Laplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import BASE, COUNT_LAWS, make_world, publish_case, publish_counts

ROWS, COLUMNS = 40, 24
WAYS = {
    "as in 2016": Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest", cut="before"),
    "discrete Laplace": Mechanism(law=DiscreteLaplace(2.0), threshold=12, rule="ge", zeros="perturb"),
    "discrete Gaussian": Mechanism(law=DiscreteGaussian(2.5), threshold=12, rule="ge", zeros="perturb"),
    "large Laplace": Mechanism(law=DiscreteLaplace(6.0), threshold=38, rule="ge", zeros="perturb"),
    "large, zeros kept": Mechanism(law=Laplace(6.0), threshold=38, rounding="nearest", cut="before"),
    "large Gaussian": Mechanism(law=DiscreteGaussian(8.0), threshold=30, rule="ge", zeros="perturb"),
}
LEVELS = (0.5, 0.95)


def held(law, way, *, seed):
    """Whether hidden sums by the totals are as near to the truth as each level says: of the table, of groups of rows, of single rows."""
    rng = np.random.default_rng([seed, list(COUNT_LAWS).index(law)])
    made = WAYS[way]
    total = Mechanism(law=made.law, rounding=made.rounding, zeros=made.zeros)
    world = make_world(
        {"row": ROWS, "column": COLUMNS},
        margins={"by row": ["row"]},
        mechanism={BASE: made, "by row": total},
        counts=COUNT_LAWS[law](rng, ROWS, COLUMNS),
        rng=rng,
    )
    evidence = world.evidence()
    hidden = np.flatnonzero(np.isnan(world.published[BASE]))
    rows = ShownTotals(evidence=evidence).of(evidence.margins[0])
    found = []
    for size in (1, 5, ROWS):
        group = hidden // COLUMNS * size // ROWS
        said = rows.of_groups(hidden, group, size)
        truth = np.bincount(group, weights=world.counts[hidden], minlength=size)
        assert said.taken.all()
        some = said.hidden > 0
        found.append([(np.abs(said.sum - truth) < said.half_width(level))[some] for level in LEVELS])
    return found


def covered(law, way, *, replicates):
    """The share within the 50 and the 95 % interval, for each size of sums."""
    every = [held(law, way, seed=seed) for seed in range(replicates)]
    return [tuple(np.concatenate(one, axis=1).mean(axis=1)) for one in zip(*every, strict=True)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("law", COUNT_LAWS)
def test_hidden_sums_whatever_the_law(law, way):
    """A first look; the slow test below looks closer."""
    for _, wide in covered(law, way, replicates=12):
        assert wide >= 0.75


#: Found outside of the bands: shares in 95 and 50 % intervals of what fails first. All are lumps that are narrower than the noise, of a histogram that is taken to be smooth.
OUTSIDE = {
    ("two-humped", "large, zeros kept"): "groups 91.8 and 52",
    ("fixed", "large Laplace"): "single totals 92.4 and 44",
    ("fixed", "large, zeros kept"): "single totals 92.8 and 45",
    ("parties of three", "large Laplace"): "single totals 92.9 and 45",
    ("full or empty", "large Laplace"): "tables 83 and 33, groups 88.6 and 45",
    ("full or empty", "large, zeros kept"): "single totals 92.5 and 47",
    ("full or empty", "large Gaussian"): "tables 88 and 47",
}


def law_and_way(law, way):
    """A case, marked if it is known to be outside of the bands."""
    found = OUTSIDE.get((law, way))
    return pytest.param(law, way, marks=[pytest.mark.xfail(strict=True, reason=found)] if found else [])


@pytest.mark.slow
@pytest.mark.parametrize(("law", "way"), [law_and_way(law, way) for law in COUNT_LAWS for way in WAYS])
def test_hidden_sums_of_a_hundred_worlds(law, way):
    """Of tables, groups and single totals, up to three standard errors of a hundred worlds: 2.2 and 5 points of tables, 1 and 2.2 of groups."""
    slack = zip(covered(law, way, replicates=100), (0.065, 0.03, 0.02), (0.16, 0.07, 0.07), strict=True)
    for (half, wide), beside, around in slack:
        assert wide >= 0.95 - beside
        assert abs(half - 0.5) <= around


def test_totals_that_are_not_corrected_would_be_noticed():
    """The test has power: without the correction for selection, hidden sums are too low by many standard deviations."""
    rng = np.random.default_rng(3)
    made = WAYS["discrete Laplace"]
    off = []
    for _ in range(20):
        raw = COUNT_LAWS["poisson"](rng, ROWS, COLUMNS).ravel()
        shown = publish_counts(raw, made, rng=rng)
        there = ~np.isnan(shown)
        off.append((shown[there] - raw[there]).sum() / np.sqrt(made.law.variance * there.sum()))
    assert np.mean(off) > 3


@pytest.mark.parametrize("scale", [0.8, 1.4, 3.0])
def test_the_excess_is_exact_for_a_flat_histogram(scale):
    """Where counts are alike on both sides of the threshold, what shown values hold too much is the variance times their density."""
    made = Mechanism(law=DiscreteLaplace(scale), threshold=30, rule="ge", zeros="perturb")
    values = np.repeat(np.arange(30.0, 60 + 20 * scale), 50)
    found, _ = ThresholdExcess.of(values, made).added(values, np.zeros(len(values), np.int64), 1)
    assert found[0] == pytest.approx(50 * made.law.variance, rel=0.03)


def test_large_noise_on_quiet_cells():
    """Most of what is shown just above the threshold is noise on next to nothing: hidden sums were off by 1.8 to 4.4 standard deviations."""
    made = WAYS["large Laplace"]
    total = Mechanism(law=made.law, zeros=made.zeros)
    off = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 38])
        raw = rng.poisson(1.5 * np.exp(rng.normal(0, 1.5, (60, 24))))
        world = make_world(
            {"row": 60, "column": 24},
            margins={"by row": ["row"]},
            mechanism={BASE: made, "by row": total},
            counts=raw,
            rng=rng,
        )
        evidence = world.evidence()
        hidden = np.flatnonzero(np.isnan(world.published[BASE]))
        said = ShownTotals(evidence=evidence).of(evidence.margins[0])
        found = said.of_groups(hidden, np.zeros(len(hidden), np.int64), 1)
        off.append((found.sum[0] - world.counts[hidden].sum()) / np.sqrt(found.variance[0]))
    assert abs(np.mean(off)) < 0.9
    assert np.max(np.abs(off)) < 3.5


@pytest.mark.parametrize("way", ["independent", "gaussian", "as in 2016"])
def test_many_small_counts_that_crossed(way):
    """Most of what is shown of villages is high noise on few people, and known to be: what rows leave is as sure as it says, one by one and together (80 worlds: 0.81 to 1.04 of what is claimed, before 0.69 to 1.02)."""
    off = {"single totals": [], "the table": []}
    for seed in range(80):
        world = publish_case("villages", way, rng=np.random.default_rng([seed, 42]))
        evidence, hidden = world.evidence(), world.hidden
        rows = ShownTotals(evidence=evidence).of(evidence.margins[0])
        row = evidence.margins[0].where.of(hidden)
        for name, group, size in (("single totals", row, 3), ("the table", np.zeros_like(row), 1)):
            said = rows.of_groups(hidden, group, size)
            truth = np.bincount(group, weights=world.counts[hidden], minlength=size)
            off[name] += ((said.sum - truth) / np.sqrt(said.variance)).tolist()
    for found in off.values():
        assert 0.75 < np.sqrt(np.mean(np.square(found))) < 1.2


def test_without_a_threshold_nothing_is_in_excess():
    made = Mechanism(law=DiscreteLaplace(1.4), zeros="perturb")
    values = np.arange(20.0)
    assert ThresholdExcess.of(values, made).added(values, np.zeros(20, np.int64), 1)[0][0] == 0


def test_how_many_cells_noise_alone_shows_is_seen():
    """Of a rural line next to nobody is there: all that is shown is noise, and what it adds is what was shown, not what is shown on average.

    Where three cells or more are shown the middle of the interval lay 21 too low, and 8 in 11 held the truth; with each cell more by 9. That is 10, all, and 4 (60 worlds).
    """
    shown, off, held = [], [], []
    for seed in range(60):
        world = publish_case("rural", "independent", rng=np.random.default_rng([seed, 12]))
        hidden = world.hidden
        said = world.engine().sums(hidden, np.zeros_like(hidden), size=1, level=0.95)
        truth = world.counts[hidden].sum()
        shown.append(len(world.counts) - len(hidden))
        off.append((said.low[0] + said.high[0]) / 2 - truth)
        held.append(said.low[0] <= truth <= said.high[0])
    many = np.array(shown) >= 3
    assert many.sum() >= 8
    assert np.polyfit(shown, off, 1)[0] > -5
    assert np.mean(np.array(off)[many]) > -14
    assert np.mean(held) >= 0.9
