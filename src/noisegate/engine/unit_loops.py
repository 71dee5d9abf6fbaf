"""Loops over events of persons, compiled: spread them by person, sort them, hold each unit to its bound, draw lots.

They do what `bounding` does with NumPy, for millions of events: several times as fast, and without the global lock, so that both cores
work. A word holds a unit (a person, or a day of one) above `cell_bits` bits of cell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import compiled
from noisegate.tables import Ints

Words = NDArray[np.uint64]
Halves = NDArray[np.uint32]

#: Most bits that are sorted by at once.
_DIGIT = 12


@compiled
def part_of(person: int, bits: int) -> int:
    """A part for a person: the high bits of a mixed product, so that numbers in a row spread evenly."""
    word = np.uint64(person) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(32)
    word *= np.uint64(0xD6E8FEB86659FD93)
    return int(word >> np.uint64(64 - bits))


@compiled
def spread(words: Ints, shift: int, base: int, bits: int, out: Ints, ends: Ints) -> None:
    """Put words in the order of the parts of their persons, to `out`; `ends` says where each part ends.

    The person of a word is what is above `shift` bits, plus `base`.
    """
    parts = np.empty(words.size, np.uint16)
    ends[:] = 0
    for i in range(words.size):
        part = part_of((words[i] >> shift) + base, bits)
        parts[i] = part
        ends[part] += 1
    _start(ends)
    for i in range(words.size):
        part = parts[i]
        out[ends[part]] = words[i]
        ends[part] += 1


@compiled
def spread_pairs(pairs: Ints, bits: int, out: Ints, ends: Ints) -> None:
    """The same for pairs of a person and a number; `ends` counts pairs."""
    ends[:] = 0
    for i in range(pairs.shape[0]):
        ends[part_of(pairs[i, 0], bits)] += 1
    _start(ends)
    for i in range(pairs.shape[0]):
        part = part_of(pairs[i, 0], bits)
        out[ends[part], 0], out[ends[part], 1] = pairs[i, 0], pairs[i, 1]
        ends[part] += 1


@compiled
def _start(sizes: Ints) -> None:
    """Where each part starts, in place of its size."""
    start = 0
    for part in range(sizes.size):
        size = sizes[part]
        sizes[part] = start
        start += size


@compiled
def pack(
    person: Ints,
    number: Ints,
    base: int,
    reach: int,
    low_bits: int,
    borders: Ints,
    words: Ints,
    outside: Ints,
) -> int:
    """Person and number of each event inside as one word, to `words`; how many, or -1 if a person is too far away, or -2 if a number cannot be.

    A negative number is that of a reason, for which `outside` counts. `borders` has how many reasons there are, what numbers lie below, which of
    their bits are the cell, and how many cells there are: whatever the engine was led to believe, nothing else becomes a word.
    """
    reasons, most, mask, cells = borders[0], borders[1], borders[2], borders[3]
    end = 0
    for i in range(number.size):
        one = number[i]
        if one >= 0:
            distance = person[i] - base
            if one >= most or one & mask >= cells:
                return -2
            if distance < -reach or distance >= reach:
                return -1
            words[end] = (distance << low_bits) | one
            end += 1
        else:
            if one < -reasons:
                return -2
            outside[-1 - one] += 1
    return end


@compiled
def _turn(source: Ints, target: Ints, least: int, shift: int, places: Halves) -> None:
    """Sort stably by one digit of the distance from `least`, to `target`."""
    low, mask = np.uint64(least), np.uint64(places.size - 1)
    places[:] = 0
    for i in range(source.size):
        places[np.int64(((np.uint64(source[i]) - low) >> np.uint64(shift)) & mask)] += 1
    start = 0
    for digit in range(places.size):
        size = places[digit]
        places[digit] = start
        start += size
    for i in range(source.size):
        place = np.int64(((np.uint64(source[i]) - low) >> np.uint64(shift)) & mask)
        target[places[place]] = source[i]
        places[place] += 1


@compiled
def sort_words(words: Ints, spare: Ints) -> bool:
    """Sort in ascending order, digit by digit from the last; whether the result is in `spare` instead of `words`."""
    if words.size < 2:
        return False
    least, most = words[0], words[0]
    for i in range(words.size):
        least, most = min(least, words[i]), max(most, words[i])
    width = np.uint64(most) - np.uint64(least)
    bits = 0
    while bits < 64 and width >> np.uint64(bits) > np.uint64(0):
        bits += 1
    turns = (bits + _DIGIT - 1) // _DIGIT
    if turns == 0:
        return False
    digit = (bits + turns - 1) // turns
    places = np.empty(1 << digit, np.uint32)
    for turn in range(turns):
        if turn % 2:
            _turn(spare, words, least, turn * digit, places)
        else:
            _turn(words, spare, least, turn * digit, places)
    return turns % 2 == 1


@compiled
def bound_sorted(
    words: Ints, cell_bits: int, most: int, per_cell: int, kept: Ints, over: Ints, times: Ints, sizes: Ints
) -> tuple[int, int, int, int]:
    """Cells of units within their bound to `kept`, as often as they count; the cells of other units to `over`, each once.

    `times` says how often each of the latter counts, `sizes` how many cells each such unit has. Returns how many there are of
    `kept`, `over` and `sizes`, and how many events are repeated.
    """
    mask = (1 << cell_bits) - 1
    n_kept = n_over = n_sizes = repeated = 0
    start = 0
    while start < words.size:
        unit = words[start] >> cell_bits
        end, cells = start + 1, 1
        while end < words.size and words[end] >> cell_bits == unit:
            cells += words[end] != words[end - 1]
            end += 1
        i = start
        while i < end:
            run = i + 1
            while run < end and words[run] == words[i]:
                run += 1
            counts = min(run - i, per_cell)
            repeated += run - i - counts
            if cells > most:
                over[n_over], times[n_over] = words[i] & mask, counts
                n_over += 1
            else:
                for _ in range(counts):
                    kept[n_kept] = words[i] & mask
                    n_kept += 1
            i = run
        if cells > most:
            sizes[n_sizes] = cells
            n_sizes += 1
        start = end
    return n_kept, n_over, n_sizes, repeated


@compiled
def gather(words: Ints, ends: Ints, places: Ints, out: Ints) -> None:
    """Append to each part's place in `out` its words of one lot, which lie in the order of parts; `ends` says where each ends there."""
    start = 0
    for part in range(ends.size):
        place = places[part] - start
        for i in range(start, ends[part]):
            out[place + i] = words[i]
        places[part] += ends[part] - start
        start = ends[part]


