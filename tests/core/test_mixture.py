"""Noise that was recovered: its scale is integrated and not plugged in; noise that is stated is taken as it is."""

import json
from dataclasses import replace

import numpy as np
import pytest

import noisegate
from noisegate.inference import MixedNoise, Posterior, RivalNoise, engine_for
from noisegate.laws import DiscreteGaussian, Laplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import BASE, make_world, publish_case

DOUBT = 0.4


def worlds(number):
    """Tables whose noise was recovered too small or too large, by as much as its interval says, and the truth behind them."""
    for seed in range(number):
        world = publish_case(
            "poisson", "independent", rng=np.random.default_rng([3, seed]), rows=24, columns=16
        )
        yield world, world.evidence().at_scale(float(np.exp(DOUBT * (-1) ** seed)))


def covered(world, engine):
    """Which hidden sums of rows lie in their 95 % intervals."""
    hidden = world.hidden
    rows, size = world.margins["by-row"].of(hidden), world.margins["by-row"].domain.size
    found = engine.sums(hidden, rows, size=size, level=0.95)
    truth = np.bincount(rows, weights=world.counts[hidden], minlength=size)
    return ((found.low <= truth) & (truth <= found.high))[np.bincount(rows, minlength=size) > 0].tolist()


def test_intervals_hold_although_the_scale_is_off():
    """Power and size: plugged in, a scale that is a standard deviation too small leaves one sum in six outside; integrated, one in twenty."""
    plugged, integrated = [], []
    for place, (world, recovered) in enumerate(worlds(8)):
        integrated += covered(world, engine_for(replace(recovered, scale_doubt=DOUBT)))
        if place % 2:
            plugged += covered(world, engine_for(recovered))
    assert np.mean(plugged) < 0.9
    assert np.mean(integrated) >= 0.93


def test_noise_that_is_stated_is_never_overridden():
    _, recovered = next(worlds(1))
    assert isinstance(engine_for(recovered), Posterior)
    assert isinstance(engine_for(replace(recovered, scale_doubt=0.01)), Posterior)
    assert isinstance(engine_for(replace(recovered, scale_doubt=DOUBT)), MixedNoise)


def test_cells_sums_and_draws_are_of_one_mixture():
    world, recovered = next(worlds(1))
    engine = engine_for(replace(recovered, scale_doubt=DOUBT))
    alone = engine_for(recovered)
    every = np.arange(world.domain.size)
    groups = every % 7
    cells, sums = engine.cells(0.95), engine.sums(every, groups, size=7, level=0.95)
    np.testing.assert_allclose(sums.mean, np.bincount(groups, weights=cells.mean), rtol=1e-9)
    assert (cells.low <= cells.high).all()
    assert ((cells.p_zero >= 0) & (cells.p_zero <= 1 + 1e-9)).all()
    assert cells.sd.mean() > alone.cells(0.95).sd.mean() * 0.98
    drawn = np.array(
        [np.bincount(groups, weights=one) for one in engine.draws(60, rng=np.random.default_rng(1))]
    )
    assert np.abs(drawn.mean(axis=0) - sums.mean).max() < 5 * sums.sd.max() / np.sqrt(60) + 2
    some = np.array([3, 5, 8])
    assert next(engine.draws(1, rng=np.random.default_rng(1), cells=some)).shape == (3,)
    (check,) = [one for one in engine.checks if one.name == "noise"]
    assert check.outcome == "widened"
    json.dumps(check.to_json(), allow_nan=False)


def test_without_a_table_it_is_still_a_mixture():
    world, recovered = next(worlds(1))
    engine = engine_for(replace(recovered, scale_doubt=DOUBT)).without("by-column")
    assert isinstance(engine, MixedNoise)
    assert [margin.name for margin in engine.evidence.margins] == ["by-row"]
    assert engine.cells(0.95).mean[world.hidden].sum() == pytest.approx(
        world.counts[world.hidden].sum(), rel=0.2
    )


