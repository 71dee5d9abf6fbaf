"""Least squares, error laws and rounding over a nested axis, against dense algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace
from noisegate.margins import (
    Ladder,
    NestedPiece,
    NoisyTable,
    SumErrors,
    best_split,
    estimate_tables,
    pieces,
    reconcile_tables,
)
from noisegate.tables import Dimension, Domain, Margin, Selection

HOME = [0, 0, 0, 1, 1, 2]
MODES = Dimension(name="mode", values=("train", "bus", "ferry"))
DAYS = Dimension(name="day", values=("Mon", "Tue"))
TIMES = Dimension(name="time", values=tuple(map(str, range(4))))
STOPS = Dimension(name="stop", values=tuple("ABCDEF"))
SUBURBS = Dimension(name="suburb", values=("x", "y", "z", "w"))


def own_stops():
    return Domain.product([MODES, DAYS, TIMES, STOPS]).nest("stop", "mode", [range(6), HOME])


def stops_first():
    return Domain.product([STOPS, DAYS, TIMES, MODES]).nest("stop", "mode", [range(6), [2, 0, 1, 0, 1, 0]])


def with_suburbs():
    whole = Domain.product([MODES, SUBURBS, DAYS, TIMES, STOPS])
    return whole.nest("stop", "suburb", [range(6), [0, 0, 1, 2, 2, 3]]).nest(
        "suburb", "mode", [range(4), [0, 0, 1, 2]]
    )


def nights():
    groups = ["night", "night", "2", "3"]
    return own_nights(Domain.product([MODES, DAYS, TIMES, STOPS]).merge("time", groups=groups, where={}))


def own_nights(domain):
    return domain.nest("stop", "mode", [range(6), HOME])


def bus_by_postcode():
    """No nesting is declared: buses show postcodes, so modes differ in their places."""
    whole = Domain.product([MODES, DAYS, TIMES, STOPS])
    return whole.merge("stop", groups=list("xxxyyz"), where={"mode": np.array([False, True, False])})


CASES = {
    "totals by time": (own_stops, {"time": ["day", "time"], "stops": ["mode", "day", "stop"]}),
    "modes and totals": (own_stops, {"mode": ["mode", "time"], "time": ["time", "day"]}),
    "child alone": (own_stops, {"stop": ["stop"], "time": ["time"]}),
    "everything": (own_stops, {"mode": ["mode"], "time": ["day", "time"], "stop": ["stop", "mode"]}),
    "stops first": (stops_first, {"mode": ["time", "mode"], "day": ["day"]}),
    "suburbs": (with_suburbs, {"time": ["time"], "suburb": ["suburb", "time"], "mode": ["mode", "time"]}),
    "nights": (nights, {"time": ["day", "time"], "mode": ["mode", "day"]}),
    "postcodes": (bus_by_postcode, {"time": ["time", "day"], "mode": ["mode", "time"]}),
}


@pytest.fixture(params=CASES)
def case(request):
    make, tables = CASES[request.param]
    domain = make()
    margins = {name: Margin.over(domain, names) for name, names in tables.items()}
    assert any(isinstance(piece, NestedPiece) for piece in pieces(domain, margins))
    return domain, margins


def matrix(margin):
    """The margin as a matrix on base cells."""
    found = np.zeros((margin.domain.size, margin.base.size))
    found[margin.of(np.arange(margin.base.size)), np.arange(margin.base.size)] = 1
    return found


def dense(domain, margins, variances):
    """The least-squares operator, from all measurements stacked to the base."""
    stacked = np.vstack([np.eye(domain.size), *(matrix(margin) for margin in margins.values())])
    noise = np.concatenate(
        [
            np.full(size, variances[name])
            for name, size in (("base", domain.size), *((name, m.domain.size) for name, m in margins.items()))
        ]
    )
    weighed = stacked.T / noise
    return np.linalg.solve(weighed @ stacked, weighed), noise


def test_the_estimate_is_that_of_dense_least_squares(case):
    domain, margins = case
    rng = np.random.default_rng(5)
    variances = {"base": 3.0, **{name: 0.5 + n for n, name in enumerate(margins)}}
    base = rng.integers(-5, 60, domain.size)
    measured = {name: rng.integers(0, 300, m.domain.size) for name, m in margins.items()}
    operator, _ = dense(domain, margins, variances)
    expected = operator @ np.concatenate([base, *measured.values()])
    found = estimate_tables(
        domain,
        margins,
        base=NoisyTable(values=base, variance=variances["base"]),
        measured={n: NoisyTable(values=v, variance=variances[n]) for n, v in measured.items()},
    )
    assert np.allclose(found.base, expected, atol=1e-9)
    for name, margin in margins.items():
        assert np.allclose(found.margins[name], matrix(margin) @ expected, atol=1e-8)


def test_the_error_of_any_sum_is_that_of_dense_least_squares(case):
    domain, margins = case
    laws = {
        "base": DiscreteLaplace(1.5),
        **{name: DiscreteLaplace(0.8 + n) for n, name in enumerate(margins)},
    }
    errors = SumErrors.of(domain, base="base", margins=margins, laws=laws, method="reconcile")
    operator, noise = dense(domain, margins, {name: law.variance for name, law in laws.items()})
    covariance = (operator * noise) @ operator.T
    rng = np.random.default_rng(2)
    for by in ((), ("mode",), ("time", "mode"), ("stop",), ("stop", "mode", "day")):
        masks = [rng.random(len(d.labels)) < 0.8 for d in domain.dimensions]
        groups = Selection.of_masks(domain, masks, by=by).groups(domain)
        cells, home = groups.numbers()
        there = np.unique(home)
        for group, law in zip(there.tolist(), errors.laws_of(groups, "base", there), strict=True):
            chosen = np.isin(np.arange(domain.size), cells[home == group]).astype(float)
            assert law.standard_deviation**2 == pytest.approx(chosen @ covariance @ chosen, rel=1e-9)
            per_source = np.add.reduceat(
                (operator.T @ chosen) ** 2,
                np.cumsum([0, domain.size, *(m.domain.size for m in margins.values())])[:-1],
            )
            mine = [
                sum(t.copies * t.coefficient**2 for t in law.terms if t.law is one) for one in laws.values()
            ]
            assert mine == pytest.approx(per_source.tolist(), rel=1e-9, abs=1e-12)


def test_published_tables_add_up_and_are_near(case):
    domain, margins = case
    rng = np.random.default_rng(9)
    raw = rng.poisson(rng.gamma(0.7, 30, domain.size))
    measured = {
        name: NoisyTable(
            values=np.rint(matrix(margin) @ raw).astype(np.int64) + rng.integers(-2, 3, margin.domain.size),
            variance=2.0,
        )
        for name, margin in margins.items()
    }
    noisy = NoisyTable(values=raw + rng.integers(-6, 7, domain.size), variance=14.0)
    found = reconcile_tables(domain, margins, base=noisy, measured=measured)
    assert (found.base >= 0).all()
    for name, margin in margins.items():
        assert np.array_equal(found.margins[name], matrix(margin) @ found.base)
        assert np.abs(found.margins[name] - matrix(margin) @ raw).mean() < 4


def test_pieces_cover_every_cell_once(case):
    domain, margins = case
    cells = np.arange(domain.size)
    seen = np.zeros(domain.size, int)
    for piece in pieces(domain, margins):
        taken = piece.take(cells)
        seen[taken.ravel()] += 1
        back = np.full(domain.size, -1)
        piece.put(taken, back)
        assert np.array_equal(back[taken], taken)
    assert (seen == 1).all()


def test_the_split_prefers_what_sums_many_cells(case):
    domain, margins = case
    tables = {"base": domain.names, **{name: m.domain.names for name, m in margins.items()}}
    split = best_split([piece.shape for piece in pieces(domain, margins)], tables)
    assert sum(split.values()) == 1
    assert split["base"] >= 0.5


@settings(max_examples=60)
@given(st.data())
def test_a_ladder_solves_what_its_matrix_says(data):
    size = data.draw(st.integers(2, 9))
    fine = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    parent = data.draw(st.lists(st.integers(0, 2), min_size=4, max_size=4))
    entries = np.array([[parent[f] for f in fine], fine, range(size)])
    ladder = Ladder.of(("a", "b", "c"), entries, [("a",), ("a", "b")])
    weights = [data.draw(st.floats(0, 5)) for _ in ladder.levels[:-1]] + [data.draw(st.floats(0.1, 5))]
    sums = [
        np.equal.outer(np.arange(n), level).astype(float)
        for n, level in zip(ladder.sizes, ladder.levels, strict=True)
    ]
    whole = sum(w * b.T @ b for w, b in zip(weights, sums, strict=True))
    right = np.arange(2.0 * size).reshape(size, 2) ** 1.5
    assert np.allclose(ladder.solve(weights, right), np.linalg.solve(whole, right))
    inverse = np.linalg.inv(whole)
    for level, b in enumerate(sums):
        assert np.allclose(ladder.variances(weights, level), np.diag(b @ inverse @ b.T))


def test_margins_that_cross_are_refused_with_the_way_out():
    allowed = [[0, 1, 2, 3, 4, 5, 5, 5], [0, 0, 0, 1, 1, 0, 1, 2]]
    domain = Domain.product([MODES, TIMES, STOPS]).nest("stop", "mode", allowed)
    margins = {name: Margin.over(domain, [name]) for name in ("stop", "mode")}
    with pytest.raises(
        SpecError, match=r"in ways that cross; keep in every margin .* or use 'margins: derive'"
    ):
        pieces(domain, margins)
