"""Do the intervals hold the truth as often as they say? With a size, and with a power.

Where the prior is the true one, the number of cells inside their intervals is compared with
what the posteriors themselves claim: close for the true law, far off for one that is 10 % wrong.
Where it is fitted, coverage must lie in the bands that the project promises.
"""

import numpy as np
import pytest

from noisegate.core.linked import Flat, NegativeBinomial, Problem, fit_prior, infer
from noisegate.core.linked.world import CITY, ModePlan, simulate_tables

#: Standard deviations beyond which chance is ruled out (about one in 1e9).
FAR = 6.0


@pytest.fixture(scope="module")
def truth():
    plans = [ModePlan(stops=60, taps=900.0), ModePlan(stops=12, taps=600.0, night_stops=4)]
    return simulate_tables(plans, days=5, rng=np.random.default_rng(77))


def prior_of(truth, *, mean=1.0, shape=8.0):
    n = truth.problem.cells
    return NegativeBinomial(mean=mean * truth.intensity, shape=np.full(n, shape), zero_share=np.zeros(n))


def claims(posterior, cells):
    """The probability that each posterior gives its own interval."""
    pmfs = posterior.pmfs
    return np.array(
        [
            pmfs.one(c)[posterior.low[c] - pmfs.low[c] : posterior.high[c] - pmfs.low[c] + 1].sum()
            for c in cells
        ]
    )


def surprise(truth, prior, *, level):
    """How far coverage, and the mean error, are from what was claimed, in standard deviations."""
    cells = np.flatnonzero(truth.suppressed)
    posterior = infer(truth.problem, prior=prior, level=level, keep=True)
    inside = (truth.counts >= posterior.low) & (truth.counts <= posterior.high)
    claimed = claims(posterior, cells)
    coverage = (inside[cells].sum() - claimed.sum()) / np.sqrt((claimed * (1 - claimed)).sum())
    bias = (truth.counts - posterior.mean)[cells].sum() / np.sqrt((posterior.sd[cells] ** 2).sum())
    return coverage, bias


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_true_prior_is_calibrated(truth, level):
    coverage, bias = surprise(truth, prior_of(truth), level=level)
    assert abs(coverage) < FAR
    assert abs(bias) < FAR


@pytest.mark.parametrize("mean", [0.9, 1.1])
def test_a_prior_ten_percent_off_is_caught(truth, mean):
    base = truth.base_only
    wrong = type(truth)(
        **{name: getattr(truth, name) for name in truth.__slots__ if name != "problem"}, problem=base
    )
    _, right_bias = surprise(wrong, prior_of(truth), level=0.95)
    _, bias = surprise(wrong, prior_of(truth, mean=mean), level=0.95)
    assert abs(right_bias) < FAR < abs(bias)


def test_overconfidence_is_caught(truth):
    coverage, _ = surprise(truth, prior_of(truth, shape=80.0), level=0.8)
    assert coverage < -FAR


def quarters(posterior, truth):
    """Coverage within each quarter of the suppressed cells, by posterior mean."""
    cells = np.flatnonzero(truth.suppressed)
    inside = (truth.counts >= posterior.low) & (truth.counts <= posterior.high)
    order = cells[np.argsort(posterior.mean[cells], kind="stable")]
    return [inside[part].mean() for part in np.array_split(order, 4)]


@pytest.fixture(scope="module")
def city():
    return simulate_tables(CITY, days=7, rng=np.random.default_rng(20160725))


@pytest.fixture(scope="module")
def informed(city):
    return fit_prior(city.problem, effects=city.effects, groups=city.mode).prior


@pytest.mark.parametrize("attacker", ["informed", "minimal"])
def test_coverage_of_both_attackers(city, informed, attacker):
    prior = informed if attacker == "informed" else Flat()
    by_quarter = quarters(infer(city.problem, prior=prior), city)
    assert 0.93 <= np.mean(by_quarter) <= (0.98 if attacker == "informed" else 0.99)
    assert min(by_quarter) >= 0.91
    assert max(by_quarter) <= 0.995


def test_half_intervals_cover_half_or_what_integers_allow(city, informed):
    """Few integers hold exactly half; what the intervals hold must be what they claim to hold."""
    posterior = infer(city.problem, prior=informed, level=0.5, keep=True)
    inside = (city.counts >= posterior.low) & (city.counts <= posterior.high)
    every = np.flatnonzero(city.suppressed)
    large = every[posterior.mean[every] > 6]
    for cells in (every, large):
        assert inside[cells].mean() == pytest.approx(claims(posterior, cells).mean(), abs=0.04)
    assert 0.5 <= inside[large].mean() <= 0.65


