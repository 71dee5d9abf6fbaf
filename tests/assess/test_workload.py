"""The workload on published tables: parts that add up, and that are what they say on average over releases."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import duckdb
import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from noisegate.assessment import assess
from noisegate.cli.main import main
from noisegate.engine import ExpectedCounts, count
from noisegate.errors import DataError, SpecError
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.reading import find_structure, read_table
from noisegate.releases import make_plan, release
from noisegate.report import write_assessment
from noisegate.simulation import simulate
from noisegate.spec import load_spec
from noisegate.tables import Question
from noisegate.workload import (
    STAGES,
    MissingRows,
    TruthFile,
    Workload,
    count_file,
    draw_tables,
    frame_of_card,
    frame_of_spec,
    measure,
    stated_dimension,
    wanted_by_spec,
)

SPEC = """
name: boardings
events: {{source: {taps}, person: card_id}}
dimensions:
  tap:      {{column: tap, values: ["on"]}}
  mode:     {{column: mode, values: [train, bus, ferry, lightrail]}}
  date:     {{column: tapped_at, from: 2016-07-25, to: 2016-07-26}}
  time:     {{column: tapped_at, every: 1h}}
  location: {{column: stop, values: places.csv, only: {{mode: mode}}}}
tables:
  time-loc: [mode, date, time, location]
  time:     [mode, date, time]
  loc:      [mode, date, location]
privacy: {{unit: person-day, max_cells: 1, epsilon: 2, suppress: {{below: 8}}, margins: {margins}, unsafe: true}}
workload:
  total:     {{}}
  by-mode:   {{by: mode}}
  peak:      {{where: {{time: 07:00..09:00}}, by: [date, mode]}}
  cells:     {{where: {{mode: [train, bus]}}, by: [time, location]}}
  odd-hours: {{where: {{time: 07:15..08:30}}, by: mode}}
  busiest:   {{by: location, top: 10}}
  by-tap:    {{by: tap}}
"""
ANSWERED = ("total", "by-mode", "peak", "cells", "odd-hours", "busiest")


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Simulated taps, and a function that writes a spec for them."""
    folder = tmp_path_factory.mktemp("workload")
    simulate(folder / "city", persons=4000, days=2, seed=3)
    taps = folder / "city" / "taps.parquet"
    stops = (folder / "city" / "stops.csv").read_text().splitlines(keepends=True)
    (folder / "places.csv").write_text("".join(line for line in stops if "UNKNOWN" not in line))

    def spec(*, margins="derive", **changes):
        text = SPEC.format(taps=taps, margins=margins)
        for old, new in changes.items():
            text = text.replace(old, new)
        path = folder / f"{margins}-{len(changes)}.yaml"
        path.write_text(text)
        return path

    return SimpleNamespace(folder=folder, taps=taps, spec=spec)


@pytest.fixture(scope="module")
def released(city):
    """A release for each way to make margins, with its card."""

    def make(margins, spec=None):
        folder = city.folder / margins
        if not folder.exists():
            path = spec or city.spec(margins=margins)
            release(
                load_spec(path), out=folder, ledger=city.folder / f"{margins}.db", entropy=SeededNoise(seed=2)
            )
        return folder

    return make


def opened(city, folder, *, spec=None, person=None, taps=None):
    structure = find_structure([read_table(path) for path in sorted(folder.glob("*.csv"))])
    return TruthFile.open(taps or city.taps, structure.base, spec=spec, person=person), structure


def questions_of(result):
    return {one["name"]: one for one in result.to_json()["utility"]["questions"]}


