"""Cavities of linked Gaussians: by elimination, many small sets at a time and message by message, beside the plain inverse."""

import numpy as np
import pytest

from noisegate.inference.linked.gaussian import Blocks, Joint, Loopy, _inverse
from noisegate.inference.linked.model import Factors


def factors_of(sets):
    """Sums over these unknowns, each a list of pairs (unknown, weight)."""
    sizes = [len(one) for one in sets]
    members, weights = np.array([pair for one in sets for pair in one]).T
    return Factors(
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        members=members,
        weights=weights,
        values=np.zeros(len(sets)),
        mechanism=np.zeros(len(sets), np.int64),
    )


def cube(x, y, z):
    """All two-way sums of a cube: loops everywhere."""
    cells = np.arange(x * y * z).reshape(x, y, z)
    lists = [cells[i, j] for i in range(x) for j in range(y)]
    lists += [cells[i, :, k] for i in range(x) for k in range(z)]
    lists += [cells[:, j, k] for j in range(y) for k in range(z)]
    return [[(int(cell), 1) for cell in one] for one in lists], x * y * z


def standing(rng, unknowns, sums):
    m, v = rng.normal(5, 3, unknowns), rng.gamma(2, 2, unknowns) + 0.01
    return m, v, rng.normal(20, 10, sums), rng.choice([1e-4, 0.5, 8.0], sums)


def plainly(sets, m, v, y, d):
    """What is left of the joint law once the stand-in of one unknown, or of one sum, is taken out again."""
    matrix = np.zeros((len(sets), len(m)))
    for k, one in enumerate(sets):
        for cell, weight in one:
            matrix[k, cell] += weight
    precision = np.diag(1 / v) + matrix.T @ np.diag(1 / d) @ matrix
    covariance = np.linalg.inv(precision)
    mean = covariance @ (m / v + matrix.T @ (y / d))
    own, sums = np.diagonal(covariance), np.einsum("ki,ij,kj->k", matrix, covariance, matrix)
    cavity, sum_cavity = 1 / (1 / own - 1 / v), 1 / (1 / sums - 1 / d)
    return (
        cavity * (mean / own - m / v),
        cavity,
        sum_cavity * (matrix @ mean / sums - y / d),
        sum_cavity,
    )


def arrays(cavities):
    return cavities.mean, cavities.variance, cavities.sum_mean, cavities.sum_variance


@pytest.mark.parametrize("shape", [(3, 4, 5), (2, 2, 2), (1, 6, 4), (7, 2, 3)])
def test_all_sums_at_once_are_the_plain_inverse(shape):
    rng = np.random.default_rng(5)
    sets, cells = cube(*shape)
    given = standing(rng, cells, len(sets))
    found = arrays(Joint(factors_of(sets), cells).solve(*given))
    for mine, right in zip(found, plainly(sets, *given), strict=True):
        np.testing.assert_allclose(mine, right, rtol=2e-5, atol=2e-5)


def test_a_member_may_count_twice_or_be_taken_off():
    rng = np.random.default_rng(6)
    sets = [[(0, 2), (1, 1)], [(1, -1), (2, 1)], [(0, 1), (2, 3), (3, 1)]]
    given = standing(rng, 4, len(sets))
    found = arrays(Joint(factors_of(sets), 4).solve(*given))
    for mine, right in zip(found, plainly(sets, *given), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-6)


def test_sums_of_one_table_are_eliminated_whatever_their_order():
    """Rows and columns of 30 by 4 cells: what is left is a matrix of 4, not of 34."""
    cells = np.arange(120).reshape(30, 4)
    rows, columns = ([[(int(c), 1) for c in one] for one in table] for table in (cells, cells.T))
    costs = {
        Joint(factors_of(sets), 120).cost
        for sets in (rows + columns, columns + rows, rows[:7] + columns + rows[7:])
    }
    assert costs == {34.0 * 4**2}


def test_many_small_sets_are_each_the_plain_inverse():
    rng = np.random.default_rng(7)
    sets, unknowns, sums = [], [0], [0]
    for _ in range(50):
        own, cells = cube(*rng.integers(1, 4, 3))
        sets += [[(cell + unknowns[-1], weight) for cell, weight in one] for one in own]
        unknowns.append(unknowns[-1] + cells)
        sums.append(len(sets))
    given = standing(rng, unknowns[-1], len(sets))
    factors = factors_of(sets)
    found = arrays(Blocks(factors, np.array(unknowns), np.array(sums)).solve(*given))
    for mine, other in zip(found, arrays(Joint(factors, unknowns[-1]).solve(*given)), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


def test_messages_along_single_sums_are_right_without_loops_and_too_sure_with_exact_ones():
    rng = np.random.default_rng(8)
    m, v = rng.normal(5, 3, 12), rng.gamma(2, 2, 12) + 0.5
    tree = [[(k, 1) for k in range(4)], [(k, 1) for k in range(3, 8)], [(k, 1) for k in range(7, 12)]]
    given = m, v, rng.normal(20, 5, 3), np.full(3, 0.5)
    solver = Loopy(factors_of(tree))
    for _ in range(200):
        found = solver.solve(*given)
    for mine, right in zip(arrays(found), plainly(tree, *given), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-6, atol=1e-6)
    sets, cells = cube(3, 3, 3)
    given = rng.normal(5, 3, cells), np.full(cells, 4.0), np.full(len(sets), 15.0), np.full(len(sets), 1e-4)
    solver = Loopy(factors_of(sets))
    for _ in range(300):
        found = solver.solve(*given)
    right = Joint(factors_of(sets), cells).solve(*given)
    assert found.variance.mean() < 0.5 * right.variance.mean()


@pytest.mark.parametrize("size", [7, 150, 700])
def test_inverse_of_linked_sums(size):
    rng = np.random.default_rng(size)
    g = (rng.random((size, 3 * size)) < 0.02).astype(float)
    matrix = g @ g.T + np.diag(rng.random(size) + 0.5)
    np.testing.assert_allclose(_inverse(matrix.copy()) @ matrix, np.eye(size), atol=1e-8)
