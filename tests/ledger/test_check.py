"""What `check` finds: altered history, cards that differ, releases nobody charged, leftovers."""

import hashlib
import json
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pytest

from noisegate.errors import DataError, GateError
from noisegate.ledger import Entry, find_problems, open_ledger

DIGEST = "cd" * 32


def kinds(ledger):
    return [one.kind for one in ledger.check()]


@pytest.fixture
def published(ledger, charge, put_in_place):
    """A ledger with one release in place, and its reservation."""
    reservation = charge(ledger)
    return ledger.publish(reservation.id, card_digest=put_in_place(reservation))


# The directories.


def test_a_published_release_in_place_is_fine_and_one_that_was_moved_or_deleted_too(ledger, published):
    assert ledger.check() == ()
    published.output.rename(published.output.with_name("elsewhere"))
    assert ledger.check() == ()


def test_a_card_altered_after_publication_is_a_fault(ledger, published):
    card = published.output / "card.json"
    card.write_bytes(card.read_bytes() + b"\n")
    (problem,) = ledger.check()
    assert (problem.kind, problem.fault, problem.path) == ("card", True, published.output)
    assert problem.message == f"The card of {published.output} was altered after it was published."
    published.output.rename(published.output.with_name("elsewhere"))
    assert kinds(ledger) == ["card"]


@pytest.mark.parametrize("octets", [None, b"", b"not json", b"[1]", b"{}", b'{"ledger": 3}', b"[" * 100_000])
def test_a_published_directory_without_a_card_that_names_its_reservation_is_a_fault(
    ledger, published, octets
):
    card = published.output / "card.json"
    card.unlink()
    if octets is not None:
        card.write_bytes(octets)
    (problem,) = ledger.check()
    assert (problem.kind, problem.fault) == ("card", True)
    assert problem.message.endswith("was published, but has no card.json that names its reservation.")


def test_a_card_that_names_another_dataset_is_a_fault(ledger, charge, put_in_place):
    reservation = charge(ledger)
    ledger.publish(reservation.id, card_digest=put_in_place(reservation, dataset="other"))
    (problem,) = ledger.check()
    assert (problem.kind, problem.reservation) == ("card", reservation.id)


def test_a_release_that_nobody_charged_is_a_fault(ledger, published, put_in_place):
    stranger = published.output.with_name("stranger")
    put_in_place(published, where=stranger, reservation="f" * 32)
    (problem,) = ledger.check()
    assert (problem.kind, problem.fault, problem.path) == ("uncharged", True, stranger)
    assert problem.message == (
        f"{stranger} holds a release paid with reservation {'f' * 32}, which this ledger does not know."
    )


def test_other_directories_nearby_are_left_alone(ledger, published):
    (published.output.parent / "notes").mkdir()
    (published.output.parent / "business").mkdir()
    (published.output.parent / "business" / "card.json").write_text(json.dumps({"name": "somebody"}))
    (published.output.parent / "card.json").write_text("{}")
    assert ledger.check() == ()


def test_a_release_that_replaces_one_at_the_same_place_is_fine(ledger, published, charge, put_in_place):
    (published.output / "card.json").unlink()
    published.output.rmdir()
    again = charge(ledger)
    assert again.output == published.output
    ledger.publish(again.id, card_digest=put_in_place(again))
    assert ledger.check() == ()


# What stopped releases leave: notes, and still spent.


def test_spent_with_nothing_published_is_a_note_that_can_be_settled(ledger, charge):
    reservation = charge(ledger)
    (problem,) = ledger.check()
    assert (problem.kind, problem.fault, problem.reservation) == ("unpublished", False, reservation.id)
    assert problem.message == "Release 'week' of population 'taps': spent, nothing published."
    (settled,) = ledger.settle()
    assert (settled.id, settled.state) == (reservation.id, "abandoned")
    assert ledger.check() == ()
    assert ledger.settle() == ()
    assert ledger.account("taps").spent.epsilon == Fraction(1)


def test_in_place_but_not_marked_is_a_note_that_can_be_settled(ledger, charge, put_in_place):
    reservation = charge(ledger)
    digest = put_in_place(reservation)
    (problem,) = ledger.check()
    assert (problem.kind, problem.fault) == ("unmarked", False)
    assert problem.message.endswith("is in place and charged, but not marked published.")
    (settled,) = ledger.settle()
    assert (settled.state, settled.card_digest) == ("published", digest)
    assert ledger.check() == ()


def test_a_release_that_was_called_abandoned_too_early_can_still_publish(ledger, charge, put_in_place):
    reservation = charge(ledger)
    ledger.settle()
    assert ledger.publish(reservation.id, card_digest=put_in_place(reservation)).state == "published"
    assert ledger.check() == ()