@pytest.mark.parametrize("margins", ["derive", "reconcile", "independent"])
def test_the_parts_add_up_to_the_error_that_is_measured_by_hand(city, released, margins):
    folder = released(margins)
    result = assess([folder], attacker=None, truth=city.taps, workload=city.spec(margins=margins))
    found = questions_of(result)
    for name in ANSWERED:
        one = found[name]
        assert set(one["bias"]) == set(STAGES)
        assert sum(one["bias"].values()) == pytest.approx(one["total"]["bias"], abs=1e-9)
        square = one["total"]["root_mean_square"] ** 2
        assert sum(one["share_of_square"].values()) == pytest.approx(square, rel=1e-9)
        assert (one["absolute"]["aggregation"] > 0) == (name == "odd-hours")
    # The raw events and the published file, added up without any of our code.
    raw = duckdb.sql(
        f"SELECT mode, count(*) FROM '{city.taps}' WHERE tap = 'on' AND stop <> 'UNKNOWN' "
        "AND tapped_at::DATE BETWEEN '2016-07-25' AND '2016-07-26' GROUP BY mode"
    ).fetchall()
    rows = pa_csv.read_csv(folder / f"{found['by-mode']['table']}.csv").to_pylist()
    published = {mode: sum(row["count"] for row in rows if row["mode"] == mode) for mode, _ in raw}
    errors = [published[mode] - number for mode, number in raw]
    assert found["by-mode"]["total"]["bias"] == pytest.approx(np.mean(errors))
    assert found["by-mode"]["total"]["absolute"] == pytest.approx(np.mean(np.abs(errors)))
    assert found["by-tap"] == {"name": "by-tap", "answered": False, "reason": "no table has tap"}
    assert 0.5 <= found["busiest"]["ranking_kept"] <= 1


DRAWS = 30


@pytest.fixture(scope="module", params=["derive", pytest.param("independent", marks=pytest.mark.slow)])
def repeated(city, released, request):
    """The parts of many releases, and what the custodian's measurement expects of them."""
    path = city.spec(margins=request.param)
    plan = make_plan(load_spec(path))
    frame = frame_of_card(released(request.param))
    wanted = wanted_by_spec(plan.spec)
    raw = count_file(opened(city, released(request.param), spec=plan.spec)[0], frame, wanted)
    frames, expected = [], []
    for draw in range(DRAWS):
        entropy = SeededNoise(seed=100 + draw)
        counts = count(plan.spec, entropy=entropy)
        _, published = draw_tables(plan, counts, entropy)
        tables = tuple(
            replace(one, values=published[one.name].values, shown=published[one.name].shown)
            for one in frame.tables
            if one.name in published
        )
        frames.append(replace(frame, tables=tables))
        if draw % 6 == 0:
            expected.append({one.name: one.parts for one in measure(plan, counts, entropy=entropy, draws=20)})
    return SimpleNamespace(frames=frames, raw=raw, wanted=wanted, expected=expected)


def distances(repeated, *, naive=False, raw=None):
    """How far the mean of each part lies from the expected one, in standard errors, by question and cause."""
    parts = {name: [] for name in ANSWERED}
    for frame in repeated.frames:
        workload = Workload(frame=replace(frame, release=None) if naive else frame, raw=raw or repeated.raw)
        for wanted in repeated.wanted:
            if wanted.name in parts:
                parts[wanted.name].append(workload.measure(wanted).parts)
    found = {}
    for name, ours in parts.items():
        for cause in STAGES:
            one = np.array([part.bias[cause] for part in ours])
            two = np.array([draw[name].bias[cause] for draw in repeated.expected])
            error = math.sqrt(one.var(ddof=1) / one.size + two.var(ddof=1) / two.size)
            found[name, cause] = abs(one.mean() - two.mean()) / max(error, 1e-9 + 1e-6 * abs(two.mean()))
    return found


def test_over_many_releases_each_part_is_what_the_custodian_measures(repeated):
    # 24 distances; a normal one above 6 has a chance of 2 in 10^9.
    assert max(distances(repeated).values()) < 6


def test_noise_of_missing_rows_that_is_not_counted_would_be_noticed(repeated):
    worst = distances(repeated, naive=True)
    assert worst["cells", "noise"] > 6
    assert worst["cells", "suppression"] > 6


