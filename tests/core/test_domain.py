"""Public domains against a list of every combination of values, written out."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noisegate import limits
from noisegate.errors import InternalError, SpecError
from noisegate.tables.domain import Block, Dimension, Domain
from noisegate.tables.margin import Margin
from noisegate.tables.merging import merge, restrict

LETTERS = "abcdefgh"
MODES = Dimension(name="mode", values=("train", "bus"))
STOPS = Dimension(name="stop", values=("A", "B", "C"))
TIMES = Dimension(name="time", values=("0", "1", "2", "3"))


def dimension(n, size):
    return Dimension(name=LETTERS[n], values=tuple(f"{LETTERS[n]}{i}" for i in range(size)))


def masks(size):
    return st.lists(st.booleans(), min_size=size, max_size=size).map(np.array)


@st.composite
def coarse_domains(draw):
    """A merged and restricted domain, and the labels that each combination of values must have."""
    dims = [
        dimension(n, size) for n, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=2, max_size=3)))
    ]
    domain = Domain.product(dims)
    labels = {values: list(values) for values in product(*(dim.values for dim in dims))}
    places = {dim.name: {value: i for i, value in enumerate(dim.values)} for dim in dims}
    try:
        for _ in range(draw(st.integers(0, 2))):
            n = draw(st.integers(0, len(dims) - 1))
            groups = [
                draw(st.sampled_from(["group 0", "group 1", "group 2", value])) for value in dims[n].values
            ]
            where = {dim.name: draw(masks(len(dim.values))) for dim in dims if draw(st.integers(0, 3))}
            domain = merge(domain, name=LETTERS[n], groups=groups, where=where)
            for values, shown in labels.items():
                if all(mask[places[name][values[LETTERS.index(name)]]] for name, mask in where.items()):
                    shown[n] = groups[places[LETTERS[n]][values[n]]]
        if draw(st.booleans()):
            allowed = {code: draw(masks(len(dims[0].values))) for code in range(len(dims[1].values))}
            domain = restrict(domain, name="a", by="b", allowed=allowed)
            labels = _allowed(labels, allowed, places)
    except SpecError:
        assume(False)
    return domain, {values: tuple(shown) for values, shown in labels.items()}


def _allowed(labels, allowed, places):
    """The combinations left: a group stays whole if one of its values may go with the partner."""
    may = {
        (values[1:], tuple(shown))
        for values, shown in labels.items()
        if allowed[places["b"][values[1]]][places["a"][values[0]]]
    }
    return {values: shown for values, shown in labels.items() if (values[1:], tuple(shown)) in may}


def value_codes(domain, combinations):
    places = [{value: i for i, value in enumerate(dim.values)} for dim in domain.dimensions]
    columns = zip(*combinations, strict=True)
    return [[place[value] for value in column] for place, column in zip(places, columns, strict=True)]


def shown(domain, cells):
    return list(zip(*(column.tolist() for column in domain.labels(cells).values()), strict=True))


@settings(max_examples=120)
@given(coarse_domains())
def test_every_combination_lies_in_the_cell_with_its_labels(case):
    domain, labels = case
    everything = list(product(*(dim.values for dim in domain.dimensions)))
    cells = domain.locate(*value_codes(domain, everything))
    inside = [values for values, cell in zip(everything, cells.tolist(), strict=True) if cell >= 0]
    assert set(inside) == set(labels)
    assert shown(domain, cells[cells >= 0]) == [labels[values] for values in inside]


@settings(max_examples=120)
@given(coarse_domains())
def test_cells_are_numbered_without_gaps_and_both_ways(case):
    domain, labels = case
    assert domain.size == len(set(labels.values()))
    cells = np.arange(domain.size)
    assert len(set(shown(domain, cells))) == domain.size
    assert (domain.encode(*domain.decode(cells)) == cells).all()


@settings(max_examples=120)
@given(coarse_domains(), st.data())
def test_a_margin_adds_up_the_cells_that_share_its_labels(case, data):
    domain, labels = case
    names = data.draw(st.lists(st.sampled_from(domain.names), min_size=1, max_size=3, unique=True))
    try:
        margin = Margin.over(domain, names)
    except SpecError:
        assume(False)
    axes = [domain.axis(name) for name in names]
    cells = np.arange(domain.size)
    kept = [tuple(label[axis] for axis in axes) for label in shown(domain, cells)]
    assert shown(margin.domain, margin.of(cells)) == kept
    assert margin.domain.size == len(set(kept))
    everywhere = np.arange(margin.domain.size)
    sums = Counter(kept)
    assert margin.terms(everywhere).tolist() == [sums[label] for label in shown(margin.domain, everywhere)]
    assert labels


def test_what_is_not_merged_is_left_over_once():
    domain = Domain.product([dimension(0, 2), dimension(1, 3), dimension(2, 2)])
    where = {"a": np.array([True, False]), "b": np.array([True, True, False]), "c": np.array([False, True])}
    merged = merge(domain, name="b", groups=["x", "x", "x"], where=where)
    assert [block.size for block in merged.blocks] == [6, 2, 2, 1]
    assert len(set(shown(merged, np.arange(merged.size)))) == 11


def test_a_group_stays_whole_if_one_of_its_values_is_allowed():
    domain = merge(Domain.product([MODES, STOPS]), name="stop", groups=["x", "x", "y"], where={})
    allowed = {0: np.array([True, False, False]), 1: np.array([False, True, True])}
    domain = restrict(domain, name="stop", by="mode", allowed=allowed)
    assert sorted(shown(domain, np.arange(domain.size))) == [("bus", "x"), ("bus", "y"), ("train", "x")]
    assert shown(domain, domain.locate([0], [1])) == [("train", "x")]


def test_a_product_is_numbered_like_an_array():
    domain = Domain.product([dimension(0, 2), dimension(1, 3), dimension(2, 4)])
    assert domain.is_product
    assert domain.blocks[0].shape == (2, 3, 4)
    codes = np.unravel_index(np.arange(24), (2, 3, 4))
    assert (domain.locate(*codes) == np.arange(24)).all()
    margin = Margin.over(domain, ["c", "a"])
    assert (margin.of(np.arange(24)) == codes[2] * 2 + codes[0]).all()


def test_three_billion_cells_are_never_listed():
    sizes = {"date": 14, "minute": 1440, "tap": 2, "place": 75_000}
    dims = [Dimension(name=name, values=tuple(map(str, range(size)))) for name, size in sizes.items()]
    domain = Domain.product(dims)
    assert domain.size == 14 * 1440 * 2 * 75_000 > 3_000_000_000
    cells = np.array([0, 1, domain.size // 2, domain.size - 1])
    assert (domain.encode(*domain.decode(cells)) == cells).all()
    margin = Margin.over(domain, ["date", "place"])
    assert margin.of(cells).tolist()[-1] == 14 * 75_000 - 1
    assert margin.terms([0]).tolist() == [2880]


def test_values_outside_have_no_cell():
    domain = Domain.product([dimension(0, 2), dimension(1, 2)])
    assert domain.locate([-1, 0, 1], [0, -1, 1]).tolist() == [-1, -1, 3]


@pytest.mark.parametrize("codes", [([2], [0]), ([-2], [0]), ([0],)])
def test_codes_that_no_dimension_has_are_a_bug(codes):
    domain = Domain.product([dimension(0, 2), dimension(1, 2)])
    with pytest.raises(InternalError):
        domain.locate(*codes)


def test_cells_that_no_domain_has_are_a_bug():
    with pytest.raises(InternalError):
        Domain.product([dimension(0, 2)]).decode([2])


def bus_only():
    return {"mode": np.array([False, True])}


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Dimension(name="x", values=()), "dimension 'x' has no values; list at least one."),
        (
            lambda: Dimension(name="x", values=("1", "2", "1")),
            "dimension 'x' would show '1' for two things; rename one of them.",
        ),
        (lambda: Domain.product([]), "a table needs at least one dimension."),
        (lambda: Domain.product([STOPS, STOPS]), "a table names each dimension once, got stop, stop."),
        (
            lambda: Domain.product([dimension(n, 1000) for n in range(7)]),
            "the domain has 1e+21 cells, at most 2**62 are allowed; merge some values.",
        ),
        (
            lambda: merge(
                Domain.product([MODES, STOPS]), name="stop", groups=["x", "A", "x"], where=bus_only()
            ),
            "dimension 'stop' would show 'A' for two things; rename one of them.",
        ),
        (
            lambda: merge(
                merge(Domain.product([MODES, STOPS]), name="stop", groups=["x", "x", "y"], where=bus_only()),
                name="stop",
                groups=["p", "q", "q"],
                where={},
            ),
            "two merges of stop meet in the same cells and disagree; make their conditions disjoint.",
        ),
        (
            lambda: merge(
                merge(
                    Domain.product([TIMES, STOPS]),
                    name="time",
                    groups=["early", "early", "late", "late"],
                    where={},
                ),
                name="stop",
                groups=["x", "x", "x"],
                where={"time": np.array([True, False, False, False])},
            ),
            (
                "the merged time 'early' would mean different things in different cells, because a condition cuts "
                "through it; let conditions on time cover it whole."
            ),
        ),
        (
            lambda: restrict(
                Domain.product([MODES, STOPS]),
                name="stop",
                by="mode",
                allowed={0: np.zeros(3, bool), 1: np.zeros(3, bool)},
            ),
            "no value of stop may go with any value of mode; the domain would have no cell.",
        ),
        (
            lambda: Margin.over(
                merge(Domain.product([MODES, STOPS]), name="stop", groups=["x", "x", "y"], where=bus_only()),
                ["stop"],
            ),
            (
                "a table over [stop] would mix cells of different widths, because stop is merged under a condition on a "
                "dimension that the table leaves out; list that dimension in the table too."
            ),
        ),
        (
            lambda: Margin.over(Domain.product([MODES]), ["mode", "mode"]),
            "a table names each of its dimensions once, got [mode, mode].",
        ),
        (
            lambda: Margin.over(Domain.product([MODES]), ["mod"]),
            "dimension must be one of mode, got 'mod'. Did you mean 'mode'?",
        ),
    ],
)
def test_what_cannot_be_is_refused(build, sentence):
    with pytest.raises(SpecError) as caught:
        build()
    assert str(caught.value) == sentence


def test_too_many_blocks_are_refused():
    blocks = [Block(maps=(np.where(np.arange(300) == n, n, -1),)) for n in range(300)]
    with pytest.raises(
        SpecError, match=f"into 300 blocks, at most {limits.current().domain_blocks} are allowed"
    ):
        Domain(dimensions=(dimension(0, 300),), blocks=tuple(blocks))


def test_a_place_for_every_mode_is_in_the_margin_once():
    # "unknown" goes with every mode: blocks share it, and a table without modes shows it once.
    stops = Dimension(name="stop", values=("A", "B", "unknown"))
    allowed = {0: np.array([True, False, True]), 1: np.array([False, True, True])}
    domain = restrict(Domain.product([MODES, stops]), name="stop", by="mode", allowed=allowed)
    assert domain.size == 4
    margin = Margin.over(domain, ["stop"])
    assert margin.domain.size == 3
    assert dict(
        zip(*(margin.domain.labels(np.arange(3))["stop"], margin.terms(np.arange(3)).tolist()), strict=True)
    ) == {
        "A": 1,
        "B": 1,
        "unknown": 2,
    }