def test_staging_left_over_is_a_note(ledger, charge):
    reservation = charge(ledger)
    reservation.staging.mkdir(parents=True)
    (reservation.staging / "card.json").write_text("{}")
    assert kinds(ledger) == ["staging", "unpublished"]
    staging = ledger.check()[0]
    assert (staging.fault, staging.path, staging.reservation) == (False, reservation.staging, reservation.id)
    assert "delete it: it was never published" in staging.message


# The history itself.


def forged(target, *statements):
    """Change the file behind the ledger's back, as somebody with rights to it can."""
    raw = sqlite3.connect(target)
    for trigger in ("noisegate_entry_no_update", "noisegate_entry_no_delete"):
        raw.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    for statement in statements:
        raw.execute(statement)
    raw.commit()
    raw.close()


@pytest.fixture
def history(sqlite_target, charge):
    """A ledger file with a budget and three reservations."""
    with open_ledger(sqlite_target) as ledger:
        ledger.set_budget("taps", epsilon=3, unit="person-day")
        for _ in range(3):
            charge(ledger)
        ledger.settle()
    return sqlite_target


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (
            "UPDATE noisegate_entry SET epsilon = '1/1000' WHERE seq = 2",
            "Entry 2 was altered after it was written.",
        ),
        (
            "UPDATE noisegate_entry SET epsilon = '99' WHERE seq = 1",
            "Entry 1 was altered after it was written.",
        ),
        ("UPDATE noisegate_entry SET at = '2016' WHERE seq = 4", "Entry 4 was altered after it was written."),
        ("DELETE FROM noisegate_entry WHERE seq = 3", "Entry 3 is missing; entry 4 stands in its place."),
        ("DELETE FROM noisegate_entry WHERE seq = 1", "Entry 1 is missing; entry 2 stands in its place."),
    ],
)
def test_altered_history_is_found_and_stops_the_next_release(history, charge, statement, says):
    forged(history, statement)
    with open_ledger(history) as ledger:
        chain = [one for one in ledger.check() if one.kind == "chain"]
        assert [one.message for one in chain] == [says]
        assert chain[0].fault
        before = ledger.history()
        with pytest.raises(
            GateError, match="was altered from outside: " + says.replace(".", r"\.")
        ) as caught:
            charge(ledger, dataset="other")
        assert caught.value.exit_code == 3
        with pytest.raises(GateError, match="altered from outside"):
            ledger.set_budget("taps", epsilon=4)
        assert ledger.history() == before


def test_an_entry_altered_and_sealed_again_no_longer_leads_to_the_next(history):
    with open_ledger(history, read_only=True) as ledger:
        entries, origin = list(ledger.history()), ledger._store.origin()
    cheaper = replace(entries[1], epsilon="1/1000")
    entries[1] = replace(cheaper, digest=cheaper.seal())
    chain = [one.message for one in find_problems(entries, origin=origin) if one.kind == "chain"]
    assert chain == ["Entry 3 does not follow the entry before it."]


def test_a_history_from_another_ledger_does_not_start_where_this_one_does(history):
    with open_ledger(history, read_only=True) as ledger:
        entries = ledger.history()
    chain = [one.message for one in find_problems(entries, origin="00") if one.kind == "chain"]
    assert chain == ["Entry 1 does not follow the entry before it."]


def test_entries_cut_off_at_the_end_are_given_away_by_the_cards(sqlite_target, charge, put_in_place):
    with open_ledger(sqlite_target) as ledger:
        charge(ledger, release="kept")
        reservation = charge(ledger, release="cut")
        ledger.publish(reservation.id, card_digest=put_in_place(reservation))
        ledger.settle()
    forged(sqlite_target, "DELETE FROM noisegate_entry WHERE seq > 2")
    with open_ledger(sqlite_target, read_only=True) as ledger:
        assert "uncharged" in kinds(ledger)


def test_history_written_anew_from_the_start_is_given_away_by_the_cards(sqlite_target, charge, put_in_place):
    with open_ledger(sqlite_target) as ledger:
        reservation = charge(ledger, epsilon="5")
        ledger.publish(reservation.id, card_digest=put_in_place(reservation))
        history, origin = ledger.history(), ledger._store.origin()
    rewritten, previous = [], origin
    for entry in history:
        facts = {"unit": entry.unit, "source": entry.source, "release": entry.release, "output": entry.output}
        facts |= {"delta": entry.delta, "spec_digest": entry.spec_digest, "card_digest": entry.card_digest}
        facts |= {"epsilon": "1/100" if entry.kind == "reserved" else entry.epsilon}
        facts |= {"reservation": rewritten[-1].reservation_id if entry.kind == "published" else None}
        made = Entry.following(
            len(rewritten), previous, at=entry.at, kind=entry.kind, dataset=entry.dataset, **facts
        )
        rewritten.append(made)
        previous = made.digest
    assert [one.kind for one in find_problems(history, origin=origin)] == []
    assert [one.kind for one in find_problems(rewritten, origin=origin)] == ["uncharged"]