def test_a_bound_that_is_off_by_one_would_be_noticed(repeated, city, released):
    frame = repeated.frames[0]
    loose = replace(frame, bound=replace(frame.bound, cells=frame.bound.cells + 1))
    file, _ = opened(city, released(frame.method), spec=load_spec(city.spec(margins=frame.method)))
    raw = count_file(file, loose, repeated.wanted)
    worst = distances(repeated, raw=raw)
    assert worst["total", "bounding"] > 6
    assert worst["total", "noise"] > 6


@pytest.fixture(scope="module")
def reconciled(city, released):
    """The error of suppression as a share of the custodian's, by question: ours, and if missing rows had no noise."""
    plan = make_plan(load_spec(city.spec(margins="reconcile")))
    frame = frame_of_card(released("reconcile"))
    file, _ = opened(city, released("reconcile"), spec=plan.spec)
    wanted = [one for one in wanted_by_spec(plan.spec) if one.name in ANSWERED]
    raw = count_file(file, frame, wanted)
    entropy = SeededNoise(seed=6)
    expected = {
        one.name: one.parts for one in measure(plan, count(plan.spec, entropy=entropy), entropy=entropy)
    }
    found = []
    for one in (frame, replace(frame, release=None)):
        parts = {ask.name: Workload(frame=one, raw=raw).measure(ask).parts for ask in wanted}
        found.append(
            {
                name: ours.bias["suppression"] / expected[name].bias["suppression"]
                for name, ours in parts.items()
                if expected[name].bias["suppression"] < -1
            }
        )
    return found


def test_the_split_of_reconciled_tables_is_near_that_of_the_custodian(reconciled):
    ours, without_noise = reconciled
    assert ours["cells"] == pytest.approx(1, abs=0.03)
    assert abs(without_noise["cells"] - 1) > 0.05  # The comparison has power.


@pytest.mark.parametrize("floor", [None, 0.0, 1.25])
def test_the_mean_of_a_missing_row_is_that_of_all_its_possible_values(floor):
    law, threshold = DiscreteLaplace(1.4), 8
    rows = MissingRows(law=law, threshold=threshold, zeros="perturb", floor=floor)
    kept = ExpectedCounts(
        cells=np.arange(3),
        sure=np.array([0, 3, 12]),
        drawing=np.array([0, 2, 0]),
        kept=np.array([0.0, 1.0, 0.0]),
    )
    chances = [{0: 1.0}, {3: 0.25, 4: 0.5, 5: 0.25}, {12: 1.0}]
    value = np.arange(-200, threshold)
    for found, counts in zip(rows.means(kept).tolist(), chances, strict=True):
        mass = sum(p * np.exp(law.logpmf(value - c)) for c, p in counts.items())
        shown = value if floor is None else np.maximum(value - floor, 0)
        assert found == pytest.approx((mass * shown).sum() / mass.sum(), rel=1e-9)


def test_an_empty_cell_without_noise_held_nothing():
    rows = MissingRows(law=DiscreteLaplace(1.4), threshold=18, zeros="keep", floor=None)
    empty = ExpectedCounts.sure_of(np.zeros(1, int), np.zeros(1, int))
    assert rows.means(empty).tolist() == [0.0]
    far = ExpectedCounts.sure_of(np.zeros(1, int), np.array([10**6]))
    assert 15 < rows.means(far)[0] <= 17


def test_without_a_person_noise_and_bounding_are_together_and_called_so(city, released, tmp_path):
    folder = released("derive")
    taps = tmp_path / "taps.parquet"
    pq.write_table(pq.read_table(city.taps).drop_columns(["card_id"]), taps)
    result = assess([folder], attacker=None, truth=taps, workload=city.spec())
    useful = result.to_json()["utility"]
    assert "no column that says whose they are" in useful["how"][0]
    for one in useful["questions"][:-1]:
        assert set(one["absolute"]) == {"aggregation", "noise and bounding", "suppression"}
        assert sum(one["bias"].values()) == pytest.approx(one["total"]["bias"], abs=1e-9)


