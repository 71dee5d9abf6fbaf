"""The command line: show, check, set."""

import json
import sqlite3

import pytest
from typer.testing import CliRunner

from noisegate.cli.ledger import app
from noisegate.errors import DataError, GateError, NoisegateError, OutputError, SpecError
from noisegate.ledger import open_ledger


@pytest.fixture
def run(sqlite_target):
    """Run a command on a ledger; returns what it prints and lets errors of ours through."""

    def run(*words, where=sqlite_target):
        result = CliRunner().invoke(app, [*words, "--ledger", where])
        if isinstance(result.exception, NoisegateError):
            raise result.exception
        assert result.exit_code == 0, result.output
        return result.output

    return run


def test_an_empty_ledger_is_said_to_be_empty_and_is_not_made(run, sqlite_target, tmp_path):
    file = tmp_path / "out.json"
    for command in ("show", "check"):
        text = run(command, "--json", str(file))
        assert f"Ledger: {sqlite_target}" in text
        assert "There is no ledger there yet: nothing has been spent." in text
        assert json.loads(file.read_text())["exists"] is False
    assert not (tmp_path / "state").exists()


def test_a_ledger_without_entries_is_said_to_be_empty(run, sqlite_target):
    open_ledger(sqlite_target).close()
    assert "It is empty: nothing has been spent." in run("show")
    assert "Consistent: 0 entries." in run("check")


def test_set_then_show(run, charge, sqlite_target, tmp_path, put_in_place):
    assert "person-day" in run("set", "taps", "--epsilon", "10", "--delta", "1e-6", "--unit", "person-day")
    with open_ledger(sqlite_target) as ledger:
        done = charge(ledger, epsilon="1/3", delta="1e-7")
        ledger.publish(done.id, card_digest=put_in_place(done))
        charge(ledger, epsilon="0.1", release="stopped")
    file = tmp_path / "out.json"
    lines = run("show", "--json", str(file)).splitlines()
    assert [line.split() for line in lines if "ε" in line] == [
        ["taps", "event", "ε", "-", "unknown", "-", "1", "1"],
        ["person-day", "ε", "10", "0.433334", "9.56666"],
        ["tight", "ε", "at", "1e-6", "0.433331"],
        ["person", "ε", "-", "unknown", "-"],
    ]
    assert [line.split() for line in lines if line.split()[:1] == ["δ"]] == [["δ", "1e-6", "1e-7", "9e-7"]]
    (account,) = json.loads(file.read_text())["accounts"]
    assert account["spent"]["exact"] == {"epsilon": "13/30", "delta": "1/10000000"}
    assert account["budget"] == {
        "epsilon": 10.0,
        "delta": 1e-6,
        "exact": {"epsilon": "10", "delta": "1/1000000"},
        "unit": "person-day",
        "source": "set",
    }
    assert [one["state"] for one in account["reservations"]] == ["published", "reserved"]


def test_one_dataset_comes_with_its_history(run, charge, sqlite_target, tmp_path):
    with open_ledger(sqlite_target) as ledger:
        done = charge(ledger, epsilon="1/3")
        charge(ledger, dataset="other")
    file = tmp_path / "out.json"
    text = run("show", "taps", "--json", str(file))
    assert "* the default, as nobody has set a budget" in text
    assert done.id in "".join(text.split())
    assert "other " not in text
    assert [entry["kind"] for entry in json.loads(file.read_text())["history"]] == ["budget", "reserved"]


def test_a_dataset_that_is_not_there_is_bad_input(run):
    run("set", "taps", "--epsilon", "1", "--unit", "event")
    with pytest.raises(DataError, match=r"knows no population 'tap'\. See 'noisegate ledger show'\."):
        run("show", "tap")


def test_names_are_not_taken_for_markup(run):
    assert "[red]x[/red]" in run("set", "[red]x[/red]", "--epsilon", "1", "--unit", "event")


def test_check_says_consistent_with_notes_and_settles_them(run, charge, sqlite_target, tmp_path):
    with open_ledger(sqlite_target) as ledger:
        one = charge(ledger)
    file = tmp_path / "out.json"
    text = run("check", "--json", str(file))
    assert "note" in text
    assert "spent, nothing published" in " ".join(text.split())
    assert "Consistent: 2 entries, last digest " in text
    result = json.loads(file.read_text())
    assert (result["consistent"], result["entries"]) == (True, 2)
    assert [(each["kind"], each["fault"], each["reservation"]) for each in result["problems"]] == [
        ("unpublished", False, one.id)
    ]
    assert "Settled: 1 reservation. All still count as spent." in run("check", "--settle")
    assert "note" not in run("check")


def test_check_says_no_with_exit_code_3_and_still_writes_its_json(run, charge, sqlite_target, tmp_path):
    with open_ledger(sqlite_target) as ledger:
        charge(ledger)
    raw = sqlite3.connect(sqlite_target)
    raw.execute("DROP TRIGGER noisegate_entry_no_update")
    raw.execute("UPDATE noisegate_entry SET epsilon = '1/100' WHERE kind = 'reserved'")
    raw.commit()
    raw.close()
    file = tmp_path / "out.json"
    with pytest.raises(GateError, match=r"is not consistent: 1 fault, listed above\.") as caught:
        run("check", "--json", str(file))
    assert caught.value.exit_code == 3
    assert json.loads(file.read_text())["consistent"] is False


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["taps", "--epsilon", "ten", "--unit", "event"], "epsilon must be an exact number"),
        (["taps", "--epsilon", "0", "--unit", "event"], "the epsilon of a budget must be above 0"),
        (["taps", "--epsilon", "-1", "--unit", "event"], "epsilon must be at least 0, got '-1'"),
        (
            ["taps", "--epsilon", "1", "--delta", "1", "--unit", "event"],
            "delta must be at least 0 and below 1",
        ),
        (["taps", "--epsilon", "1", "--unit", "persons"], "Did you mean 'person'"),
        (["taps", "--epsilon", "1"], "its privacy unit must be given"),
        (["", "--epsilon", "1", "--unit", "event"], "the dataset must be 1 to 4096 printable characters"),
    ],
)
def test_bad_budgets_are_bad_input(run, words, says):
    with pytest.raises(SpecError, match=says):
        run("set", *words)
    assert "nothing has been spent" in run("show")


def test_a_json_file_that_cannot_be_written_stops_before_anything_is_done(run, tmp_path):
    with pytest.raises(OutputError, match="for --json is a directory or in none that exists"):
        run("set", "taps", "--epsilon", "1", "--unit", "event", "--json", str(tmp_path / "no" / "out.json"))
    assert not (tmp_path / "state").exists()


def test_a_budget_that_is_no_number_makes_no_ledger(run, tmp_path):
    with pytest.raises(SpecError):
        run("set", "taps", "--epsilon", "ten", "--unit", "event")
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("command", ["show", "check", "set"])
def test_help_has_examples(command):
    text = CliRunner().invoke(app, [command, "--help"]).output
    assert f"noisegate ledger {command}" in text
    assert "--ledger" in text
    assert "--json" in text
