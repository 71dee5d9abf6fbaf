"""Answers as a person sees them: short, aligned, escaped, and as a frame."""

import numpy as np
import pytest

from noisegate import Answers


def answers(rows, label="stop {}"):
    counts = np.arange(rows)
    return Answers(
        labels={"stop": [label.format(row) for row in range(rows)]},
        estimate=counts + 1000.0,
        low=counts,
        high=counts + 2000,
        cells=counts + 3,
        suppressed=counts,
        published=counts,
        level=0.9,
        table="base",
    )


def test_a_few_groups_are_a_small_table():
    lines = repr(answers(2)).splitlines()
    assert lines == [
        "stop    estimate  90 % interval  cells  missing",
        "stop 0     1,000     0 to 2,000      3        0",
        "stop 1     1,001     1 to 2,001      4        1",
    ]


def test_of_many_groups_the_first_twenty_are_shown():
    lines = repr(answers(50)).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "and 30 more; to_pandas() has all"


def test_no_group_is_a_head_alone():
    assert repr(answers(0)).splitlines() == ["stop  estimate  90 % interval  cells  missing"]


def test_labels_are_text_on_a_page():
    page = answers(1, label="<script>{}")._repr_html_()
    assert "&lt;script&gt;0" in page
    assert "<script>" not in page


def test_as_a_frame():
    pytest.importorskip("pandas")
    frame = answers(3).to_pandas()
    assert list(frame["estimate"]) == [1000.0, 1001.0, 1002.0]
    assert list(frame.columns)[:4] == ["stop", "estimate", "low", "high"]
