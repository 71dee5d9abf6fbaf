"""What goes to disk when memory is full: nothing is lost, a person is in one part, and slices are as good as the whole."""

from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from noisegate import limits
from noisegate.engine import (
    CellRuns,
    Counts,
    LocalCounts,
    NoiseWork,
    SpillPlace,
    Tally,
    UnitEvents,
    UnitKeys,
    count_slices,
    dense_sums,
    sum_published,
)
from noisegate.errors import OutputError
from noisegate.laws import OsNoise
from noisegate.mechanisms import Perturbation, PublishedNoise, perturb
from noisegate.releases import make_plan, publish_tables
from noisegate.tables import Dimension, Domain, Margin


@pytest.fixture
def place():
    with ExitStack() as stack:
        yield SpillPlace(stack)


pairs = st.lists(st.tuples(st.sampled_from([0, 1, 5, -3, 2**62, -(2**62)]), st.integers(0, 40)), max_size=60)


def told_apart(found):
    """Which unit, day and cell a key says, units by the order of their first key."""
    cells = found.keys & ((1 << found.cell_bits) - 1)
    cells = cells if found.cells is None else found.cells[cells]
    units = (found.keys >> found.cell_bits).tolist()
    return [(unit >> 2, unit & 3, cell) for unit, cell in zip(units, cells.tolist(), strict=True)]


near = st.lists(st.tuples(st.sampled_from([0, 1, 5, -3, 40]), st.integers(0, 40)), max_size=60)


far_later = st.tuples(near.filter(len), pairs).map(
    lambda parts: [(p - 7, n) for p, n in parts[0] * 3] + parts[1]
)


@given(
    events=pairs | near | far_later, most=st.sampled_from([3, 16, 1000]), guess=st.sampled_from([0, 5, 100])
)
def test_a_person_is_in_one_part_and_no_event_is_lost(events, most, guess):
    """Whether they take one word or two, or two from some event on, in memory or in files."""
    with ExitStack() as stack, limits.override(events_at_once=most):
        held = UnitEvents(rows=guess, place=SpillPlace(stack), cell_bits=4, day_bits=2)
        for start in range(0, len(events), 7):
            part = np.array(events[start : start + 7], dtype=np.int64).reshape(-1, 2)
            held.add(part[:, 0], part[:, 1])
        parts = [told_apart(found) for found in held.unit_keys()]
    found = [sorted(group) for part in parts for group in grouped(part).values()]
    want = [sorted(group) for group in grouped([(p, n >> 4, n & 15) for p, n in events]).values()]
    assert sorted(found) == sorted(want)


def grouped(rows):
    """Day and cell of each person's events."""
    found = {}
    for person, day, cell in rows:
        found.setdefault(person, []).append((day, cell))
    return found


@given(events=pairs.filter(len), bits=st.sampled_from([63, 9, 7]))
def test_keys_tell_every_unit_and_cell_apart(events, bits):
    persons, numbers = np.array(events, dtype=np.int64).T.copy()
    with limits.override(key_bits=bits):
        found = UnitKeys.of(persons, numbers.copy(), cell_bits=4, day_bits=2)
    cells = found.keys & ((1 << found.cell_bits) - 1)
    cells = cells if found.cells is None else found.cells[cells]
    units = found.keys >> found.cell_bits
    days = units & 3
    want = sorted((person, number >> 4, number & 15) for person, number in events)
    assert [*zip(days.tolist(), cells.tolist(), strict=True)] == [(day, cell) for _, day, cell in want]
    assert len(set(units.tolist())) == len({(person, day) for person, day, _ in want})


@given(cells=st.lists(st.integers(0, 300) | st.just(7), max_size=400), most=st.sampled_from([1, 20, 10**6]))
def test_runs_add_up_to_what_was_added(cells, most):
    with ExitStack() as stack, limits.override(pairs_at_once=most):
        runs = CellRuns(cells=301, place=SpillPlace(stack))
        for start in range(0, len(cells), 30):
            runs.add(np.array(cells[start : start + 30], dtype=np.int64))
        slices = runs.slices()
        read = [one.read() for one in slices]
    found, counts = np.unique(np.array(cells, dtype=np.int64), return_counts=True)
    assert np.concatenate([one for one, _ in read]).tolist() == found.tolist()
    assert np.concatenate([one for _, one in read]).tolist() == counts.tolist()
    assert [one.start for one in slices] == [0, *(one.stop for one in slices[:-1])]
    assert slices[-1].stop == 301
    for one, (inside, _) in zip(slices, read, strict=True):
        assert all(one.start <= cell < one.stop for cell in inside)


def test_long_runs_are_cut_into_slices_that_fit(place):
    rng = np.random.default_rng(1)
    with limits.override(pairs_at_once=1 << 14):
        runs = CellRuns(cells=10**9, place=place)
        for _ in range(8):  # half of all in one corner of the domain
            corner, rest = rng.integers(0, 10**4, 10_000), rng.integers(0, 10**9, 10_000)
            runs.add(np.concatenate([corner, rest]))
        slices = runs.slices()
    assert len(slices) > 4
    assert max(one.read()[0].size for one in slices) <= 1 << 14
    assert sum(int(one.read()[1].sum()) for one in slices) == 160_000


