"""`noisegate query`: what it prints, what it writes, and how it refuses."""

import json

import pytest


def test_a_table_and_json(noisegate, cut, tmp_path):
    file = tmp_path / "answers.json"
    code, out, _ = noisegate(
        "query",
        cut,
        "--where",
        "mode=train,time=07:00..09:00",
        "--by",
        "stop",
        "--level",
        "0.9",
        "--json",
        file,
    )
    assert code == 0
    assert "90 % interval" in out
    assert "repeatable noise" in out
    found = json.loads(file.read_text())
    assert found["by"] == ["stop"]
    assert found["simulated"] is True
    assert [row["stop"] for row in found["answers"]] == ["A", "B"]
    assert all(row["low"] <= row["estimate"] <= row["high"] for row in found["answers"])


def test_the_largest_come_first(noisegate, whole):
    code, out, _ = noisegate("query", whole, "--by", "date,stop", "--top", "3")
    assert code == 0
    assert sum(line.startswith("│") for line in out.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--where", "mod=bus"], "Did you mean 'mode'?"),
        (["--where", "mode=buss"], "it has train, bus. Did you mean 'bus'?"),
        (["--by", "colour"], "must be one of mode, date, time, stop"),
        (["--where", "time=07:10..08:00"], "published only as a whole"),
        (["--where", "mode=train,stop=C"], "no published cell meets all conditions"),
        (["--level", "1.5"], "level must be between 0 and 1, such as 0.95"),
    ],
)
def test_bad_questions_end_with_a_sentence(noisegate, whole, arguments, sentence):
    code, _, err = noisegate("query", whole, *arguments)
    assert code == 2
    assert sentence in err
    assert err.count("\n") == 1


def test_a_place_without_a_release_is_refused(noisegate, tmp_path):
    assert noisegate("query", tmp_path / "nowhere")[0] == 2
    code, _, err = noisegate("query", tmp_path)
    assert code == 2
    assert "has no card.json" in err
    assert "noisegate assess" in err


def test_help_has_examples(noisegate):
    code, out, _ = noisegate("query", "--help")
    assert code == 0
    assert "noisegate query week" in out


def test_values_from_the_release_cannot_style_the_output(noisegate, town):
    folder = town.made("plain", {"margins": "derive"})
    card = json.loads((folder / "card.json").read_text())
    card["name"] = "[red]name[/red]"
    (folder / "card.json").write_text(json.dumps(card))
    assert "[red]name[/red]" in noisegate("query", folder)[1]
