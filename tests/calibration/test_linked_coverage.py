"""Do the intervals hold the truth as often as they say? With a size, and with a power.

Where the prior is the true one, the number of cells inside their intervals is compared with
what the posteriors themselves claim: close for the true law, far off for one that is 10 % wrong.
Where it is fitted, coverage must lie in the bands that the project promises.
"""

import functools

import numpy as np
import pytest

from noisegate.inference import CellEstimates, NegativeBinomial, Problem, fit_levels, fit_prior, infer
from noisegate.testing import CITY, CityTruth, ModePlan, Score, simulate_tables

MODES = ("train", "bus", "ferry", "lightrail")

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


@pytest.fixture(scope="module")
def city():
    return simulate_tables(CITY, days=3, rng=np.random.default_rng(20160725))


@pytest.fixture(scope="module")
def informed(city):
    return fit_prior(city.problem, effects=city.effects, groups=city.mode).prior


@pytest.fixture(scope="module")
def attack(city, informed):
    return infer(city.problem, prior=informed, keep=True)


def scored(posterior, truth, *, level=0.95):
    """The score on suppressed cells; marginals do not depend on the level, intervals do."""
    again = CellEstimates.from_pmfs(posterior.pmfs, level=level, keep=True)
    return Score.of(again, truth.counts, cells=truth.suppressed)


def assert_in_bands(whole):
    """The promised bands at 95 %, of whole intervals and counted fairly, for every attacker."""
    assert 0.93 <= whole.coverage <= 0.98
    assert all(0.91 <= share <= 0.995 for share in whole.quarters)
    assert 0.93 <= whole.fair <= 0.98
    assert all(0.91 <= share <= 0.995 for share in whole.fair_quarters)
    assert whole.coverage >= whole.claimed - 0.005


def assert_half_in_bands(half):
    """Few integers hold exactly half: fairly counted they do, and whole they hold what they claim."""
    assert 0.45 <= half.fair <= 0.60
    assert all(0.45 <= share <= 0.60 for share in half.fair_quarters)
    assert half.coverage == pytest.approx(half.claimed, abs=0.035)


def test_coverage_of_the_informed_attacker(city, attack):
    assert_in_bands(scored(attack, city))
    assert_half_in_bands(scored(attack, city, level=0.5))


def minimal(truth):
    """The attack of one who knows levels of totals, each day by itself."""
    prior = fit_levels(truth.problem, groups=truth.mode * 1000 + truth.day)
    return infer(truth.problem, prior=prior, keep=True)


def test_coverage_of_the_minimal_attacker(city):
    assert_in_bands(scored(minimal(city), city))


@pytest.mark.parametrize("margin", [1, 2])
def test_coverage_of_the_minimal_attacker_with_one_margin(city, margin):
    """By time only, or by stop only: every total stands alone."""
    alone = Problem(
        cells=city.problem.cells,
        tables=(city.problem.tables[0], city.problem.tables[margin]),
        structural_zero=city.problem.structural_zero,
    )
    found = infer(alone, prior=fit_levels(alone, groups=city.mode * 1000 + city.day), keep=True)
    assert_in_bands(scored(found, city))


@pytest.mark.slow
@pytest.mark.parametrize("known_service", [True, False])
def test_coverage_of_the_minimal_attacker_in_another_city(known_service):
    """The bands hold; a flat prior in every cell leaves them, and its error is larger."""
    other = simulate_tables(CITY, days=4, rng=np.random.default_rng(5), known_service=known_service)
    levels, flat = scored(minimal(other), other), scored(infer(other.problem, keep=True), other)
    assert_in_bands(levels)
    assert flat.coverage > 0.98
    assert levels.error < 0.99 * flat.error


def test_sharper_than_an_attacker_without_margins(city, informed, attack):
    obvious = fit_prior(city.base_only, effects=city.effects, groups=city.mode).prior
    error = np.abs(attack.mean - city.counts)
    same_prior = np.abs(infer(city.base_only, prior=informed).mean - city.counts)
    baseline = np.abs(infer(city.base_only, prior=obvious).mean - city.counts)
    hidden = city.suppressed
    few = hidden & (city.smallest_total() <= 8)
    assert few.sum() > 500
    assert error[few].mean() < 0.95 * baseline[few].mean()
    for mode in range(len(CITY)):
        cells = hidden & (city.mode == mode)
        assert error[cells].mean() < 0.95 * baseline[cells].mean()
        assert error[cells].mean() < 1.02 * same_prior[cells].mean()


def test_totals_of_few_stops_are_worth_most():
    """Two or four stops in a total: at most 0.8 of the error of an attacker without margins."""
    plans = [ModePlan(stops=stops, taps=700.0, zipf=0.5, night_stops=stops) for stops in (2, 4, 8)]
    truth = simulate_tables(plans, days=6, rng=np.random.default_rng(2016))
    prior = fit_prior(truth.problem, effects=truth.effects, groups=truth.mode).prior
    obvious = fit_prior(truth.base_only, effects=truth.effects, groups=truth.mode).prior
    posterior = infer(truth.problem, prior=prior, keep=True)
    assert_in_bands(scored(posterior, truth))
    error = np.abs(posterior.mean - truth.counts)
    baseline = np.abs(infer(truth.base_only, prior=obvious).mean - truth.counts)
    few = truth.suppressed & (truth.smallest_total() <= 8)
    ratio = [
        error[few & (truth.mode == m)].mean() / baseline[few & (truth.mode == m)].mean() for m in range(3)
    ]
    assert ratio[0] < ratio[1] < 0.8
    assert ratio[1] < ratio[2] < 0.95


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


