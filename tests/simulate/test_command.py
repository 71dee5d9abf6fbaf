"""`noisegate simulate` as a person types it."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from noisegate.cli import simulate as command
from noisegate.errors import OutputError, SpecError


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(command.simulate)

    def call(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


def test_it_prints_what_was_written_and_writes_json(run, tmp_path):
    out, summary = tmp_path / "world", tmp_path / "summary.json"
    result = run("--out", out, "--days", 2, "--persons", 500, "--seed", 9, "--json", summary, "--quiet")
    assert result.exit_code == 0, result.output
    told = json.loads(summary.read_text())
    assert told["persons"] == 500
    assert told["first"] == "2016-07-25"
    assert told["closed_pair"] == ["Lantern Quay Wharf 3", "Seahaven Wharf"]
    for row in told["files"]:
        assert row["file"] in result.output
        assert row["bytes"] == (out / row["file"]).stat().st_size


def test_options_reach_the_world(run, tmp_path):
    summary = tmp_path / "summary.json"
    run(
        "--out",
        tmp_path / "w",
        "--persons",
        200,
        "--days",
        1,
        "--start",
        "2016-08-08",
        "--no-closed-ferry",
        "--json",
        summary,
    )
    told = json.loads(summary.read_text())
    assert (told["first"], told["closed_pair"], told["days"]) == ("2016-08-08", None, 1)


def test_errors_are_left_to_the_main_program(run, tmp_path):
    assert isinstance(run("--out", tmp_path / "w", "--days", 0).exception, SpecError)
    assert isinstance(run("--out", tmp_path, "--days", 1).exception, OutputError)


def test_help_has_examples(run):
    assert "noisegate simulate --out world" in run("--help").output
