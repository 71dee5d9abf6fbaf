"""Bounding with compiled loops, as it is done for millions of events: the guarantees of `bounding`, and the same tallies."""

from collections import Counter
from contextlib import ExitStack
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from noisegate import limits
from noisegate.engine import SpillPlace, UnitEvents, bounded_parts
from noisegate.laws import OsNoise, SeededNoise
from noisegate.spec import ContributionBound

BITS, DAYS = 5, 2
#: Two reasons, days and cells below their bits.
BORDERS = np.array([2, 1 << (BITS + DAYS), (1 << BITS) - 1, 1 << BITS])
near = st.tuples(st.integers(-3, 40), st.integers(0, 3), st.integers(0, 31))
many = st.lists(near, min_size=9, max_size=200)


def bounded(events, bound, entropy, *, most=8):
    """All parts of events (person, day, cell), with lots of a few words, of which `most` stay in memory."""
    with ExitStack() as stack, limits.override(events_at_once=most):
        place = SpillPlace(stack)
        with UnitEvents(rows=len(events), place=place, cell_bits=BITS, day_bits=DAYS) as held:
            for start in range(0, len(events), 13):
                person, day, cell = np.array(events[start : start + 13], dtype=np.int64).T.copy()
                given = person, day << BITS | cell
                if not held.take(*given, borders=BORDERS, outside=np.zeros(2, np.int64)):
                    held.add(*given)
            assert held.stretches(most)
            return list(bounded_parts(held, bound=bound, entropy=entropy))


@given(
    events=many,
    cells=st.integers(1, 4),
    each=st.integers(1, 3),
    most=st.sampled_from([4, 8]),
)
def test_units_are_held_to_their_bound_and_nothing_else_is_lost(events, cells, each, most):
    """Cells are made such that each names its unit, so that what a unit keeps can be told."""
    units = sorted({(person, day) for person, day, _ in events})
    bound = ContributionBound(cells=cells, per_cell=each)
    for unit in units[:1]:
        own = [(person, day, cell) for person, day, cell in events if (person, day) == unit]
        other = [(person, day, 31) for person, day, _ in events if (person, day) != unit]
        marked = [(p, d, c % 31) for p, d, c in own] + other
        if len(marked) <= most // 2:
            continue
        parts = bounded(marked, bound, SeededNoise(seed=1), most=most)
        kept = Counter(np.concatenate([part.cells for part in parts]).tolist())
        had = Counter(c for _, _, c in marked[: len(own)])
        mine = {cell: number for cell, number in kept.items() if cell != 31}
        assert len(mine) == min(len(had), cells)
        assert all(number == min(had[cell], each) for cell, number in mine.items())
        others = Counter((p, d) for p, d, _ in other)
        assert kept[31] == sum(min(number, each) for number in others.values())
        lost = sum(part.repeated + part.beyond for part in parts)
        assert sum(kept.values()) + lost == len(marked)


@pytest.mark.parametrize("far", [0, 2**60], ids=["near", "far"])
def test_batches_are_counted_checked_and_packed_at_once(far):
    """Numbers of reasons are tallied, those that cannot be are refused, persons too far away are left to two words each."""
    with (
        ExitStack() as stack,
        limits.override(events_at_once=64),
        UnitEvents(rows=20, place=SpillPlace(stack), cell_bits=BITS, day_bits=DAYS) as held,
    ):
        outside = np.zeros(2, np.int64)
        few = np.arange(8), np.array([5, -1, 7, -2, -2, 127, 0, 1])
        assert held.take(*few, borders=BORDERS, outside=outside) is False  # few events so far
        for _ in range(5):
            held.add(few[0], np.abs(few[1]))
        assert held.take(few[0] + far, few[1], borders=BORDERS, outside=outside) is (not far)
        assert outside.tolist() == ([0, 0] if far else [1, 2])
        for wrong in (-3, 128):
            numbers = np.array([1, wrong])
            assert held.take(few[0][:2], numbers, borders=BORDERS, outside=outside) is None
        if far:
            held.add(few[0] + far, np.abs(few[1]))
        found = list(held.unit_keys())
    assert sum(keys.keys.size for keys in found) == 40 + (8 if far else 5)


def choices(units, *, size, most, entropy, held=4096):
    """Which set of `most` out of `size` cells each of so many units keeps."""
    events = [(unit, 0, cell) for unit in range(units) for cell in range(size)]
    chosen = Counter()
    sets = {frozenset(c): n for n, c in enumerate(combinations(range(size), most))}
    for part in bounded(events, ContributionBound(cells=most, per_cell=1), entropy, most=held):
        kept = part.cells.reshape(-1, most).tolist()
        chosen.update(sets[frozenset(own)] for own in kept)
        assert part.beyond == len(kept) * (size - most)
    assert sum(chosen.values()) == units
    return [chosen[n] for n in range(len(sets))]


class Stingy(SeededNoise):
    """Gives fewer words than it is asked for: the rest has to be drawn later."""

    def words64(self, count, /):
        return super().words64(max(count // 3, 4))


@pytest.mark.parametrize(("size", "most"), [(6, 2), (6, 4), (5, 4), (3, 1)])
@pytest.mark.parametrize("entropy", [OsNoise(), Stingy(seed=5)], ids=["plenty", "stingy"])
def test_every_choice_of_cells_is_equally_likely(size, most, entropy):
    assert chisquare(choices(30_000, size=size, most=most, entropy=entropy)).pvalue > 1e-9


def test_words_that_would_favour_a_cell_are_refused():
    """Of 2^32 words one is too many for three cells: the lowest."""

    class Lowest(SeededNoise):
        rounds = 0

        def words64(self, count, /):
            self.rounds += 1
            return np.zeros(count, dtype=np.uint64) if self.rounds == 1 else super().words64(count)

    entropy = Lowest(seed=1)
    choices(3, size=3, most=1, entropy=entropy, held=8)
    assert entropy.rounds > 1