def chain(*facts):
    """Entries whose chain holds, whatever they say."""
    entries, previous = [], "00"
    for seq, fact in enumerate(facts):
        entries.append(Entry.following(seq, previous, at="2016-07-25T00:00:00+00:00", **fact))
        previous = entries[-1].digest
    return entries


BUDGET = {
    "kind": "budget",
    "dataset": "taps",
    "unit": "person",
    "epsilon": "1",
    "delta": "0",
    "source": "set",
}
SPEND = {
    "kind": "reserved",
    "dataset": "taps",
    "unit": "person",
    "epsilon": "3/5",
    "delta": "0",
    "release": "week",
    "spec_digest": DIGEST,
    "output": "/nowhere/week",
}


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([SPEND], "Entry 1 charges population 'taps', which had no budget."),
        ([BUDGET, SPEND, SPEND], "Entry 3 charges population 'taps' beyond the budget it had then."),
        (
            [BUDGET, {**SPEND, "delta": "1/1000"}],
            "Entry 2 charges population 'taps' beyond the budget it had then.",
        ),
        (
            [BUDGET, {**SPEND, "unit": "event"}],
            "Entry 2 charges population 'taps' beyond the budget it had then.",
        ),
    ],
)
def test_arithmetic_is_checked_against_the_budget_of_the_day(facts, says):
    faults = [one for one in find_problems(chain(*facts), origin="00") if one.fault]
    assert [(one.kind, one.message) for one in faults] == [("overspent", says)]


def test_a_budget_raised_later_does_not_excuse_and_one_lowered_later_does_not_accuse():
    raised = chain(BUDGET, SPEND, SPEND, {**BUDGET, "epsilon": "2"})
    assert [one.kind for one in find_problems(raised, origin="00") if one.fault] == ["overspent"]
    lowered = chain({**BUDGET, "epsilon": "2"}, SPEND, SPEND, BUDGET)
    assert [one.kind for one in find_problems(lowered, origin="00") if one.fault] == []


@pytest.mark.parametrize(
    "fact",
    [
        {**BUDGET, "epsilon": "abc"},
        {**BUDGET, "delta": None},
        {**BUDGET, "unit": "household"},
        {**BUDGET, "source": "rumour"},
        {**SPEND, "epsilon": "-1"},
        {**SPEND, "epsilon": None},
        {"kind": "refund", "dataset": "taps"},
        {"kind": "published", "dataset": "taps", "reservation": "f" * 32, "card_digest": DIGEST},
        {"kind": "abandoned", "dataset": "taps"},
    ],
)
def test_an_entry_that_makes_no_sense_is_a_fault_and_stops_the_account(fact):
    faults = [one for one in find_problems(chain(BUDGET, fact), origin="00") if one.fault]
    assert [one.kind for one in faults] == ["entry"]
    assert faults[0].message.startswith("Entry 2 of the ledger makes no sense: ")


def test_a_place_that_cannot_be_looked_at_is_a_note_and_nothing_is_said_about_it(tmp_path, few_rights):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    entries = chain(BUDGET, {**SPEND, "output": str(locked / "week")})
    with few_rights():
        problems = list(find_problems(entries, origin="00"))
    locked.chmod(0o700)
    assert [(one.kind, one.fault) for one in problems] == [("unreadable", False), ("unreadable", False)]


def test_a_reservation_cannot_be_published_twice_or_under_another_dataset():
    spend = chain(BUDGET, SPEND)[1]
    mark = {"kind": "published", "reservation": spend.reservation_id, "card_digest": DIGEST}
    twice = chain(BUDGET, SPEND, {**mark, "dataset": "taps"}, {**mark, "dataset": "taps"})
    other = chain(BUDGET, SPEND, {**mark, "dataset": "other"})
    assert [one.kind for one in find_problems(twice, origin="00") if one.fault] == ["entry"]
    assert [one.kind for one in find_problems(other, origin="00") if one.fault] == ["entry"]


def test_an_account_is_not_worked_out_from_an_entry_that_makes_no_sense(history):
    forged(history, "UPDATE noisegate_entry SET epsilon = 'abc' WHERE seq = 2")
    with open_ledger(history, read_only=True) as ledger:
        with pytest.raises(DataError, match="Entry 2 of the ledger makes no sense"):
            ledger.accounts()
        assert {one.kind for one in ledger.check()} >= {"chain", "entry"}


def test_damage_that_the_storage_reports_is_a_fault():
    (problem,) = find_problems([], origin="00", damage=["SQLite finds the file damaged: page 3."])
    assert (problem.kind, problem.fault) == ("storage", True)


def test_the_seal_covers_every_column():
    entry = chain(BUDGET, SPEND)[1]
    what = [2, entry.at, "reserved", "taps", "person", "3/5", "0", None]
    about = ["week", DIGEST, "/nowhere/week", None, None, entry.previous]
    octets = json.dumps([*what, *about], separators=(",", ":")).encode()
    assert entry.digest == hashlib.sha256(octets).hexdigest()
    assert entry.reservation_id == entry.digest[:32]
