"""Public domains against a list of every combination of values, written out."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from noisegate import limits
from noisegate.errors import InternalError, SpecError
from noisegate.tables import Axis, Block, Dimension, Domain, Margin, state_domain, stated_domain

LETTERS = "abcdefgh"
MODES = Dimension(name="mode", values=("train", "bus"))
STOPS = Dimension(name="stop", values=("A", "B", "C"))
TIMES = Dimension(name="time", values=("0", "1", "2", "3"))


def dimension(n, size):
    return Dimension(name=LETTERS[n], values=tuple(f"{LETTERS[n]}{i}" for i in range(size)))


def masks(size):
    return st.lists(st.booleans(), min_size=size, max_size=size).map(np.array)


def pair_masks(dims, child, parent):
    return st.lists(
        masks(len(dims[child].values)), min_size=len(dims[parent].values), max_size=len(dims[parent].values)
    )


@st.composite
def coarse_domains(draw):
    """A merged and nested domain, and the labels that each combination of values must have."""
    dims = [
        dimension(n, size) for n, size in enumerate(draw(st.lists(st.integers(1, 4), min_size=2, max_size=4)))
    ]
    domain = Domain.product(dims)
    labels = {values: list(values) for values in product(*(dim.values for dim in dims))}
    places = {dim.name: {value: i for i, value in enumerate(dim.values)} for dim in dims}
    try:
        for step in draw(st.lists(st.sampled_from(["merge", "nest"]), max_size=4)):
            if step == "merge":
                domain = _merged(draw, dims, domain, labels, places)
            else:
                child, parent = draw(st.permutations(range(len(dims))))[:2]
                allowed = np.array(draw(pair_masks(dims, child, parent))).T
                domain = domain.nest(LETTERS[child], LETTERS[parent], np.nonzero(allowed))
                labels = _allowed(labels, allowed, places, child, parent)
    except SpecError:
        assume(False)
    return domain, {values: tuple(shown) for values, shown in labels.items()}


def _merged(draw, dims, domain, labels, places):
    n = draw(st.integers(0, len(dims) - 1))
    groups = [draw(st.sampled_from(["group 0", "group 1", "group 2", value])) for value in dims[n].values]
    where = {dim.name: draw(masks(len(dim.values))) for dim in dims if draw(st.integers(0, 3)) == 0}
    domain = domain.merge(LETTERS[n], groups=groups, where=where)
    for values, shown in labels.items():
        if all(mask[places[name][values[LETTERS.index(name)]]] for name, mask in where.items()):
            shown[n] = groups[places[LETTERS[n]][values[n]]]
    return domain


def _allowed(labels, allowed, places, child, parent):
    """The combinations left: those whose labels of both dimensions stand for a pair of values that is allowed.

    Which labels there are depends on the block: labels count as seen together with those of all other dimensions.
    """
    rows = list(labels.items())
    code = [(places[LETTERS[child]][v[child]], places[LETTERS[parent]][v[parent]]) for v, _ in rows]
    stands = {}
    for (c, p), (_, shown) in zip(code, rows, strict=True):
        for d, value in ((child, c), (parent, p)):
            stands.setdefault((d, shown[d]), set()).add(value)
    may = {
        (child_label, parent_label)
        for (a, child_label), values in stands.items()
        for (b, parent_label), others in stands.items()
        if a == child and b == parent and any(allowed[c, p] for c in values for p in others)
    }
    return {values: shown for values, shown in rows if (shown[child], shown[parent]) in may}


def value_codes(domain, combinations):
    places = [{value: i for i, value in enumerate(dim.values)} for dim in domain.dimensions]
    columns = zip(*combinations, strict=True)
    return [[place[value] for value in column] for place, column in zip(places, columns, strict=True)]


def shown(domain, cells):
    return list(zip(*(column.tolist() for column in domain.labels(cells).values()), strict=True))


@settings(max_examples=80)
@given(coarse_domains())
def test_every_combination_lies_in_the_cell_with_its_labels(case):
    domain, labels = case
    everything = list(product(*(dim.values for dim in domain.dimensions)))
    cells = domain.locate(*value_codes(domain, everything))
    inside = [values for values, cell in zip(everything, cells.tolist(), strict=True) if cell >= 0]
    assert set(inside) == set(labels)
    assert shown(domain, cells[cells >= 0]) == [labels[values] for values in inside]


@settings(max_examples=80)
@given(coarse_domains())
def test_cells_are_numbered_without_gaps_and_both_ways(case):
    domain, labels = case
    assert domain.size == len(set(labels.values()))
    cells = np.arange(domain.size)
    assert len(set(shown(domain, cells))) == domain.size
    assert (domain.encode(*(codes := domain.decode(cells))) == cells).all()
    assert all((domain.label_codes(k, cells) == one).all() for k, one in enumerate(codes))


@settings(max_examples=80)
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
    merged = domain.merge("b", groups=["x", "x", "x"], where=where)
    assert [block.size for block in merged.blocks] == [6, 2, 2, 1]
    assert len(set(shown(merged, np.arange(merged.size)))) == 11


def test_a_group_stays_whole_if_one_of_its_values_is_allowed():
    domain = Domain.product([MODES, STOPS]).merge("stop", groups=["x", "x", "y"], where={})
    domain = domain.nest("stop", "mode", [[0, 1, 2], [0, 1, 1]])
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
    assert (domain.encode(*(codes := domain.decode(cells))) == cells).all()
    assert all((domain.label_codes(k, cells) == one).all() for k, one in enumerate(codes))
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


def by_postcode():
    return Domain.product([MODES, STOPS]).merge("stop", groups=["x", "x", "y"], where=bus_only())


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
            lambda: Domain.product([MODES, STOPS]).merge("stop", groups=["x", "A", "x"], where=bus_only()),
            "dimension 'stop' would show 'A' for two things; rename one of them.",
        ),
        (
            lambda: by_postcode().merge("stop", groups=["p", "q", "q"], where={}),
            "two merges of stop meet in the same cells and disagree; make their conditions disjoint.",
        ),
        (
            lambda: (
                Domain.product([TIMES, STOPS])
                .merge("time", groups=["early", "early", "late", "late"], where={})
                .merge("stop", groups=["x", "x", "x"], where={"time": np.array([True, False, False, False])})
            ),
            (
                "the merged time 'early' would mean different things in different cells, because a condition cuts "
                "through it; let conditions on time cover it whole."
            ),
        ),
        (
            lambda: Domain.product([MODES, STOPS]).nest("stop", "mode", [[], []]),
            "no value of stop may go with any value of mode; the domain would have no cell.",
        ),
        (
            lambda: Margin.over(by_postcode(), ["stop"]),
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
    blocks = [Block.of(np.where(np.arange(300) == n, n, -1)) for n in range(300)]
    with pytest.raises(
        SpecError, match=f"into 300 blocks, at most {limits.current().domain_blocks} are allowed"
    ):
        Domain(dimensions=(dimension(0, 300),), blocks=tuple(blocks))


def test_a_place_for_every_mode_is_in_the_margin_once():
    # "unknown" goes with every mode: both pairs exist, and a table without modes shows it once.
    stops = Dimension(name="stop", values=("A", "B", "unknown"))
    domain = Domain.product([MODES, stops]).nest("stop", "mode", [[0, 1, 2, 2], [0, 1, 0, 1]])
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


@settings(max_examples=80)
@given(coarse_domains())
def test_lookups_add_up_to_the_cell(case):
    domain, _ = case
    everything = list(product(*(dim.values for dim in domain.dimensions)))
    codes = value_codes(domain, everything)
    for values, cell in zip(zip(*codes, strict=True), domain.locate(*codes).tolist(), strict=True):
        sums = set()
        for index in range(len(domain.blocks)):
            parts = []
            for lookup in domain.lookups():
                key = np.array([values[d] for d in lookup.dimensions])[:, np.newaxis]
                (row,) = (
                    np.flatnonzero((lookup.keys == key).all(axis=0))
                    if (lookup.keys == key).all(axis=0).any()
                    else (None,)
                )
                parts.append(-1 if row is None else int(lookup.terms[index][row]))
            sums |= {sum(parts)} if min(parts) >= 0 else set()
        assert sums == ({cell} if cell >= 0 else set())


@settings(max_examples=80)
@given(coarse_domains())
def test_a_reader_builds_the_same_cells_from_what_a_card_states(case):
    domain, _ = case
    stated = state_domain(domain)
    cells = np.arange(domain.size)
    read = stated_domain(stated, domain.names)
    assert read.size == domain.size
    # Nesting and several blocks: a card states the combinations, not the blocks, and readers number the same cells in another order.
    merged = any(dimension.groups for dimension in domain.dimensions)
    if not domain.nests or (len(domain.blocks) == 1 and not merged):
        assert shown(read, cells) == shown(domain, cells)
    assert set(shown(read, cells)) == set(shown(domain, cells))
    for block in stated.get("blocks", ()):
        assert set(product(*block.values())) <= set(shown(domain, cells))
    everything = list(product(*(dim.values for dim in domain.dimensions)))
    here, there = (one.locate(*value_codes(one, everything)) for one in (domain, read))
    both = (here >= 0) & (there >= 0)
    assert shown(domain, here[both]) == shown(read, there[both])
    assert set(np.flatnonzero(here >= 0)) <= set(np.flatnonzero(there >= 0))


@settings(max_examples=50)
@given(coarse_domains(), st.data())
def test_a_margin_in_coarser_labels_adds_up_what_it_covers(case, data):
    domain, _ = case
    name = data.draw(st.sampled_from(domain.names))
    others = data.draw(st.lists(st.sampled_from(domain.names), max_size=2, unique=True))
    names = list(dict.fromkeys([name, *others]))
    labels = domain.dimensions[domain.axis(name)].labels
    recode = np.array(data.draw(st.lists(st.integers(-1, 1), min_size=len(labels), max_size=len(labels))))
    wide = Dimension(name=name, values=("first", "second"))
    try:
        margin = Margin.over(domain, names, wider={name: (wide, recode)})
    except SpecError:
        assume(False)
    codes = dict(zip(domain.names, domain.decode(np.arange(domain.size)), strict=True))
    kept = list(zip(*[(recode[codes[n]] if n == name else codes[n]).tolist() for n in names], strict=True))
    home = margin.of(np.arange(domain.size))
    found = list(zip(*(column.tolist() for column in margin.domain.decode(np.maximum(home, 0))), strict=True))
    assert [label if cell >= 0 else None for label, cell in zip(found, home.tolist(), strict=True)] == [
        label if label[names.index(name)] >= 0 else None for label in kept
    ]
    sums = Counter(cell for cell in home.tolist() if cell >= 0)
    assert margin.terms(np.arange(margin.domain.size)).tolist() == [
        sums[c] for c in range(margin.domain.size)
    ]
    assert margin.most_terms >= max(sums.values())


def test_hundreds_of_parents_are_one_axis():
    suburbs = Dimension(name="suburb", values=tuple(f"s{n}" for n in range(300)))
    stops = Dimension(name="stop", values=tuple(f"p{n}" for n in range(6_000)))
    times = Dimension(name="time", values=tuple(map(str, range(96))))
    whole = Domain.product([suburbs, times, stops])
    home = np.arange(6_000) * 300 // 6_000
    domain = whole.nest("stop", "suburb", [np.arange(6_000), home])
    assert len(domain.blocks) == 1
    assert domain.size == 6_000 * 96
    rng = np.random.default_rng(3)
    stop, time = rng.integers(6_000, size=1_000), rng.integers(96, size=1_000)
    cells = domain.locate(home[stop], time, stop)
    assert all(
        np.array_equal(a, b) for a, b in zip(domain.decode(cells), (home[stop], time, stop), strict=True)
    )
    assert (domain.locate((home[stop] + 1) % 300, time, stop) == -1).all()
    assert Margin.over(domain, ["stop", "time"]).domain.size == domain.size
    assert Margin.over(domain, ["time", "suburb"]).terms([0]).tolist() == [20]


def test_three_dimensions_may_depend_on_each_other():
    modes, suburbs, stops = (dimension(n, size) for n, size in enumerate((2, 3, 6)))
    whole = Domain.product([modes, suburbs, stops])
    chain = whole.nest("c", "b", [np.arange(6), np.arange(6) // 2]).nest(
        "c", "a", [np.arange(6), np.arange(6) % 2]
    )
    assert chain.nests == ((0, 1, 2),)
    assert chain.size == 6
    assert Margin.over(chain, ["a", "b"]).domain.nests == ((0, 1),)
    assert Margin.over(chain, ["b"]).terms([0, 1, 2]).tolist() == [2, 2, 2]
    filtered = chain.nest("b", "a", [[0, 1], [0, 1]])
    assert sorted(shown(filtered, np.arange(filtered.size))) == [("a0", "b0", "c0"), ("a1", "b1", "c3")]


def test_an_axis_of_observed_combinations_serves_a_reader_of_tables():
    axis = Axis.of((0, 2), np.array([[1, 0, 1, 0], [4, 2, 4, 3]]))
    assert axis.entries.tolist() == [[0, 0, 1], [2, 3, 4]]
    assert axis.find([np.array([0, 1, 9]), np.array([3, 3, 9])]).tolist() == [1, -1, -1]
    assert axis.take(np.array([False, True, True])).entries.tolist() == [[0, 1], [3, 4]]
    dims = (dimension(0, 2), dimension(1, 3), dimension(2, 5))
    time = Axis.of((1,), np.arange(3)[np.newaxis, :])
    domain = Domain(dimensions=dims, blocks=(Block(axes=(axis, time)),))
    assert domain.size == 9
    own = Domain(dimensions=(dims[2],), blocks=(Block(axes=(Axis.of((0,), np.array([[2, 3]])),)),))
    margin = Margin.between(domain, own, dimensions=(2,), unlisted=("a",))
    assert margin.of(np.arange(9)).tolist() == [0, 0, 0, 1, 1, 1, -1, -1, -1]
    assert margin.terms([0, 1]).tolist() == [3, 3]


def test_slices_cover_all_cells_in_order():
    domain = Domain.product([dimension(0, 2), dimension(1, 5)])
    assert domain.slices(4) == [range(4), range(4, 8), range(8, 10)]


@settings(max_examples=60)
@given(coarse_domains(), st.data())
def test_the_rows_of_all_cells_are_those_of_each(found, data):
    """Also where a margin leaves labels out, and where values depend on each other or are merged in places."""
    domain = found[0]
    names = data.draw(st.lists(st.sampled_from(domain.names), min_size=1, unique=True))
    wider = {}
    if data.draw(st.booleans()):
        old = domain.dimensions[domain.axis(names[0])]
        codes = data.draw(
            st.lists(st.integers(-1, 1), min_size=len(old.labels), max_size=len(old.labels)).map(np.array)
        )
        wider = {names[0]: (Dimension(name=names[0], values=("x", "y")), codes)}
    try:
        margin = Margin.over(domain, names, wider=wider)
    except SpecError:
        assume(False)
    every = margin.every()
    assert every.dtype == np.int64
    assert every.tolist() == [int(margin.of(np.array([cell]))[0]) for cell in range(domain.size)]


def test_entries_of_more_cells_than_32_bits_number():
    """As NumPy has them, narrow and wide."""
    for sizes in ((3, 4, 5), (3000, 4000, 5000)):
        block = Block.of(*(np.arange(size) for size in sizes))
        cells = np.linspace(0, block.size - 1, 50).astype(np.int64)
        wanted = np.unravel_index(cells, sizes)
        for mine, theirs in zip(block.entries(cells), wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_an_axis_of_some_labels_finds_only_these():
    """Whether or not they are numbered from 0 without gaps."""
    for labels, wanted in (
        ((0, 1, 2), (-1, 0, 2, -1)),
        ((0, 2, 3), (-1, 0, 1, 2)),
        ((1, 2, 3), (-1, -1, 1, 2)),
    ):
        axis = Axis.of((0,), np.array([labels]))
        assert axis.find([np.array([-1, 0, 2, 3])]).tolist() == list(wanted)
