"""The whole story on a small city, from measured values."""

from __future__ import annotations

import json

import duckdb
import pytest

from noisegate.demo import measured_errors, tell
from noisegate.errors import OutputError
from noisegate.laws import SeededNoise


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "story"
    return tell(folder, persons=40_000, days=4, entropy=SeededNoise(seed=3))


def test_the_releases_differ_as_they_should(story):
    before, corrected, persons = story.chapters
    assert before.promise[1] > 0
    assert corrected.promise[1] == persons.promise[1] == 0
    assert corrected.promise[0] == pytest.approx(before.promise[0])
    assert before.couplings >= 1
    assert corrected.couplings == persons.couplings == 0
    low, high = before.scale[1]
    assert 0.7 < low < 1.4 < 2 * high  # the interval itself is calibrated elsewhere
    assert corrected.scale is None
    assert persons.scale is None
    assert before.worked_out > 0
    assert corrected.worked_out == persons.worked_out == 0
    found = {one.id for one in before.assessment.findings}
    assert {"coupled-cells", "zeros-kept"} <= found
    assert not {"coupled-cells", "independent-margins", "zeros-kept"} & {
        one.id for chapter in (corrected, persons) for one in chapter.assessment.findings
    }


def test_everything_is_on_disk(story):
    for chapter in story.chapters:
        assert "<html" in chapter.report.read_text()
        assert (chapter.report.parent / "cells.parquet").is_file()
    json.dumps(story.to_json(), allow_nan=False)


def test_the_price_is_the_distance_from_the_raw_counts(story):
    """Against a count of the events by DuckDB alone."""
    chapter = story.chapters[0]
    query = f"""
        SELECT avg(abs(coalesce(s.count, 0) - r.n)) FROM
        (SELECT mode, tapped_at::DATE AS day, tap, stop, count(*) AS n FROM '{story.world.taps}' GROUP BY ALL) r
        LEFT JOIN '{chapter.release / "loc.parquet"}' s
        ON s.mode = r.mode AND s.date::DATE = r.day AND s.tap = r.tap AND s.location = r.stop
    """
    gap = duckdb.sql(query).fetchall()[0][0]
    assert measured_errors(chapter.recipe.spec, chapter.release)["loc"] == pytest.approx(gap, rel=1e-9)


def test_nothing_is_overwritten(story):
    with pytest.raises(OutputError, match="exists already"):
        tell(story.folder)
