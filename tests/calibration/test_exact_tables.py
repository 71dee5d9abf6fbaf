"""Exact tables with a few hidden counts, as statistical offices publish them: rectangles of cells that totals cannot tell apart, and what is said of them.

Shown counts that are known tied all that is hidden in a table together, and messages that went round in exact sums left one number of several: of 25 tables of 16 x 8 with one rectangle hidden 40 of 100 cells were said to be one number,
and 8 of these were it. Above 100,000 cells totals were not heard at all.
"""

import numpy as np
import pytest

from noisegate.inference import Identities, Problem, Sums, infer
from noisegate.laws import PointMass
from noisegate.mechanisms import Mechanism
from noisegate.testing import BASE, enumerate_exact, make_world

EXACT = Mechanism(law=PointMass(), zeros="perturb")
SMALL = 18
HIDES = Mechanism(law=PointMass(), threshold=SMALL, rule="ge", zeros="perturb")


def tables(rng, *, count=1, rows=16, columns=8, rectangles=1):
    """Counts of 18 to 59 with totals of rows and columns, in which rectangles of any smaller counts are hidden."""
    raw = rng.integers(SMALL, 60, size=(count, rows, columns))
    for table in raw:
        for _ in range(rectangles):
            places = np.ix_(rng.choice(rows, 2, replace=False), rng.choice(columns, 2, replace=False))
            table[places] = rng.integers(0, SMALL, size=(2, 2))
    margins = {"by row": ["table", "row"], "by column": ["table", "column"]}
    return make_world(
        {"table": count, "row": rows, "column": columns},
        margins=margins,
        mechanism={BASE: HIDES, **dict.fromkeys(margins, EXACT)},
        counts=raw.ravel(),
        rng=rng,
    )


def told(world, engine):
    """For each hidden cell whether its interval holds it, whether it is one number, and how likely it is empty; and its count."""
    cells, hidden = engine.cells(0.95), world.hidden
    truth, low, high = (one[hidden] for one in (world.counts, cells.low, cells.high))
    return (low <= truth) & (truth <= high), low == high, cells.p_zero[hidden], truth


@pytest.mark.parametrize("rectangles", [1, 2, 5, 9])
def test_hidden_cells_of_small_tables(rectangles):
    said = []
    for seed in range(25):
        world = tables(np.random.default_rng([81, seed]), rectangles=rectangles)
        said.append(told(world, world.engine()))
    held, one, empty, truth = (np.concatenate(part) for part in zip(*said, strict=True))
    assert held.mean() >= 0.85
    # Three standard errors: few are one number, and before one in five of these was right.
    assert held[one].sum() >= 0.95 * one.sum() - 3 * np.sqrt(0.05 * 0.95 * one.sum())
    sure = empty < 0.01
    assert sure.sum() > 50
    assert (truth[sure] > 0).mean() >= 0.98


def test_many_tables_at_once_and_more_than_100_000_cells():
    for count in (600, 4_000):
        world = tables(np.random.default_rng(82), count=count, rows=6, columns=5)
        held, one, empty, truth = told(world, world.engine())
        assert held.mean() >= 0.95
        assert held[one].mean() >= 0.98
        assert (truth[empty < 0.01] > 0).mean() >= 0.98


@pytest.mark.parametrize("seed", range(6))
def test_what_is_hidden_in_a_table_is_solved_exactly(seed):
    """The table as it is, and the four cells that are hidden in it under what its totals leave for them, looked at one by one."""
    world = tables(np.random.default_rng([83, seed]))
    hidden, shown = world.hidden, np.nan_to_num(world.published[BASE]).reshape(16, 8)
    row, column = np.divmod(hidden, 8)
    left = [
        (np.unique(row, return_inverse=True), world.published["by row"] - shown.sum(axis=1)),
        (np.unique(column, return_inverse=True), world.published["by column"] - shown.sum(axis=0)),
    ]
    nothing = Sums.of_cells(np.full(len(hidden), np.nan), mechanism=HIDES)
    sums = [Sums.by(codes, rest[there], mechanism=EXACT) for (there, codes), rest in left]
    engine = world.engine()
    prior = engine.prior(np.arange(world.domain.size))
    oracle = enumerate_exact(
        Problem(cells=len(hidden), tables=(nothing, *sums)), prior=engine.prior(hidden), nats=60.0
    )
    found = infer(world.problem(), prior=prior)
    assert found.exact[hidden].all()
    assert np.allclose(found.mean[hidden], oracle.mean, atol=1e-9)
    assert np.allclose(found.sd[hidden], oracle.sd, atol=1e-7)
    assert np.array_equal(found.low[hidden], oracle.low)
    assert np.array_equal(found.high[hidden], oracle.high)


def test_sums_that_cannot_be_are_refused():
    """Known counts are taken off sums: what is left may not be below nothing, nor anything where nothing is left."""
    cells = Sums.of_cells([20.0, 30.0, np.nan], mechanism=HIDES)
    for codes, values in (([0, 0, 1], [51.0, 4.0]), ([0, 0, 0], [49.0])):
        with pytest.raises(Exception, match="contradict"):
            infer(Problem(cells=3, tables=(cells, Sums.by(codes, values, mechanism=EXACT))))
    fine = infer(Problem(cells=3, tables=(cells, Sums.by([0, 0, 0], [57.0], mechanism=EXACT))))
    assert fine.low.tolist() == fine.high.tolist() == [20, 30, 7]


def test_what_identities_leave_of_known_counts_is_known():
    """20 + 30 = 43 + the hidden one, by an equation in which the hidden one counts against the others; and twice a count is even."""
    cells = Sums.of_cells([20.0, 30.0, 43.0, np.nan], mechanism=HIDES)
    equation = Identities(indptr=[0, 4], indices=[0, 1, 2, 3], signs=[1, 1, -1, -1])
    found = infer(Problem(cells=4, tables=(cells,), identities=(equation,)))
    assert found.low.tolist() == found.high.tolist() == [20, 30, 43, 7]
    same = Identities.between_cells([3], [4])
    cells = Sums.of_cells([20.0, 30.0, 43.0, np.nan, np.nan], mechanism=HIDES)
    for total, right in ((107.0, True), (108.0, False)):
        problem = Problem(
            cells=5,
            tables=(cells, Sums.by(np.zeros(5, int), [total], mechanism=EXACT)),
            identities=(same,),
        )
        if right:
            assert infer(problem).low.tolist() == [20, 30, 43, 7, 7]
        else:
            with pytest.raises(Exception, match="contradict"):
                infer(problem)
