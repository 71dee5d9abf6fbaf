"""Totals that share no cell are taken many at a time, and come out as one by one."""

from itertools import pairwise

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.inference import (
    Identities,
    Model,
    NegativeBinomial,
    Options,
    Problem,
    Schedule,
    Sums,
    costs,
    infer,
    parts_of,
)
from noisegate.laws import DiscreteLaplace, PointMass
from noisegate.mechanisms import Mechanism
from noisegate.testing import enumerate_exact, recipe_2016

BASE, MARGIN = recipe_2016(threshold=18), recipe_2016(threshold=35)
NEAR = Mechanism(law=DiscreteLaplace(0.5), threshold=4)


def many_totals(sizes, rng, *, base=BASE, margin=MARGIN, mean=9.0):
    """Totals of these sizes over over-dispersed cells, and the prior they come from."""
    codes = np.repeat(np.arange(len(sizes)), sizes)
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + mean), len(codes))
    tables = []
    for what, mechanism in ((np.arange(len(codes)), base), (codes, margin)):
        raw = np.bincount(what, weights=counts).astype(np.int64)
        noisy = raw + mechanism.law.sample(len(raw), rng=rng)
        shown = (noisy > mechanism.threshold) & (raw > 0)
        tables.append(Sums.by(what, np.where(shown, np.rint(noisy), np.nan), mechanism=mechanism))
    prior = NegativeBinomial(mean=np.full(len(codes), mean), shape=2.0, zero_share=0.0)
    return Problem(cells=len(codes), tables=tuple(tables)), prior, codes


def one_by_one(problem, prior, codes, **options):
    """Every total as a problem of its own."""
    base, margin = problem.tables
    found = []
    for code in range(margin.rows):
        cells = np.flatnonzero(codes == code)
        own = Sums.of_cells(base.values[cells], mechanism=base.mechanism)
        total = Sums.by(np.zeros(len(cells), int), margin.values[[code]], mechanism=margin.mechanism)
        found.append(
            infer(Problem(cells=len(cells), tables=(own, total)), prior=prior and prior.at(cells), **options)
        )
    return found


