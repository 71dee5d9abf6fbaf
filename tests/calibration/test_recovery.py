"""Does the interval for the scale cover, is the law named, are sound identities believed?

Thousands of small sets of identities whose noise is known. Four worlds: counts far above the cut; counts
that thin out across it, so that pairs are seen only where both values passed; and either of them with three
pairs in a hundred off by passengers who alight one bin later.
"""

from dataclasses import dataclass

import duckdb
import numpy as np
import pytest
from scipy import stats

from noisegate.laws import DiscreteLaplace, RoundedGaussian, RoundedLaplace
from noisegate.reading import find_structure, read_sources
from noisegate.recovery import (
    CANDIDATES,
    MarginRows,
    find_pairs,
    fit_noise,
    margin_identities,
    pair_identities,
)
from noisegate.simulation import simulate

CUT = 18.0
SCALE = 1.4
LAPLACE = ("rounded-laplace",)


@dataclass(frozen=True)
class World:
    """Where the raw counts of pairs come from, and which share of pairs is off."""

    suppressed: bool
    off: float

    def raw(self, rng, n):
        return np.floor(rng.exponential(30.0, size=n)) if self.suppressed else rng.integers(60, 400, size=n)

    def pairs(self, rng, n, *, law, one_sided=False):
        """The first `n` pairs that are seen; values below the cut are not-a-number."""
        found = np.zeros((2, 0))
        while found.shape[1] < n:
            m = 3 * n + 100
            count = self.raw(rng, m)
            late = (rng.random(m) < self.off) * rng.binomial(count.astype(int), 0.15)
            second = count + late * rng.choice([-1, 1], size=m)
            values = np.stack([count + law.sample(m, rng=rng), second + law.sample(m, rng=rng)])
            passed = values >= CUT
            seen = passed.any(axis=0) if one_sided else passed.all(axis=0)
            found = np.concatenate([found, np.where(passed, values, np.nan)[:, seen]], axis=1)
        return pair_identities(*found[:, :n], cuts=(CUT, CUT), one_sided=one_sided)


WORLDS = {
    "clear": World(suppressed=False, off=0.0),
    "suppressed": World(suppressed=True, off=0.0),
    "late": World(suppressed=False, off=0.03),
    "suppressed and late": World(suppressed=True, off=0.03),
}


def shortened(interval, *, by):
    """The interval with its ends moved towards the middle, on the log-scale."""
    low, high = np.log(interval)
    pull = by * (high - low) / 2
    return np.exp(low + pull), np.exp(high - pull)


def hits(rng, world, *, n, sets, law=None, one_sided=False):
    """Whether the interval covers, whether a much shorter one would, and whether the set is refused."""
    law = law or RoundedLaplace(SCALE)
    rows = []
    for _ in range(sets):
        fit = fit_noise(world.pairs(rng, n, law=law, one_sided=one_sided), laws=(law.name,))
        low, high = shortened(fit.interval, by=0.4)
        covered = fit.interval[0] <= law.scale <= fit.interval[1]
        rows.append((covered, low <= law.scale <= high, fit.refusal is not None))
    return np.array(rows).sum(axis=0)


# --- the interval ---------------------------------------------------------------------------------------


def test_a_sample_of_intervals_covers_and_shorter_ones_would_be_caught():
    """Two hundred sets: right coverage is believed, that of intervals shorter by 40 % is not."""
    rng = np.random.default_rng(1)
    found = sum(hits(rng, world, n=40, sets=50) for world in WORLDS.values())
    assert stats.binomtest(int(found[0]), 200, 0.95).pvalue > 1e-4
    assert stats.binomtest(int(found[1]), 200, 0.95).pvalue < 1e-4
    assert found[2] <= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_the_interval_covers_in_93_to_97_of_a_hundred_sets(name):
    """Of all sets of a world together, and at no number of identities far from it."""
    rng = np.random.default_rng(2)
    sets = {20: 400, 50: 400, 300: 250, 2000: 150}
    found = {n: hits(rng, WORLDS[name], n=n, sets=k) for n, k in sets.items()}
    total = sum(found.values()) / sum(sets.values())
    assert 0.93 <= total[0] <= 0.97
    assert total[1] < 0.9
    assert total[2] < 0.01
    for n, k in sets.items():
        near = max(stats.binomtest(int(found[n][0]), k, p).pvalue for p in (0.93, 0.97))
        inside = 0.93 <= found[n][0] / k <= 0.97
        assert inside or near > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", [RoundedLaplace(0.5), RoundedLaplace(6.0), DiscreteLaplace(2.0), RoundedGaussian(2.0)]
)
def test_the_interval_covers_for_other_laws_and_scales(law):
    found = hits(np.random.default_rng(3), WORLDS["suppressed"], n=100, sets=300, law=law)
    assert 0.92 <= found[0] / 300 <= 0.98


@pytest.mark.slow
def test_the_interval_covers_with_one_sided_pairs():
    found = hits(np.random.default_rng(4), WORLDS["suppressed"], n=200, sets=300, one_sided=True)
    assert 0.92 <= found[0] / 300 <= 0.98
    assert found[2] <= 6


