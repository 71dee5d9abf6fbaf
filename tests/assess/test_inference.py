"""What suppressed cells were: posteriors, findings, files, and the score against the truth."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import noisegate
from noisegate.assessment import assess
from noisegate.errors import DataError, SpecError
from noisegate.mechanisms import parse_noise
from noisegate.report import write_assessment

STOPS = [f"Stop {k}" for k in range(12)]
CUT = 18
SCALE = 1.4


def town(invent, rng, *, days=6):
    """Raw counts by date, time and stop: busy hours, quiet stops."""
    hours = invent.clock(60, 6 * 60, 22 * 60)
    busy = 1 + 3 * np.exp(-0.5 * ((np.arange(len(hours)) - 3) / 2) ** 2)
    stops = 40 / np.arange(1, len(STOPS) + 1)
    mean = np.einsum("t,s->ts", busy, stops)[None].repeat(days, axis=0)
    return {"date": invent.days(days), "time": hours, "location": STOPS}, rng.poisson(mean)


def publish(invent, tables, raw, dimensions, rng, *, scale=SCALE):
    """Base and both margins, each with noise of its own, zeros kept."""

    def shown(counts):
        made = invent.noisy(counts, scale, rng) if scale else counts.astype(float)
        return np.where(counts > 0, made, 0.0)

    return tables(
        least=CUT,
        base=(dimensions, shown(raw)),
        time=({k: dimensions[k] for k in ("date", "time")}, shown(raw.sum(axis=2))),
        loc=({k: dimensions[k] for k in ("date", "location")}, shown(raw.sum(axis=1))),
    )


def write_events(path, dimensions, raw, *, person=True):
    """The raw events behind the counts."""
    index = np.repeat(np.arange(raw.size), raw.ravel())
    day, hour, stop = np.unravel_index(index, raw.shape)
    dates = np.array(dimensions["date"], dtype="datetime64[s]")[day]
    minutes = np.array([int(t[:2]) * 60 + int(t[3:]) for t in dimensions["time"]])[hour]
    columns = {
        "tapped_at": pa.array(dates + (minutes * 60 + 59).astype("timedelta64[s]")),
        "stop": pa.array(np.array(dimensions["location"], dtype=object)[stop]),
    }
    if person:
        columns["card_id"] = pa.array(np.arange(index.size) % 977)
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def published(invent, tables):
    rng = np.random.default_rng(5)
    dimensions, raw = town(invent, rng)
    return publish(invent, tables, raw, dimensions, rng), dimensions, raw


@pytest.mark.parametrize("attacker", ["informed", "minimal"])
def test_suppressed_cells_are_covered_and_written(published, tmp_path, attacker):
    paths, dimensions, raw = published
    result = assess(paths, noise=f"laplace:{SCALE}", attacker=attacker)
    write_assessment(result, tmp_path / "out")
    cells = pq.read_table(tmp_path / "out" / "cells.parquet")
    estimates = ["published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level"]
    assert cells.column_names == [*dimensions, *estimates]
    assert cells.num_rows == raw.size
    places = [
        np.array([dimensions[name].index(value) for value in cells.column(name).to_pylist()])
        for name in dimensions
    ]
    truth = raw[tuple(places)]
    hidden = cells.column("published").is_null().to_numpy()
    assert 50 < hidden.sum() < raw.size - 50
    inside = (truth >= cells.column("lo").to_numpy()) & (truth <= cells.column("hi").to_numpy())
    assert inside[hidden].mean() > 0.9
    width = cells.column("hi").to_numpy() - cells.column("lo").to_numpy()
    assert width[hidden].mean() < CUT  # the margins say more than "below the cut"
    assert result.inference.attacker == attacker
    document = json.loads((tmp_path / "out" / "assessment.json").read_text())
    assert document["inference"]["mechanisms"]["base"]["threshold"] == CUT
    totals = document["inference"]["suppressed_totals"]
    if attacker == "minimal":  # does not know how unsure levels are, on which a sum of many cells depends
        assert totals == {}
        return
    total = totals["base"]
    assert abs(total["mean"] - truth[hidden].sum()) < 4 * total["sd"]


def test_the_score_is_that_of_the_posteriors(published, tmp_path):
    paths, dimensions, raw = published
    events = write_events(tmp_path / "taps.parquet", dimensions, raw)
    result = assess(paths, noise=f"laplace:{SCALE}", truth=events)
    row = result.score.rows[0]
    hidden = result.inference.evidence.suppressed
    posterior = result.inference.posterior
    labels = result.structure.base.labels(np.arange(result.structure.base.size))
    truth = raw[tuple(np.array([dimensions[n].index(v) for v in labels[n]]) for n in dimensions)]
    assert row.cells == hidden.sum()
    assert row.error == pytest.approx(np.abs(posterior.mean - truth)[hidden].mean())
    assert row.coverage == pytest.approx(
        ((truth >= posterior.low) & (truth <= posterior.high))[hidden].mean()
    )
    assert row.error < row.baseline_error
    assert result.score.outside == 0


def test_raw_counts_serve_as_truth_too(published, tmp_path):
    paths, dimensions, raw = published
    target = tmp_path / "raw.csv"
    with target.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*dimensions, "count"])
        for index in np.ndindex(raw.shape):
            writer.writerow([*(dimensions[n][k] for n, k in zip(dimensions, index, strict=True)), raw[index]])
    events = write_events(tmp_path / "taps.parquet", dimensions, raw)
    options = {"noise": f"laplace:{SCALE}", "attacker": "minimal"}
    assert assess(paths, truth=target, **options).score == assess(paths, truth=events, **options).score


def nearly_all_shown(tables, invent, noise=None):
    """Two counts are suppressed, each alone under its total."""
    rng = np.random.default_rng(2)
    raw = rng.integers(30, 60, size=(8, 14))
    raw[2, 3], raw[5, 9] = 7, 11
    dimensions = {"date": invent.days(8), "location": [f"S{k}" for k in range(14)]}
    shown, total = (
        one + (0 if noise is None else np.rint(rng.laplace(scale=noise, size=one.shape)))
        for one in (raw.astype(float), raw.sum(axis=1).astype(float))
    )
    return tables(least=CUT, base=(dimensions, shown), total=({"date": dimensions["date"]}, total))


def test_likely_counts_have_the_baseline_of_a_cell_by_itself(tables, invent):
    """By itself a suppressed cell only says that it was below the threshold, or a little above it."""
    result = assess(nearly_all_shown(tables, invent, noise=0.15), noise="laplace:0.15")
    found = next(one for one in result.findings if one.id == "pinned-cells")
    threshold = result.inference.evidence.base.mechanism.whole_threshold
    assert threshold <= found.baseline["hi"] + 1 <= threshold + 8
    assert tuple(found.assumptions) == result.inference.evidence.assumes
    assert found.picture == "exposed"


def test_exact_totals_pin_the_only_missing_member(tables, invent):
    """Without noise a total minus its published parts is the suppressed count."""
    result = assess(nearly_all_shown(tables, invent))
    assert any("no sum of the tables shows noise" in line for line in result.inference.evidence.assumes)
    found = next(one for one in result.findings if one.id == "known-exactly")
    assert found.severity == "high"
    assert found.baseline["cells"] == 0
    assert sorted(one["low"] for one in found.numbers["listed"]) == [7, 11]
    # What is proven is not said a second time, as if it were only likely; nor does anything say that it is safe.
    assert not [one for one in result.findings if one.id == "pinned-cells"]
    check = next(one for one in result.checks if one.id == "pinned-cells")
    assert check.outcome == "known"
    assert check.title.startswith("beyond what sums prove")
    assert check.numbers["width_at_most_0"] == 2


def test_without_noise_known_it_says_what_to_do(published):
    paths, _, _ = published
    result = assess(paths[:1])
    check = next(one for one in result.checks if one.id == "suppressed-cells")
    assert "--noise" in check.title
    assert result.inference is None


def test_derived_margins_are_left_out(tables, invent):
    rng = np.random.default_rng(4)
    dimensions, raw = town(invent, rng, days=3)
    base = invent.noisy(raw, SCALE, rng)
    kept = np.where(base >= CUT, base, 0)
    paths = tables(
        least=CUT,
        base=(dimensions, base),
        time=({k: dimensions[k] for k in ("date", "time")}, kept.sum(axis=2)),
    )
    result = assess(paths, noise=f"laplace:{SCALE}", attacker="minimal")
    assert result.inference.evidence.left_out[0][0] == "time"
    assert not any(one.id == "presence" for one in result.findings)


@pytest.mark.parametrize(
    ("text", "sentence"), [("laplace", "laplace:1.4"), ("cauchy:2", "law"), ("laplace:-1", "scale")]
)
def test_stated_noise_is_checked(text, sentence):
    with pytest.raises(SpecError, match=sentence):
        parse_noise(text)


def test_stated_noise_is_never_overridden(tables, invent):
    """Not by what is recovered either: estimates are as wide as was stated, and it is said that the tables contradict it."""
    rng = np.random.default_rng(3)
    raw = rng.integers(30, 60, size=(20, 14)).astype(float)
    dimensions = {"date": invent.days(20), "location": [f"S{k}" for k in range(14)]}
    shown = raw + np.rint(rng.laplace(scale=1.0, size=raw.shape))
    total = raw.sum(axis=1) + np.rint(rng.laplace(scale=1.0, size=20))
    paths = tables(base=(dimensions, shown), total=({"date": dimensions["date"]}, total))
    widths = {}
    for noise in (None, "laplace:1", "laplace:6"):
        result = assess(paths, noise=noise)
        assert result.tables[0].noise.fit is not None
        made = result.inference.to_json()["mechanisms"]
        if noise is not None:
            assert {one["scale"] for one in made.values()} == {float(noise[8:])}
        widths[noise] = float(np.mean(result.inference.posterior.high - result.inference.posterior.low))
        against = [one for one in result.findings if one.id == "stated-noise-disagrees"]
        assert len(against) == (noise == "laplace:6")
        said = any("contradict" in line for line in result.inference.evidence.assumes)
        assert said == (noise == "laplace:6")
        asked = noisegate.open_tables(paths, noise=noise).answer(where="date=2016-07-25")
        widths[noise, "query"] = int(asked.high[0] - asked.low[0])
    assert widths[None] == pytest.approx(widths["laplace:1"], rel=0.4)
    assert widths["laplace:6"] > 3 * widths["laplace:1"]
    assert widths["laplace:6", "query"] > 2.5 * widths["laplace:1", "query"]


def test_truth_that_does_not_fit_is_refused_without_its_content(published, tmp_path):
    paths, _, _ = published
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"secret": ["card 4711"], "amount": [3]}), other)
    with pytest.raises(DataError, match="no column for date") as caught:
        assess(paths, noise="laplace:1.4", attacker="minimal", truth=other)
    assert "4711" not in str(caught.value)
    with pytest.raises(DataError, match="no file"):
        assess(paths, noise="laplace:1.4", attacker="minimal", truth=tmp_path / "none.parquet")
    junk = tmp_path / "junk.parquet"
    junk.write_bytes(b"card 4711" * 50)
    with pytest.raises(DataError, match="cannot be read") as caught:
        assess(paths, noise="laplace:1.4", attacker="minimal", truth=junk)
    assert "4711" not in str(caught.value)


def test_totals_with_cells_that_no_table_shows_are_not_called_independent(tables, invent, tmp_path):
    """A card that says "reconcile" explains totals above their parts; it does not explain totals below."""
    rng = np.random.default_rng(6)
    raw = rng.integers(40, 90, size=(9, 12)).astype(float)
    total = raw.sum(axis=1)
    total[3] += 2  # a suppressed value nobody knows about
    dimensions = {"date": invent.days(9), "location": [f"S{k}" for k in range(12)]}
    paths = tables(base=(dimensions, raw), total=({"date": dimensions["date"]}, total))
    said = {"dimensions": [], "noise": None, "threshold": None}
    loss = {"event": None, "person": None, "person_example": {"events": 1, "epsilon": None, "delta": None}}
    card = {
        "mechanism": {"zeros": "perturb", "margins": "reconcile"},
        "privacy_loss": loss,
        "privacy_unit": "event",
        "tables": {"base": said, "total": said},
    }
    (tmp_path / "card.json").write_text(json.dumps(card))

    def kinds(files):
        return {one.id for one in assess(files, attacker=None).findings}

    assert "independent-margins" not in kinds(paths)
    (tmp_path / "card.json").unlink()
    assert "independent-margins" in kinds(paths)
    (tmp_path / "card.json").write_text(json.dumps(card))
    total[5] -= 3
    paths = tables(base=(dimensions, raw), total=({"date": dimensions["date"]}, total))
    assert "independent-margins" in kinds(paths)
