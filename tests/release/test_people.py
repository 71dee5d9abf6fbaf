"""The ledger accounts for people: whatever a file is called, whatever the unit, whatever the week."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import duckdb
import pytest

from noisegate.engine import count
from noisegate.errors import BudgetExceeded, GateError, OutputError, SpecError
from noisegate.laws import SeededNoise
from noisegate.ledger import Charge, Days, Ledger, open_ledger
from noisegate.releases import job, make_plan
from noisegate.spec import load_spec, parse_spec

PROGRAM = [sys.executable, "-c", "from noisegate.cli.main import run; run()"]
UNITS = {
    "event": {"unit": "event"},
    "person-day": {"unit": "person-day", "max_cells": 3},
    "person": {"unit": "person", "max_cells": 3},
}


def taps_spec(
    folder, source="taps.csv", *, unit="person-day", epsilon="9", dates=("2016-07-25", "2016-07-26"), **more
):
    return parse_spec(
        {
            "name": "taps",
            "population": "cards",
            "events": {"source": source, "person": "card"},
            "dimensions": {
                "date": {"column": "at", "from": dates[0], "to": dates[1]},
                "stop": {"column": "stop", "values": ["A", "B", "C", "D"]},
            },
            "tables": {"base": ["date", "stop"]},
            "privacy": {**UNITS[unit], "epsilon": epsilon, "margins": "derive"},
            **more,
        },
        folder=folder,
    )


@pytest.fixture
def place(hamlet, tmp_path):
    """The taps of the hamlet under a dozen names."""
    home = tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    shutil.copy(hamlet / "taps.csv", home / "taps.csv")
    shutil.copy(hamlet / "taps.csv", home / "copy.csv")
    os.link(home / "taps.csv", home / "hard.csv")
    (home / "soft.csv").symlink_to(home / "taps.csv")
    (home / "link").symlink_to(home)
    with duckdb.connect(str(home / "taps.duckdb")) as made:
        made.execute(f"CREATE TABLE taps AS FROM read_csv('{home / 'taps.csv'}', all_varchar = true)")
    return home


SPELLINGS = [
    ("taps.csv", "", "event"),
    ("taps.csv", "", "person-day"),
    ("taps.csv", "", "person"),
    ("ta*.csv", "", "person-day"),
    ("hard.csv", "", "person-day"),
    ("copy.csv", "", "person"),
    ("soft.csv", "", "event"),
    ("{home}/taps.csv", "", "person-day"),
    ("../taps.csv", "deep", "person-day"),
    ("taps.duckdb::taps", "", "person-day"),
    ("taps.duckdb::main.taps", "", "person"),
    ("taps.csv", "link", "event"),
    ("./deep/../taps.csv", "", "person-day"),
]


@pytest.mark.parametrize("first", [0, 1, 2])
def test_thirteen_spellings_are_one_account_and_the_second_release_is_refused(
    first, place, tmp_path, ledger, monkeypatch
):
    assert len(SPELLINGS) == 13
    order = [SPELLINGS[first], *(one for n, one in enumerate(SPELLINGS) if n != first)]
    outcomes = []
    for number, (source, folder, unit) in enumerate(order):
        monkeypatch.chdir(place if number % 2 else tmp_path)
        spec = taps_spec(place / folder, source.format(home=place), unit=unit)
        try:
            job.release(spec, out=tmp_path / f"out{number}", ledger=ledger, yes=True)
            outcomes.append("accepted")
        except BudgetExceeded:
            outcomes.append("refused")
    assert outcomes == ["accepted"] + ["refused"] * 12
    with open_ledger(ledger, read_only=True) as book:
        assert book.populations() == ["cards"]
        assert len(book.account("cards").reservations) == 1


def test_event_person_and_person_day_releases_show_the_sum_in_each_unit(place, tmp_path, ledger, noisegate):
    with open_ledger(ledger) as book:
        book.set_budget("cards", epsilon=100, unit="event")
    made = {unit: taps_spec(place, unit=unit, epsilon="1") for unit in ("event", "person", "person-day")}
    for unit, spec in made.items():
        job.release(spec, out=tmp_path / unit, ledger=ledger)
    losses = {unit: make_plan(spec).losses for unit, spec in made.items()}
    with open_ledger(ledger, read_only=True) as book:
        account = book.account("cards")
        assert book.check() == ()
    assert account.per("event").worst.epsilon == sum(one.event.epsilon for one in losses.values())
    days = losses["person"].person_day.epsilon + losses["person-day"].person_day.epsilon
    assert (account.per("person-day").worst.epsilon, account.per("person-day").unbounded) == (days, 1)
    persons = losses["person"].person.epsilon + losses["person-day"].person.epsilon
    assert (account.per("person").worst.epsilon, account.per("person").unbounded) == (persons, 1)
    _, out, _ = noisegate("ledger", "show", "--ledger", ledger)
    assert out.count("unbounded") == 2


def weekly(number):
    first = date(2016, 7, 25) + timedelta(weeks=number)
    return first.isoformat(), (first + timedelta(days=6)).isoformat()


def test_fourteen_weekly_releases_of_days_of_persons_cost_one(place, tmp_path, ledger):
    for number in range(14):
        spec = taps_spec(place, epsilon="1", dates=weekly(number))
        job.release(spec, out=tmp_path / f"week{number}", ledger=ledger, yes=True)
    with open_ledger(ledger, read_only=True) as book:
        account = book.account("cards")
    assert len(account.reservations) == 14
    assert account.per("person-day").worst.epsilon == 1
    assert account.per("person").worst.epsilon == 14 * 7
    again = taps_spec(place, epsilon="9.5", dates=("2016-07-31", "2016-08-01"))
    with pytest.raises(BudgetExceeded, match=r"asks for epsilon 9.5 per person-day .*; the ledger holds 9 "):
        job.release(again, out=tmp_path / "across", ledger=ledger, yes=True)


def test_days_told_by_another_clock_are_not_disjoint(ledger):
    with open_ledger(ledger) as book:
        book.set_budget("cards", epsilon=10, unit="person-day")
        for number, column in enumerate(("at", "booked_at")):
            days = Days(first=date(2016, 1 + number, 1), last=date(2016, 1 + number, 9), column=column)
            book.reserve(
                "cards", epsilon=5, unit="person-day", release="x", spec_digest="0" * 64, output=f"/nowhere/{number}",
                charge=Charge(days=days),
            )  # fmt: skip
        assert book.account("cards").per("person-day").worst.epsilon == 10


def test_a_spec_that_names_nobody_is_told_how(place, tmp_path, ledger):
    spec = taps_spec(place, population=None)
    with pytest.raises(
        SpecError, match=r"population is missing: .* 'population: opal-cards'.*this ledger knows none yet"
    ):
        job.release(spec, out=tmp_path / "out", ledger=ledger)
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "one", ledger=ledger)
    with pytest.raises(SpecError, match="this ledger knows cards"):
        job.release(spec, out=tmp_path / "out", ledger=ledger)
    with pytest.raises(SpecError, match="but it knows 'cards'"):
        job.release(taps_spec(place, population="CARDS"), out=tmp_path / "out", ledger=ledger)
    assert (
        job.release(spec, out=tmp_path / "out", ledger=ledger, entropy=SeededNoise(seed=1)).account
        == "simulated"
    )


def test_the_same_events_under_another_name_are_said_before_anything_is_spent(place, tmp_path, ledger):
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "one", ledger=ledger)
    other = taps_spec(place, "copy.csv", epsilon="1", population="travellers")
    with pytest.raises(
        GateError,
        match="The same events were released before for population 'cards', and now for 'travellers'",
    ):
        job.release(other, out=tmp_path / "two", ledger=ledger)
    said = []
    job.release(other, out=tmp_path / "two", ledger=ledger, yes=True, warn=said.append)
    assert "their losses add up and the ledger does not see it" in said[-1]
    (place / "taps.csv").write_text((place / "taps.csv").read_text() + "card-1,2016-07-25 01:00:00,A\n")
    said.clear()
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "three", ledger=ledger, warn=said.append)
    assert said[-1].startswith(
        "taps.csv has other content than when it was last released for population 'cards'"
    )


def test_the_default_delta_is_a_stop(place, tmp_path, ledger):
    privacy = {
        "unit": "event",
        "epsilon": "1",
        "delta": "0.5",
        "law": "discrete-gaussian",
        "margins": "derive",
    }
    with pytest.raises(
        BudgetExceeded, match=r"asks for delta 0.5 per event .*; the ledger holds 1e-6 \(the default"
    ):
        job.release(taps_spec(place, privacy=privacy), out=tmp_path / "out", ledger=ledger)


def test_an_epsilon_of_a_hundred_does_not_pass_without_a_word(place, tmp_path, ledger):
    said = []
    spec = taps_spec(place, epsilon="100", budget={"epsilon": "1000"})
    job.release(spec, out=tmp_path / "out", ledger=ledger, warn=said.append, by=["A. Jones", "B. Smith"])
    assert "epsilon 100 promises next to nothing" in said[0]
    with open_ledger(ledger, read_only=True) as book:
        (paid,) = book.account("cards").reservations
    assert paid.charge.by == ("A. Jones", "B. Smith")
    with pytest.raises(SpecError, match="two different ones"):
        job.release(spec, out=tmp_path / "two", ledger=ledger, by=["A. Jones", "a. jones"])


def test_a_restored_backup_and_an_emptied_ledger_are_noticed_at_the_next_release(
    place, tmp_path, ledger, noisegate
):
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "one" / "out", ledger=ledger)
    backup = ledger.read_bytes()
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "two" / "out", ledger=ledger)
    for octets in (backup, b""):
        ledger.write_bytes(octets)
        with pytest.raises(GateError, match="was restored from a backup, emptied or replaced"):
            job.release(taps_spec(place, epsilon="1"), out=tmp_path / "three" / "out", ledger=ledger)
    ledger.write_bytes(backup)
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 3
    assert noisegate("ledger", "check", "--accept", "--ledger", ledger)[0] == 0
    with pytest.raises(
        GateError, match="holds a release about population 'cards' that this ledger does not know"
    ):
        job.release(taps_spec(place, epsilon="1"), out=tmp_path / "two" / "again", ledger=ledger)
    job.release(taps_spec(place, epsilon="1"), out=tmp_path / "three" / "out", ledger=ledger)


def test_six_processes_with_one_place_charge_once(hamlet, tmp_path, ledger):
    words = [
        *PROGRAM,
        "release",
        hamlet / "spec.yaml",
        "--out",
        tmp_path / "out",
        "--ledger",
        ledger,
        "--quiet",
    ]
    running = [
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    said = [one.communicate(timeout=300)[1] for one in running]
    assert sorted(one.returncode for one in running) == [0, 2, 2, 2, 2, 2], said
    with open_ledger(ledger, read_only=True) as book:
        assert len(book.account("hamlet").reservations) == 1


def test_a_place_that_is_claimed_elsewhere_is_refused_and_free_once_settled(ledger, tmp_path, monkeypatch):
    def reserve(book):
        return book.reserve(
            "cards", epsilon=1, unit="event", release="x", spec_digest="0" * 64, output=tmp_path / "out"
        )

    with open_ledger(ledger) as book:
        monkeypatch.setattr("socket.gethostname", lambda: "another")
        reserve(book)
        monkeypatch.undo()
        with pytest.raises(OutputError, match="is claimed by reservation"):
            reserve(book)
        book.settle()
        reserve(book)


def test_a_release_that_cannot_be_marked_says_so(hamlet, tmp_path, ledger, monkeypatch, noisegate):
    def gone(*_, **__):
        raise OutputError("The connection to the ledger was lost.")

    monkeypatch.setattr("noisegate.ledger.Ledger.publish", gone)
    said = []
    made = job.release(load_spec(hamlet / "spec.yaml"), out=tmp_path / "out", ledger=ledger, warn=said.append)
    assert not made.marked
    assert "published and charged; run 'noisegate ledger check --settle'" in said[-1]
    monkeypatch.undo()
    assert noisegate("ledger", "check", "--settle", "--ledger", ledger)[0] == 0
    with open_ledger(ledger, read_only=True) as book:
        assert [one.state for one in book.account("hamlet").reservations] == ["published"]


def test_a_lost_connection_is_opened_again_to_mark_a_release(hamlet, tmp_path, ledger, monkeypatch):
    real, calls = Ledger.publish, []

    def once(self, *arguments, **options):
        calls.append(self)
        if len(calls) == 1:
            raise OutputError("The connection to the ledger was lost.")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Ledger, "publish", once)
    assert job.release(load_spec(hamlet / "spec.yaml"), out=tmp_path / "out", ledger=ledger).marked
    assert len(calls) == 2
    assert calls[0] is not calls[1]


WORLDS = {
    "empty week": "",
    "unreadable time": "7,yesterday,A\n",
    "a row too short": "7,2016-07-25 01:00:00\n",
    "a row too long": "7,2016-07-25 01:00:00,A,B,C\n",
    "a stray quotation mark": '7,"2016"-07,A\n',
    "a quotation mark that is never closed": '7,2016-07-25 01:00:00,"A\n8,2016-07-25 02:00:00,B\n',
    "no UTF-8": "7,2016-07-25 01:00:00,\udcff\n",
    "nothing but marks": '"\n"""\n',
    "no time ever": "7,infinity,A\n8,294247-01-01 00:00:00,A\n",
    "far ids": "0,2016-07-25 01:00:00,A\n4611686018427387903,2016-07-25 02:00:00,B\n",
}


