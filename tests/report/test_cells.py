"""What the cells say in sum, against plain loops."""

from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.errors import DataError
from noisegate.report.cells import CellFile


@pytest.fixture
def file(tmp_path):
    def write(table):
        pq.write_table(table, tmp_path / "cells.parquet")
        return CellFile(tmp_path / "cells.parquet")

    return write


def test_days_and_times_add_up_as_in_a_loop(file, cells):
    table = cells(days=3, times=4)
    wanted = Counter()
    for row in table.to_pylist():
        wanted[row["date"], row["time"], "cells"] += 1
        wanted[row["date"], row["time"], "published"] += row["published"] is not None
        wanted[row["date"], row["time"], "told"] += row["published"] is None and row["p_zero"] < 0.01
    with file(table) as found:
        moments = found.moments(date="date", time="time")
    assert len(moments) == 12
    for one in moments:
        assert one.cells == wanted[one.day, one.time, "cells"]
        assert one.published == wanted[one.day, one.time, "published"]
        assert one.told == wanted[one.day, one.time, "told"]


def test_many_days_become_days_of_the_week_and_many_times_fewer(file, cells):
    with file(cells(days=28, times=96, places=2)) as found:
        moments = found.moments(date="date", time="time")
    assert len({one.day for one in moments}) == 7
    assert len({one.time for one in moments}) == 48
    assert sum(one.cells for one in moments) == 28 * 96 * 2
    assert min(one.day for one in moments) == "1 Mon"


def test_a_table_without_dates_has_one_row_and_one_without_times_none(file, cells):
    with file(cells()) as found:
        assert {one.day for one in found.moments(date=None, time="time")} == {"all days"}
        assert found.moments(date="no such", time="time") == []
        assert found.moments(date="date", time="no such") == []


def test_the_sharpest_cells_come_first_and_published_ones_never(file, cells):
    table = cells(days=1, times=4)
    hi = table["hi"].to_pylist()
    hi[5] = 14  # the first place at the second time
    table = table.set_column(table.column_names.index("hi"), "hi", pa.array(hi))
    with file(table) as found:
        exposed = found.exposed(most=3)
    assert len(exposed) == 3
    assert exposed[0].name == "ferry 2016-07-25 06:00 Manly Wharf"
    assert (exposed[0].low, exposed[0].high, exposed[0].mode) == (13, 14, 17)
    assert all(one.chance_empty < 0.01 for one in exposed)


def test_names_of_columns_are_only_names(file, cells, hostile):
    table = cells().rename_columns(
        [
            hostile[3] if name == "time" else hostile[0] if name == "date" else name
            for name in cells().column_names
        ]
    )
    with file(table) as found:
        assert len(found.moments(date=hostile[0], time=hostile[3])) == 8
        assert len(found.exposed(most=2)) == 2


def test_a_file_that_is_not_ours_is_refused_in_one_sentence(tmp_path, cells):
    other = tmp_path / "cells.parquet"
    other.write_text("no Parquet")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        CellFile(other)
    pq.write_table(cells().drop_columns(["p_zero"]), other)
    with pytest.raises(DataError, match="has no column 'p_zero'"):
        CellFile(other)
