"""An engine that knows when it is wrong: laws on trial, estimates withdrawn with bounds, cells that add up to what totals leave."""

from dataclasses import replace

import numpy as np
import pytest

from noisegate.inference import engine_for
from noisegate.laws import DiscreteLaplace, Laplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import BASE, COUNT_LAWS, make_world, publish_case, recipe_2016

CUT = Mechanism(law=DiscreteLaplace(1.4), threshold=18, rule="ge", zeros="perturb")


def base_alone(law, *, seed=1, rows=60, columns=48):
    """A base of which no total is known: what `derive` publishes."""
    rng = np.random.default_rng(seed)
    raw = COUNT_LAWS[law](rng, rows, columns)
    return make_world(
        {"row": rows, "column": columns}, margins={}, mechanism={BASE: CUT}, counts=raw, rng=rng
    )


def random_groups(rng, size, *, number=30):
    groups = [np.flatnonzero(rng.random(size) < rng.choice([0.02, 0.2, 1.0])) for _ in range(number)]
    cells = np.concatenate(groups)
    return cells, np.repeat(np.arange(number), [len(one) for one in groups])


@pytest.mark.parametrize("law", ["poisson", "parties of three"])
def test_a_law_that_stands_its_trial_may_speak(law):
    """One in twenty fails by chance; of three no more than one."""
    kept, hits = 0, []
    for seed in range(3):
        world = base_alone(law, seed=seed)
        engine = world.engine()
        cells, groups = random_groups(np.random.default_rng(2), world.domain.size)
        found = engine.sums(cells, groups, size=30, level=0.95)
        truth = np.bincount(groups, weights=world.counts[cells])
        hits += ((found.low <= truth) & (truth <= found.high)).tolist()
        (trial,) = [check for check in engine.checks if check.name == "re-censoring"]
        assert (trial.outcome == "holds") == (trial.z is not None and abs(trial.z) <= 2)
        kept += trial.outcome == "holds" and bool(found.told.all())
    assert kept >= 2
    assert np.mean(hits) >= 0.9


@pytest.mark.parametrize("law", ["two-humped", "full or empty", "uniform"])
def test_a_law_that_does_not_is_withdrawn_with_bounds(law):
    """Its estimates were off by 27, 53 and 26 % of the truth, and their intervals said nothing of it."""
    world = base_alone(law)
    engine = world.engine()
    every = np.arange(world.domain.size)
    found = engine.sums(every, np.zeros(len(every), np.int64), size=1, level=0.95)
    hidden = np.isnan(world.published[BASE])
    shown = np.nansum(world.published[BASE])
    assert not found.told[0]
    assert found.low[0] <= world.counts.sum() <= found.high[0]
    assert found.high[0] <= shown + 17 * hidden.sum() + 400
    assert [check.outcome for check in engine.checks if check.name == "re-censoring"] == ["withdrawn"]


@pytest.mark.parametrize("odd", [None, 0.0])
def test_a_wrong_shape_is_found_in_a_small_table(monkeypatch, odd):
    """Even where the law gets the number of people right: in one of eight tables of this size it did, and was 27 % off for what is hidden.

    That more cells may be empty as counts are odd (`_ODD_EMPTY`) brings the law a little nearer to them, by itself it is further off.
    """
    if odd is not None:
        monkeypatch.setattr("noisegate.inference.profile.profile._ODD_EMPTY", odd)
    for seed in range(4):
        engine = base_alone("uniform", seed=seed, rows=40, columns=24).engine()
        (trial,) = [check for check in engine.checks if check.name == "re-censoring"]
        assert trial.outcome == "withdrawn"
        assert odd is None or trial.numbers["near"] < 0.85 * trial.numbers["near_said"]


