"""Differences, ratios, changes, ranks and draws of a release, beside the truth behind it."""

import json

import numpy as np
import pytest
from scipy.stats import binomtest

import noisegate as package
from noisegate import Question
from noisegate.errors import DataError, SpecError
from noisegate.testing import publish_case


def count(town, **where):
    names = ("mode", "date", "time", "stop")
    return sum(
        number
        for key, number in town.truth.items()
        if all(dict(zip(names, key, strict=True))[name] == value for name, value in where.items())
    )


@pytest.fixture(scope="module")
def opened():
    """Releases are opened once: what is missing is worked out then."""
    found = {}
    return lambda folder: found.setdefault(folder, package.open_release(folder))


@pytest.mark.parametrize("which", ["whole", "cut"])
def test_differences_and_ratios_hold_the_truth(request, town, opened, which):
    release = opened(request.getfixturevalue(which))
    train, bus = count(town, mode="train"), count(town, mode="bus")
    gap = release.compare(where="mode=train", to="mode=bus")
    assert gap.low[0] <= train - bus <= gap.high[0]
    assert gap.form == "difference"
    share = release.compare(where={"mode": "train"}, to={"mode": "bus"}, form="ratio")
    assert share.low[0] <= train / bus <= share.high[0]
    assert share.high[0] - share.low[0] < 0.3
    by_day = release.compare(where="mode=train", to="mode=bus", by="date")
    assert by_day.labels == {"date": ["2016-07-25", "2016-07-26"]}


def test_each_label_beside_one_of_them(opened, cut):
    release = opened(cut)
    found = release.compare(to="mode=bus", by="mode", form="ratio")
    assert found.labels["mode"] == ["train", "bus"]
    assert (found.low[1], found.high[1]) == (1.0, 1.0)


def test_a_question_knows_its_form(opened, cut):
    release = opened(cut)
    asked = Question.ask("gap", where="mode=train", less="mode=bus")
    assert (
        release.answer_question(asked).estimate.tolist()
        == release.compare(where="mode=train", to="mode=bus").estimate.tolist()
    )
    assert Question.ask("share", where="mode=train", per="mode=bus").form == "ratio"
    with pytest.raises(SpecError, match="ask for one of them"):
        Question.ask("both", less="mode=bus", per="mode=bus")


def test_a_change_between_releases(town, opened, cut):
    other = opened(town.made("cut2", {"margins": "reconcile", "suppress": {"below": 12}}, seed=7))
    found = opened(cut).change(other, by="mode")
    assert found.labels["mode"] == ["train", "bus"]
    assert (found.low <= 0).all()
    assert (found.high >= 0).all()


def test_ranks_of_groups(opened, cut):
    found = opened(cut).ranking(by="time", top=12)
    assert len(found) == 12
    columns = found.to_arrow().column_names
    assert columns[-3:] == ["rank", "rank_low", "rank_high"]
    rows = found.to_rows()
    assert all(1 <= row["rank_low"] <= row["rank_high"] <= 24 for row in rows)
    assert rows[0]["rank_low"] == 1
    assert "rank" in repr(found)


def test_draws_are_consistent_tables(opened, cut, whole):
    for folder in (cut, whole):
        release = opened(folder)
        drawn = list(release.draws(3, rng=np.random.default_rng(1)))
        for one in drawn:
            base, hours = one.to_arrow(), one.to_arrow("time")
            assert base.num_rows == release.domain.size
            assert sum(base["count"].to_pylist()) == sum(hours["count"].to_pylist()) == int(one.counts.sum())
            assert min(base["count"].to_pylist()) >= 0
        again = next(release.draws(1, rng=np.random.default_rng(1)))
        assert np.array_equal(again.counts, drawn[0].counts)
        assert not np.array_equal(drawn[0].counts, drawn[1].counts)
    with pytest.raises(SpecError, match="must be one of base, time, stops"):
        drawn[0].to_arrow("colour")


def test_draws_say_what_answers_say(opened, cut):
    """Means and spreads of drawn sums are those of the answers: one engine."""
    release = opened(cut)
    answers = release.answer(by="mode", level=0.9)
    sums = np.array([one.counts.reshape(-1) @ np.ones(release.domain.size) for one in release.draws(300)])
    both = release.answer(level=0.9)
    width = (both.high - both.low)[0]
    assert abs(sums.mean() - both.estimate[0]) < 0.3 * width
    assert 0.6 * width < np.diff(np.quantile(sums, [0.05, 0.95]))[0] < 1.5 * width
    assert len(answers) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--where", "mode=train", "--compare", "mode=bus"], "mode=train less mode=bus"),
        (["--where", "mode=train", "--ratio", "mode=bus", "--by", "date"], "for each of mode=bus"),
        (["--by", "time", "--rank", "--top", "3"], "rank"),
    ],
)
def test_questions_on_the_command_line(noisegate, cut, tmp_path, options, words):
    file = tmp_path / "answers.json"
    code, out, _ = noisegate("query", cut, *options, "--json", file)
    assert code == 0
    assert words in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
    found = json.loads(file.read_text())
    assert found["form"] in {"difference", "ratio", "rank"}
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in found["answers"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--compare", "mode=bus", "--rank"], "ask one at a time"),
        (["--rank"], "needs groups to rank"),
        (["--compare", "mode=plane"], "it has train, bus"),
        (["--since", "nowhere"], "There is no directory"),
    ],
)
def test_questions_that_cannot_be_asked(noisegate, cut, options, sentence):
    code, _, err = noisegate("query", cut, *options)
    assert code == 2
    assert sentence in err


