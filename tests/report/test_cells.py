"""What the cells say in sum, against plain loops."""

from collections import Counter

import numpy as np

from noisegate.assessment import exposed, moments


def rows(found):
    """Every cell: its labels, whether it is published, and how likely it is to be empty."""
    cells = found.cells
    codes = cells.codes(np.arange(cells.size))
    for i in range(cells.size):
        labels = tuple(d.labels[code] for d, code in zip(cells.dimensions, codes[:, i], strict=True))
        yield labels, not np.isnan(found.evidence.base.values[i]), found.posterior.p_zero[i]


def test_days_and_times_add_up_as_in_a_loop(inferred):
    found = inferred(days=3, times=4)
    wanted = Counter()
    for (_, day, time, _), published, empty in rows(found):
        wanted[day, time, "cells"] += 1
        wanted[day, time, "published"] += published
        wanted[day, time, "told"] += not published and empty < 0.01
    got = moments(found)
    assert [(one.day, one.time) for one in got] == sorted((one.day, one.time) for one in got)
    assert len(got) == 12
    for one in got:
        assert one.cells == wanted[one.day, one.time, "cells"]
        assert one.published == wanted[one.day, one.time, "published"]
        assert one.told == wanted[one.day, one.time, "told"]


def test_many_days_become_days_of_the_week_and_many_times_fewer(inferred):
    got = moments(inferred(days=28, times=96, places=2))
    assert len({one.day for one in got}) == 7
    assert len({one.time for one in got}) == 48
    assert sum(one.cells for one in got) == 28 * 96 * 2
    assert min(one.day for one in got) == "1 Mon"


def test_a_table_without_dates_has_one_row_and_one_without_times_none(inferred):
    undated = inferred(kinds=("text", "text", "time", "text"))
    assert {one.day for one in moments(undated)} == {"all days"}
    assert moments(inferred(kinds=("text", "date", "text", "text"))) == []


def test_the_sharpest_cells_come_first_and_published_ones_never(inferred):
    found = inferred(days=1, times=4)
    found.posterior.high[5] = 14  # the first place at the second time
    got = exposed(found, most=3)
    assert len(got) == 3
    assert got[0].name == "ferry 2016-07-25 06:00 Manly Wharf"
    assert (got[0].low, got[0].high, got[0].mode) == (13, 14, 17)
    assert all(one.chance_empty < 0.01 for one in got)


def test_among_equals_the_order_is_that_of_their_names(inferred):
    got = exposed(inferred(days=3, times=4), most=5)
    assert [one.name for one in got] == sorted(one.name for one in got)


def test_where_nobody_is_shown_nothing_is_named(inferred):
    found = inferred()
    found.posterior.p_zero[:] = 0.5
    assert exposed(found, most=5) == []
