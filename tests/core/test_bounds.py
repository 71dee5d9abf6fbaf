"""Exact bounds of hidden counts against brute force and against one integer programme for every end."""

import itertools
import time

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds as Box
from scipy.optimize import LinearConstraint, milp

from noisegate.inference import ENDLESS, Equations, solve_bounds

LOWEST, HIGHEST = np.iinfo(np.int64).max, np.iinfo(np.int64).min


def tables(shape, kept, rng, *, mean=3.0):
    """True counts of a base and its margins over the axes in `kept`, one after another, and the equations."""
    base = rng.poisson(rng.gamma(0.7, mean / 0.7, shape))
    values, parts, size = [base.ravel()], [], base.size
    for axes in kept:
        others = tuple(axis for axis in range(len(shape)) if axis not in axes)
        total = base.sum(axis=others)
        lengths = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
        groups = np.broadcast_to(np.arange(total.size).reshape(lengths), shape).ravel()
        parts.append(Equations.sums(groups, np.arange(base.size), size + np.arange(total.size)))
        values.append(total.ravel())
        size += total.size
    return np.concatenate(values), Equations.joined(parts)


def hide(values, *, below=5, also=None):
    """Ranges where counts of 1 to below - 1 are hidden, and those in `also`, of which nothing is known."""
    small = (values >= 1) & (values < below)
    low, high = np.where(small, 1, values), np.where(small, below - 1, values)
    if also is not None:
        low, high = np.where(also, 0, low), np.where(also, ENDLESS, high)
    return low, high


def by_integer_programmes(low, high, equations, *, only=None):
    """The bounds of every cell, or `only` of some, with one integer programme for each end."""
    matrix = sparse.csr_matrix(
        (equations.signs.astype(float), equations.cells, equations.starts), shape=(len(equations), low.size)
    )
    rows = LinearConstraint(matrix, equations.right, equations.right)
    box = Box(low, np.where(high >= ENDLESS, np.inf, high))
    least, most = low.copy(), high.copy()
    for cell in np.flatnonzero(low < high if only is None else only):
        for sign, ends in ((1, least), (-1, most)):
            cost = np.zeros(low.size)
            cost[cell] = sign
            found = milp(cost, constraints=rows, bounds=box, integrality=np.ones(low.size))
            if found.status in {3, 4}:  # without end: there are solutions
                continue
            assert found.status == 0
            ends[cell] = sign * round(found.fun)
    return least, most


def by_brute_force(low, high, equations):
    """The bounds of every cell from all combinations of counts; None if none satisfies the equations."""
    ranges = [range(a, b + 1) for a, b in zip(low, high, strict=True)]
    least, most = np.full(low.size, LOWEST), np.full(low.size, HIGHEST)
    for counts in itertools.product(*ranges):
        vector = np.array(counts)
        if (equations.sums_of(vector) == equations.right).all():
            least, most = np.minimum(least, vector), np.maximum(most, vector)
    return None if least[0] == LOWEST else (least, most)