def test_tables_without_a_card(noisegate, town, tmp_path):
    """Paths of files go through the same engine; what was assumed is said."""
    made = town.made("plain2", {"margins": "independent", "suppress": {"below": 8}, "unsafe": True})
    for name in ("base", "time", "stops"):
        (tmp_path / f"{name}.csv").write_text((made / f"{name}.csv").read_text())
    files = [tmp_path / f"{name}.csv" for name in ("base", "time", "stops")]
    file = tmp_path / "answers.json"
    code, out, err = noisegate("query", *files, "--by", "mode", "--noise", "laplace:1.5", "--json", file)
    assert code == 0, err
    assert "Assumed" in out
    rows = {row["mode"]: row for row in json.loads(file.read_text())["answers"]}
    for mode in ("train", "bus"):
        assert rows[mode]["low"] <= count(town, mode=mode) <= rows[mode]["high"]


def test_tables_beside_their_card_are_asked_by_their_directory(whole):
    with pytest.raises(DataError, match="open_release"):
        package.open_tables([str(path) for path in sorted(whole.glob("*.csv"))])


def boxes(rng, rows, columns, number):
    """Random rows and columns of a grid."""
    for _ in range(number):
        yield (
            rng.choice(rows, rng.integers(1, rows // 2), replace=False),
            rng.choice(columns, rng.integers(1, columns // 2), replace=False),
        )


@pytest.mark.parametrize("how", ["zeros hidden", "zeros shown", "random rounding"])
def test_tables_without_noise_are_answered_by_the_engine(tmp_path, how):
    """Read from files and recognised, in worlds of three laws: intervals hold and are narrower than bounds; whole totals are exact."""
    held, wide, number = 0, [], 0
    for seed, law in enumerate(("poisson", "two-humped", "negative binomial")):
        rng = np.random.default_rng([21, seed])
        way = "random rounding" if how == "random rounding" else "exact with ranges"
        world = publish_case(law, way, rng=rng, rows=30, columns=16)
        if how == "zeros shown":
            world.published["base"][world.counts == 0] = 0
        files = world.write(tmp_path / law, marker=None if how == "random rounding" else "<5")
        tables = package.open_tables(list(map(str, files)))
        grid = world.counts.reshape(30, 16)
        if how != "random rounding":
            whole = tables.answer()
            assert (whole.low[0], whole.high[0]) == (grid.sum(), grid.sum())
        for rows, columns in boxes(rng, 30, 16, 25):
            where = {"row": [f"row {i}" for i in rows], "column": [f"column {i}" for i in columns]}
            found = tables.answer(where=where)
            held += bool(found.low[0] <= grid[np.ix_(rows, columns)].sum() <= found.high[0])
            number += 1
            if found.told[0]:
                hidden = int(found.suppressed[0]) if how != "random rounding" else rows.size * columns.size
                wide.append((found.high[0] - found.low[0]) / (4.0 * max(hidden, 1)))
    assert binomtest(held, number, 0.95, alternative="less").pvalue > 1e-4
    assert len(wide) > number / 2
    assert np.median(wide) < 0.5


def test_markers_say_what_is_hidden_where_only_few_sums_tell(tmp_path):
    """What an assessment proves if counts are exact, a question answers on the same condition, not by noise that nobody saw."""
    file = tmp_path / "clinic.csv"
    cells = {
        ("North", "Male"): 12,
        ("North", "Female"): "<5",
        ("South", "Male"): "<5",
        ("South", "Female"): 9,
    }
    rows = [("region", "sex", "count"), *((*key, value) for key, value in cells.items())]
    rows += [("North", "Total", 15), ("South", "Total", 11), ("East", "Male", 7), ("East", "Female", 8)]
    rows += [("East", "Total", 15), ("West", "Male", 21), ("West", "Female", 6), ("West", "Total", 27)]
    file.write_text("\n".join(",".join(map(str, row)) for row in rows))
    tables = package.open_tables(str(file))
    found = tables.answer(where="sex=Female", by="region")
    told = dict(
        zip(found.labels["region"], zip(found.low.tolist(), found.high.tolist(), strict=True), strict=True)
    )
    assert told == {"North": (3, 3), "South": (9, 9), "East": (8, 8), "West": (6, 6)}
    assert "no sum of the tables shows noise" in " ".join(tables.assumes)


def test_tables_that_only_add_up_are_summed(noisegate, tmp_path):
    """Nothing is hidden and all sums hold: an answer is the sum, not an error about suppressed cells."""
    rng = np.random.default_rng(3)
    grid = rng.poisson(9, (20, 4))
    rows = [f"a{i},b{j},{grid[i, j]}" for i in range(20) for j in range(4)]
    rows += [f"a{i},Total,{grid[i].sum()}" for i in range(20)]
    file = tmp_path / "plain.csv"
    file.write_text("area,band,count\n" + "\n".join(rows))
    found = package.open_tables(str(file)).answer(where="band=b1")
    assert (found.low[0], found.high[0]) == (grid[:, 1].sum(), grid[:, 1].sum())
    file.write_text("area,count\na,5\nb,9\n")
    code, _, error = noisegate("query", file)
    assert code == 2
    assert "--noise none" in " ".join(error.split())
    code, out, _ = noisegate("query", file, "--noise", "none")
    assert code == 0
    assert "14 to 14" in out


def test_tables_rounded_to_the_nearest_are_answered_by_bounds(noisegate, tmp_path):
    """No law says what rounding took: what lies between bounds has no number, and nothing is drawn."""
    world = publish_case("poisson", "exact with ranges", rng=np.random.default_rng(5))
    grid = world.counts.reshape(40, 24)
    shown = {"base": grid, "by-row": grid.sum(axis=1), "by-column": grid.sum(axis=0)}
    for name, counts in shown.items():
        world.published[name][:] = np.floor(counts / 5 + 0.5).ravel() * 5
    files = world.write(tmp_path)
    tables = package.open_tables(list(map(str, files)))
    some = tables.answer(where="column=column 3|column 4", by="row")
    order = [int(label.removeprefix("row ")) for label in some.labels["row"]]
    truth = grid[order][:, 3:5].sum(axis=1)
    assert ((some.low <= truth) & (truth <= some.high)).all()
    assert np.isnan(some.estimate[~some.told]).all()
    assert (~some.told).any()
    assert "rounding" in tables.assumes[0]
    gap = tables.compare(where="column=column 3", to="column=column 4", by="row")
    truth = (grid[:, 3] - grid[:, 4])[[int(label.removeprefix("row ")) for label in gap.labels["row"]]]
    assert ((gap.low <= truth) & (truth <= gap.high)).all()
    with pytest.raises(DataError, match="only bounds are known"):
        tables.draws(1)
    file = tmp_path / "answers.json"
    code, out, _ = noisegate("query", *files, "--where", "column=column 3", "--by", "row", "--json", file)
    assert code == 0
    assert "not told" in out
    assert "the tables do not tell" in " ".join(out.split())
    rows = json.loads(file.read_text())["answers"]
    assert all((row["estimate"] is None) == row["withdrawn"] for row in rows)


def test_markers_without_a_range_under_totals_are_taken_as_counted(noisegate, tmp_path):
    """No sum is whole: that nothing shows noise is the condition, and no noise is made up."""
    rows = ("A;1 204;c;1 290", "B;c;88;560")
    lines = [
        f"Lycée {name};{kind};{count}"
        for name, *counts in (one.split(";") for one in rows)
        for kind, count in zip(("Générale", "Techno", "Ensemble"), counts, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["école;filière;effectif", *lines]), encoding="utf-8")
    code, out, err = noisegate("query", tmp_path / "t.csv", "--by", "école", "--json", tmp_path / "a.json")
    assert code == 0, err
    rows = json.loads((tmp_path / "a.json").read_text())["answers"]
    assert [(one["low"], one["high"]) for one in rows] == [(1290, 1290), (560, 560)]
    assert "Laplace" not in out
    assert "no sum of the tables shows noise" in " ".join(out.split())


def test_absent_rows_leave_noise_possible(tmp_path):
    """Every total lacks a row, as in 2016: totals are not taken as counted, and sums hold the truth."""
    held = asked = 0
    for seed in range(8):
        rng = np.random.default_rng([5, seed, 4, 6])
        raw = rng.poisson(rng.gamma(2, 15, (4, 6)))
        raw[:, 0] = rng.integers(0, 15, 4)
        base = raw + np.rint(rng.laplace(0, 1.4, raw.shape)).astype(int)
        totals = raw.sum(axis=1) + np.rint(rng.laplace(0, 1.4, 4)).astype(int)
        shown = [f"r{i},c{j},{base[i, j]}" for i in range(4) for j in range(6) if base[i, j] >= 18]
        (tmp_path / "base.csv").write_text("\n".join(["row,column,count", *shown]))
        (tmp_path / "rows.csv").write_text(
            "\n".join(["row,count", *(f"r{i},{n}" for i, n in enumerate(totals))])
        )
        tables = package.open_tables([tmp_path / "base.csv", tmp_path / "rows.csv"])
        said = [tables.answer(where={"row": [f"r{i}"]}) for i in range(4)]
        held += sum(
            one.low[0] <= true <= one.high[0] for one, true in zip(said, raw.sum(axis=1), strict=True)
        )
        asked += 4
    assert binomtest(held, asked, 0.95).pvalue > 0.01


def test_values_below_0_are_no_counts_as_they_are(noisegate, tmp_path):
    (tmp_path / "t.csv").write_text("x,count\na,-3\nb,4\nc,7\n")
    code, _, err = noisegate("query", tmp_path / "t.csv", "--noise", "none")
    assert code != 0
    assert "values below 0" in err