@pytest.mark.slow
@pytest.mark.parametrize("most_missing", [0, 1])
def test_the_interval_covers_for_margins(most_missing):
    rng, covered, sets = np.random.default_rng(5), 0, 200
    for _ in range(sets):
        count = np.floor(rng.exponential(60.0, size=(400, 3)))
        parts = count + np.rint(rng.laplace(scale=SCALE, size=count.shape))
        total = count.sum(axis=1) + np.rint(rng.laplace(scale=SCALE, size=400))
        keep = total >= 35
        parts = np.where(parts >= CUT, parts, np.nan)[keep]
        identities = margin_identities(total[keep], parts, cuts=(CUT, 35), most_missing=most_missing)
        fit = fit_noise(identities.take(np.arange(80)), laws=LAPLACE, shared=True)
        covered += fit.interval[0] <= SCALE <= fit.interval[1]
    assert 0.91 <= covered / sets <= 0.985


@pytest.fixture(scope="module")
def ferry(tmp_path_factory):
    """Raw counts at both ends of the closed ferry of a simulated fortnight: on, and off half an hour later."""
    world = simulate(tmp_path_factory.mktemp("ferry") / "world", persons=60_000, days=14, seed=41)
    ends = "', '".join(world.closed_pair)
    # Whoever taps on at one wharf taps off at the other.
    found = duckdb.sql(
        f"""
        with taps as (
            select stop, tap, time_bucket(interval 15 minute, tapped_at) as moment, count(*) as number
            from '{world.taps}' where mode = 'ferry' and stop in ('{ends}') group by all)
        select a.number as starts, b.number as ends from taps a join taps b
        on a.tap = 'on' and b.tap = 'off' and a.stop <> b.stop
        and b.moment = a.moment + interval 30 minute order by all
        """
    ).fetchnumpy()
    return np.stack([found["starts"], found["ends"]])


def seen_pairs(rng, ferry):
    """The pairs of which both values pass the cut, with fresh noise."""
    values = ferry + np.rint(rng.laplace(scale=SCALE, size=ferry.shape))
    return pair_identities(*values[:, (values >= CUT).all(axis=0)], cuts=(CUT, CUT))


def ferry_hits(rng, ferry, *, sets, laws=LAPLACE):
    """Whether the interval covers under the right law, whether a shorter one would; and how many are refused."""
    fits = [fit_noise(seen_pairs(rng, ferry), laws=laws) for _ in range(sets)]
    right = [fit for fit in fits if fit.name == "rounded-laplace"]
    short = [shortened(fit.interval, by=0.4) for fit in right]
    return (
        sum(fit.interval[0] <= SCALE <= fit.interval[1] for fit in right),
        sum(low <= SCALE <= high for low, high in short),
        sum(fit.refusal is not None for fit in fits),
    )


def test_a_sample_of_intervals_covers_on_a_simulated_ferry(ferry):
    covered, _, refused = ferry_hits(np.random.default_rng(11), ferry, sets=60)
    assert stats.binomtest(covered, 60, 0.95).pvalue > 1e-4
    assert refused <= 3


@pytest.mark.slow
@pytest.mark.parametrize("laws", [LAPLACE, tuple(CANDIDATES)], ids=["law known", "law named by the fit"])
def test_the_interval_covers_in_93_to_97_of_a_hundred_releases_of_a_simulated_ferry(ferry, laws):
    """An interval under a wrong name covers nothing, so naming the law must be as sure as the interval."""
    covered, covered_short, refused = ferry_hits(np.random.default_rng(12), ferry, sets=1000, laws=laws)
    assert 0.93 <= covered / 1000 <= 0.97
    assert covered_short / 1000 < 0.9
    assert refused <= 10


# --- the law --------------------------------------------------------------------------------------------


def named(rng, draw, *, n, sets, family):
    right = 0
    for _ in range(sets):
        count = rng.integers(60, 400, size=n)
        fit = fit_noise(pair_identities(draw(rng, count), draw(rng, count)))
        right += fit.name.removeprefix("rounded-").removeprefix("discrete-") == family
    return right


def laplace(rng, count):
    return count + np.rint(rng.laplace(scale=SCALE, size=len(count)))


def gaussian(rng, count):
    return count + np.rint(rng.normal(scale=2.0, size=len(count)))


def uniform(rng, count):
    return count + rng.integers(-3, 3, size=len(count), endpoint=True)


def rounding(rng, count):
    return count - count % 5 + 5 * (rng.random(len(count)) * 5 < count % 5)


def test_the_law_is_named_in_a_sample_of_sets():
    rng = np.random.default_rng(6)
    assert named(rng, laplace, n=300, sets=20, family="laplace") >= 17
    assert named(rng, uniform, n=300, sets=5, family="uniform") == 5
    assert named(rng, rounding, n=300, sets=5, family="random-rounding") == 5