@compiled
def bound_parts(
    words: Ints,
    ends: Ints,
    cell_bits: int,
    bound: tuple[int, int],
    spare: Ints,
    kept: Ints,
    over: Ints,
    times: Ints,
    sizes: Ints,
) -> tuple[int, int, int, int]:
    """`bound_sorted` for one part after the other, which are sorted before; `ends` says where each ends, `bound` is how many cells of a unit and how often each."""
    n_kept = n_over = n_sizes = repeated = 0
    start = 0
    for part in range(ends.size):
        one, other = words[start : ends[part]], spare[start : ends[part]]
        if sort_words(one, other):
            one = other
        found = bound_sorted(
            one,
            cell_bits,
            bound[0],
            bound[1],
            kept[n_kept:],
            over[n_over:],
            times[n_over:],
            sizes[n_sizes:],
        )
        n_kept, n_over, n_sizes = n_kept + found[0], n_over + found[1], n_sizes + found[2]
        repeated += found[3]
        start = ends[part]
    return n_kept, n_over, n_sizes, repeated


@compiled
def add_ones(counts: Ints, cells: Ints) -> None:
    """Add one to each of the cells, as often as it is there."""
    for i in range(cells.size):
        counts[cells[i]] += 1


@compiled
def _below(halves: Halves, used: int, size: int) -> tuple[int, int]:
    """A number below `size`, all equally likely, and how many half words are used up then; -1 if there are too few.

    The high half of a product; of the low half so much is refused that each result has equally many.
    """
    refused = ((1 << 32) - size) % size
    while used < halves.size:
        product = np.int64(halves[used]) * size
        used += 1
        if product & 0xFFFFFFFF >= refused:
            return int(product >> 32), used
    return -1, used


@compiled
def choose_cells(
    over: Ints, times: Ints, sizes: Ints, most: int, halves: Halves, done: Ints, kept: Ints
) -> bool:
    """Exactly `most` cells of each unit, every choice equally likely, to `kept`, as often as they count; whether the half words were enough.

    A shuffle that stops once the cells that stay, or those that go, are drawn. `done` holds units, cells and kept ones so far: with further
    half words it goes on there; what was drawn of a unit before is drawn anew, which leaves every choice equally likely.
    """
    unit, start, n_kept = done[0], done[1], done[2]
    used = 0
    while unit < sizes.size:
        size = sizes[unit]
        drawn = min(most, size - most)
        for i in range(drawn):
            step, used = _below(halves, used, size - i)
            if step < 0:
                done[0], done[1], done[2] = unit, start, n_kept
                return False
            a, b = start + i, start + i + step
            over[a], over[b] = over[b], over[a]
            times[a], times[b] = times[b], times[a]
        first = start if drawn == most else start + drawn
        for i in range(first, first + most):
            for _ in range(times[i]):
                kept[n_kept] = over[i]
                n_kept += 1
        start += size
        unit += 1
    done[0], done[1], done[2] = unit, start, n_kept
    return True


def load_loops() -> None:
    """Have all loops compiled and loaded: takes half a second, which can pass beside other work."""
    words, others, ends = np.arange(4), np.empty(4, np.int64), np.empty(2, np.int64)
    spread(words, 1, 0, 1, others, ends)
    given = words.copy()
    given.setflags(write=False)  # as batches of an engine are
    pack(given, given, 0, 8, 2, np.array([1, 8, 3, 4]), others, ends)
    gather(words, ends[:0], ends[:0], others)
    bound_parts(words, ends[:0], 2, (3, 1), others, others, others, others, ends)
    add_ones(others, words[:0])
    choose_cells(words, words, words[:0], 1, np.zeros(1, np.uint32), np.zeros(3, np.int64), others)