def test_raw_counts_in_wide_bins_leave_finer_questions_open(city, released, tmp_path):
    raw = tmp_path / "raw.parquet"
    duckdb.sql(
        f"SELECT mode, strftime(tapped_at, '%Y-%m-%d') AS date, strftime(tapped_at, '%H:00') AS time, stop AS location, "
        f"count(*) AS count FROM '{city.taps}' WHERE tap = 'on' GROUP BY ALL"
    ).write_parquet(str(raw))
    found = questions_of(assess([released("derive")], attacker=None, truth=raw))
    assert "in bins as wide as the tables" in found["odd-hours"]["reason"]
    assert set(found["peak"]["absolute"]) == {"aggregation", "noise and bounding", "suppression"}


def test_raw_data_of_other_events_are_called_so(city, released):
    """The card does not say that only boardings were counted; the spec does."""
    folder = released("derive")
    alone = assess([folder], attacker=None, truth=city.taps).to_json()["utility"]
    assert alone["source"] == "card"
    assert not alone["fits"]
    assert "do not fit the published tables" in alone["how"][0]
    told = assess([folder], attacker=None, truth=city.taps, workload=city.spec()).to_json()["utility"]
    assert told["source"] == "spec"
    assert told["fits"]
    assert not any("do not fit" in line for line in told["how"])


def test_without_a_card_the_spec_lays_the_tables_out(city, released, tmp_path):
    files = []
    for path in sorted(released("derive").glob("*.csv")):
        files.append(tmp_path / path.name)
        files[-1].write_bytes(path.read_bytes())
    found = assess(files, attacker=None, truth=city.taps, workload=city.spec())
    with_card = assess([released("derive")], attacker=None, truth=city.taps, workload=city.spec())
    ours, theirs = questions_of(found), questions_of(with_card)
    for name in ANSWERED:
        assert ours[name]["total"] == pytest.approx(theirs[name]["total"])
        assert ours[name]["bias"]["bounding"] == pytest.approx(theirs[name]["bias"]["bounding"])
    assert any("no card states its law" in line for line in found.to_json()["utility"]["how"])
    structure = find_structure([read_table(files[0])])
    with pytest.raises(SpecError, match="none of the tables has the dimensions of 'time-loc'"):
        frame_of_spec(load_spec(city.spec()), structure)


def test_without_raw_data_the_same_questions_have_intervals(released, tmp_path, capsys):
    out = tmp_path / "assessed"
    command = ["assess", released("derive"), "--attacker", "none", "--quiet", "--out", out]
    assert main([str(word) for word in command]) == 0
    assert "Utility by query, from the release alone" in capsys.readouterr().out
    useful = json.loads((out / "assessment.json").read_text())["utility"]
    found = {one["name"]: one for one in useful["questions"]}
    assert (useful["measured"], useful["source"]) == (False, "card")
    assert set(found) == {*ANSWERED, "by-tap"}
    assert "published only as a whole" in found["odd-hours"]["reason"]
    for row in found["by-mode"]["intervals"]:
        # A sum that only an untried law could tell has bounds and no estimate.
        assert row["low"] <= row["high"]
        assert row["estimate"] is None or row["low"] <= row["estimate"] <= row["high"]
    assert len(found["busiest"]["intervals"]) == 10
    text = (out / "report.md").read_text()
    assert "For the custodian only" not in text
    assert "Answers from the release alone" in text


def test_the_report_lists_causes_and_is_for_the_custodian(city, released, tmp_path):
    out = tmp_path / "assessed"
    found = assess([released("derive")], attacker=None, truth=city.taps, workload=city.spec())
    write_assessment(found, out)
    text = (out / "report.md").read_text()
    assert "For the custodian only" in text
    assert "Utility by query" in text
    assert "| query | noise | suppression | aggregation | bounding | together |" in text
    assert "no table has tap" in text
    assert 'id="figure-workload"' in (out / "report.html").read_text()


