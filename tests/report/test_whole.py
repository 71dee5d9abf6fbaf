"""From published tables with odd names to their report, by the assessment itself."""

import csv
import itertools
import re

import numpy as np
import pytest

from noisegate.assessment import assess
from noisegate.report import write_assessment


@pytest.fixture
def published(tmp_path, hostile):
    """A base and a margin with rounded noise of their own, cut at 18; two stops have names that are code."""
    rng = np.random.default_rng(5)
    stops = [hostile[0], hostile[1], "Quay", "Wharf"]
    days, hours = [f"2016-07-{day}" for day in range(25, 31)], [f"{hour:02d}:00" for hour in range(24)]
    rows = list(itertools.product(days, hours, stops))
    raw = rng.poisson(np.where(np.array([stop == "Wharf" for *_, stop in rows]), 12, 60))
    totals = raw.reshape(-1, len(stops)).sum(axis=1)
    files = {}
    for name, header, keys, counts in (
        ("time-loc", ("date", "time", "location", "count"), rows, raw),
        ("time", ("date", "time", "count"), list(itertools.product(days, hours)), totals),
    ):
        shown = np.rint(counts + rng.laplace(scale=1.4, size=len(counts))).astype(int)
        files[name] = tmp_path / f"{name}.csv"
        with files[name].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(
                [*key, count] for key, count in zip(keys, shown.tolist(), strict=True) if count >= 18
            )
    return files


def test_an_assessment_leaves_a_report_that_shows_odd_names_and_runs_none(published, tmp_path):
    write_assessment(assess(list(published.values()), noise="laplace:1.4"), tmp_path / "assessed")
    html = (tmp_path / "assessed" / "report.html").read_text(encoding="utf-8")
    text = (tmp_path / "assessed" / "report.md").read_text(encoding="utf-8")
    plain = re.sub(r"<script type=\"(application/json|module)\".*?</script>", "", html, flags=re.DOTALL)
    assert html.count("<script") == 2
    assert "<script" not in plain
    assert html.count('<figure id="figure-') >= 4
    assert 'id="figure-calendar"' in html
    assert "time-loc" in text
    assert "<script" not in text.replace(r"\<script", "")
