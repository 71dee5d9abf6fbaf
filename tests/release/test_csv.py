"""CSV files that a spreadsheet may open: no value of a dimension is a formula."""

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest

from noisegate.mechanisms import PublishedCells
from noisegate.releases import write_table
from noisegate.tables import Dimension, Domain

STOPS = (
    '=HYPERLINK("x")',
    "@SUM(1)",
    "+cmd",
    "-",
    "-1",
    "+2.5",
    "<script>alert(1)</script>",
    "Quay, 3",
    "'quoted",
)


@pytest.fixture
def written(tmp_path):
    domain = Domain.product([Dimension(name="stop", values=STOPS)])
    cells = np.arange(len(STOPS))
    write_table(tmp_path, "t", domain, PublishedCells(cells=cells, values=cells + 20))
    return tmp_path


def test_no_field_starts_a_formula(written):
    with (written / "t.csv").open(newline="", encoding="utf-8") as file:
        shown = [row["stop"] for row in csv.DictReader(file)]
    assert shown == [
        '\'=HYPERLINK("x")',
        "'@SUM(1)",
        "'+cmd",
        "'-",
        "-1",
        "+2.5",
        "<script>alert(1)</script>",
        "Quay, 3",
        "'quoted",
    ]


def test_parquet_holds_the_values_as_they_are(written):
    assert tuple(pq.read_table(written / "t.parquet").column("stop").to_pylist()) == STOPS
