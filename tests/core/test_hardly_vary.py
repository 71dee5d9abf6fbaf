"""Counts that hardly vary: totals tell their intensities, and so what all rows are off by together; and parties, whose size is told where counts are shown."""

from dataclasses import replace

import numpy as np
import pytest

from noisegate.inference import Beside, ShownTotals, cumulant_intervals
from noisegate.testing import BASE, Tallied, ask_world, make_world, publish_case, recipe_2016


def fixed(way, seed):
    """Columns of 12 and 25 people, published in one way."""
    return publish_case("fixed", way, rng=np.random.default_rng([61, seed]))


def test_what_both_words_are_off_by_alike_neither_tells_of_the_other():
    away, width, off, noise, alike = (np.array([one]) for one in (9.0, 4.0, 12.0, 30.0, 7.0))
    apart = Beside.of(away, width, off, noise, rare=0.0)
    both = Beside.of(away, width, off + alike, noise + alike, rare=0.0, alike=alike)
    assert both.near[0] == pytest.approx(apart.near[0])
    assert both.sure[0] == pytest.approx(apart.sure[0] + 7.0)
    assert both.loose[0] == pytest.approx(37.0)


def test_hidden_cells_are_off_together_by_the_noise_of_their_totals():
    world = fixed("as in 2016", 1)
    totals, cells = ShownTotals(evidence=world.evidence()), np.arange(960)
    rows, columns = totals.margins
    small, one = cells[world.counts == 12], np.zeros(480, np.int64)
    loose = totals.raked(cells, world.counts.astype(np.float64)).doubt[small]
    mean = np.full(480, 12.0)
    by_columns = totals.loosely(small, mean, loose, one, 1, but=rows)[0]
    # Twelve columns of which all is hidden: the noise of their totals, each by itself.
    assert by_columns == pytest.approx(12 * columns.noise, rel=0.03)
    by_rows = totals.loosely(small, mean, loose, one, 1, but=columns)[0]
    assert totals.loosely(small, mean, loose, one, 1)[0] == pytest.approx(by_rows + by_columns)


def test_one_margin_does_not_tell_how_its_rows_are_divided():
    world = make_world(
        {"row": 40, "column": 24},
        margins={"by-row": ["row"]},
        mechanism={BASE: recipe_2016(threshold=18), "by-row": recipe_2016(threshold=35)},
        law="fixed",
        rng=np.random.default_rng(1),
    )
    totals, one = ShownTotals(evidence=world.evidence()), np.zeros(960, np.int64)
    assert np.isinf(totals.loosely(np.arange(960), np.ones(960), np.zeros(960), one, 1)[0])


def test_what_cells_say_of_hidden_ones_does_not_move_intensities_that_totals_tell():
    """Cells said a fifth too much of columns of which nothing is shown: their totals kept a fortieth of it."""
    world = fixed("as in 2016", 2)
    rough = np.where(world.counts == 12, 1.2, 1.0) * world.counts
    found = ShownTotals(evidence=world.evidence()).raked(np.arange(960), rough).mean
    assert found[world.counts == 12].mean() == pytest.approx(12.0, rel=0.003)


@pytest.mark.parametrize("way", ["independent", "gaussian"])
def test_hidden_cells_at_the_threshold_hold_what_shown_ones_do(way):
    """Laws of cells that leave room said 11.7 of hidden ones, as low counts are hidden; counts that do not vary are not."""
    off = []
    for seed in range(4):
        world = fixed(way, seed)
        engine = world.engine()
        engine.prepare()
        hidden = world.hidden[world.counts[world.hidden] == 12]
        off.append(engine.mean[hidden].mean() - 12)
    assert abs(np.mean(off)) < 0.1


def test_single_hidden_cells_do_not_follow_a_noisy_column_where_others_are_exact():
    """Exact totals made every row have its way: cells of 25 were said to hold 30 and 31, for sure."""
    off = []
    for seed in range(8):
        world = fixed("exact margins", seed)
        engine = world.engine()
        engine.prepare()
        off += (engine.mean - world.counts)[world.hidden[world.counts[world.hidden] == 25]].tolist()
    assert len(off) > 10
    assert np.median(np.abs(off)) < 0.1


@pytest.mark.parametrize(
    ("way", "widest"),
    [("as in 2016", 30), ("independent", 25), ("gaussian", 20), ("exact margins", 25)],
)
def test_groups_of_rows_are_known_as_well_as_totals_tell_them(way, widest):
    """95 % intervals of eight rows were 34 to 45 wide."""
    said = []
    for seed in range(6):
        world = fixed(way, seed)
        said += ask_world(world, world.engine(), rng=np.random.default_rng(1), only_hidden=True)[1:2]
    assert np.mean([one.high[1] - one.low[1] for one in said]) < widest
    assert Tallied.of(said).held >= 0.92


def test_how_little_counts_vary_cells_say_and_not_totals_that_told_intensities():
    """Where noise took totals of columns along, laws whose means followed it looked likelier: a quarter of the room was left."""
    narrow = []
    for seed in (1, 4, 7, 13):
        engine = publish_case("fixed", "as in 2016", rng=np.random.default_rng([4242, 5, 0, seed])).engine()
        engine.prepare()
        narrow += [fit.humps.tighter for fit in engine.fits.values()]
    assert max(narrow) < 0.1


def test_other_noise_leaves_intensities_that_totals_tell_as_loose():
    world = fixed("independent", 3)
    engine = world.engine()
    engine.prepare()
    again = engine.under(world.evidence())
    again.prepare()
    np.testing.assert_array_equal(again.errors.loose, engine.errors.loose)
    assert not np.isnan(again.errors.loose).any()


def test_how_large_parties_are_is_told_where_counts_are_shown():
    """A dispersion of a tenth is parties of three where 20 people are seen: nobody is there with e^-4 where 12 are expected, not with e^-5.5."""
    engine = fixed("independent", 1).engine()
    engine.prepare()
    fit = replace(engine.fits[0], mean=np.array([12.0]), shape=np.array([10.0]), humps=None)
    own, shown = (replace(fit, seen=seen).law.zero_share[0] for seen in (0.0, 20.0))
    plain = 2.2**-10.0
    assert shown - own == pytest.approx(0.5 * (np.exp(-4) - plain) - 0.5 * (np.exp(-12 / 2.2) - plain))


def test_how_little_counts_vary_is_unsure():
    """Totals without noise tell a sum of counts that never vary to a number or two: that they vary by a tenth of a person is one of the ways they may, and half of the time they do not.

    In eight of eight worlds half intervals had three numbers or more.
    """
    wide = []
    for seed in range(10):
        world = publish_case("fixed", "exact margins", rng=np.random.default_rng([seed, 47]))
        hidden = world.hidden
        said = world.engine().sums(hidden, np.zeros_like(hidden), size=1, level=0.5)
        wide.append(said.high[0] - said.low[0])
    assert np.median(wide) <= 1


def test_of_three_numbers_one_that_is_not_needed_is_left_out():
    """A sum of 10.3 with a standard deviation of 0.45 is 10 or 11 with 96 %; at 50 % an end is no tail."""
    mean, variance, third = np.array([10.3]), np.array([0.45**2]), np.zeros(1)
    low, high = cumulant_intervals(mean, variance, third, level=0.95)
    assert (low[0], high[0]) == (10, 11)
    low, high = cumulant_intervals(mean, variance * 9, third, level=0.5)
    assert (low[0], high[0]) == (9, 11)
