"""Against brute force: hundreds of small linked problems, exactly and by message passing."""

import numpy as np
import pytest

from noisegate.core.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    PointMass,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.core.linked import (
    Flat,
    Identities,
    NegativeBinomial,
    Options,
    Problem,
    Schedule,
    Sums,
    enumerate_exact,
    infer,
)
from noisegate.core.mechanism import Mechanism
from noisegate.errors import SpecError

PROBLEMS, HARD_PROBLEMS = 200, 60
ENUMERABLE = 300_000
EXACTLY = Options(exact_limit=1e10)
BY_MESSAGES = Options(exact_limit=0, schedule=Schedule(tolerance=1e-6, sweeps=300))
ALL_WIDE = Options(exact_limit=0, narrow_members=0, schedule=Schedule(tolerance=1e-6, sweeps=300))


def publish(counts, mechanism, rng):
    """What a mechanism shows for raw sums: NaN where it suppresses."""
    law = mechanism.law
    if type(law) is RandomRounding:
        noisy = counts + np.array([law.at(int(c)).sample(1, rng=rng)[0] for c in counts])
    else:
        noisy = counts + law.sample(len(counts), rng=rng)
    if mechanism.zeros == "keep":
        noisy = np.where(counts == 0, 0, noisy)
    rounded = np.rint(noisy) if mechanism.rounding == "nearest" else noisy
    judged = noisy if mechanism.cuts_before_rounding else rounded
    return np.where([mechanism.passes(value) for value in judged], rounded, np.nan)


def any_mechanism(rng, *, hard):
    """Unbounded noise of any law; the hard ones are bounded, so that sums all but fix their members."""
    scale = float(rng.choice([0.4, 0.7, 1.0, 1.4]))
    laws = [RoundedLaplace(scale), DiscreteLaplace(scale), Laplace(scale), DiscreteGaussian(scale)]
    if hard:
        laws = [BoundedUniform(int(rng.integers(1, 4))), RandomRounding(3)]
    return Mechanism(
        law=laws[rng.integers(len(laws))],
        threshold=int(rng.choice([2, 4, 6])),
        rule=str(rng.choice(["gt", "ge"])),
        rounding=str(rng.choice(["none", "nearest"])),
        cut=str(rng.choice(["before", "after"])),
        zeros=str(rng.choice(["keep", "perturb"])),
    )


def any_codes(cells, rng):
    """A margin: alternate cells, pairs of neighbours, everything, or a random partition."""
    kind = rng.integers(4)
    if kind == 0:
        return np.arange(cells) % 2
    if kind == 1:
        return np.arange(cells) // 2
    if kind == 2:
        return np.zeros(cells, dtype=int)
    return np.unique(rng.integers(0, 3, cells), return_inverse=True)[1]


def any_problem(rng, *, hard):
    """Two to six cells, a base table and one or two margins; the hard ones with an equality."""
    cells = int(rng.integers(2, 7))
    counts = rng.poisson(rng.gamma(1.0, 3.0, cells))
    zero = rng.random(cells) < 0.08
    counts[zero] = 0
    identities = ()
    if hard and not zero[:2].any():
        counts[1] = counts[0]
        identities = (Identities.between_cells([0], [1]),)
    base = any_mechanism(rng, hard=hard)
    tables = [Sums.of_cells(publish(counts, base, rng), mechanism=base)]
    for _ in range(int(rng.integers(1, 3))):
        codes = any_codes(cells, rng)
        mechanism = any_mechanism(rng, hard=hard)
        sums = np.bincount(codes, weights=counts).astype(int)
        tables.append(Sums.by(codes, publish(sums, mechanism, rng), mechanism=mechanism))
    prior = Flat()
    if rng.random() < 0.5:
        prior = NegativeBinomial(mean=rng.gamma(1.0, 3.0, cells) + 0.1, shape=2.0, zero_share=0.1)
    problem = Problem(cells=cells, tables=tuple(tables), identities=identities, structural_zero=zero)
    return problem, prior


def total_variation(a, b):
    """The distance between two posteriors, cell by cell."""
    distances = []
    for cell in range(a.cells):
        gap = np.zeros(600)
        for sign, posterior in ((1, a), (-1, b)):
            values, p = posterior.marginal(cell)
            gap[values] += sign * p
        distances.append(np.abs(gap).sum() / 2)
    return np.array(distances)


def solve_all(count, *, hard):
    rng = np.random.default_rng(20160725 + hard)
    found = []
    while len(found) < count:
        problem, prior = any_problem(rng, hard=hard)
        try:
            truth = enumerate_exact(problem, prior=prior, most=ENUMERABLE)
        except SpecError:  # too many combinations for brute force
            continue
        found.append((problem, prior, truth))
    return found


@pytest.fixture(scope="module")
def solved():
    """Small problems with their brute-force answers."""
    return solve_all(PROBLEMS, hard=False)


@pytest.fixture(scope="module")
def hard_ones():
    """The same with bounded noise and cells known to be equal: loops of near-equations."""
    return solve_all(HARD_PROBLEMS, hard=True)


def distances_to_truth(problems, options):
    return [
        total_variation(truth, infer(problem, prior=prior, keep=True, options=options))
        for problem, prior, truth in problems
    ]


