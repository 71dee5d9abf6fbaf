"""The how-to for custodians: its commands run in the order given, and its words are those of the program."""

import re
import shlex
from pathlib import Path

import pytest

from noisegate import limits
from noisegate.ledger import DEFAULT_EPSILON

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "make-a-release.md"


@pytest.fixture
def page():
    return PAGE.read_text(encoding="utf-8")


def test_the_commands_run_in_order(page, tmp_path, monkeypatch, noisegate):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOISEGATE_LEDGER", str(tmp_path / "ledger.sqlite"))
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert [words[:2] for words in commands] == [
        ["noisegate", "simulate"],
        ["noisegate", "ledger"],
        ["noisegate", "release"],
        ["noisegate", "ledger"],
        ["noisegate", "ledger"],
    ]
    (population,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    for words in commands:
        if words[1] == "release":
            assert population in Path("town/spec.yaml").read_text()
        quick = [{"20000": "2000"}.get(word, word) for word in words[1:]]
        code, out, _ = noisegate(*quick)
        assert code == 0, words
    assert "invented-city" in out
    assert {path.name for path in Path("days").iterdir()} >= {"card.json", "CARD.md", "time-loc.csv"}


def test_the_numbers_it_states_are_those_of_the_program(page):
    assert f"up to {limits.current().reconciled_cells // 10**6} million" in page
    assert f"may spend epsilon {DEFAULT_EPSILON}" in page