@pytest.mark.parametrize("informed", [True, False])
@pytest.mark.parametrize("limit", [2e7, 1e6, 0.0])
def test_many_totals_are_as_one_by_one(informed, limit):
    """Exactly where all or some are solved exactly; within the tolerance of messages else."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(2, 25, 40)
    problem, prior, codes = many_totals(sizes, rng)
    prior = prior if informed else None
    options = Options(exact_limit=limit)
    assert len(list(parts_of(Model.of(problem)))) == 1
    together = infer(problem, prior=prior, options=options)
    apart = one_by_one(problem, prior, codes, options=options)
    exact = np.concatenate([one.exact for one in apart])
    np.testing.assert_array_equal(together.exact, exact)
    assert exact.all() == (limit == 2e7)
    assert exact.any() == (limit > 0)
    mean, sd = (np.concatenate([getattr(one, name) for one in apart]) for name in ("mean", "sd"))
    np.testing.assert_allclose(together.mean[exact], mean[exact], rtol=1e-12)
    np.testing.assert_allclose(together.sd[exact], sd[exact], rtol=1e-10)
    assert (np.abs(together.mean - mean) / sd).max() < 5e-3


def test_only_cells_solved_by_messages_can_be_unsettled():
    """One sweep is not enough for totals too large for convolution; the others are not counted."""
    rng = np.random.default_rng(6)
    problem, prior, _ = many_totals(np.array([3, 24, 4, 24]), rng)
    found = infer(problem, prior=prior, options=Options(exact_limit=1e6, schedule=Schedule(sweeps=1)))
    assert found.exact.sum() == 7
    assert found.unsettled == 48


def test_small_totals_equal_enumeration():
    """Seven totals of two or three cells in one go, each against brute force."""
    rng = np.random.default_rng(2)
    sizes = np.array([2, 3, 2, 3, 3, 2, 2])
    problem, prior, codes = many_totals(sizes, rng, base=NEAR, margin=NEAR, mean=3.0)
    together = infer(problem, prior=prior, keep=True)
    assert together.exact.all()
    base, margin = problem.tables
    for code in range(len(sizes)):
        cells = np.flatnonzero(codes == code)
        own = Sums.of_cells(base.values[cells], mechanism=NEAR)
        total = Sums.by(np.zeros(len(cells), int), margin.values[[code]], mechanism=NEAR)
        truth = enumerate_exact(Problem(cells=len(cells), tables=(own, total)), prior=prior.at(cells))
        for j, cell in enumerate(cells):
            values, p = together.marginal(cell)
            expected = np.zeros(500)
            at, q = truth.marginal(j)
            expected[at] = q
            found = np.zeros(500)
            found[values] = p
            assert np.abs(found - expected).sum() / 2 < 1e-9


def test_equations_are_totals_too():
    """a + b = c + d without noise: signed sums that are exactly zero."""
    values = np.array([np.nan, 25.0, 21.0, np.nan] * 3)
    identities = Identities.between_groups(
        [0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1], [-1, -1, 0, 0, -1, -1, 1, 1, -1, -1, 2, 2], groups=3
    )
    base = Sums.of_cells(values, mechanism=BASE)
    found = infer(Problem(cells=12, tables=(base,), identities=(identities,)))
    alone = infer(
        Problem(
            cells=4,
            tables=(Sums.of_cells(values[:4], mechanism=BASE),),
            identities=(Identities.between_groups([0, 0, -1, -1], [-1, -1, 0, 0], groups=1),),
        )
    )
    assert found.exact.all()
    np.testing.assert_allclose(found.mean, np.tile(alone.mean, 3), rtol=1e-12)
    assert found.mean[0] + found.mean[1] == pytest.approx(found.mean[2] + found.mean[3])


def test_batches_are_bounded_and_keep_linked_parts_whole():
    """Runs of single totals, broken by a part of two totals and by too many cells."""
    sizes = np.array([3] * 300 + [5000, 5000])
    codes = np.repeat(np.arange(len(sizes)), sizes)
    base = Sums.of_cells(np.full(len(codes), np.nan), mechanism=BASE)
    margin = Sums.by(codes, np.full(len(sizes), np.nan), mechanism=MARGIN)
    double = Sums.by(np.where((codes == 20) | (codes == 21), 0, -1), [np.nan], mechanism=MARGIN)
    linked = [
        (part.size, part.factors.count)
        for _, part in parts_of(Model.of(Problem(cells=len(codes), tables=(base, margin, double))))
    ]
    assert linked == [(60, 20), (6, 3), (768, 256), (66 + 5000, 23), (5000, 1)]


def test_costs_are_those_of_single_convolutions():
    """Three passes over each member, as long as what the members before it can add up to."""
    rng = np.random.default_rng(9)
    counts = np.array([2, 9, 4])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    sizes, weights = rng.integers(1, 60, indptr[-1]), rng.choice([-2, -1, 1, 3], indptr[-1])
    expected = []
    for a, b in pairwise(indptr):
        reach, total = 1, 0
        for size, weight in zip(sizes[a:b], weights[a:b], strict=True):
            total += 3 * reach * size
            reach += abs(weight) * (size - 1)
        expected.append(total)
    np.testing.assert_allclose(costs(indptr, sizes, weights), expected)


def test_a_total_that_no_counts_explain_is_refused():
    exact = Mechanism(law=PointMass(), zeros="perturb")
    tables = (
        Sums.of_cells([3.0, 4.0, 5.0, 6.0], mechanism=exact),
        Sums.by([0, 0, 1, 1], [7.0, 12.0], mechanism=exact),
    )
    with pytest.raises(DataError, match="contradict each other"):
        infer(Problem(cells=4, tables=tables))