@pytest.mark.parametrize("rows", WORLDS.values(), ids=WORLDS)
def test_whatever_the_rows_hold_a_scheduled_release_succeeds(rows, tmp_path, ledger):
    (tmp_path / "taps.csv").write_text("card,at,stop\n" + rows, errors="surrogateescape")
    for number, unit in enumerate(UNITS):
        spec = taps_spec(tmp_path, unit=unit, epsilon="1/10", population=f"cards {unit}")
        job.release(spec, out=tmp_path / f"out{number}", ledger=ledger, yes=True)
    if not count(taps_spec(tmp_path), entropy=SeededNoise(seed=1), total=True).tally.counted:
        with pytest.raises(GateError, match="would count none of the events"):
            job.release(taps_spec(tmp_path, epsilon="1"), out=tmp_path / "out", ledger=ledger)


def test_a_release_that_counts_under_half_asks_or_refuses(place, tmp_path, ledger):
    few = taps_spec(place, epsilon="1", dates=("2016-07-25", "2016-07-25"))
    few = few.model_copy(update={"privacy": few.privacy.model_copy(update={"max_cells": 1})})
    with pytest.raises(
        GateError, match=r"would count fewer than half of the events .* has looked at the raw events"
    ) as caught:
        job.release(few, out=tmp_path / "out", ledger=ledger)
    assert not any(
        character.isdigit()
        for character in str(caught.value).replace("max_cells: 1", "").replace("max_per_cell: 1", "")
    )
    asked = []
    job.release(few, out=tmp_path / "out", ledger=ledger, confirm=lambda question: not asked.append(question))
    assert len(asked) == 1


