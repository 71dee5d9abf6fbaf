"""Whole, non-negative, consistent tables: plans, projection, controlled rounding, all together."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from noisegate.errors import DataError, SpecError
from noisegate.margins import (
    Apportion,
    ConsistentTables,
    Join,
    Measurement,
    Nearest,
    TableShape,
    derive,
    fit_matrix,
    fit_vector,
    fix_matrix,
    fix_vector,
    plan_rounding,
    reconcile,
    round_consistent,
    round_matrix,
    round_vector,
)
from noisegate.margins._rounding import _mend, _phase

NAMES = ("a", "b", "c", "d")
SHIFT = 20
UNIT = 1 << SHIFT
steady = settings(deadline=None)  # the first call of a kernel compiles it


# Plans


@steady
@given(st.lists(st.lists(st.sampled_from(NAMES), unique=True), max_size=5))
def test_every_step_of_a_plan_stands_on_earlier_ones_and_all_margins_are_met(margins):
    shape = TableShape(axes=NAMES, sizes=(2, 2, 2, 2))
    try:
        steps = plan_rounding(shape, margins)
    except SpecError:
        assert len(margins) >= 3
        return
    done = []
    for step in steps:
        needs = {Nearest: [], Apportion: ["within"], Join: ["rows", "columns"]}[type(step)]
        for need in needs:
            assert any(set(getattr(step, need)) <= set(table) for table in done)
        if isinstance(step, Join):
            assert set(step.rows) | set(step.columns) == set(step.table)
        done.append(step.table)
    assert done[-1] == NAMES
    for margin in margins:
        assert any(set(margin) <= set(table) for table in done)


@pytest.mark.parametrize("margins", [["ab", "bc", "ac"], ["ab", "bc", "cd", "ad"], ["abc", "ab", "bc", "ac"]])
def test_margins_in_a_circle_are_refused_with_the_way_out(margins):
    shape = TableShape(axes=NAMES, sizes=(2, 2, 2, 2))
    with pytest.raises(SpecError, match=r"go round in a circle.*Use 'margins: derive'"):
        plan_rounding(shape, margins)


@pytest.mark.parametrize(
    "margins",
    [[], ["ab"], ["", "a", "ab", "abc"], ["ab", "ac", "ad"], ["a", "b", "c", "d"], ["ab", "bc", "cd"]],
)
def test_chains_stars_and_trees_can_be_planned(margins):
    assert plan_rounding(TableShape(axes=NAMES, sizes=(2, 3, 2, 3)), margins)[-1].table == NAMES


def test_what_two_margins_share_is_fixed_before_either():
    shape = TableShape(axes=("day", "time", "stop"), sizes=(2, 3, 4))
    day, time, stop = ("day",), ("day", "time"), ("day", "stop")
    assert plan_rounding(shape, [time, stop]) == (
        Nearest(table=day),
        Apportion(table=time, within=day),
        Apportion(table=stop, within=day),
        Join(table=shape.axes, rows=time, columns=stop),
    )


# The nearest non-negative table


def weighted_distance(x, y, bend):
    return float(((x - y) ** 2 * np.maximum(1.0, y / bend)).sum())


@steady
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 4), st.floats(0.5, 20))
def test_matrix_fit_is_the_constrained_minimum(seed, height, width, bend):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 8, (height, width))
    y = truth + rng.laplace(0, 4, truth.shape)
    rows, columns = truth.sum(1), truth.sum(0)
    x = np.empty(y.shape)
    fit_matrix(y, bend, rows, columns, 1e-9, 100_000, x)
    assert (x >= 0).all()
    assert np.allclose(x.sum(1), rows, atol=1e-6)
    assert np.allclose(x.sum(0), columns, atol=1e-6)
    found = optimize.minimize(
        lambda flat: weighted_distance(flat.reshape(y.shape), y, bend),
        truth.ravel().astype(float),
        method="SLSQP",
        bounds=[(0, None)] * y.size,
        constraints=[
            {"type": "eq", "fun": lambda flat: flat.reshape(y.shape).sum(1) - rows},
            {"type": "eq", "fun": lambda flat: (flat.reshape(y.shape).sum(0) - columns)[:-1]},
        ]
        if width > 1
        else {"type": "eq", "fun": lambda flat: flat.reshape(y.shape).sum(1) - rows},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert weighted_distance(x, y, bend) <= found.fun + 1e-4 * (1 + found.fun)


@steady
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.integers(0, 60), st.floats(0.5, 20))
def test_vector_fit_has_its_sum_and_one_multiplier(values, wanted, bend):
    y = np.array(values)
    x = np.empty(y.size)
    fit_vector(y, bend, float(wanted), 1e-9, x)
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(wanted, abs=1e-6)
    weight = np.minimum(1.0, bend / np.maximum(y, bend))
    moved = (x - y) / weight
    if (x > 0).any():
        assert np.ptp(moved[x > 0]) < 1e-6
        assert (moved[x == 0] >= moved[x > 0].max() - 1e-6).all()


def test_large_estimates_move_least():
    y = np.array([1000.0, 10.0, 10.0, -20.0, -20.0])
    x = np.empty(5)
    fit_vector(y, 5.0, 1015.0, 1e-9, x)
    assert abs(x[0] - 1000) < 0.1
    assert abs(x[1] - 10) > 2


# Fixed point and controlled rounding


@steady
@given(st.integers(0, 2**32), st.integers(1, 6), st.integers(1, 6))
def test_fixed_point_has_exact_sums_whatever_it_is_given(seed, height, width):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, (height, width)) * rng.integers(0, 2, (height, width))
    x = np.maximum(0.0, truth + rng.normal(0, 2, truth.shape))
    out = np.empty(x.shape, np.int64)
    fix_matrix(x, SHIFT, truth.sum(1), truth.sum(0), out)
    assert (out >= 0).all()
    assert np.array_equal(out.sum(1), truth.sum(1) * UNIT)
    assert np.array_equal(out.sum(0), truth.sum(0) * UNIT)
    line = np.empty(width, np.int64)
    fix_vector(x[0], SHIFT, int(truth[0].sum()), line)
    assert (line >= 0).all()
    assert line.sum() == truth[0].sum() * UNIT


@steady
@given(st.integers(0, 2**32), st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_controlled_rounding_goes_to_a_neighbouring_integer_and_keeps_every_sum(seed, height, width, turn):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, (height, width))
    mixed = np.maximum(0.0, truth + rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5, 0.75], truth.shape))
    x = np.empty(truth.shape, np.int64)
    fix_matrix(mixed, SHIFT, truth.sum(1), truth.sum(0), x)
    before = x.copy()
    assert round_matrix(x, SHIFT, turn)
    assert np.array_equal(x.sum(1), truth.sum(1))
    assert np.array_equal(x.sum(0), truth.sum(0))
    assert (x >= before // UNIT).all()
    assert (x <= -(-before // UNIT)).all()


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_a_single_cycle_of_halves_is_rounded(n):
    x = (np.eye(n, dtype=np.int64) + np.roll(np.eye(n, dtype=np.int64), 1, axis=1)) * (UNIT // 2)
    order = np.random.default_rng(n).permutation(n)
    x = np.ascontiguousarray(x[:, order])
    assert round_matrix(x, SHIFT, 0)
    assert (x.sum(0) == 1).all()
    assert (x.sum(1) == 1).all()


def test_mending_passes_units_along_paths_of_any_length():
    n = 12
    half = UNIT // 2
    fractions = np.zeros((n, n + 1), np.int64)
    for row in range(n):
        fractions[row, row : row + 2] = half
    up = np.zeros(fractions.shape, bool)
    up[np.arange(n), np.arange(n)] = True
    up[0, 1] = True
    up[1, 1] = False
    up[n - 1, n - 1] = False
    up[np.arange(1, n - 1), np.arange(2, n)] = True
    up[np.arange(2, n - 1), np.arange(2, n - 1)] = False
    columns = up.sum(0)
    surplus = up.sum(1) - np.ones(n, np.int64)
    assert surplus.max() == 1
    assert surplus.min() == -1
    assert _mend(fractions, up, surplus)
    assert (up.sum(1) == 1).all()
    assert np.array_equal(up.sum(0), columns)
    assert not up[fractions == 0].any()


def test_mending_says_so_when_there_is_no_way():
    fractions = np.array([[UNIT // 2, 0], [0, UNIT // 2]])
    up = np.array([[True, False], [False, False]])
    assert not _mend(fractions, up, np.array([1, -1]))


@steady
@given(st.lists(st.integers(0, 5 * UNIT), min_size=1, max_size=30), st.integers(0, 1000))
def test_cascade_rounding_keeps_every_run_within_one(cells, turn):
    x = np.array([*cells, 0])
    x[-1] = -x.sum() % UNIT
    before = x.copy()
    round_vector(x, SHIFT, turn)
    assert x.sum() * UNIT == before.sum()
    drift = np.concatenate([[0], np.cumsum(x * UNIT - before)])
    assert np.ptp(drift) < 2 * UNIT
    assert np.abs(drift).max() < UNIT
    assert (np.abs(x * UNIT - before) < UNIT).all()


def test_a_running_sum_that_is_just_full_gives_its_unit_at_once():
    for turn in range(5):
        start = _phase(turn, SHIFT)
        x = np.array([UNIT - start, 0, start])
        round_vector(x, SHIFT, turn)
        assert x.tolist() == [1, 0, 0]


# All together


def estimate_of(values, margins, *, variance=4.0):
    """A reconciled estimate whose margins were measured exactly as they are."""
    axes = NAMES[: values.ndim]
    shape = TableShape(axes=axes, sizes=values.shape)
    parts = [
        Measurement(axes=shape.table(m), values=shape.summed(values, shape.table(m)), variance=variance)
        for m in margins
    ]
    return reconcile(Measurement(axes=axes, values=values, variance=variance), parts)


MARGIN_SETS = [
    [],
    ["a"],
    [""],
    ["a", "b"],
    ["ab", "ac"],
    ["ab", "bc"],
    ["ab", "ac", "a", ""],
    ["a", "b", "c"],
    ["ab", "a", ""],
]
LEVELS = [0.0, 1.0, -1.0, 0.3, 30.0, -40.0, 1e6, 1e11]


@steady
@given(
    st.integers(0, 2**32),
    st.tuples(*[st.integers(1, 4)] * 3),
    st.sampled_from(MARGIN_SETS),
    st.sampled_from(LEVELS),
    st.sampled_from([0.0, 0.5, 5.0, 1e4]),
)
@example(0, (1, 1, 1), ["a", "b"], 0.0, 0.0)
@example(1, (4, 4, 4), ["ab", "ac"], -40.0, 5.0)
@example(2, (2, 4, 3), ["ab", "ac"], 1e11, 1e4)
def test_tables_are_whole_not_negative_and_consistent(seed, sizes, margins, level, spread):
    rng = np.random.default_rng(seed)
    estimate = estimate_of(level + spread * rng.laplace(0, 1, sizes), margins)
    found = round_consistent(estimate)
    assert found.base.dtype == np.int64
    assert (found.base >= 0).all()
    for margin in margins:
        kept = found.shape.table(margin)
        gone = tuple(i for i, axis in enumerate("abc") if axis not in kept)
        assert np.array_equal(found.table(margin), found.base.sum(axis=gone))
    again = round_consistent(estimate)
    assert np.array_equal(found.base, again.base)


@steady
@given(st.integers(0, 2**32), st.tuples(*[st.integers(1, 4)] * 3), st.sampled_from(MARGIN_SETS))
def test_margins_stay_at_their_estimates_where_nothing_is_near_zero(seed, sizes, margins):
    rng = np.random.default_rng(seed)
    values = rng.uniform(50, 500, sizes)
    estimate = estimate_of(values, margins)
    found = round_consistent(estimate)
    for depth, table in enumerate(sorted(margins, key=len)):
        assert np.abs(found.table(table) - estimate.table(table)).max() < 1.5 + depth
    assert np.abs(found.base - estimate.base).max() < 2.0 + 2 * len(margins)


def test_margins_hold_although_most_cells_are_noise_below_zero():
    rng = np.random.default_rng(3)
    truth = np.zeros((5, 40, 60), np.int64)
    truth[:, :20, :10] = rng.poisson(20, (5, 20, 10))
    noisy = truth + rng.integers(-12, 13, truth.shape)
    parts = [
        Measurement(axes=("a", "b"), values=truth.sum(2) + rng.integers(-3, 4, (5, 40)), variance=4.0),
        Measurement(axes=("a", "c"), values=truth.sum(1) + rng.integers(-3, 4, (5, 60)), variance=4.0),
    ]
    estimate = reconcile(Measurement(axes=("a", "b", "c"), values=noisy, variance=52.0), parts)
    found = round_consistent(estimate)
    clamped = np.maximum(np.rint(estimate.base), 0)
    for axis, table in ((2, "ab"), (1, "ac")):
        error = np.abs(found.table(table) - truth.sum(axis)).mean()
        assert error < 3
        assert np.abs(clamped.sum(axis) - truth.sum(axis)).mean() > 20 * error


def test_declared_margins_that_were_not_measured_are_kept_too():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 5, (3, 30, 40))
    values[:, 0, 0] += 400
    estimate = estimate_of(values, [])
    clamped = np.maximum(np.rint(estimate.base), 0)
    target = np.maximum(estimate.table("ab"), 0)
    held = round_consistent(estimate, margins=["ab", "ac"])
    assert np.abs(held.table("ab") - target).mean() < 0.3 * np.abs(clamped.sum(axis=2) - target).mean()
    none = round_consistent(estimate)  # margins that nobody declared do not drift either
    assert np.abs(none.table("ab") - target).mean() < 0.3 * np.abs(clamped.sum(axis=2) - target).mean()


def test_all_zeros_and_all_negative_give_zeros():
    for values in (np.zeros((2, 3, 4)), np.full((2, 3, 4), -9.0)):
        assert not round_consistent(estimate_of(values, ["ab", "ac"])).base.any()


def test_values_that_cannot_be_counts_are_refused_without_naming_them():
    with pytest.raises(DataError, match="cannot be counts") as caught:
        round_consistent(estimate_of(np.full((2, 2), 7.7e17), ["a"]))
    assert "7" not in str(caught.value)


def test_derived_margins_are_sums_of_the_published_base():
    shape = TableShape(axes=("a", "b"), sizes=(2, 3))
    tables = derive(shape, np.array([[1, 0, 2], [0, 0, 5]]))
    assert tables.table("a").tolist() == [3, 5]
    assert tables.table("b").tolist() == [1, 0, 7]
    assert tables.table("") == 8
    with pytest.raises(DataError, match="64-bit integers"):
        ConsistentTables(shape=shape, base=np.zeros((2, 3)))
    with pytest.raises(DataError, match="do not fit into 64 bits"):
        derive(shape, np.full((2, 3), 2**62)).table("a")


def test_units_do_not_always_fall_on_the_same_cells():
    values = np.full((400, 10), 0.1)
    found = round_consistent(estimate_of(values, ["a"]))
    assert (found.base.sum(1) == 1).all()
    assert found.base.sum(0).min() > 20
    pairs = itertools.pairwise(found.base.argmax(1))
    assert sum(a == b for a, b in pairs) < 200
