"""Least squares against a dense oracle: estimates, variances, influences."""

import re
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisegate.errors import DataError, SpecError
from noisegate.margins import Design, MeasuredTable, Measurement, TableShape, reconcile

NAMES = ("a", "b", "c", "d")
steady = settings(deadline=None, max_examples=60)


def summing_matrix(shape, table):
    parts = [
        np.eye(n) if axis in table else np.ones((1, n))
        for axis, n in zip(shape.axes, shape.sizes, strict=True)
    ]
    return reduce(np.kron, parts, np.ones((1, 1)))


def dense_estimate(shape, measurements):
    """The textbook solution: stack all equations, divide by the standard deviations, invert."""
    rows = np.vstack([summing_matrix(shape, m.axes) / m.variance**0.5 for m in measurements])
    values = np.concatenate([np.ravel(m.values) / m.variance**0.5 for m in measurements])
    return np.linalg.lstsq(rows, values, rcond=None)[0], np.linalg.inv(rows.T @ rows)


@st.composite
def problems(draw):
    k = draw(st.integers(1, 4))
    sizes = draw(st.tuples(*[st.integers(1, 4)] * k).filter(lambda sizes: np.prod(sizes) <= 48))
    shape = TableShape(axes=NAMES[:k], sizes=sizes)
    kept = draw(st.lists(st.lists(st.sampled_from(shape.axes), unique=True), max_size=4))
    tables = [shape.axes, *(shape.table(axes) for axes in kept)]
    variances = [draw(st.floats(0.01, 100)) for _ in tables]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return shape, [
        Measurement(axes=t, values=rng.integers(-500, 500, shape.lengths(t)), variance=v)
        for t, v in zip(tables, variances, strict=True)
    ]


@steady
@given(problems())
def test_estimate_is_the_dense_least_squares_solution(problem):
    shape, measurements = problem
    expected, _ = dense_estimate(shape, measurements)
    found = reconcile(measurements[0], measurements[1:])
    assert np.allclose(found.base.ravel(), expected, rtol=0, atol=1e-10 * 500)


@steady
@given(problems())
def test_variances_and_influences_are_those_of_the_dense_solution(problem):
    shape, measurements = problem
    _, covariance = dense_estimate(shape, measurements)
    found = reconcile(measurements[0], measurements[1:])
    for table in {shape.axes, (), shape.axes[:1], *found.margins}:
        summing = summing_matrix(shape, table)
        expected = np.diag(summing @ covariance @ summing.T)
        assert np.allclose(found.variance(table), expected, rtol=1e-8)
        influences = found.design.influences(found.design.cell_of(table))
        total = sum(i.copies * i.coefficient**2 * measurements[i.source].variance for i in influences)
        assert total == pytest.approx(expected[0], rel=1e-8)
        for source, one in enumerate(measurements):
            assert sum(i.copies for i in influences if i.source == source) == one.values.size


@steady
@given(problems(), st.data())
def test_variance_of_a_box_is_that_of_the_dense_solution(problem, data):
    shape, measurements = problem
    _, covariance = dense_estimate(shape, measurements)
    box = {axis: data.draw(st.integers(1, n)) for axis, n in zip(shape.axes, shape.sizes, strict=True)}
    inside = reduce(np.kron, [np.arange(shape.size(a)) < m for a, m in box.items()], np.ones(1))
    found = reconcile(measurements[0], measurements[1:])
    assert found.design.variance(box) == pytest.approx(inside @ covariance @ inside, rel=1e-8)


def test_each_influence_is_the_effect_of_one_noise_on_the_estimate():
    shape = TableShape(axes=("a", "b"), sizes=(3, 4))
    tables, variances = [("a", "b"), ("a",), ("b",)], [2.0, 3.0, 0.5]
    arrays = [np.zeros(shape.lengths(t)) for t in tables]

    def margin_cell():
        parts = [
            Measurement(axes=t, values=v, variance=s)
            for t, v, s in zip(tables, arrays, variances, strict=True)
        ]
        return reconcile(parts[0], parts[1:])

    estimate = margin_cell()
    expected = {(i.source, round(i.coefficient, 9)) for i in estimate.design.influences({"a": 1})}
    seen = set()
    for source, values in enumerate(arrays):
        for place in np.ndindex(values.shape):
            values[place] = 1.0
            seen.add((source, round(float(margin_cell().table(("a",))[0]), 9)))
            values[place] = 0.0
    assert seen == expected