def test_sharper_than_an_attacker_without_margins(city, informed):
    obvious = fit_prior(city.base_only, effects=city.effects, groups=city.mode).prior
    attack = np.abs(infer(city.problem, prior=informed).mean - city.counts)
    same_prior = np.abs(infer(city.base_only, prior=informed).mean - city.counts)
    baseline = np.abs(infer(city.base_only, prior=obvious).mean - city.counts)
    hidden = city.suppressed
    few = hidden & (city.smallest_total() <= 8)
    assert few.sum() > 1000
    assert attack[few].mean() < 0.9 * baseline[few].mean()
    for mode in range(len(CITY)):
        cells = hidden & (city.mode == mode)
        assert attack[cells].mean() < 0.95 * baseline[cells].mean()
        assert attack[cells].mean() < 1.02 * same_prior[cells].mean()


def test_a_single_unknown_member_is_pinned():
    """All but one member published: the total leaves three noises, whatever the prior says."""
    plan = ModePlan(stops=3, taps=4000.0, zipf=2.2, night_stops=3, habit=50.0)
    truth = simulate_tables([plan], days=4, rng=np.random.default_rng(6))
    table = truth.problem.tables[1]
    shown = ~np.isnan(truth.problem.tables[0].values)
    known = np.add.reduceat(shown[table.indices], table.indptr[:-1])
    alone = (known == 2) & ~np.isnan(table.values)
    cells = [c for r in np.flatnonzero(alone) for c in table.indices[table.indptr[r] : table.indptr[r + 1]]]
    cells = np.array([c for c in cells if not shown[c]])
    assert len(cells) > 50
    by_time = Problem(cells=truth.problem.cells, tables=truth.problem.tables[:2])
    posterior = infer(by_time)
    assert posterior.exact[cells].all()
    without = np.abs(infer(truth.base_only).mean - truth.counts)[cells].mean()
    assert np.abs(posterior.mean - truth.counts)[cells].mean() < 0.65 * without


@pytest.mark.slow
def test_a_simulated_fortnight_of_people(tmp_path):
    """People on timetabled vehicles, released as in 2016, all modes: the promised bands."""
    duckdb = pytest.importorskip("duckdb")
    from noisegate.core.linked import Sums, crossed
    from noisegate.core.linked.world import _published, recipe_2016
    from noisegate.simulate import simulate

    world = simulate(tmp_path / "world", days=14, persons=60_000, seed=3)
    rng = np.random.default_rng(1)
    hits, means, error, baseline = [], [], {}, {}
    for mode in ("train", "bus", "ferry", "lightrail"):
        counts, stop, day, time = fortnight(duckdb, world.taps, mode=mode, days=14)
        mechanism = recipe_2016(threshold=18)
        shown = _published(counts, mechanism, rng)
        tables = [Sums.of_cells(shown, mechanism=mechanism)]
        for codes in (day * 96 + time, day * (stop.max() + 1) + stop):
            sums = np.bincount(codes, weights=counts).astype(np.int64)
            tables.append(Sums.by(codes, _published(sums, mechanism, rng), mechanism=mechanism))
        problem = Problem(cells=len(counts), tables=tuple(tables))
        effects = crossed(row=stop, column=time, day=day)
        posterior = infer(problem, prior=fit_prior(problem, effects=effects).prior)
        base = Problem(cells=len(counts), tables=tuple(tables[:1]))
        obvious = infer(base, prior=fit_prior(base, effects=effects).prior)
        hidden = np.isnan(shown)
        hits.append(((counts >= posterior.low) & (counts <= posterior.high))[hidden])
        means.append(posterior.mean[hidden])
        error[mode] = np.abs(posterior.mean - counts)[hidden].mean()
        baseline[mode] = np.abs(obvious.mean - counts)[hidden].mean()
    inside = np.concatenate(hits)[np.argsort(np.concatenate(means), kind="stable")]
    assert 0.93 <= inside.mean() <= 0.98
    assert all(0.91 <= part.mean() <= 0.995 for part in np.array_split(inside, 4))
    assert all(error[mode] < 0.9 * baseline[mode] for mode in error)


def fortnight(duckdb, taps, *, mode, days):
    """Tap-on counts by day, stop and quarter hour, in full."""
    rows = duckdb.sql(
        f"""select stop, (tapped_at::date - date '2016-07-25') as day,
                   (extract(hour from tapped_at) * 4 + extract(minute from tapped_at) // 15)::int as time,
                   count(*) as n
            from '{taps}' where mode = '{mode}' and tap = 'on' and stop <> 'UNKNOWN' group by all"""
    ).fetchnumpy()
    stops, stop = np.unique(rows["stop"].astype(str), return_inverse=True)
    inside = (rows["day"] >= 0) & (rows["day"] < days)
    counts = np.zeros((days, len(stops), 96), dtype=np.int64)
    counts[rows["day"][inside], stop[inside], rows["time"][inside]] = rows["n"][inside]
    day, stop, time = np.indices(counts.shape).reshape(3, -1)
    return counts.ravel(), stop, day, time