@pytest.mark.slow
def test_the_law_of_the_2016_recipe_is_named_in_95_of_a_hundred_sets_of_300():
    assert named(np.random.default_rng(7), laplace, n=300, sets=400, family="laplace") >= 380


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "family", "n"),
    [(uniform, "uniform", 300), (rounding, "random-rounding", 300), (gaussian, "gaussian", 700)],
)
def test_the_other_laws_are_named_in_95_of_a_hundred_sets(draw, family, n):
    """Gaussian noise needs more pairs: at 300 no method names both it and Laplace noise so often."""
    assert named(np.random.default_rng(8), draw, n=n, sets=200, family=family) >= 190


@pytest.mark.slow
def test_gaussian_noise_leads_at_450_and_is_rarely_denied():
    """Where it leads but is not clear, Laplace noise is named by convention with Gaussian noise as its rival."""
    rng, leads, denied = np.random.default_rng(8), 0, 0
    for _ in range(200):
        count = rng.integers(60, 400, size=450)
        fit = fit_noise(pair_identities(gaussian(rng, count), gaussian(rng, count)))
        share = fit.certainty if "gaussian" in fit.name else fit.rivals.get("gaussian", 0.0)
        leads += share > 0.5
        denied += share < 0.05
    assert leads >= 190
    assert denied <= 2


# --- refusal --------------------------------------------------------------------------------------------


def test_forgetful_riders_are_refused_and_honest_ones_are_not():
    """Two riders in a hundred forget to tap off, on counts of 50 to 200."""
    rng, refused, believed = np.random.default_rng(9), 0, 0
    for _ in range(40):
        count = rng.integers(50, 200, size=300)
        off = rng.binomial(count, 0.98)
        on = laplace(rng, count)
        refused += fit_noise(pair_identities(on, laplace(rng, off)), laws=LAPLACE).refusal is not None
        believed += fit_noise(pair_identities(on, laplace(rng, count)), laws=LAPLACE).refusal is None
    assert refused >= 38
    assert believed >= 39


# --- the search -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_pair_is_reported_in_many_worlds_without_closed_services():
    """Every series has the same intensity at every moment, which is as alike as different counts can be."""
    rng, alarms = np.random.default_rng(10), 0
    for _ in range(60):
        shape = 40 * np.exp(0.7 * np.sin(np.linspace(0, 12, 48)))
        values = rng.poisson(shape, size=(30, 7, 48)) + np.rint(rng.laplace(scale=SCALE, size=(30, 7, 48)))
        alarms += len(find_pairs(np.where(values >= CUT, values, np.nan), cut=CUT, false_alarm=0.05)) > 0
    assert alarms <= 9


def _cut_off_at_zero(path, seed, *, draw):
    """Small and large counts by place, age and sex with noise in every table, and 0 where that would be negative."""
    rng = np.random.default_rng([seed, 99])
    level = rng.normal(1.8, 1.0, (40, 1, 1)) + rng.normal(0, 0.5, (1, 30, 1)) + rng.normal(0, 0.3, (1, 1, 3))
    raw = rng.poisson(rng.gamma(2.0, np.exp(level) / 2))
    lines = ["place,age,sex,count"]
    for axis in (None, 2, 1, 0):
        counts = raw if axis is None else raw.sum(axis=axis, keepdims=True)
        shown = np.maximum(counts + np.rint(draw(rng, counts.shape)).astype(int), 0)
        for where in np.ndindex(*shown.shape):
            names = [f"{name}{k:02d}" for name, k in zip("pas", where, strict=True)]
            if axis is not None:
                names[axis] = "Total"
            lines.append(f"{','.join(names)},{shown[where]}")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def _margin_fit(path, laws=LAPLACE):
    read = read_sources([path])
    structure = find_structure(read.tables, lookups=read.lookups, left_out=read.left_out)
    link = next(one for one in structure.links if one.summed == ("sex",))
    return fit_noise([MarginRows.of(link).identities()], laws=laws, shared=True, level=0.95)


def _laplace(rng, shape):
    return rng.laplace(0.0, SCALE, shape)


def test_noise_that_was_cut_off_at_zero_does_not_narrow_the_scale(tmp_path):
    """Sums with a 0 in them hold less noise than others: with these the scale was 6 to 20 % too small, and its interval missed."""
    fits = [
        _margin_fit(_cut_off_at_zero(tmp_path / "t.csv", seed, draw=_laplace)) for seed in range(200, 206)
    ]
    scales = [one.scale for one in fits]
    assert abs(np.mean(scales) - SCALE) < 0.08
    assert sum(one.interval[0] <= SCALE <= one.interval[1] for one in fits) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "law", "scale"),
    [
        (_laplace, "rounded-laplace", SCALE),
        (lambda rng, shape: rng.normal(0.0, 2.0, shape), "rounded-gaussian", 2.0),
    ],
)
def test_the_scale_of_noise_that_was_cut_off_at_zero_is_covered(tmp_path, draw, law, scale):
    worlds = (_cut_off_at_zero(tmp_path / "t.csv", seed, draw=draw) for seed in range(300, 360))
    fits = [_margin_fit(path, (law,)) for path in worlds]
    held = sum(one.interval[0] <= scale <= one.interval[1] for one in fits)
    assert held >= stats.binom.ppf(0.005, len(fits), 0.95), held