def test_axes_of_a_margin_may_come_in_any_order():
    rng = np.random.default_rng(5)
    base = Measurement(axes=("a", "b", "c"), values=rng.integers(0, 9, (2, 3, 4)), variance=1.0)
    values = rng.integers(0, 30, (2, 4))
    straight = Measurement(axes=("a", "c"), values=values, variance=2.0)
    turned = Measurement(axes=("c", "a"), values=values.T, variance=2.0)
    assert np.array_equal(reconcile(base, [straight]).base, reconcile(base, [turned]).base)


def test_two_measurements_of_one_table_count_as_their_weighted_mean():
    rng = np.random.default_rng(6)
    base = Measurement(axes=("a", "b"), values=rng.integers(0, 9, (3, 4)), variance=1.0)
    one, two = rng.integers(0, 30, (2, 3))
    twice = [Measurement(axes=("a",), values=v, variance=2.0) for v in (one, two)]
    once = Measurement(axes=("a",), values=(one + two) / 2, variance=1.0)
    left, right = reconcile(base, twice), reconcile(base, [once])
    assert np.allclose(left.base, right.base, atol=1e-12)
    assert left.variance(("b",)) == pytest.approx(right.variance(("b",)), rel=1e-12)
    assert left.margins == (("a",),)


def test_a_base_alone_stays_as_it_is_and_its_sums_add_variance():
    values = np.arange(24).reshape(2, 3, 4) - 12
    found = reconcile(Measurement(axes=("a", "b", "c"), values=values, variance=2.5))
    assert np.array_equal(found.base, values)
    assert found.variance(("a",)) == pytest.approx(12 * 2.5)
    assert found.margins == ()


def test_a_far_better_margin_is_met():
    base = Measurement(axes=("a", "b"), values=np.zeros((3, 4), int), variance=1.0)
    margin = Measurement(axes=("a",), values=np.array([4, 8, -4]), variance=1e-12)
    found = reconcile(base, [margin])
    assert np.allclose(found.table(("a",)), [4, 8, -4], atol=1e-9)
    assert np.allclose(found.base, [[1], [2], [-1]] * np.ones(4), atol=1e-9)


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ({"variance": 0.0}, SpecError, "must be a finite number above 0, got 0.0"),
        ({"variance": float("nan")}, SpecError, "must be a finite number above 0, got nan"),
        ({"axes": ("a",)}, DataError, "needs as many array axes, got 2"),
        ({"values": np.array([["x"]])}, DataError, "must be numbers"),
        ({"values": np.array([[np.inf]])}, DataError, "must be finite"),
    ],
)
def test_a_measurement_checks_itself(bad, kind, words):
    good = {"axes": ("a", "b"), "values": np.zeros((2, 2)), "variance": 1.0}
    with pytest.raises(kind, match=re.escape(words)):
        Measurement(**(good | bad))


def test_a_margin_must_fit_the_base():
    base = Measurement(axes=("a", "b"), values=np.zeros((2, 3)), variance=1.0)
    with pytest.raises(DataError, match=re.escape("margin a has shape (3,); the base says (2,)")):
        reconcile(base, [Measurement(axes=("a",), values=np.zeros(3), variance=1.0)])
    with pytest.raises(SpecError, match="must be one of a, b, got 'c'"):
        reconcile(base, [Measurement(axes=("c",), values=np.zeros(3), variance=1.0)])


def test_a_design_needs_its_base_and_ordered_tables():
    shape = TableShape(axes=("a", "b"), sizes=(2, 3))
    with pytest.raises(SpecError, match="base table must be among"):
        Design(shape=shape, measured=(MeasuredTable(table=("a",), variance=1.0),))
    with pytest.raises(SpecError, match="in the order"):
        Design(shape=shape, measured=(MeasuredTable(table=("b", "a"), variance=1.0),))
    design = Design(shape=shape, measured=(MeasuredTable(table=("a", "b"), variance=1.0),))
    for box in ({"a": 0}, {"a": 3}, {"z": 1}):
        with pytest.raises(SpecError, match="between 1 and all values"):
            design.variance(box)


@pytest.mark.parametrize(("axes", "sizes"), [(("a", "a"), (1, 2)), (("a",), (1, 2)), (("a",), (0,))])
def test_a_shape_checks_itself(axes, sizes):
    with pytest.raises(SpecError):
        TableShape(axes=axes, sizes=sizes)