def test_the_terminal_shows_the_parts(city, released, capsys):
    command = ["assess", released("derive"), "--attacker", "none", "--quiet", "--truth", city.taps]
    assert main([str(word) for word in (*command, "--workload", city.spec())]) == 0
    shown = capsys.readouterr().out
    assert "Utility by query, for the custodian only" in shown
    assert "coarse  bound  noise  missing" in shown
    assert "not answered by-tap: no table has tap." in shown


def test_a_merged_domain_is_read_off_its_card_as_the_spec_has_it(city):
    merges = "merge:\n  - {dimension: time, into: 4h, where: {mode: [ferry]}}\nworkload:\n"
    spec = load_spec(city.spec(**{"workload:\n": merges}))
    out = city.folder / "merged"
    release(spec, out=out, ledger=city.folder / "merged.db", entropy=SeededNoise(seed=1))
    frame = frame_of_card(out)
    rng = np.random.default_rng(1)
    codes = [rng.integers(len(one.values), size=3000) for one in spec.domain.dimensions]
    labels = [domain.decode(np.maximum(domain.locate(*codes), 0)) for domain in (spec.domain, frame.domain)]
    assert (spec.domain.locate(*codes) >= 0).tolist() == (frame.domain.locate(*codes) >= 0).tolist()
    for one, two in zip(*labels, strict=True):
        assert one.tolist() == two.tolist()
    # An hour of the ferries is a quarter of what is published: an even share of it is assumed.
    found = questions_of(
        assess([out], attacker=None, truth=city.taps, workload=city.spec(**{"workload:\n": merges}))
    )
    assert found["peak"]["absolute"]["aggregation"] > 0
    assert found["total"]["absolute"]["aggregation"] == 0


@pytest.mark.parametrize(
    ("unit", "most", "each"), [("person", 2, 1), pytest.param("person-day", 1, 2, marks=pytest.mark.slow)]
)
def test_bounding_is_the_mean_of_what_the_engine_keeps(city, released, unit, most, each):
    bound = f"unit: {unit}, max_cells: {most}, max_per_cell: {each}"
    spec = load_spec(city.spec(**{"unit: person-day, max_cells: 1": bound}))
    file, structure = opened(city, released("derive"), spec=spec)
    kept = count_file(file, frame_of_spec(spec, structure), ()).expected
    cells = kept.cells
    draws = np.zeros((25, spec.domain.size))
    for draw, one in enumerate(draws):
        found = count(spec, entropy=SeededNoise(seed=draw))
        one[found.cells] = found.raw_counts
    mean, error = draws[:, cells].mean(axis=0), draws[:, cells].std(axis=0, ddof=1) / math.sqrt(len(draws))
    random = error > 0
    assert mean[~random] == pytest.approx(kept.mean[~random], abs=0.35)
    distance = (mean - kept.mean)[random] / error[random]
    assert distance.size > 200
    # Over so many cells the mean square of a Student's t with 24 degrees of freedom is 24 / 22.
    assert (distance**2).mean() == pytest.approx(24 / 22, abs=6 * math.sqrt(2.5 / distance.size) + 0.1)
    assert not np.delete(draws, cells, axis=1).any()


def test_a_question_that_makes_no_sense_is_listed_with_the_reason(city, released):
    spec = city.spec(**{"07:15..08:30": "7:15..8:30", "mode: [train, bus]": "mode: [train, tram]"})
    found = questions_of(assess([released("derive")], attacker=None, truth=city.taps, workload=spec))
    assert found["odd-hours"]["reason"] == "a range of time looks like 06:00..09:00, got '7:15..8:30'"
    assert found["cells"]["reason"].startswith("mode has no 'tram'; it has train, bus, ferry, lightrail")
    assert found["peak"]["answered"]