def test_quiet_hours_under_much_noise():
    """Nights of which no row is shown, in places whose totals are: they got a third less than was there, because a histogram was believed where no table told it."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        hours = np.where(np.arange(48) < 20, 0.05, 1.0)
        rate = np.einsum("i,j,d->ijd", rng.permutation(1 / np.arange(1.0, 25)), hours, np.ones(6))
        counts = rng.poisson(5 * rate / rate.mean() * rng.gamma(6, 1 / 6, rate.shape))
        made = Mechanism(law=DiscreteLaplace(6.0), threshold=42, rule="ge", zeros="perturb")
        world = make_world(
            {"stop": 24, "hour": 48, "day": 6},
            margins={"time": ["hour", "day"], "loc": ["stop", "day"]},
            mechanism={BASE: made, "time": made, "loc": made},
            counts=counts,
            rng=rng,
        )
        night = np.flatnonzero(world.domain.decode(np.arange(world.domain.size))[1] < 20)
        assert np.isnan(world.published["time"]).mean() > 0.3
        found = world.engine().sums(night, np.zeros(len(night), np.int64), size=1, level=0.95)
        truth = world.counts[night].sum()
        ratios.append(found.mean[0] / truth)
        assert found.low[0] <= truth <= found.high[0]
    assert np.mean(ratios) == pytest.approx(1, abs=0.15)


def test_where_nothing_is_shown_nothing_is_known():
    """A quiet town: all rows of all tables are suppressed. Silence is no safety: sums lie between bounds, and no cell surely holds somebody."""
    rng = np.random.default_rng(3)
    rate = np.einsum("i,j,d->ijd", rng.gamma(0.5, 1, 40), rng.gamma(1, 1, 24), np.ones(7))
    world = make_world(
        {"stop": 40, "hour": 24, "day": 7},
        margins={"time": ["hour", "day"], "loc": ["stop", "day"]},
        mechanism={
            BASE: recipe_2016(threshold=18),
            "time": recipe_2016(threshold=35),
            "loc": recipe_2016(threshold=35),
        },
        counts=rng.poisson(0.1 * rate / rate.mean()),
        rng=rng,
    )
    assert np.isnan(world.published[BASE]).all()
    engine = world.engine()
    every = np.arange(world.domain.size)
    found = engine.sums(every, np.zeros(len(every), np.int64), size=1, level=0.95)
    assert not found.told[0]
    assert found.low[0] == 0
    assert world.counts.sum() <= found.high[0] <= 24 * 7 * 34 + 300
    known = engine.cells(0.95)
    assert (known.high == 17).all() or (known.high >= 17).all()
    assert not (known.p_zero < 0.01).any()


@pytest.mark.parametrize("law", ["two-humped", "uniform", "full or empty", "negative binomial"])
def test_cells_sums_and_draws_agree_with_what_totals_leave(law):
    """Whatever the law of counts, and with no card: hidden cells were 67 % too high in all with two humps."""
    rng = np.random.default_rng(4)
    made = Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest", cut="before")
    total = Mechanism(law=Laplace(1.4), rounding="nearest")
    world = make_world(
        {"row": 30, "column": 24},
        mechanism={BASE: made, "by row": total, "by column": total},
        counts=COUNT_LAWS[law](rng, 30, 24),
        rng=rng,
    )
    engine = world.engine()
    known = engine.cells(0.95)
    hidden = np.flatnonzero(np.isnan(world.published[BASE]))
    whole = engine.sums(hidden, np.zeros(len(hidden), np.int64), size=1, level=0.95)
    assert whole.mean[0] == pytest.approx(known.mean[hidden].sum())
    assert whole.low[0] <= world.counts[hidden].sum() <= whole.high[0]
    rows = np.arange(720) // 24
    off = np.bincount(rows, weights=known.mean - world.counts)
    assert np.sqrt(np.mean(off**2)) < 4
    drawn = np.array([np.bincount(rows, weights=one) for one in engine.draws(60, rng=rng)])
    assert np.abs(drawn.mean(axis=0) - np.bincount(rows, weights=known.mean)).mean() < 0.7
    assert drawn.std(axis=0).mean() == pytest.approx(2.0, rel=0.35)


def test_one_total_over_very_many_cells():
    """Villages under three totals: the hidden sum was given as four times the truth."""
    rng = np.random.default_rng(5)
    counts = rng.poisson(np.exp(rng.normal(1, 1.2, (2000, 3))))
    total = Mechanism(law=Laplace(1.4), rounding="nearest")
    world = make_world(
        {"village": 2000, "year": 3},
        margins={"total": ["year"]},
        mechanism={BASE: recipe_2016(threshold=18), "total": total},
        counts=counts,
        rng=rng,
    )
    engine = world.engine()
    known = engine.cells(0.95)
    hidden = np.flatnonzero(np.isnan(world.published[BASE]))
    found = engine.sums(hidden, np.zeros(len(hidden), np.int64), size=1, level=0.95)
    truth = world.counts[hidden]
    assert found.low[0] <= truth.sum() <= found.high[0]
    assert found.mean[0] == pytest.approx(truth.sum(), rel=0.01)
    assert ((known.low[hidden] <= truth) & (truth <= known.high[hidden])).mean() > 0.92


def test_a_margin_that_counts_what_no_table_lists_is_found():
    """Rows count people in columns that are not listed: margin against margin says so, and cells do not absorb them."""
    rng = np.random.default_rng(6)
    counts = COUNT_LAWS["poisson"](rng, 30, 24)
    total = Mechanism(law=Laplace(1.4), rounding="nearest")
    world = make_world(
        {"row": 30, "column": 24},
        mechanism={BASE: recipe_2016(threshold=18), "by row": total, "by column": total},
        counts=counts,
        rng=rng,
    )
    known = world.evidence()
    more = replace(known.margins[0], values=known.margins[0].values + rng.poisson(40, 30))
    engine = engine_for(replace(known, margins=(more, known.margins[1])))
    hidden = np.flatnonzero(np.isnan(world.published[BASE]))
    found = engine.sums(hidden, np.zeros(len(hidden), np.int64), size=1, level=0.95)
    (check,) = [one for one in engine.checks if one.name == "margin against margin"]
    assert check.outcome == "widened"
    assert check.numbers["at_least"] == pytest.approx(1200, abs=150)
    assert found.low[0] <= world.counts[hidden].sum() <= found.high[0]
    (check,) = [one for one in engine_for(known).checks if one.name == "margin against margin"]
    assert check.outcome == "holds"


@pytest.mark.parametrize(("case", "wrong"), [("poisson", False), ("two-humped", True), ("uniform", True)])
def test_a_law_beside_what_totals_leave(monkeypatch, case, wrong):
    """Size and power: a law that is right is left alone, one that is wrong about what is hidden is found out; with its humps it is right."""
    if wrong:
        for seed in range(2):
            engine = publish_case(case, "as in 2016", rng=np.random.default_rng(seed)).engine()
            found = {check.name: check for check in engine.checks}
            assert found["hidden sums"].outcome == "holds", seed
            assert "shape of counts" in found, seed
        # The negative binomial by itself: with what parties may add to its empty cells it is a quarter less wrong.
        monkeypatch.setattr("noisegate.inference.posterior.fit_humps", lambda *_, **__: None)
        monkeypatch.setattr("noisegate.inference.profile.profile._MOST_LUMPS", 0.0)
        monkeypatch.setattr("noisegate.inference.profile.profile._ODD_EMPTY", 0.0)
    for seed in range(4):
        world = publish_case(case, "as in 2016", rng=np.random.default_rng(seed))
        engine = world.engine()
        found = {check.name: check for check in engine.checks}
        assert (found["hidden sums"].outcome == "moved") == wrong, seed
        assert wrong <= (found["values above the threshold"].outcome == "moved"), seed
        said = found["hidden sums"].numbers
        hidden = world.hidden
        sums = engine.sums(hidden, np.zeros(len(hidden), np.int64), size=1, level=0.95)
        # Whatever the law says by itself, cells add up to what totals leave.
        assert abs(sums.mean[0] - said["told"]) < 3 * said["sd"] + 0.02 * said["told"]


def test_sums_of_cells_are_surer_than_their_cells():
    """Cells of a row vary together, because its total is known: what one has too much the others lack. Of rows that are hidden for the most part."""
    world = publish_case("poisson", "as in 2016", rng=np.random.default_rng(5))
    engine, hidden = world.engine(), world.hidden
    rows = world.margins["by-row"].of(hidden)
    size = world.margins["by-row"].domain.size
    shown = ~np.isnan(world.published["by-row"])[rows]
    hidden, rows = hidden[shown], rows[shown]
    several = np.flatnonzero(np.bincount(rows, minlength=size) > world.domain.size // size // 2)
    assert len(several) > size // 2
    sums, cells = engine.sums(hidden, rows, size=size, level=0.95), engine.cells(0.95)
    raw = np.bincount(rows, weights=world.counts[hidden], minlength=size)
    mean = np.bincount(rows, weights=cells.mean[hidden], minlength=size)
    alone = np.sqrt(np.bincount(rows, weights=cells.sd[hidden] ** 2, minlength=size))
    np.testing.assert_allclose(sums.mean, mean, rtol=1e-9)
    assert (sums.sd[several] < 0.7 * alone[several]).all()
    assert (np.abs(raw - sums.mean)[several] < 4 * sums.sd[several]).all()


def test_hidden_counts_far_below_their_profile():
    """Two cells of a table that is shown but for these hold 7 and 11 where 45 are expected: three in 24 were said to be 0 for sure."""
    total = Mechanism(law=Laplace(0.5), rounding="nearest", zeros="perturb")
    made = replace(total, threshold=30, rule="ge")
    far, hits = np.array([2 * 14 + 3, 5 * 14 + 9]), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        raw = rng.integers(30, 60, size=(8, 14))
        raw.flat[far] = 7, 11
        world = make_world(
            {"date": 8, "stop": 14},
            margins={"total": ["date"]},
            mechanism={BASE: made, "total": total},
            counts=raw,
            rng=rng,
        )
        known = world.engine().cells(0.95)
        assert (known.high[far] > 0).all()
        hits += ((known.low[far] <= [7, 11]) & (known.high[far] >= [7, 11])).tolist()
    assert np.mean(hits) >= 0.75


def hidden_rows(world):
    """The hidden cells of the shown rows of the first margin, and the row of each."""
    name, margin = next(iter(world.margins.items()))
    rows = margin.of(world.hidden)
    told = ~np.isnan(world.published[name][rows])
    return world.hidden[told], np.unique(rows[told], return_inverse=True)[1]


def test_counts_that_do_not_vary_leave_single_totals_surer_than_their_noise():
    """A row that its noise took away moved its sum along: 50 % intervals were 7 wide and more, and held 80 to 90 % of the truths."""
    widths, inside = [], []
    for seed in range(3):
        world = publish_case("fixed", "as in 2016", rng=np.random.default_rng([31, seed]))
        cells, rows = hidden_rows(world)
        found = world.engine().sums(cells, rows, size=rows.max() + 1, level=0.5)
        truth = np.bincount(rows, weights=world.counts[cells])
        widths.append(np.mean(found.high - found.low))
        # Ends count a half, as in `noisegate.testing.scoring`.
        ends = (truth == found.low) | (truth == found.high)
        inside += (0.5 * ends + ((found.low < truth) & (truth < found.high))).tolist()
    assert np.mean(widths) < 5
    assert 0.35 < np.mean(inside) < 0.72


def test_a_row_that_is_nothing_like_the_law_has_its_own_sum():
    """One row of fixed counts holds half of what the others do: its total says so, whatever the law says."""
    rng = np.random.default_rng(5)
    raw = np.tile(np.where(np.arange(24) % 2, 12, 25), (40, 1))
    raw[7, 1::2] = 4
    world = make_world(
        {"row": 40, "column": 24}, mechanism=recipe_2016(threshold=18), counts=raw.ravel(), rng=rng
    )
    cells, rows = hidden_rows(world)
    found = world.engine().sums(cells, rows, size=rows.max() + 1, level=0.95)
    truth = np.bincount(rows, weights=world.counts[cells])
    assert found.low[7] <= truth[7] <= found.high[7]
    assert found.high[7] < 12 * 12  # what all other rows hold


def test_parties_make_nobody_likelier_than_a_negative_binomial_law_has_it():
    """Of those said to be surely there 97 % were."""
    named = right = 0
    for seed in range(6):
        world = publish_case("parties of three", "as in 2016", rng=np.random.default_rng([32, seed]))
        sure = world.hidden[world.engine().cells(0.95).p_zero[world.hidden] < 0.01]
        named, right = named + len(sure), right + int((world.counts[sure] > 0).sum())
    assert named > 100
    assert right >= 0.975 * named
