"""The split of epsilon: exact, within its constraints, and as good as any other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from noisegate.errors import SpecError
from noisegate.margins import TableShape, best_split, descend, error_ratios

AXES = ("day", "time", "location")
TIME, PLACE = ("day", "time"), ("day", "location")


def ratios_of(shape, split, tables):
    return error_ratios(shape, {shape.table(tables[name]): share for name, share in split.items()})


@pytest.mark.parametrize(
    ("sizes", "margins"),
    [
        ((14, 96, 500), {"time": TIME, "loc": PLACE}),
        ((14, 96, 2000), {"time": TIME, "loc": PLACE}),
        ((14, 96, 500), {"time": TIME, "loc": PLACE, "day": ("day",)}),
        ((14, 24, 500), {"time": TIME, "loc": PLACE}),
        ((7, 96, 40), {"time": TIME}),
    ],
)
def test_no_other_split_within_the_constraints_is_better(sizes, margins):
    shape = TableShape(axes=AXES, sizes=sizes)
    tables = {"base": AXES, **margins}
    split = best_split(shape, tables)
    found = ratios_of(shape, split, tables)
    needed = {t: 3 / shape.terms(shape.table(a)) ** 0.5 for t, a in margins.items()}
    granted, left = [], 0.5
    for name in sorted(needed, key=needed.get):
        if needed[name] <= left:
            left -= needed[name]
            granted.append(shape.table(margins[name]))
    assert all(found[table] <= 1 / 3 + 1e-6 for table in granted)
    rng = np.random.default_rng(1)
    beaten = 0
    for draw in rng.dirichlet(np.ones(len(tables)), 3000):
        thousandths = np.floor(draw * 1000).astype(int)
        thousandths[0] += 1000 - thousandths.sum()
        if thousandths[0] < 500:
            continue
        other = dict(zip(tables, (Fraction(int(k), 1000) for k in thousandths), strict=True))
        ratios = ratios_of(shape, other, tables)
        if all(ratios[table] <= 1 / 3 for table in granted):
            beaten += sum(ratios.values()) > sum(found.values()) - 1e-3
            assert sum(ratios.values()) > sum(found.values()) * 0.995
    assert beaten or len(granted) == len(margins)


@settings(deadline=None, max_examples=50)
@given(
    st.tuples(*[st.integers(1, 600)] * 3),
    st.lists(st.lists(st.sampled_from(AXES), unique=True), max_size=4),
)
def test_shares_are_exact_and_never_sum_to_more_than_one(sizes, kept):
    shape = TableShape(axes=AXES, sizes=sizes)
    margins = {shape.table(axes) for axes in kept} - {AXES}
    tables = {"base": AXES, **{"-".join(m) or "total": m for m in sorted(margins)}}
    split = best_split(shape, tables)
    assert list(split) == list(tables)
    assert all(isinstance(share, Fraction) and share >= 0 for share in split.values())
    assert sum(split.values()) == 1
    assert split["base"] >= Fraction(1, 2) - Fraction(len(margins), 1000)


def test_the_flagship_tables_reach_one_third():
    shape = TableShape(axes=("mode", "date", "tap", "time", "location"), sizes=(4, 14, 2, 96, 500))
    tables = {
        "time-loc": shape.axes,
        "time": ("mode", "date", "tap", "time"),
        "loc": ("mode", "date", "tap", "location"),
    }
    ratios = ratios_of(shape, best_split(shape, tables), tables)
    assert ratios[tables["time"]] <= 1 / 3
    assert ratios[tables["loc"]] <= 1 / 3
    assert ratios[tables["time-loc"]] < 1.8


def test_a_margin_that_does_not_pay_is_not_measured():
    shape = TableShape(axes=AXES, sizes=(2, 96, 50))
    split = best_split(shape, {"base": AXES, "both-days": ("time", "location")})
    assert split == {"base": Fraction(1), "both-days": Fraction(0)}


def test_the_goal_and_the_floor_can_be_chosen():
    shape = TableShape(axes=AXES, sizes=(14, 96, 500))
    tables = {"base": AXES, "time": TIME, "loc": PLACE}
    careful = best_split(shape, tables, goal=Fraction(2, 3), base_floor=Fraction(7, 10))
    eager = best_split(shape, tables, goal=Fraction(1, 4), base_floor=Fraction(1, 3))
    assert careful["base"] >= Fraction(7, 10) - Fraction(2, 1000)
    assert careful["base"] > eager["base"]
    assert max(ratios_of(shape, eager, tables)[t] for t in (TIME, PLACE)) <= 0.25 + 1e-6


def test_ratios_follow_from_the_variances():
    shape = TableShape(axes=("time", "location"), sizes=(4, 9))
    half = Fraction(1, 2)
    ratios = error_ratios(shape, {shape.axes: half, (): half})
    # The total: n s_base^-2 and s_total^-2 combined, over n.
    assert ratios[()] == pytest.approx((1 / (0.25 / 36 + 0.25) / 36) ** 0.5)
    assert error_ratios(shape, {shape.axes: half})[shape.axes] == pytest.approx(2)


@pytest.mark.parametrize(
    ("tables", "options", "words"),
    [
        ({"time": TIME}, {}, "must include the base"),
        ({"base": AXES, "x": TIME, "y": TIME}, {}, "declare each table once"),
        ({"base": AXES, "x": ("hour",)}, {}, "must be one of day, time, location"),
        ({"base": AXES}, {"goal": Fraction(2)}, "strictly between 0 and 1"),
        ({"base": AXES}, {"base_floor": Fraction(0)}, "strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_split_is_refused(tables, options, words):
    with pytest.raises(SpecError, match=words):
        best_split(TableShape(axes=AXES, sizes=(2, 3, 4)), tables, **options)


@pytest.mark.parametrize(
    "shares",
    [
        {TIME: Fraction(1)},
        {AXES: Fraction(0)},
        {AXES: Fraction(1), TIME: Fraction(1, 9)},
        {AXES: 1, TIME: -1},
    ],
)
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(SpecError, match="share"):
        error_ratios(TableShape(axes=AXES, sizes=(2, 3, 4)), shares)


@pytest.mark.parametrize("cells", [1, 4, 40])
@pytest.mark.parametrize("sizes", [(14, 96, 500), (7, 24, 100)])
def test_with_gaussian_noise_no_other_split_within_the_constraints_is_better(sizes, cells):
    """Squared losses add up, and a unit of many cells may meet in one cell of a margin."""
    shape = TableShape(axes=AXES, sizes=sizes)
    tables = {"base": AXES, "time": TIME, "loc": PLACE}
    squares = {"base": cells, "time": cells**2, "loc": cells**2}
    split = best_split(shape, tables, squares=squares)
    assert sum(split.values()) == 1

    def ratios(shares):
        named = {shape.table(axes): Fraction(squares[name]) for name, axes in tables.items()}
        return error_ratios(
            shape, {shape.table(tables[name]): share for name, share in shares.items()}, squares=named
        )

    found = ratios(split)
    wanted = {name: 9 * cells / shape.terms(shape.table(tables[name])) for name in ("time", "loc")}
    granted, left = [], 0.5
    for name in sorted(wanted, key=wanted.get):
        if wanted[name] <= left:
            left -= wanted[name]
            granted.append(shape.table(tables[name]))
    assert all(found[table] <= 1 / 3 + 1e-6 for table in granted)
    rng = np.random.default_rng(2)
    for draw in rng.dirichlet(np.ones(3), 2000):
        thousandths = np.floor(draw * 1000).astype(int)
        thousandths[0] += 1000 - thousandths.sum()
        if thousandths[0] < 500:
            continue
        other = ratios(dict(zip(tables, (Fraction(int(k), 1000) for k in thousandths), strict=True)))
        if all(other[table] <= 1 / 3 for table in granted):
            assert sum(other.values()) > sum(found.values()) * 0.995


def problems():
    """Costs with their constraints: curved, with a corner, with a border, with two ways down."""
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 4):
        for _ in range(8):
            at, pull, room = rng.uniform(-0.2, 0.9, size), rng.uniform(0.2, 4, size), rng.uniform(0.2, 1.5)
            tilt = rng.uniform(0.1, 1, size)

            def of(x, at=at, pull=pull, room=room, tilt=tilt):
                cost = float((pull * (x - at) ** 2).sum() + (1 / (0.1 + x)).sum() * 0.01)
                return cost, np.array([room - x.sum(), 0.8 - (x**2 * tilt).sum()])

            yield of, rng.uniform(0, room / (2 * size), size)


def test_a_descent_ends_where_that_of_scipy_does():
    ended = 0
    for problem, start in problems():
        found = descend(problem, start)
        if found is None:
            continue
        ended += 1
        want = optimize.minimize(
            lambda x, problem=problem: problem(x)[0],
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(start),
            constraints=optimize.NonlinearConstraint(lambda x, problem=problem: problem(x)[1], 0.0, np.inf),
        )
        assert problem(found)[0] == pytest.approx(want.fun, abs=1e-5)
        assert problem(found)[1].min() > -1e-6
        assert found == pytest.approx(want.x, abs=2e-3)
    assert ended >= 28  # of 32


def test_a_descent_without_a_way_says_so():
    """No point has room: what cannot be met is not made up."""
    assert descend(lambda x: (float(x.sum()), np.array([-1.0 - x.sum()])), np.array([0.2, 0.3])) is None
