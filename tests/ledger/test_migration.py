"""Ledgers of the first format are taken over: the chain holds, and what they do not say is unknown."""

import sqlite3
from datetime import date
from fractions import Fraction

import pytest

from noisegate.errors import BudgetExceeded
from noisegate.ledger import APPLICATION_ID, Charge, Days, Entry, Loss, UnitLoss, open_ledger

OLD = """
CREATE TABLE noisegate_ledger (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), format INTEGER NOT NULL, origin TEXT NOT NULL);
CREATE TABLE noisegate_entry (
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, unit TEXT, epsilon TEXT, delta TEXT,
    source TEXT, release TEXT, spec_digest TEXT, output TEXT, reservation TEXT, card_digest TEXT, previous TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE);
CREATE TRIGGER noisegate_ledger_no_update BEFORE UPDATE ON noisegate_ledger BEGIN SELECT RAISE(ABORT, 'the ledger only grows'); END;
"""
FORMER = "/srv/taps.csv by person-day"


@pytest.fixture
def old(sqlite_target, tmp_path):
    """A ledger as the first version wrote it: a budget of 10 and a release of 6 for a file and a unit."""
    (tmp_path / "state").mkdir()
    raw = sqlite3.connect(sqlite_target)
    raw.executescript(OLD)
    raw.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    raw.execute("INSERT INTO noisegate_ledger VALUES (1, 1, ?)", ["ab" * 32])
    seq, digest = 0, "ab" * 32
    for facts in (
        {"kind": "budget", "unit": "person-day", "epsilon": "10", "delta": "1/1000000", "source": "default"},
        {"kind": "reserved", "unit": "person-day", "epsilon": "6", "delta": "0", "release": "week", "spec_digest": "0" * 64, "output": "/srv/out"},
    ):  # fmt: skip
        entry = Entry.following(seq, digest, at="2026-01-01T00:00:00+00:00", dataset=FORMER, **facts)
        columns = [name for name in Entry.__slots__ if name != "facts"]
        marks = ", ".join("?" * len(columns))
        raw.execute(
            f"INSERT INTO noisegate_entry ({', '.join(columns)}) VALUES ({marks})",
            [getattr(entry, name) for name in columns],
        )
        seq, digest = entry.seq, entry.digest
    raw.commit()
    raw.close()
    return sqlite_target


def test_an_old_ledger_can_be_looked_at_as_it_is(old):
    with open_ledger(old, read_only=True) as ledger:
        (account,) = ledger.accounts()
        assert not [one for one in ledger.check() if one.fault]
    assert account.spent == Loss(epsilon=Fraction(6))
    assert [one.unknown for one in account.units] == [1, 0, 1]
    assert sqlite3.connect(old).execute("SELECT format FROM noisegate_ledger").fetchone() == (1,)


def test_an_old_ledger_is_taken_over_and_its_accounts_are_adopted(old):
    units = ("event", "person-day", "person")
    charge = Charge(
        losses={unit: UnitLoss(loss=Loss(epsilon=Fraction(3))) for unit in units},
        days=Days(first=date(2026, 1, 1), last=date(2026, 1, 7), column="at"),
        adopts=(FORMER,),
    )

    def reserve(ledger):
        return ledger.reserve(
            "cards",
            epsilon=3,
            unit="person-day",
            release="w",
            spec_digest="0" * 64,
            output="/nowhere/w",
            charge=charge,
        )

    with open_ledger(old) as ledger:
        reserve(ledger)
        (account,) = ledger.accounts()
        assert not [one for one in ledger.check() if one.fault]
        assert account.adopted == (FORMER,)
        assert account.per("person-day").worst.epsilon == 9
        assert (account.per("person").worst.epsilon, account.per("person").unknown) == (3, 1)
        with pytest.raises(BudgetExceeded, match=r"asks for epsilon 3 per person-day .* holds 1 "):
            reserve(ledger)
    with open_ledger(old, read_only=True) as ledger:
        assert [entry.kind for entry in ledger.history("cards")] == ["budget", "reserved", "reserved"]
    assert sqlite3.connect(old).execute("SELECT format FROM noisegate_ledger").fetchone() == (2,)
