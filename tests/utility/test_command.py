"""`noisegate release` with a workload: the plan, the card, and what only the custodian sees."""

import json

import pytest
import yaml

SPEC = {
    "name": "town",
    "population": "townspeople",
    "events": {"source": "taps.csv", "person": "card"},
    "dimensions": {
        "mode": {"column": "mode", "values": ["train", "bus"]},
        "time": {"column": "at", "every": "1h"},
        "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
    },
    "tables": {"base": ["mode", "date", "time"], "time": ["date", "time"]},
    "privacy": {"unit": "person-day", "max_cells": 2, "epsilon": 1, "suppress": {"below": 6}},
    "workload": {"by-mode": {"by": ["mode"]}, "odd": {"where": {"time": "07:30..08:00"}, "wanted": 3}},
}


@pytest.fixture
def spec(town):
    file = town.folder / "spec.yaml"
    file.write_text(yaml.safe_dump(SPEC))
    return file


def test_a_plan_prints_draws_and_spends_nothing(noisegate, spec, tmp_path):
    picture, file, ledger = tmp_path / "plan.svg", tmp_path / "plan.json", tmp_path / "ledger.sqlite"
    code, out, _ = noisegate(
        "release", spec, "--plan", "--error", "10", "--picture", picture, "--json", file, "--ledger", ledger
    )
    assert code == 0
    assert "Nothing was read and nothing was spent." in out
    assert "<svg" in picture.read_text()
    assert not ledger.exists()
    found = {one["name"]: one for one in json.loads(file.read_text())["questions"]}
    assert found["odd"]["wanted"] == 3
    assert found["by-mode"]["wanted"] == 10
    assert found["by-mode"]["epsilon_needed"] > 0


def test_a_release_states_predictions_and_shows_measurements(noisegate, spec, tmp_path):
    out, file = tmp_path / "out", tmp_path / "measured.json"
    code, text, _ = noisegate(
        "release", spec, "--out", out, "--ledger", tmp_path / "l.sqlite", "--utility", file
    )
    assert code == 0
    assert "For your eyes only" in text
    card = json.loads((out / "card.json").read_text())
    assert [entry["name"] for entry in card["workload"]] == ["by-mode", "odd"]
    assert card["workload"][0]["noise"]["expected_absolute"] > 0
    assert [entry["depends_on_counts"] for entry in card["workload"]] == [True, True]
    measured = json.loads(file.read_text())
    assert measured["private"] is False
    published = "".join(path.read_text(errors="replace") for path in out.iterdir())
    for question in measured["questions"]:
        assert repr(question["total"]["bias"]) not in published
    assert "Questions this release was made for" in (out / "CARD.md").read_text()


def test_the_release_alone_answers_its_workload(noisegate, spec, tmp_path):
    out, file = tmp_path / "out", tmp_path / "answers.json"
    noisegate("release", spec, "--out", out, "--ledger", tmp_path / "l.sqlite")
    code, text, _ = noisegate("query", out, "--workload", "--json", file)
    assert code == 0
    found = {one["name"]: one for one in json.loads(file.read_text())["questions"]}
    assert [row["mode"] for row in found["by-mode"]["answers"]] == ["train", "bus"]
    assert found["by-mode"]["half_width"] > 0
    assert "published only as a whole" in found["odd"]["reason"]
    assert "not answered" in text
    code, _, err = noisegate("query", out, "--workload", "--by", "mode")
    assert code == 2
    assert "leave out --where, --by and --top" in err


def test_a_plan_says_what_it_assumes_and_for_which_questions(noisegate, spec, tmp_path):
    file = tmp_path / "plan.json"
    _, out, _ = noisegate("release", spec, "--plan", "--json", file)
    text = " ".join(out.split())
    assert "Assumes counts well above zero." in text
    assert "in: by-mode, odd. To plan with counts, add --like DIR" in text
    found = json.loads(file.read_text())
    assert found["assumes"] == "counts well above zero"
    assert found["like"] is None
    assert all(one["depends_on_counts"] for one in found["questions"])


@pytest.mark.parametrize("method", ["derive", "independent"])
def test_noise_that_is_published_as_it_is_assumes_nothing(noisegate, tmp_path, method):
    file, plan = tmp_path / "spec.yaml", tmp_path / "plan.json"
    privacy = {**SPEC["privacy"], "margins": method, "unsafe": method == "independent"}
    file.write_text(yaml.safe_dump({**SPEC, "privacy": privacy}))
    _, out, _ = noisegate("release", file, "--plan", "--json", plan)
    assert "Assumes" not in out
    assert json.loads(plan.read_text())["assumes"] is None


