"""Bounding by itself: exactly as many cells as allowed, chosen evenly, one unit at a time."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from noisegate import limits
from noisegate.engine import add_counts, bound_events, count_runs, draw_lots
from noisegate.errors import RandomnessError
from noisegate.laws import OsNoise, SeededNoise
from noisegate.spec import ContributionBound

BITS = 4


def bounded_counts(events, bound, entropy):
    keys = np.sort(np.array([(unit << BITS) | cell for unit, cell in events], dtype=np.int64))
    found = bound_events(keys, cell_bits=BITS, bound=bound, entropy=entropy)
    assert found.repeated + found.beyond + found.cells.size == len(events)
    return Counter(found.cells.tolist())


events_of_units = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=50)
bounds = st.builds(
    lambda cells, per_cell: ContributionBound(cells=cells, per_cell=per_cell),
    st.integers(1, 4),
    st.integers(1, 3),
)


@given(events=events_of_units, bound=bounds, salt=st.integers(0, 100), chunk=st.sampled_from([1, 7, 1 << 17]))
def test_one_unit_moves_the_counts_by_at_most_its_bound(keyed_entropy, events, bound, salt, chunk):
    gone = events[0][0]
    rest = [event for event in events if event[0] != gone]
    with limits.override(keys_at_once=chunk):
        with_unit = bounded_counts(events, bound, keyed_entropy(events, most=bound.cells, salt=salt))
        without = bounded_counts(rest, bound, keyed_entropy(rest, most=bound.cells, salt=salt))
    moved = [with_unit[cell] - without[cell] for cell in range(1 << BITS)]
    assert min(moved) >= 0
    assert sum(change > 0 for change in moved) <= bound.cells
    assert max(moved) <= bound.per_cell
    assert sum(moved) <= bound.total


@given(events=events_of_units, bound=bounds)
def test_a_unit_keeps_exactly_as_many_cells_as_it_may(events, bound):
    for unit in {unit for unit, _ in events}:
        own = Counter(cell for other, cell in events if other == unit)
        kept = bounded_counts([event for event in events if event[0] == unit], bound, SeededNoise(seed=3))
        assert len(kept) == min(len(own), bound.cells)
        assert all(number == min(own[cell], bound.per_cell) for cell, number in kept.items())


@given(events=events_of_units)
def test_nothing_is_lost_below_the_bound(events):
    kept = bounded_counts(events, ContributionBound(cells=8, per_cell=50), SeededNoise(seed=3))
    assert kept == Counter(cell for _, cell in events)


def choices(units, *, size, most, entropy):
    """How often each set of `most` out of `size` cells is kept."""
    kept = draw_lots(np.full(units, size), most=most, entropy=entropy).reshape(units, size)
    assert (kept.sum(axis=1) == most).all()
    sets = {frozenset(c): n for n, c in enumerate(combinations(range(size), most))}
    code = np.array(
        [
            sets.get(frozenset(np.flatnonzero(np.array(list(f"{n:0{size}b}")) == "1")), -1)
            for n in range(2**size)
        ]
    )
    return code[kept @ (1 << np.arange(size)[::-1])], len(sets)


def test_every_choice_of_cells_is_equally_likely():
    chosen, sets = choices(200_000, size=6, most=2, entropy=OsNoise())
    assert chisquare(np.bincount(chosen, minlength=sets)).pvalue > 1e-9
    pairs = chosen[:-1:2] * sets + chosen[1::2]
    assert chisquare(np.bincount(pairs, minlength=sets**2)).pvalue > 1e-9


def test_a_choice_that_favours_a_cell_by_a_tenth_would_be_seen():
    # The first cell's lot is dropped and drawn again one time in ten: it is kept a little less often.
    rng = np.random.default_rng(5)
    lots = rng.random((200_000, 6))
    lots[:, 0] = np.where(rng.random(200_000) < 0.1, 1, lots[:, 0])
    kept = np.sort(np.argsort(lots, axis=1)[:, :2], axis=1)
    codes = kept[:, 0] * 6 + kept[:, 1]
    counts = np.bincount(codes, minlength=36)
    assert chisquare(counts[counts > 0]).pvalue < 1e-9


def test_a_tie_on_the_border_is_drawn_again():
    class Tied(SeededNoise):
        rounds = 0

        def words64(self, count, /):
            self.rounds += 1
            return np.zeros(count, dtype=np.uint64) if self.rounds == 1 else super().words64(count)

    entropy = Tied(seed=1)
    kept = draw_lots(np.array([3, 5]), most=2, entropy=entropy)
    assert entropy.rounds == 2
    assert kept[:3].sum() == kept[3:].sum() == 2


def test_a_group_draws_the_same_whoever_else_draws():
    words = np.random.default_rng(2).integers(0, 2**64, size=12, dtype=np.uint64)

    class Given(SeededNoise):
        def __init__(self, words):
            self.words64 = lambda count, /: words[:count]

    both = draw_lots(np.array([5, 7]), most=3, entropy=Given(words))
    alone = draw_lots(np.array([7]), most=3, entropy=Given(words[5:]))
    assert (both[5:] == alone).all()


@given(st.lists(st.integers(0, 9), max_size=30), st.lists(st.integers(0, 9), max_size=30))
def test_sparse_tables_add_up(first, second):
    tables = [count_runs(np.sort(np.array(part, dtype=np.int64))) for part in (first, second)]
    cells, counts = add_counts(*tables)
    assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == Counter(first + second)
    assert (np.diff(cells) > 0).all()


def test_simulated_randomness_is_refused():
    with pytest.raises(RandomnessError):
        bound_events(
            np.array([1]),
            cell_bits=BITS,
            bound=ContributionBound(cells=1, per_cell=1),
            entropy=np.random.default_rng(1),
        )