def people(folder, *, days, persons, seed, taps=("on",), timetable=False):
    """People on timetabled vehicles, counted by day, stop and quarter hour, released as in 2016."""
    pytest.importorskip("duckdb")
    from noisegate.simulation import simulate

    world = simulate(folder, days=days, persons=persons, seed=seed)
    found = [
        (mode, tap, *tapped(world.taps, mode=mode, tap=tap, days=days)) for mode in MODES for tap in taps
    ]
    closed = [no_service(world, mode, tap, stops) for mode, tap, stops, _ in found] if timetable else None
    counts = [grid for *_, grid in found]
    return CityTruth.publish(counts, rng=np.random.default_rng(seed), closed=closed)


def tapped(taps, *, mode, tap, days):
    """The stops in order, and counts by day, stop and time, in full."""
    import duckdb

    rows = duckdb.sql(
        f"""select stop, (tapped_at::date - date '2016-07-25') as day,
                   (extract(hour from tapped_at) * 4 + extract(minute from tapped_at) // 15)::int as time,
                   count(*) as n
            from '{taps}' where mode = '{mode}' and tap = '{tap}' and stop <> 'UNKNOWN' group by all"""
    ).fetchnumpy()
    stops, stop = np.unique(rows["stop"].astype(str), return_inverse=True)
    inside = (rows["day"] >= 0) & (rows["day"] < days)
    counts = np.zeros((days, len(stops), 96), dtype=np.int64)
    counts[rows["day"][inside], stop[inside], rows["time"][inside]] = rows["n"][inside]
    return stops, counts


@functools.cache
def impossible(gtfs, spec):
    """Cells of the whole domain that no vehicle can have produced within 20 minutes of the timetable."""
    from noisegate.spec import load_spec
    from noisegate.timetable import Tolerance, domain_grid, link_feed, match_locations, read_feed

    feed, domain = read_feed(gtfs), load_spec(spec).domain
    places = domain.dimensions[domain.axis("location")].values
    grid = domain_grid(feed, domain, matching=match_locations(feed, places))
    late = Tolerance(on_before_s=1200, on_after_s=1200, off_before_s=300, off_after_s=1200)
    return domain, link_feed(feed, grid=grid, tolerance=late).impossible(np.arange(domain.size))


def no_service(world, mode, tap, stops):
    domain, flags = impossible(world.gtfs, world.spec)
    of = {dimension.name: dimension.values for dimension in domain.dimensions}
    days, bins = np.arange(len(of["date"])), np.arange(len(of["time"]))
    codes = {
        "mode": of["mode"].index(mode),
        "tap": of["tap"].index(tap),
        "date": days[:, None, None],
        "location": np.array([of["location"].index(stop) for stop in stops])[None, :, None],
        "time": bins[None, None, :],
    }
    return flags[domain.locate(*np.broadcast_arrays(*(codes[name] for name in of)))]


@pytest.mark.slow
def test_some_days_of_simulated_people(tmp_path):
    """Fitted to what people did, not to a law that the prior can express: the promised bands."""
    truth = people(tmp_path / "world", days=5, persons=25_000, seed=3)
    prior = fit_prior(truth.problem, effects=truth.effects, groups=truth.mode).prior
    posterior = infer(truth.problem, prior=prior, keep=True)
    assert_in_bands(scored(posterior, truth))
    assert_half_in_bands(scored(posterior, truth, level=0.5))
    assert_in_bands(scored(minimal(truth), truth))


@pytest.mark.slow
@pytest.mark.parametrize("timetable", [False, True])
@pytest.mark.parametrize(("persons", "seed"), [(60_000, 3), (200_000, 1)])
def test_a_simulated_fortnight_of_people(tmp_path, persons, seed, timetable):
    """Four modes, on and off, with and without knowing where no vehicle runs."""
    truth = people(
        tmp_path / "world", days=14, persons=persons, seed=seed, taps=("on", "off"), timetable=timetable
    )
    prior = fit_prior(truth.problem, effects=truth.effects, groups=truth.mode).prior
    posterior = infer(truth.problem, prior=prior, keep=True)
    assert_in_bands(scored(posterior, truth))
    assert_half_in_bands(scored(posterior, truth, level=0.5))
    assert_in_bands(scored(minimal(truth), truth))
    obvious = fit_prior(truth.base_only, effects=truth.effects, groups=truth.mode).prior
    error = np.abs(posterior.mean - truth.counts)
    same = np.abs(infer(truth.base_only, prior=prior).mean - truth.counts)
    baseline = np.abs(infer(truth.base_only, prior=obvious).mean - truth.counts)
    for mode in range(int(truth.mode.max()) + 1):
        cells = truth.suppressed & (truth.mode == mode)
        assert error[cells].mean() < 0.9 * baseline[cells].mean()
        assert error[cells].mean() < 1.02 * same[cells].mean()