CELLS = 30
RAW = (np.array([1, 2, 3, 24]), np.array([4, 1, 2, 3]))


def sliced_counts(borders, place=None):
    """The raw counts in slices that end at `borders`."""
    from noisegate.engine.spill import RawSlice

    slices = []
    for start, stop in zip([0, *borders], [*borders, CELLS], strict=True):
        inside = (RAW[0] >= start) & (RAW[0] < stop)
        slices.append(RawSlice(start=start, stop=stop, _cells=RAW[0][inside], _counts=RAW[1][inside]))
    return LocalCounts(tally=Tally(events=10, outside={}), slices=slices, place=place)


def table_of(perturbation):
    return NoiseWork(name="base", margin=None, perturbation=perturbation, cells=CELLS)


def times_of_values(draw, *, repeats):
    """How often each cell shows each value between -9 and 20, or nothing."""
    seen = np.zeros((CELLS, 31), dtype=np.int64)
    for _ in range(repeats):
        made = draw()
        hidden = np.ones(CELLS, dtype=bool)
        hidden[made.cells] = False
        np.add.at(seen, (made.cells, np.clip(made.values, -9, 20) + 10), 1)
        seen[hidden, 0] += 1
    return seen


def expected_times(perturbation, *, repeats, scale=None):
    """The exact law of the same, cell by cell."""
    raw = np.zeros(CELLS, dtype=np.int64)
    raw[RAW[0]] = RAW[1]
    noise = perturbation.noise if scale is None else PublishedNoise(name=perturbation.noise.name, scale=scale)
    chances = np.zeros((CELLS, 31))
    for cell, count in enumerate(raw.tolist()):
        for value in range(-300, 301):
            mass = float(np.exp(noise.law.logpmf(np.array([value - count]))[0]))
            shown = perturbation.threshold is None or value >= perturbation.threshold
            chances[cell, np.clip(value, -9, 20) + 10 if shown else 0] += mass
    return repeats * chances


def p_value(seen, expected):
    keep = expected > 5
    rest_seen, rest = seen[~keep].sum(), expected[~keep].sum()
    observed = np.append(seen[keep], rest_seen).astype(float)
    wanted = np.append(expected[keep], rest)
    if wanted[-1] < 5:
        observed, wanted = observed[:-1], wanted[:-1]
    return chisquare(observed, wanted * observed.sum() / wanted.sum(), ddof=CELLS - 1).pvalue


def whole_counts():
    """The same with the count of every cell, as a short domain has it."""
    from noisegate.engine.spill import RawSlice

    raw = np.zeros(CELLS, dtype=np.int64)
    raw[RAW[0]] = RAW[1]
    return LocalCounts(tally=Tally(events=10, outside={}), slices=[RawSlice.whole(raw)])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("threshold", [None, 3])
def test_noise_by_slices_has_the_law_of_the_whole(threshold, whole):
    """Size and power: right at p > 1e-9; wrong if empty slices are left out, or if the noise is 10 % wider."""
    noise = PublishedNoise(name="discrete-laplace", scale=2)
    perturbation = Perturbation(noise=noise, threshold=threshold)
    counts, work, repeats = (
        whole_counts() if whole else sliced_counts([2, 3, 9, 20, 21]),
        table_of(perturbation),
        4_000 if threshold is None else 6_000,
    )
    seen = times_of_values(lambda: counts.publish([work], entropy=OsNoise())["base"], repeats=repeats)
    assert p_value(seen, expected_times(perturbation, repeats=repeats)) > 1e-9
    assert p_value(seen, expected_times(perturbation, repeats=repeats, scale=Fraction(11, 5))) < 1e-9
    forgotten = seen.copy()
    forgotten[9:20] = 0  # an empty slice that nobody drew
    forgotten[9:20, 0] = repeats
    assert p_value(forgotten, expected_times(perturbation, repeats=repeats)) < 1e-9


def test_a_slice_that_is_drawn_in_pieces_is_complete():
    noise = PublishedNoise(name="discrete-laplace", scale=2)
    with limits.override(dense_cells=7, pairs_at_once=2):
        for threshold in (None, 1):
            work = table_of(Perturbation(noise=noise, threshold=threshold))
            made = sliced_counts([11]).publish([work], entropy=OsNoise())["base"]
            assert (np.diff(made.cells) > 0).all()
            assert threshold is not None or made.cells.tolist() == list(range(CELLS))


def test_published_rows_that_do_not_fit_are_read_again_the_same(place):
    noise = PublishedNoise(name="discrete-laplace", scale=2)
    with limits.override(pairs_at_once=4, dense_cells=5):
        work = table_of(Perturbation(noise=noise))
        made = sliced_counts([2, 15], place).publish([work], entropy=OsNoise())["base"]
        first, second = ([part.values.tolist() for part in made] for _ in range(2))
    assert place.used
    assert first == second
    assert made.rows == CELLS