def test_laws_that_remain_possible_are_averaged_over():
    """The law of a cell is the mixture of its laws under each law of the noise, by their weights."""
    world = publish_case("poisson", "independent", rng=np.random.default_rng(4), rows=12, columns=8)
    given = world.evidence()
    gaussian = {
        name: replace(made, law=DiscreteGaussian(2.0**0.5 * made.law.scale))
        for name, made in world.mechanisms.items()
    }
    rival = RivalNoise(weight=0.3, name="gaussian", mechanisms=gaussian)
    mixed = engine_for(replace(given, rivals=(rival,)))
    assert isinstance(mixed, MixedNoise)
    own = engine_for(given)
    other = own.under(given.under(rival))
    found, one, two = mixed.cells(0.95), own.cells(0.95), other.cells(0.95)
    np.testing.assert_allclose(found.mean, 0.7 * one.mean + 0.3 * two.mean, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.p_zero, 0.7 * one.p_zero + 0.3 * two.p_zero, atol=1e-5)
    assert np.abs(one.mean - two.mean).max() > 0.05
    (check,) = [one for one in mixed.checks if one.name == "noise"]
    assert "gaussian with 30%" in check.says
    assert "factor" not in check.says


def test_few_identities_leave_a_second_law(tmp_path):
    """Twenty sums of four parts do not tell Laplace from Gaussian noise, and both have their weight."""
    rng = np.random.default_rng(1)
    made = Mechanism(law=Laplace(1.4), threshold=18, rounding="nearest", cut="before")
    counts = rng.integers(4, 90, size=(60, 4))
    world = make_world(
        {"town": 60, "age": 4},
        margins={"total": ["town"]},
        mechanism={BASE: made, "total": made},
        counts=counts,
        rng=rng,
    )
    found = noisegate.open_tables([str(path) for path in world.write(tmp_path)])
    (rival,) = found.inference.evidence.known.rivals
    assert rival.name == "gaussian"
    assert 0.05 <= rival.weight <= 0.95
    assert {made.law.name for made in rival.mechanisms.values()} == {"gaussian"}
    stated = noisegate.open_tables([str(path) for path in world.write(tmp_path)], noise="laplace:1.4")
    assert not stated.inference.evidence.known.rivals


@pytest.mark.parametrize("doubt", [0.0, 0.25])
def test_busy_rows_are_as_sure_as_their_totals(doubt):
    """Hundreds of shown cells have far more noise together than their totals: sums say what these say, at whatever scale."""
    made = Mechanism(law=Laplace(2.0), rounding="nearest", threshold=10, rule="ge", zeros="keep")
    hits, wide, off = [], [], []
    sure = np.sqrt(7 * 8.0)  # seven totals of a station, each with noise of variance 8
    for seed in range(3):
        rng = np.random.default_rng([17, seed])
        busy = rng.gamma(0.7, 14.0, size=(20, 1, 1)) * rng.gamma(10, 0.1, (1, 7, 1))
        world = make_world(
            {"station": 20, "day": 7, "slot": 96},
            margins={"by-station": ["station", "day"], "by-slot": ["day", "slot"]},
            mechanism=made,
            counts=rng.poisson(busy * np.exp(np.sin(np.linspace(0, 12, 96)))),
            rng=rng,
        )
        given = world.evidence().at_scale(float(np.exp(doubt * (-1) ** seed)))
        engine = engine_for(replace(given, scale_doubt=doubt))
        cells = np.arange(world.domain.size)
        found = engine.sums(cells, cells // (7 * 96), size=20, level=0.95)
        truth = world.counts.reshape(20, -1).sum(axis=1)
        hits += ((found.low <= truth) & (truth <= found.high)).tolist()
        many = np.isfinite(world.published[BASE]).reshape(20, -1).sum(axis=1) > 7 * 96 // 4
        wide += (found.high - found.low)[many].tolist()
        off += (found.mean - truth)[many].tolist()
    assert np.mean(hits) >= 0.92
    assert np.sqrt(np.mean(np.square(off))) < (1.2 if doubt == 0 else 1.8) * sure
    assert np.median(wide) < (1.1 if doubt == 0 else 1.6) * 2 * 1.96 * sure


def test_totals_apart_by_noise_of_a_larger_scale_are_not_taken_for_people_that_no_table_lists():
    """The scale was recovered at an eighth: margins differ by more than that has it, and by less than its doubt allows. What is found once holds at every scale."""
    total = Mechanism(law=Laplace(8.0), rounding="nearest")
    world = make_world(
        {"row": 30, "column": 24},
        mechanism={BASE: replace(total, threshold=25, cut="before"), "by row": total, "by column": total},
        law="poisson",
        rng=np.random.default_rng(4),
    )
    recovered = world.evidence().at_scale(1 / 8)
    left_out = [one for one in Posterior(evidence=recovered).checks if one.name == "margin against margin"]
    assert [one.outcome for one in left_out] == ["widened"]
    engine = engine_for(replace(recovered, scale_doubt=1.0))
    assert {tuple(one.name for one in side.evidence.margins) for side in engine.engines} == {
        ("by row", "by column")
    }