def test_rows_that_cannot_be_read_are_said_by_check_and_guarded(hamlet, tmp_path, ledger, noisegate):
    """Nothing vanishes without a word: the custodian sees how many, the guard no number."""
    rows = (hamlet / "taps.csv").read_text().splitlines()
    (tmp_path / "spec.yaml").write_text((hamlet / "spec.yaml").read_text())
    bad = ['5550123,"2016-07-25 08:15:00,A', "5550123,2016-07-25 08:15:00", "5550123,,,,B"]
    (tmp_path / "taps.csv").write_text("\n".join([*rows[:200], *bad, *rows[200:]]))
    code, out, err = noisegate(
        "release", tmp_path / "spec.yaml", "--check", "--ledger", ledger, "--json", tmp_path / "c.json"
    )
    assert (code, err) == (0, "")
    assert "403 events read" in out
    assert "3 outside the domain: the row cannot be read" in out
    assert json.loads((tmp_path / "c.json").read_text())["outside"]["the row cannot be read"] == 3
    (tmp_path / "taps.csv").write_text("\n".join([*rows[:150], *bad * 60]))
    code, out, err = noisegate(
        "release", tmp_path / "spec.yaml", "--out", tmp_path / "out", "--ledger", ledger, "--quiet"
    )
    assert code == 3
    assert "would count fewer than half of the events (the row cannot be read" in err
    assert "5550123" not in out + err
    assert not re.search(r"\d{2}", err.partition("See ")[0])
    options = ("--out", tmp_path / "out", "--ledger", ledger, "--quiet", "--yes")
    assert noisegate("release", tmp_path / "spec.yaml", *options)[0] == 0


def test_check_tallies_and_spends_nothing(hamlet, tmp_path, ledger, noisegate):
    code, out, _ = noisegate(
        "release", hamlet / "spec.yaml", "--check", "--ledger", ledger, "--json", tmp_path / "c.json"
    )
    assert code == 0
    assert "400 events read" in out
    assert "Nothing was spent." in out
    assert not ledger.exists()
    assert [path.name for path in Path(tmp_path).iterdir()] == ["c.json"]