@pytest.mark.parametrize("most", [0, 10**6])
def test_sums_of_published_slices_are_those_of_the_whole(place, most):
    dims = [Dimension(name="a", values=tuple("uvw")), Dimension(name="b", values=tuple("0123456789"))]
    domain = Domain.product(dims)
    margin = Margin.over(domain, ["b"])
    noise = Perturbation(noise=PublishedNoise(name="discrete-laplace", scale=2))
    with limits.override(summed_cells=most, pairs_at_once=4):
        base = sliced_counts([2, 15], place).publish([table_of(noise)], entropy=OsNoise())["base"]
        sums = sum_published(margin, base, whole=True)
        want = np.bincount(margin.of(base.cells), weights=base.values, minlength=10)
        found = np.zeros(10)
        found[sums.cells] = sums.values
    assert found.tolist() == want.tolist()


def test_margins_of_a_table_that_is_held_whole_are_those_of_its_cells():
    """By axes that are left out where that is all, else cell by cell: in any order, in wider labels, with nested dimensions."""
    names = {"a": tuple("uvw"), "b": ("0", "1"), "c": tuple("ABCDE")}
    domain = Domain.product([Dimension(name=name, values=values) for name, values in names.items()])
    nested = domain.nest("c", "a", [[0, 1, 0, 4, 2], [0, 0, 1, 2, 2]])
    halves = Dimension(name="c", values=("early", "late"))
    wider = {"c": (halves, np.array([0, 0, 1, 1, 1]))}
    margins = [
        Margin.over(base, kept)
        for base in (domain, nested)
        for kept in (["a"], ["b"], ["c", "a"], ["b", "c"], ["c", "b", "a"])
    ]
    margins.append(Margin.over(domain, ["c", "b"], wider=wider))
    rng = np.random.default_rng(1)
    taken = 0
    for margin in margins:
        raw = rng.poisson(1.0, margin.base.size)
        want = np.bincount(margin.of(np.arange(raw.size)), weights=raw, minlength=margin.domain.size)
        found = dense_sums(margin, raw)
        taken += found is not None
        assert found is None or found.tolist() == want.tolist()
    assert taken >= 5


@pytest.mark.parametrize("unit", ["event", "person-day"])
def test_a_count_that_goes_to_disk_is_published_like_any(town, unit, monkeypatch):
    town.write(town.events(3000, strays=False))
    spec = town.spec(unit=unit, margins="derive", suppress={"below": 2}, epsilon=2)
    plan = make_plan(spec)
    held = town.count(spec)
    monkeypatch.setattr(CellRuns, "at_once", 100)
    small = {"events_at_once": 200, "pairs_at_once": 50, "dense_cells": 0, "summed_cells": 0}
    with limits.override(**small), count_slices(spec, entropy=OsNoise()) as counts:
        assert counts.place.used == (unit == "person-day")  # one batch of events is counted at once
        whole = counts.whole()
        assert (whole.cells == held.cells).all()
        assert (whole.raw_counts == held.raw_counts).all()
        assert [one.tolist() for one in counts.histogram()] == [
            one.tolist() for one in np.unique(held.raw_counts, return_counts=True)
        ]
        made = publish_tables(plan, counts, entropy=OsNoise())
        margin = spec.margins["time"]
        want = np.bincount(
            margin.of(made["base"].cells), weights=made["base"].values, minlength=margin.domain.size
        )
        assert made["time"].values.tolist() == want[want != 0].tolist()


def test_the_source_is_read_once_however_little_memory_there_is(town):
    for name in ("taps.parquet", "taps.csv"):
        town.write(town.events(700), name)
        heard = []
        with limits.override(events_at_once=50):
            town.count(town.spec(source=name), progress=heard.append)
        assert sum(heard) == 700


def test_a_whole_count_is_one_slice():
    counts = Counts(cells=RAW[0], raw_counts=RAW[1], tally=Tally(events=10, outside={}))
    noise = Perturbation(noise=PublishedNoise(name="discrete-laplace", scale=1), threshold=1, zeros="keep")
    made = LocalCounts.held(counts, cells=CELLS).publish([table_of(noise)], entropy=OsNoise())["base"]
    direct = perturb(*RAW, size=CELLS, perturbation=noise, entropy=OsNoise())
    assert set(made.cells.tolist()) | set(direct.cells.tolist()) <= set(RAW[0].tolist())


class Full(SpillPlace):
    """A place on a disk without room."""

    def file(self):
        return Path("/dev/full")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_a_sentence():
    with ExitStack() as stack, limits.override(events_at_once=4, pairs_at_once=4):
        place = Full(stack)
        with (
            UnitEvents(rows=9, place=place, cell_bits=4, day_bits=2) as held,
            pytest.raises(OutputError, match=r"Temporary files cannot be written to .* name another place"),
        ):
            held.add(np.arange(50), np.arange(50))
        runs = CellRuns(cells=10**6, place=place)
        runs.add(np.arange(1 << 16))
        with pytest.raises(OutputError, match=r"Temporary files cannot be written"):
            runs.add(np.arange(1 << 16))
