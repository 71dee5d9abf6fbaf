"""Against brute force: hundreds of small linked problems, exactly and by message passing.

The brute force below shares nothing with the engine: it takes every probability from the mechanism,
one raw sum at a time, and the prior from SciPy, and writes down every combination of counts.
"""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from noisegate.errors import SpecError
from noisegate.inference import Flat, Identities, NegativeBinomial, Options, Problem, Schedule, Sums, infer
from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Laplace,
    PointMass,
    RandomRounding,
    RoundedLaplace,
)
from noisegate.mechanisms import Mechanism
from noisegate.testing import enumerate_exact

PROBLEMS, HARD_PROBLEMS = 200, 60
#: Counts that brute force looks at, how much less likely than the best (in nats) a combination may
#: be before it is dropped, and how many combinations are too many.
TOP, NATS, MOST = 64, 46.0, 40_000
EXACTLY = Options(exact_limit=1e10)
BY_MESSAGES = Options(exact_limit=0, schedule=Schedule(tolerance=1e-6, sweeps=300))


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


def brute_force(problem, prior, *, most=MOST):
    """The marginals of all cells, shape (cells, TOP); None if there are too many combinations."""
    rows, logs = np.zeros((1, 0), dtype=np.int16), np.zeros(1)
    for cell in range(problem.cells):
        twins = [a for a, b in pairs_of(problem) if b == cell]
        done = [one for one in evidence_of(problem) if one[0][-1] == cell]
        own = log_prior(prior, cell) if not twins else np.zeros(TOP)  # one unknown has one prior
        if problem.structural_zero[cell]:
            own = np.where(np.arange(TOP) == 0, 0.0, -np.inf)
        for _, mechanism, seen in (one for one in done if len(one[0]) == 1):
            own = own + log_probabilities(mechanism, seen, TOP)
        grown = logs[:, None] + own
        row, value = np.nonzero(grown > grown.max() - NATS)
        rows = np.column_stack([rows[row], value.astype(np.int16)])
        logs = grown[row, value]
        for twin in twins:
            logs = np.where(rows[:, twin] == rows[:, cell], logs, -np.inf)
        for members, mechanism, seen in (one for one in done if len(one[0]) > 1):
            totals = rows[:, members].sum(axis=1)
            logs = logs + log_probabilities(mechanism, seen, int(totals.max()) + 1)[totals]
        kept = logs > logs.max() - NATS
        rows, logs = rows[kept], logs[kept]
        if len(rows) > most:
            return None
    p = np.exp(logs - logs.max())
    return np.array([np.bincount(column, weights=p / p.sum(), minlength=TOP) for column in rows.T])


def evidence_of(problem):
    """The members in order, the mechanism and the published value of every sum."""
    return [
        (np.sort(table.indices[a:b]), table.mechanism, float(value))
        for table in problem.tables
        for a, b, value in zip(table.indptr[:-1], table.indptr[1:], table.values, strict=True)
        if b > a
    ]


def pairs_of(problem):
    """The equal cells, the first of each pair first."""
    return [pair for identity in problem.identities for pair in identity.indices.reshape(-1, 2).tolist()]


def log_probabilities(mechanism, seen, size):
    """log P(seen | raw sum) for sums 0 .. size-1, from the mechanism itself."""
    responses = (mechanism.response(total) for total in range(size))
    hidden = math.isnan(seen)
    return np.array([float(r.log_suppressed if hidden else r.logprob(seen)) for r in responses])


def log_prior(prior, cell):
    if isinstance(prior, Flat):
        return np.zeros(TOP)
    mean, shape, share = prior.mean[cell], prior.shape[cell], prior.zero_share[cell]
    law = (1 - share) * stats.nbinom.pmf(np.arange(TOP), shape, shape / (shape + mean))
    law[0] += share
    return np.log(law)


