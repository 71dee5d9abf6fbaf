"""A release and its ledger: charged before noise, never undone, never too much."""

import errno
import hashlib
import subprocess
import sys
from fractions import Fraction

import pytest

from noisegate.errors import OutputError
from noisegate.ledger import open_ledger
from noisegate.releases import job
from noisegate.spec import load_spec

PROGRAM = [sys.executable, "-c", "from noisegate.cli.main import run; run()"]


@pytest.fixture
def spec(hamlet):
    return load_spec(hamlet / "spec.yaml")


@pytest.fixture
def book(ledger):
    """The account of the hamlet, and what `check` has to say."""

    def read():
        with open_ledger(ledger, read_only=True) as opened:
            return opened.account("hamlet"), opened.check()

    return read


def test_the_mark_and_the_digest_match(spec, make, book, noisegate, ledger):
    made = make(spec)
    account, problems = book()
    (paid,) = account.reservations
    assert problems == ()
    assert paid.state == "published"
    assert paid.card_digest == hashlib.sha256((made.folder / "card.json").read_bytes()).hexdigest()
    assert (paid.output, paid.release, paid.id) == (made.folder, "hamlet", made.card["ledger"]["reservation"])
    assert account.spent.epsilon == Fraction(1, 2)
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 0
    (made.folder / "card.json").write_text((made.folder / "card.json").read_text().replace("0.5", "0.4"))
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 3  # and the check can say no


def test_nothing_is_drawn_before_it_is_charged(spec, make, book, monkeypatch):
    seen = []
    draw = job.publish_tables

    def watched(*arguments, **more):
        account, _ = book()
        seen.append((account.spent.epsilon, [one.state for one in account.reservations]))
        return draw(*arguments, **more)

    monkeypatch.setattr(job, "publish_tables", watched)
    make(spec)
    assert seen == [(Fraction(1, 2), ["reserved"])]


class AccidentError(RuntimeError):
    pass


@pytest.mark.parametrize("step", ["publish_tables", "write_table", "make_card", "card_text", "write_card"])
def test_what_fails_after_the_charge_stays_spent_and_leaves_nothing(
    step, spec, ledger, tmp_path, book, noisegate, monkeypatch
):
    def fail(*_, **__):
        raise AccidentError

    monkeypatch.setattr(job, step, fail)
    with pytest.raises(AccidentError):
        job.release(spec, out=tmp_path / "out", ledger=ledger)
    account, problems = book()
    assert account.spent.epsilon == Fraction(1, 2)
    assert [one.state for one in account.reservations] == ["reserved"]
    assert [one.kind for one in problems] == ["unpublished"]
    assert [path.name for path in tmp_path.iterdir()] == [ledger.name]
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 0
    assert noisegate("ledger", "check", "--settle", "--ledger", ledger)[0] == 0
    assert book()[0].spent.epsilon == Fraction(1, 2)