def test_elimination_equals_enumeration(solved, hard_ones):
    for problem, prior, truth in [*solved, *hard_ones]:
        answer = infer(problem, prior=prior, keep=True, options=EXACTLY)
        assert answer.exact.all()
        assert total_variation(truth, answer).max() <= 1e-9
        for name in ("mean", "sd", "p_zero"):
            np.testing.assert_allclose(getattr(answer, name), getattr(truth, name), atol=1e-8)
        np.testing.assert_array_equal(answer.mode, truth.mode)
        np.testing.assert_array_equal([answer.low, answer.high], [truth.low, truth.high])


def test_messages_are_close_to_enumeration(solved):
    distances = np.concatenate(distances_to_truth(solved, BY_MESSAGES))
    assert distances.mean() <= 0.02
    assert distances.max() <= 0.1


def test_messages_on_loops_of_near_equations(hard_ones):
    """Where sums all but fix their members, loops cost more; exact elimination is there for these."""
    distances = np.concatenate(distances_to_truth(hard_ones, BY_MESSAGES))
    assert distances.mean() <= 0.02
    assert distances.max() <= 0.3


def test_gaussian_sums_are_rough_on_the_smallest_problems_and_no_worse(solved):
    assert np.concatenate(distances_to_truth(solved, ALL_WIDE)).mean() <= 0.05


def grid(rng, *, rows, columns, scale):
    """A crossed table: every loop there can be, with noise on rows and columns."""
    counts = rng.poisson(rng.gamma(1.0, 3.0, rows * columns))
    mechanism = Mechanism(law=RoundedLaplace(scale), threshold=4, zeros="keep")
    row, column = np.divmod(np.arange(rows * columns), columns)
    tables = [Sums.of_cells(publish(counts, mechanism, rng), mechanism=mechanism)]
    for codes in (row, column):
        sums = np.bincount(codes, weights=counts).astype(int)
        tables.append(Sums.by(codes, publish(sums, mechanism, rng), mechanism=mechanism))
    return Problem(cells=rows * columns, tables=tuple(tables))


def test_messages_round_loops():
    rng = np.random.default_rng(7)
    distances = []
    for _ in range(40):
        problem = grid(rng, rows=2, columns=3, scale=float(rng.choice([0.5, 1.0])))
        truth = infer(problem, keep=True, options=EXACTLY)
        assert truth.exact.all()
        answer = infer(problem, keep=True, options=BY_MESSAGES)
        assert answer.converged
        distances.append(total_variation(truth, answer))
    assert np.mean(distances) <= 0.02
    assert np.max(distances) <= 0.1


def test_enumeration_refuses_large_problems():
    problem = Problem(
        cells=12,
        tables=(Sums.of_cells(np.full(12, np.nan), mechanism=Mechanism(law=Laplace(1.4), threshold=18)),),
    )
    with pytest.raises(SpecError, match="use infer"):
        enumerate_exact(problem, prior=Flat())


def test_identity_between_sums():
    """Two on, three off: what went in came out, exactly."""
    mechanism = Mechanism(law=DiscreteLaplace(0.4), threshold=3)
    rng = np.random.default_rng(3)
    counts = np.array([4, 3, 2, 4, 1])
    problem = Problem(
        cells=5,
        tables=(Sums.of_cells(publish(counts, mechanism, rng), mechanism=mechanism),),
        identities=(Identities.between_groups([0, 0, -1, -1, -1], [-1, -1, 0, 0, 0], groups=1),),
    )
    truth = enumerate_exact(problem, prior=Flat(), most=10**8)
    for options in (EXACTLY, BY_MESSAGES):
        answer = infer(problem, keep=True, options=options)
        assert total_variation(truth, answer).max() < 1e-6
        np.testing.assert_allclose(answer.mean[:2].sum(), answer.mean[2:].sum(), atol=1e-6)


def test_a_weighted_member_is_counted_twice():
    """On and off of one ride are equal cells of one total."""
    mechanism = Mechanism(law=DiscreteLaplace(0.7), threshold=3)
    tables = (
        Sums.of_cells([np.nan, np.nan, np.nan], mechanism=mechanism),
        Sums.by([0, 0, 0], [7.0], mechanism=mechanism),
    )
    problem = Problem(cells=3, tables=tables, identities=(Identities.between_cells([0], [1]),))
    truth = enumerate_exact(problem, prior=Flat())
    for options in (EXACTLY, BY_MESSAGES):
        assert total_variation(truth, infer(problem, keep=True, options=options)).max() < 1e-6


def test_point_masses_by_messages():
    """Zero noise is the limit of the same engine: supports shrink to what is possible."""
    exact = Mechanism(law=PointMass(), zeros="perturb")
    tables = (
        Sums.by([0, 0, 1, 1], [5.0, 4.0], mechanism=exact),
        Sums.by([0, 1, 0, 1], [0.0, 9.0], mechanism=exact),
    )
    for options in (EXACTLY, BY_MESSAGES):
        answer = infer(Problem(cells=4, tables=tables), options=options, level=1.0)
        assert answer.low.tolist() == answer.high.tolist() == [0, 5, 0, 4]