def random_system(rng, *, cells, rows, width=3):
    """Equations with any signs that some counts satisfy, and ranges that hold those counts."""
    truth = rng.integers(0, 6, cells)
    lists = []
    for _ in range(rows):
        members = rng.permutation(cells)[: rng.integers(2, max(3, cells // 2 + 1))]
        cut = rng.integers(0, members.size + 1)
        lists.append((members[:cut], members[cut:]))
    equations = Equations.of(lists)
    right = equations.sums_of(truth)
    low = truth - rng.integers(0, width, cells)
    return truth, low, low + rng.integers(0, width, cells) + (truth - low), Equations.of(lists, right=right)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_are_those_of_all_solutions(seed):
    rng = np.random.default_rng(seed)
    _, low, high, equations = random_system(rng, cells=int(rng.integers(3, 8)), rows=int(rng.integers(1, 6)))
    least, most = by_brute_force(low, high, equations)
    found = solve_bounds(low, high, equations)
    assert found.sharp.all()
    assert np.array_equal(found.low, least)
    assert np.array_equal(found.high, most)
    assert not found.contradictions


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("shape", "kept"),
    [
        ((4, 5), [(0,), (1,)]),
        ((6, 2), [(0,), (1,), ()]),
        ((3, 3, 3), [(0, 1), (0, 2), (1, 2)]),
        ((3, 4, 2), [(0,), (1, 2)]),
    ],
)
def test_linked_tables_agree_with_integer_programmes(shape, kept, seed):
    rng = np.random.default_rng([seed, len(shape)])
    values, equations = tables(shape, kept, rng)
    low, high = hide(values, below=int(rng.integers(3, 11)), also=rng.random(values.size) < 0.1)
    found = solve_bounds(low, high, equations)
    least, most = by_integer_programmes(low, high, equations)
    assert found.sharp.all()
    assert np.array_equal(found.low, least)
    assert np.array_equal(found.high, most)


@pytest.mark.parametrize("seed", range(10))
def test_a_proof_is_enough_by_itself(seed):
    rng = np.random.default_rng(seed)
    values, equations = tables((4, 3, 3), [(0, 1), (0, 2), (1, 2)], rng)
    low, high = hide(values)
    found = solve_bounds(low, high, equations)
    for cell in np.flatnonzero(found.narrowed):
        proof = found.proof(int(cell))
        again = solve_bounds(low, high, equations.take(np.array(proof)))
        assert proof
        assert (again.low[cell], again.high[cell]) == (found.low[cell], found.high[cell])


@pytest.mark.parametrize("seed", range(10))
def test_a_proof_in_a_network_is_enough_by_itself(seed):
    rng = np.random.default_rng(seed)
    values, equations = tables((30, 2), [(0,), (1,)], rng, mean=1.5)
    low, high = hide(values, below=4)
    high[60:] = np.where(rng.random(32) < 0.3, ENDLESS, high[60:])
    low[60:] = np.where(high[60:] == ENDLESS, 0, low[60:])
    found = solve_bounds(low, high, equations)
    assert found.narrowed.any()
    for cell in np.flatnonzero(found.narrowed):
        again = solve_bounds(low, high, equations.take(np.array(found.proof(int(cell)))))
        assert (again.low[cell], again.high[cell]) == (found.low[cell], found.high[cell])


@pytest.mark.parametrize("seed", range(20))
def test_rounded_tables_are_bounded_with_their_ranges(seed):
    rng = np.random.default_rng(seed)
    values, equations = tables((5, 4), [(0,), (1,)], rng, mean=8)
    base = int(rng.choice([3, 5]))
    shown = base * np.floor((values + base // 2) / base).astype(np.int64)
    low, high = np.maximum(shown - base // 2, 0), shown + (base - 1) // 2
    found = solve_bounds(low, high, equations)
    least, most = by_integer_programmes(low, high, equations)
    assert np.array_equal(found.low, least)
    assert np.array_equal(found.high, most)


def test_published_zeros_are_never_overridden():
    # 0 + hidden = 3, and the other way round the zero would have to be 1.
    equations = Equations.of([([0, 1], [2])])
    found = solve_bounds(np.array([0, 1, 3]), np.array([0, 2, 3]), equations)
    assert [one.equations for one in found.contradictions] == [(0,)]
    assert found.low.tolist() == [0, 1, 3]
    assert found.high.tolist() == [0, 2, 3]


@pytest.mark.parametrize("seed", range(20))
def test_a_contradiction_is_named_by_equations_of_which_none_can_be_left_out(seed):
    rng = np.random.default_rng(seed)
    _, low, high, equations = random_system(rng, cells=7, rows=5, width=2)
    wrong = Equations(
        starts=equations.starts,
        cells=equations.cells,
        signs=equations.signs,
        right=equations.right + rng.integers(-2, 3, len(equations)),
    )
    found = solve_bounds(low, high, wrong)
    assert bool(found.contradictions) == (by_brute_force(low, high, wrong) is None)
    for one in found.contradictions:
        family = np.array(one.equations)
        assert by_brute_force(low, high, wrong.take(family)) is None
        for left_out in family:
            rest = wrong.take(family[family != left_out])
            assert not len(rest) or by_brute_force(low, high, rest) is not None


def test_a_contradiction_leaves_other_tables_alone():
    equations = Equations.of([([0, 1], [2]), ([3, 4], [5])])
    found = solve_bounds(np.array([1, 1, 1, 1, 1, 8]), np.array([4, 4, 1, 4, 4, 8]), equations)
    assert [one.equations for one in found.contradictions] == [(0,)]
    assert found.low.tolist() == [1, 1, 1, 4, 4, 8]


def test_equations_that_hold_for_halves_only_contradict_each_other():
    # x + y = y + z = x + z = 1 has the one solution of three halves.
    equations = Equations.of([([0, 1], [3]), ([1, 2], [4]), ([0, 2], [5])])
    low, high = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 1, 1, 1])
    found = solve_bounds(low, high, equations)
    assert [(one.equations, one.whole) for one in found.contradictions] == [((0, 1, 2), True)]


def test_time_that_runs_out_leaves_valid_bounds_that_are_not_called_sharp():
    rng = np.random.default_rng(1)
    values, equations = tables((6, 5, 4, 4), [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], rng, mean=2)
    low, high = hide(values)
    found = solve_bounds(low, high, equations, seconds=0.05)
    assert not found.sharp.all()
    assert (found.low <= values).all()
    assert (found.high >= values).all()


def test_the_hospital_case_finds_what_integer_programming_determines_and_nothing_else():
    """Counts of 1 to 4 hidden, four dimensions, all three-way margins (with the same rule)."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        kept = list(itertools.combinations(range(4), 3))
        values, equations = tables((4, 3, 5, 3), kept, rng, mean=4)
        low, high = hide(values)
        found = solve_bounds(low, high, equations)
        least, most = by_integer_programmes(low, high, equations)
        determined = (least == most) & (low < high)
        assert determined.any()
        assert np.array_equal(found.exact, determined)
        assert (found.low[found.exact] == values[found.exact]).all()
        assert found.sharp.all()


def test_two_way_margins_in_four_dimensions_are_proven():
    """Relaxed optima are hardly ever whole here; repairs of broken ones witness the ends."""
    values, equations = tables(
        (3, 3, 3, 4), list(itertools.combinations(range(4), 2)), np.random.default_rng(1), mean=2.0
    )
    low, high = hide(values)
    found = solve_bounds(low, high, equations, seconds=120)
    hidden = low < high
    assert hidden.sum() > 30
    assert found.sharp[hidden].all()
    assert ((found.low <= values) & (values <= found.high)).all()
    some = np.random.default_rng(0).choice(np.flatnonzero(hidden), 6, replace=False)
    keep = np.zeros(low.size, bool)
    keep[some] = True
    least, most = by_integer_programmes(low, high, equations, only=keep)
    assert found.low[some].tolist() == least[some].tolist()
    assert found.high[some].tolist() == most[some].tolist()


def test_a_rounded_census_with_all_its_totals_is_proven_to_the_last_end():
    """Rounded at random, each count by itself: relaxed optima are not whole, and 1,000 cells hang together in one programme."""
    rng = np.random.default_rng(5)
    kept = [axes for size in range(3) for axes in itertools.combinations(range(3), size)]
    values, equations = tables((24, 9, 2), kept, rng, mean=40)
    shown = 3 * (values // 3 + (rng.random(values.size) * 3 < values % 3))
    low, high = np.maximum(shown - 2, 0), shown + 2
    begun = time.process_time()
    found = solve_bounds(low, high, equations)
    assert time.process_time() - begun < 20  # about 1 s on a quiet machine
    assert found.sharp.all()
    assert ((found.low <= values) & (values <= found.high)).all()
    some = rng.choice(np.flatnonzero(found.narrowed), 12, replace=False)
    keep = np.zeros(low.size, bool)
    keep[some] = True
    least, most = by_integer_programmes(low, high, equations, only=keep)
    assert found.low[some].tolist() == least[some].tolist()
    assert found.high[some].tolist() == most[some].tolist()


def test_large_tables_are_solved_in_seconds():
    rng = np.random.default_rng(1)
    values, equations = tables((316, 640), [(0,), (1,)], rng, mean=2.2)
    low, high = hide(values)
    warm, of_two = tables((4, 5), [(0,), (1,)], rng)
    solve_bounds(*hide(warm), of_two)  # compiles
    begun = time.process_time()
    found = solve_bounds(low, high, equations)
    assert found.sharp.all()
    assert int((low < high).sum()) > 90_000
    assert time.process_time() - begun < 20  # about 1.5 s on a quiet machine