def test_moments_in_another_zone_are_read_on_the_clock_of_the_spec(city, released, tmp_path):
    moved = tmp_path / "taps.parquet"
    duckdb.sql(
        f"SELECT * REPLACE (timezone('Australia/Sydney', tapped_at) AS tapped_at) FROM '{city.taps}'"
    ).write_parquet(str(moved))
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        city.spec()
        .read_text()
        .replace("person: card_id", "person: card_id, timezone: Australia/Sydney")
        .replace("places.csv", str(city.folder / "places.csv"))
    )
    plain = assess([released("derive")], attacker=None, truth=city.taps, workload=city.spec())
    zoned = assess([released("derive")], attacker=None, truth=moved, workload=spec)
    assert questions_of(zoned) == questions_of(plain)


def test_other_spellings_of_the_same_events_give_the_same_errors(city, released, tmp_path):
    """Modes in capitals, days as text and times in columns of their own, cards as floats: still the same events."""
    spelled = tmp_path / "taps.parquet"
    duckdb.sql(
        f"SELECT card_id::DOUBLE AS card_id, upper(mode) AS mode, tap, '  ' || stop AS location, "
        f"strftime(tapped_at, '%Y-%m-%d') AS date, tapped_at::TIME AS time FROM '{city.taps}'"
    ).write_parquet(str(spelled))
    plain = assess([released("derive")], attacker=None, truth=city.taps, workload=city.spec())
    other = assess([released("derive")], attacker=None, truth=spelled, workload=city.spec())
    ours, theirs = questions_of(other), questions_of(plain)
    for name in ANSWERED:
        for figures in ("bias", "absolute", "total", "relative_error"):
            assert ours[name][figures] == pytest.approx(theirs[name][figures], abs=1e-9)
    assert other.useful.outside == plain.useful.outside


def test_values_say_what_a_dimension_is():
    assert type(stated_dimension("day", ("2016-07-25", "2016-07-26"))).__name__ == "DateDimension"
    assert type(stated_dimension("day", ("2016-07-25", "2016-07-28"))).__name__ == "ListedDimension"
    assert type(stated_dimension("time", ("00:00", "08:00", "16:00"))).__name__ == "TimeDimension"
    assert type(stated_dimension("time", ("05:00", "13:00", "21:00"))).__name__ == "ListedDimension"


def test_what_cannot_be_used_is_refused(city, released, tmp_path, tmp_path_factory):
    empty = tmp_path / "none.yaml"
    empty.write_text(
        city.spec().read_text().split("workload:")[0].replace("places.csv", str(city.folder / "places.csv"))
    )
    with pytest.raises(SpecError, match="has no workload"):
        assess([released("derive")], attacker=None, truth=city.taps, workload=empty)
    alone = tmp_path / "time.csv"
    alone.write_bytes((released("derive") / "time.csv").read_bytes())
    with pytest.raises(SpecError, match="have no card beside them"):
        assess([alone], attacker=None, workload=city.spec())
    with pytest.raises(DataError, match="in another form"):
        Question.from_json({"name": "odd"})
    lacking = tmp_path / "lacking.parquet"
    pq.write_table(pq.read_table(city.taps).drop_columns(["tap"]), lacking)
    with pytest.raises(SpecError, match="by which the spec selects events"):
        assess([released("derive")], attacker=None, truth=lacking, workload=city.spec())
    with pytest.raises(DataError, match="a directory without a CSV or Parquet file"):
        assess([tmp_path_factory.mktemp("nothing")], attacker=None)


def test_a_card_whose_tables_are_gone_leaves_the_default_questions(city, released, tmp_path):
    for name in ("card.json", "time-loc.csv", "time.csv"):
        (tmp_path / name).write_bytes((released("derive") / name).read_bytes())
    useful = assess([tmp_path], attacker=None, truth=city.taps).to_json()["utility"]
    assert useful["source"] == "default"
    assert useful["how"][0].startswith("The workload on the card was not used")