@pytest.mark.parametrize("step", ["make_plan", "check_output", "count_slices", "warnings_before_spending"])
def test_what_fails_before_the_charge_costs_nothing(step, spec, ledger, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise AccidentError

    monkeypatch.setattr(job, step, fail)
    with pytest.raises(AccidentError):
        job.release(spec, out=tmp_path / "out", ledger=ledger)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_said_to_be_one(spec, ledger, tmp_path, book, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(job, "write_table", full)
    with pytest.raises(
        OutputError, match="No space left on device; nothing was published, and what was reserved stays"
    ):
        job.release(spec, out=tmp_path / "out", ledger=ledger)
    assert book()[0].spent.epsilon == Fraction(1, 2)
    assert [path.name for path in tmp_path.iterdir()] == [ledger.name]


def test_a_release_that_somebody_else_put_there_meanwhile_is_not_touched(
    spec, ledger, tmp_path, book, monkeypatch
):
    draw, out = job.publish_tables, tmp_path / "out"

    def meanwhile(*arguments, **more):
        out.mkdir()
        (out / "theirs.txt").write_text("kept")
        return draw(*arguments, **more)

    monkeypatch.setattr(job, "publish_tables", meanwhile)
    with pytest.raises(OutputError, match="cannot put the release in place"):
        job.release(spec, out=out, ledger=ledger)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("theirs.txt", "kept")]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([ledger.name, "out"])
    assert book()[0].spent.epsilon == Fraction(1, 2)


def test_over_budget_is_exit_3_and_nothing_is_written(hamlet, ledger, tmp_path, noisegate, book):
    arguments = ("release", hamlet / "spec.yaml", "--quiet", "--ledger", ledger, "--out")
    noisegate("ledger", "set", "hamlet", "--epsilon", "0.9", "--unit", "person-day", "--ledger", ledger)
    assert noisegate(*arguments, tmp_path / "one")[0] == 0
    before = book()
    code, out, err = noisegate(*arguments, tmp_path / "two")
    assert code == 3
    assert err == (
        "noisegate: The release asks for epsilon 0.5 per person-day of population 'hamlet'; the ledger holds 0.4. "
        "Lower epsilon, or raise the budget with 'noisegate ledger set'.\n"
    )
    assert out == ""
    assert book() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([ledger.name, "one"])
    noisegate("ledger", "set", "hamlet", "--epsilon", "1", "--ledger", ledger)
    assert noisegate(*arguments, tmp_path / "two")[0] == 0


def test_delta_over_budget_is_exit_3_and_nothing_is_written(hamlet, ledger, tmp_path, noisegate):
    text = (hamlet / "spec.yaml").read_text()
    flawed = text.replace("suppress: {below: 3}}", "zeros: keep, unsafe: true, suppress: {below: 30}}")
    assert flawed != text
    (hamlet / "flawed.yaml").write_text(flawed)
    noisegate("ledger", "set", "hamlet", "--epsilon", "5", "--unit", "person-day", "--ledger", ledger)
    code, out, err = noisegate(
        "release", hamlet / "flawed.yaml", "--ledger", ledger, "--out", tmp_path / "out"
    )
    assert code == 3
    assert "asks for delta" in err
    assert out == ""
    assert [path.name for path in tmp_path.iterdir()] == [ledger.name]


def test_a_unit_that_is_promised_nothing_does_not_fit_a_budget_for_it(hamlet, ledger, tmp_path, noisegate):
    noisegate("ledger", "set", "hamlet", "--epsilon", "5", "--unit", "person-day", "--ledger", ledger)
    text = (hamlet / "spec.yaml").read_text().replace("unit: person-day, max_cells: 3", "unit: event")
    (hamlet / "events.yaml").write_text(text)
    code, _, err = noisegate(
        "release", hamlet / "events.yaml", "--quiet", "--ledger", ledger, "--out", tmp_path / "out"
    )
    assert code == 3
    assert (
        "The release promises nothing to one day of a person of population 'hamlet': it is counted per event"
        in err
    )
    assert [path.name for path in tmp_path.iterdir()] == [ledger.name]


def test_the_first_budget_is_that_of_the_spec_or_the_default(spec, spec_of, make, tmp_path, ledger):
    make(spec, out=tmp_path / "one")
    privacy = {"unit": "person-day", "max_cells": 4, "epsilon": "2", "margins": "derive"}
    made = make(spec_of(privacy, every="6h", budget=None), out=tmp_path / "two")
    assert made.card["ledger"]["dataset"] == made.card["ledger"]["population"] == "town"
    with open_ledger(ledger, read_only=True) as opened:
        budgets = {one.dataset: one.budget for one in opened.accounts()}
    assert budgets["hamlet"].source == "spec"
    assert (budgets["town"].source, budgets["town"].epsilon) == ("default", 10)


def test_concurrent_releases_cannot_overspend(hamlet, ledger, tmp_path, book, noisegate, read_release):
    """Four at the same time, and money for two."""
    noisegate("ledger", "set", "hamlet", "--epsilon", "1", "--unit", "person-day", "--ledger", ledger)
    running = [
        subprocess.Popen(
            [*PROGRAM, "release", hamlet / "spec.yaml", "--out", tmp_path / f"out{n}", "--ledger", ledger, "--quiet"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]  # fmt: skip
    said = [one.communicate(timeout=300)[1] for one in running]
    codes = [one.returncode for one in running]
    assert sorted(codes) == [0, 0, 3, 3], said
    account, problems = book()
    assert problems == ()
    assert account.spent.epsilon == 1
    for n, code in enumerate(codes):
        assert (tmp_path / f"out{n}").exists() == (code == 0)
        if code == 0:
            made = read_release(tmp_path / f"out{n}")
            assert made.csv == made.parquet
        else:
            assert said[n].startswith(
                "noisegate: The release asks for epsilon 0.5 per person-day of population 'hamlet'; the ledger holds 0"
            )
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
