"""The microscope where counts stand as they are and some are hidden: ranges that sums prove, against every table of counts that fits."""

import itertools

import numpy as np
import pytest

import noisegate
from noisegate.assessment import CellState
from noisegate.errors import SpecError
from noisegate.report import map_of

#: Rows, columns; hidden where the count is from 1 to 4.
ROWS, COLUMNS = 14, 9
COUNTS = np.random.default_rng(4).integers(5, 60, (ROWS, COLUMNS))
#: Four that only bound each other, two that their totals give away.
COUNTS[[1, 1, 4, 4, 7, 9], [2, 5, 2, 5, 0, 7]] = [3, 2, 1, 4, 2, 3]
HIDDEN = (COUNTS >= 1) & (COUNTS <= 4)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exact") / "hospital"
    folder.mkdir()
    rows = [
        f"r{i},c{j},{'<5' if HIDDEN[i, j] else COUNTS[i, j]}"
        for i, j in itertools.product(range(ROWS), range(COLUMNS))
    ]
    (folder / "cells.csv").write_text("row,column,count\n" + "\n".join(rows) + "\n")
    for axis, name in ((1, "row"), (0, "column")):
        sums = [f"{name[0]}{k},{one}" for k, one in enumerate(COUNTS.sum(axis=axis))]
        (folder / f"by-{name}.csv").write_text(f"{name},count\n" + "\n".join(sums) + "\n")
    return folder


def possible(least, *, rows=True, columns=True):
    """The least and the largest of every hidden count over all that fit; `least` is what stands for a hidden one at least."""
    places = np.argwhere(HIDDEN)
    low, high = np.full(COUNTS.shape, 99), np.full(COUNTS.shape, -1)
    for guess in itertools.product(range(least, 5), repeat=len(places)):
        table = COUNTS.copy()
        table[tuple(places.T)] = guess
        if rows and (table.sum(axis=1) != COUNTS.sum(axis=1)).any():
            continue
        if columns and (table.sum(axis=0) != COUNTS.sum(axis=0)).any():
            continue
        low, high = np.minimum(low, table), np.maximum(high, table)
    return low, high


def seen(look):
    return int(look.labels["row"][1:]), int(look.labels["column"][1:])


def test_ranges_are_those_of_every_table_that_fits_also_without_a_table(tables):
    found = map_of(noisegate.assess(sorted(tables.iterdir())))
    assert found is not None
    scope = found.microscope
    assert set(scope.tables) == {"by-row", "by-column"}
    # Whether "<5" allows 0 is read off the file.
    least = scope.look(int(np.flatnonzero(scope.states != CellState.PUBLISHED)[0])).alone.low
    ways = {
        (): possible(least),
        ("by-row",): possible(least, rows=False),
        ("by-column",): possible(least, columns=False),
    }
    for gone, (low, high) in ways.items():
        for cell in range(ROWS * COLUMNS):
            look = scope.look(cell, without=gone)
            place = seen(look)
            assert look.level == 1
            if HIDDEN[place]:
                assert (look.law.low, look.law.high) == (low[place], high[place])
            else:
                assert (look.law.low, look.law.high) == (COUNTS[place], COUNTS[place])


def test_a_proof_names_its_sum_and_the_arithmetic_comes_out(tables):
    found = map_of(noisegate.assess(sorted(tables.iterdir())))
    scope = found.microscope
    exact = np.flatnonzero(scope.states == CellState.EXACT)
    assert exact.size
    for cell in exact.tolist():
        look = scope.look(cell)
        assert look.law.low == look.law.high == COUNTS[seen(look)]
        assert look.proof
        for one in look.witnesses:
            rest = one.total - one.printed_sum
            assert rest >= look.law.low
            assert one.hidden >= 1
    with pytest.raises(SpecError):
        scope.look(ROWS * COLUMNS)
    with pytest.raises(SpecError):
        scope.look(0, without=["nothing"])


def test_the_pages_say_what_is_proved(make_visitor, tables):
    visitor = make_visitor(tables.parent)
    number = visitor.cases()["hospital"]
    files = visitor.page(f"/r/{number}/files.json").json()
    assert files["proved"]
    assert files["states"]["exact"] + files["states"]["sharp"] >= 1
    page = visitor.page(f"/r/{number}/microscope.json").json()
    assert page["level"] == 1
    look = visitor.get(f"/r/{number}/cell.json?cell={page['first']}").json()
    assert look["law"]["probabilities"] == []
    assert look["proof"]
    off = visitor.get(f'/r/{number}/cell.json?cell={page["first"]}&without=["by-row","by-column"]').json()
    assert off["law"]["high"] - off["law"]["low"] > look["law"]["high"] - look["law"]["low"]
    kept = visitor.page(f"/r/{number}/kept.json")
    assert kept.status_code == 200
