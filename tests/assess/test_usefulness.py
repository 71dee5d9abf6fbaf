"""What analysts lose: errors of totals split into noise and suppression without a rest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.assessment import assess


@pytest.fixture
def released(tables, invent, tmp_path):
    rng = np.random.default_rng(8)
    dimensions = {"date": invent.days(5), "location": [f"S{k:02d}" for k in range(14)]}
    raw = rng.poisson(np.linspace(14, 60, 14), size=(5, 14))
    raw[2, 0] = 0
    base = invent.noisy(raw, 1.4, rng)
    base[2, 0] = 21.0  # noise in a cell that is empty
    total = invent.noisy(raw.sum(axis=1), 1.4, rng)
    paths = tables(base=(dimensions, base), total=({"date": dimensions["date"]}, total))
    day, stop = (axis.ravel() for axis in np.indices(raw.shape))
    rows = {
        "date": np.array(dimensions["date"])[day],
        "location": np.array(dimensions["location"])[stop],
        "count": raw.ravel(),
    }
    pq.write_table(pa.table(rows), tmp_path / "raw.parquet")
    return paths, tmp_path / "raw.parquet", raw, np.where(base >= 18, base, np.nan), total


def test_errors_are_split_without_a_rest(released):
    paths, truth, raw, shown, total = released
    useful = assess(paths, attacker=None, truth=truth).useful
    by_name = {one.name: one for one in useful.questions}
    noise = np.nansum(shown - raw, axis=0)
    lost = np.where(np.isnan(shown), raw, 0).sum(axis=0)
    by_stop = by_name["totals of base by location"]
    asked = (raw.sum(axis=0) > 0) | (~np.isnan(shown)).any(axis=0)
    assert by_stop.groups == asked.sum()
    causes = by_stop.causes(by_stop.parts.absolute)
    assert causes == pytest.approx(
        {
            "aggregation": 0.0,
            "noise and bounding": np.abs(noise[asked]).mean(),
            "suppression": lost[asked].mean(),
        }
    )
    assert by_stop.parts.total_absolute == pytest.approx(np.abs(noise - lost)[asked].mean())
    margin = by_name["rows of total"]
    assert margin.parts.total_absolute == pytest.approx(np.abs(total - raw.sum(axis=1)).mean())
    assert margin.parts.absolute["suppression"] == 0
    assert useful.source == "default"
    assert "together" in useful.how[-1]


def test_the_usual_three(released):
    paths, truth, raw, shown, _ = released
    result = assess(paths, attacker=None, truth=truth)
    assert result.useful.drop_rate == pytest.approx(((raw > 0) & np.isnan(shown)).sum() / (raw > 0).sum())
    assert result.useful.spurious_rate == pytest.approx(1 / (~np.isnan(shown)).sum())
    both = (raw > 0) & ~np.isnan(shown)
    assert result.useful.median_relative == pytest.approx(np.median(np.abs(shown[both] / raw[both] - 1)))
    assert result.useful.top_right == 10
    assert any(one.id == "utility" for one in result.checks)