def total_variation(truth, posterior):
    """The distance between marginals, or a posterior, and a posterior, cell by cell."""
    distances = []
    for cell in range(posterior.cells):
        gap = np.zeros(600)
        values, p = posterior.marginal(cell)
        gap[values] += p
        values, p = (np.arange(TOP), truth[cell]) if isinstance(truth, np.ndarray) else truth.marginal(cell)
        gap[values] -= p
        distances.append(np.abs(gap).sum() / 2)
    return np.array(distances)


def solve_all(count, *, hard):
    rng = np.random.default_rng(20160725 + hard)
    found = []
    while len(found) < count:
        problem, prior = any_problem(rng, hard=hard)
        truth = brute_force(problem, prior)
        if truth is not None:
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


def test_problems_are_of_all_sizes(solved):
    assert len(solved) >= 200
    assert min(Counter(problem.cells for problem, _, _ in solved)[size] for size in range(2, 7)) >= 10
    assert min(Counter(len(problem.tables) for problem, _, _ in solved)[size] for size in (2, 3)) >= 50


def test_elimination_equals_brute_force(solved, hard_ones):
    for problem, prior, truth in [*solved, *hard_ones]:
        answer = infer(problem, prior=prior, keep=True, options=EXACTLY)
        assert answer.exact.all()
        assert total_variation(truth, answer).max() <= 1e-9
        mean = truth @ np.arange(TOP)
        np.testing.assert_allclose(answer.mean, mean, atol=1e-8)
        np.testing.assert_allclose(answer.p_zero, truth[:, 0], atol=1e-9)
        sd = np.sqrt(truth @ np.arange(TOP) ** 2.0 - mean**2)
        np.testing.assert_allclose(answer.sd, sd, atol=1e-5)
        np.testing.assert_allclose(
            np.take_along_axis(truth, answer.mode[:, None], 1)[:, 0], truth.max(axis=1)
        )


def test_small_problems_are_solved_exactly_by_default(solved):
    assert all(infer(problem, prior=prior).exact.all() for problem, prior, _ in solved[:40])


def test_enumeration_equals_brute_force(solved, hard_ones):
    small = [one for one in [*solved, *hard_ones] if one[0].cells <= 3]
    assert len(small) > 80
    for problem, prior, truth in small:
        assert total_variation(truth, enumerate_exact(problem, prior=prior)).max() <= 1e-9


def test_messages_are_rough_on_the_smallest_problems(solved, hard_ones):
    """Sums of two or three cells are no normal laws; exact elimination is there for these."""
    for problems in (solved, hard_ones):
        distances = np.concatenate(distances_to_truth(problems, BY_MESSAGES))
        assert distances.mean() <= 0.05
        assert distances.max() <= 0.3


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
    assert np.mean(distances) <= 0.05
    assert np.max(distances) <= 0.15


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
    answer = infer(problem, keep=True, options=EXACTLY)
    assert total_variation(truth, answer).max() < 1e-6
    for options in (EXACTLY, BY_MESSAGES):
        answer = infer(problem, options=options)
        np.testing.assert_allclose(answer.mean[:2].sum(), answer.mean[2:].sum(), atol=0.02)
        np.testing.assert_allclose(answer.mean, truth.mean, atol=0.1)


def test_a_weighted_member_is_counted_twice():
    """On and off of one ride are equal cells of one total."""
    mechanism = Mechanism(law=DiscreteLaplace(0.7), threshold=3)
    tables = (
        Sums.of_cells([np.nan, np.nan, np.nan], mechanism=mechanism),
        Sums.by([0, 0, 0], [7.0], mechanism=mechanism),
    )
    problem = Problem(cells=3, tables=tables, identities=(Identities.between_cells([0], [1]),))
    truth = enumerate_exact(problem, prior=Flat())
    assert total_variation(truth, infer(problem, keep=True, options=EXACTLY)).max() < 1e-6
    np.testing.assert_allclose(infer(problem, options=BY_MESSAGES).mean, truth.mean, atol=0.1)


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