def test_a_plan_with_the_counts_of_a_release_reads_no_event(noisegate, spec, tmp_path):
    earlier, file, picture = tmp_path / "out", tmp_path / "plan.json", tmp_path / "plan.svg"
    noisegate("release", spec, "--out", earlier, "--ledger", tmp_path / "l.sqlite")
    (tmp_path / "spec.yaml").write_text(spec.read_text())  # where no events are
    code, out, err = noisegate(
        *("release", tmp_path / "spec.yaml", "--plan", "--like", earlier),
        *("--json", file, "--picture", picture, "--error", "60"),
    )
    assert (code, err.strip()) == (0, "")
    text = " ".join(out.split())
    assert "Assumes counts like those of the release 'town'." in text
    assert "of its cells have no row; they were filled in from its margins" in text
    assert "No event was read and nothing was spent." in text
    found = json.loads(file.read_text())
    assert found["like"]["name"] == "town"
    assert 0 < found["like"]["left_out"] < 1
    by_mode = found["questions"][0]
    assert by_mode["name"] == "by-mode"
    points = {point["epsilon"]: point for point in by_mode["by_epsilon"]}
    assert set(points[1.0]["like"]) == {"noise", "published", "bias", "standard_error"}
    errors = [points[epsilon]["like"]["noise"] for epsilon in sorted(points)]
    assert errors == sorted(errors, reverse=True)
    assert by_mode["wanted"] == 60
    around = [e for e in sorted(points) if points[e]["like"]["published"] > 60]
    assert around[-1] <= by_mode["epsilon_needed"] <= 2 * around[-1]
    # The same noise again, and an error that none of these epsilons reaches.
    code, out, _ = noisegate(
        "release", tmp_path / "spec.yaml", "--plan", "--like", earlier, "--json", file, "--error", "1e-9"
    )
    assert code == 0
    assert "infinite" in out
    again = json.loads(file.read_text())["questions"][0]
    assert again["epsilon_needed"] is None
    assert again["by_epsilon"] == by_mode["by_epsilon"]


def test_a_plan_that_takes_its_time_shows_how_far_it_is(noisegate, spec, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "noisegate.cli.output.Bar.show", lambda _self, done, total: seen.append((done, total))
    )
    noisegate("release", spec, "--plan")
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]  # two questions, and the comparison of laws


def test_what_is_published_of_a_workload_does_not_depend_on_the_events(noisegate, spec, tmp_path, town):
    cards = []
    for n, lines in enumerate([1000, 50]):
        copy = tmp_path / f"copy{n}"
        copy.mkdir()
        taps = (town.folder / "taps.csv").read_text().splitlines()[:lines]
        (copy / "taps.csv").write_text("\n".join(taps) + "\n")
        (copy / "spec.yaml").write_text(spec.read_text())
        noisegate("release", copy / "spec.yaml", "--out", copy / "out", "--ledger", copy / "l.sqlite")
        cards.append(json.loads((copy / "out" / "card.json").read_text())["workload"])
    assert cards[0] == cards[1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--out is missing"),
        (["--out", "out", "--error", "3"], "--error belongs to a plan"),
        (["--out", "out", "--picture", "p.svg"], "--picture belongs to a plan"),
        (["--out", "out", "--like", "earlier"], "--like belongs to a plan"),
        (["--out", "out", "--utility", "out/measured.json"], "measured errors are not private"),
        (["--out", "out", "--utility", "nowhere/x.json"], "The file nowhere/x.json for --utility is"),
        (["--plan", "--like", "earlier"], "There is no directory 'earlier'"),
        (["--plan", "--picture", "nowhere/p.svg"], "The file nowhere/p.svg for --picture is"),
        (["--plan", "--error", "0"], "error must be a number above 0"),
        (["--plan", "--picture", "plan.gif"], "a picture is written as .svg, .png, .html"),
    ],
)
def test_bad_options_end_with_a_sentence(noisegate, spec, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    code, _, err = noisegate("release", spec, *arguments)
    assert code == 2
    assert sentence in err
    assert not (tmp_path / "out").exists()
