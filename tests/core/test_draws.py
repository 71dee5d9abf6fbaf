"""Draws of whole tables: laws of cells, spreads of sums, totals that are sure, equal counts."""

from dataclasses import replace

import numpy as np
import pytest

from noisegate.inference import Posterior, engine_for
from noisegate.laws import DiscreteLaplace, PointMass
from noisegate.mechanisms import Mechanism
from noisegate.testing import BASE, make_world

CUT = Mechanism(law=DiscreteLaplace(1.4), threshold=12, rule="ge", zeros="perturb")
TOTAL = Mechanism(law=DiscreteLaplace(1.4), zeros="perturb")


def grid(*, total=TOTAL, seed=1, rows=12, columns=10, margins=("row", "column")):
    return make_world(
        {"row": rows, "column": columns},
        margins={f"by {name}": [name] for name in margins},
        mechanism={BASE: CUT, **{f"by {name}": total for name in margins}},
        rng=np.random.default_rng(seed),
    )


@pytest.fixture(scope="module")
def drawn():
    """An engine with 400 of its draws."""
    engine = Posterior(evidence=grid().evidence())
    return engine, np.array(list(engine.draws(400, rng=np.random.default_rng(2))))


def test_draws_are_counts(drawn):
    _, tables = drawn
    assert tables.dtype == np.int64
    assert tables.min() >= 0


def test_single_cells_keep_their_laws(drawn):
    engine, tables = drawn
    known = engine.cells(0.95)
    off = (tables.mean(axis=0) - known.mean) / np.maximum(known.sd, 0.2) * 20
    assert np.abs(off).mean() < 2.0
    assert np.abs((tables == 0).mean(axis=0) - known.p_zero).mean() < 0.03


def test_sums_of_draws_spread_as_sums_do(drawn):
    engine, tables = drawn
    rng = np.random.default_rng(3)
    for _ in range(20):
        cells = np.flatnonzero(rng.random(tables.shape[1]) < rng.choice([0.1, 0.5, 1.0]))
        said = engine.sums(cells, np.zeros(len(cells), np.int64), size=1, level=0.95)
        sums = tables[:, cells].sum(axis=1)
        assert sums.mean() == pytest.approx(said.mean[0], abs=0.7 * said.sd[0] + 0.5)
        assert 0.5 < sums.std() / said.sd[0] < 1.7


def test_totals_without_noise_are_kept_by_every_draw():
    world = grid(total=Mechanism(law=PointMass(), zeros="perturb"), margins=("row",))
    engine = engine_for(world.evidence())
    for table in engine.draws(20, rng=np.random.default_rng(4)):
        sums = np.bincount(np.arange(len(table)) // 10, weights=table)
        assert sums.tolist() == world.published["by row"].tolist()


def test_equal_cells_are_equal_in_every_draw():
    world = grid()
    pairs = np.array([[0, 11], [25, 46]])
    engine = Posterior(evidence=replace(world.evidence(), equal=pairs))
    for table in engine.draws(10, rng=np.random.default_rng(5)):
        assert table[pairs[0]].tolist() == table[pairs[1]].tolist()


def test_the_same_generator_gives_the_same_draws(drawn):
    engine, tables = drawn
    again = np.array(list(engine.draws(3, rng=np.random.default_rng(2))))
    assert (again == tables[:3]).all()
    some = np.array([3, 50])
    assert (np.array(list(engine.draws(3, rng=np.random.default_rng(2), cells=some))) == again[:, some]).all()


@pytest.mark.parametrize("attacker", ["informed", "minimal"])
def test_without_a_table_less_is_known(attacker):
    world = grid()
    engine = engine_for(world.evidence(), attacker=attacker)
    hidden = np.isnan(world.published[BASE])
    with_all = engine.cells(0.95)
    less = engine.without("by row", "by column")
    assert less.evidence.margins == ()
    assert (with_all.sd[hidden] ** 2).sum() < (less.cells(0.95).sd[hidden] ** 2).sum()
    assert less.checks[0].name == "convergence"
    with pytest.raises(Exception, match="by row"):
        engine.without("by age")
