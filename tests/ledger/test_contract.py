"""What every ledger does, whatever it is stored in."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from noisegate.errors import BudgetExceeded, DataError, SpecError
from noisegate.ledger import Loss, PrivacyBudget, default_budget, open_ledger

DIGEST = "cd" * 32


def test_a_new_ledger_is_empty_and_sound(ledger):
    assert ledger.exists
    assert ledger.accounts() == ()
    assert ledger.history() == ()
    assert ledger.check() == ()
    assert ledger.budget("taps") is None
    assert ledger.account("taps").spent == Loss()


def test_a_release_goes_from_reserved_to_published_and_survives_reopening(target, charge, tmp_path):
    with open_ledger(target) as ledger:
        ledger.set_budget("taps", epsilon=10, delta="1e-6", unit="person-day")
        reservation = charge(ledger, epsilon="2.5", delta="1e-7")
        assert reservation.state == "reserved"
        assert re.fullmatch("[0-9a-f]{32}", reservation.id)
        assert reservation.output == tmp_path / "out" / "week"
        assert reservation.staging == tmp_path / "out" / f".week.{reservation.id}.staging"
    with open_ledger(target) as ledger:
        assert ledger.account("taps").spent == Loss(epsilon=Fraction(5, 2), delta=Fraction(1, 10**7))
        published = ledger.publish(reservation.id, card_digest=DIGEST)
    with open_ledger(target, read_only=True) as ledger:
        account = ledger.account("taps")
        assert account.reservations == (published,)
        assert (published.state, published.card_digest) == ("published", DIGEST)
        assert account.left == Loss(epsilon=Fraction(15, 2), delta=Fraction(9, 10**7))
        assert [entry.kind for entry in ledger.history("taps")] == ["budget", "reserved", "published"]
        assert ledger.check() == ()


def test_a_tenth_ten_times_fits_a_budget_of_one_exactly(ledger, charge):
    ledger.set_budget("taps", epsilon="1.0", unit="person-day")
    for epsilon in ("0.1", Decimal("0.1"), Fraction(1, 10), "1/10", "1e-1") * 2:
        charge(ledger, epsilon=epsilon)
    assert ledger.account("taps").left.epsilon == 0
    with pytest.raises(BudgetExceeded):
        charge(ledger, epsilon="1e-300")


def test_delta_is_a_budget_of_its_own(ledger, charge):
    ledger.set_budget("taps", epsilon=10, delta="3e-6", unit="event")
    for _ in range(3):
        charge(ledger, delta="1e-6", unit="event")
    with pytest.raises(
        BudgetExceeded, match="asks for delta 1e-9 per event of population 'taps'; the ledger holds 0\\."
    ):
        charge(ledger, delta="1e-9", unit="event")
    charge(ledger, unit="event")


def test_over_budget_is_said_in_full_and_writes_nothing(ledger, charge):
    ledger.set_budget("taps", epsilon=1, unit="person-day")
    charge(ledger, epsilon="2/3")
    before = ledger.history()
    with pytest.raises(BudgetExceeded) as caught:
        charge(ledger, epsilon="0.4")
    assert str(caught.value).startswith(
        "The release asks for epsilon 0.4 per person-day of population 'taps'; the ledger holds 0.333333. Lower epsilon, or raise"
    )
    assert caught.value.exit_code == 3
    assert ledger.history() == before


def test_datasets_do_not_share_a_budget(ledger, charge):
    for name in ("taps", "scooters"):
        ledger.set_budget(name, epsilon=1, unit="person-day")
        charge(ledger, dataset=name)
    assert [one.dataset for one in ledger.accounts()] == ["scooters", "taps"]
    assert {one.left.epsilon for one in ledger.accounts()} == {0}


def test_without_a_budget_the_first_release_brings_the_default_and_says_so(ledger, charge):
    charge(ledger, epsilon=2, unit="person")
    assert ledger.budget("taps") == default_budget(unit="person")
    assert ledger.budget("taps").source == "default"
    with pytest.raises(BudgetExceeded, match=r"the ledger holds 8 \(the default: nobody has set a budget\)"):
        charge(ledger, epsilon=9, unit="person")


def test_a_first_release_over_the_default_leaves_no_trace(ledger, charge):
    with pytest.raises(BudgetExceeded):
        charge(ledger, epsilon="10.1")
    assert ledger.history() == ()


def test_a_spec_can_bring_the_first_budget_but_never_change_one(ledger, charge):
    first = PrivacyBudget(epsilon=Fraction(3), unit="person-day", source="spec")
    charge(ledger, epsilon=2, first_budget=first)
    assert ledger.budget("taps") == first
    with pytest.raises(BudgetExceeded):
        charge(
            ledger,
            epsilon=2,
            first_budget=PrivacyBudget(epsilon=Fraction(99), unit="person-day", source="spec"),
        )


def test_a_budget_can_be_raised_and_lowered_and_the_history_keeps_all(ledger, charge):
    ledger.set_budget("taps", epsilon=1, delta="1e-6", unit="person-day")
    charge(ledger)
    raised = ledger.set_budget("taps", epsilon=2)
    assert (raised.delta, raised.unit) == (Fraction(1, 10**6), "person-day")
    charge(ledger)
    ledger.set_budget("taps", epsilon="1/2")
    assert ledger.account("taps").left == Loss(delta=Fraction(1, 10**6))
    with pytest.raises(BudgetExceeded, match="the ledger holds 0"):
        charge(ledger, epsilon="0.01")
    assert [entry.epsilon for entry in ledger.history() if entry.kind == "budget"] == ["1", "2", "1/2"]
    assert [one.kind for one in ledger.check()] == ["unpublished", "unpublished"]


def test_a_release_in_another_unit_is_refused(ledger, charge):
    ledger.set_budget("taps", epsilon=1, unit="person-day")
    before = ledger.history()
    with pytest.raises(BudgetExceeded) as caught:
        charge(ledger, unit="event")
    assert str(caught.value) == (
        "What the release costs one day of a person of population 'taps' is not known, but a budget is kept per person-day. "
        "Use unit person-day in the spec, or raise the budget with 'noisegate ledger set'."
    )
    assert ledger.history() == before


def test_a_population_may_have_a_budget_for_each_unit(ledger):
    ledger.set_budget("taps", epsilon=2, unit="event")
    ledger.set_budget("taps", epsilon=3, unit="person")
    with pytest.raises(
        SpecError, match="has budgets per event and per person, so its privacy unit must be given"
    ):
        ledger.set_budget("taps", epsilon=1)
    ledger.set_budget("taps", epsilon=1, unit="event")
    account = ledger.account("taps")
    assert [None if one.budget is None else one.budget.epsilon for one in account.units] == [1, None, 3]


def test_a_first_budget_needs_its_unit(ledger):
    with pytest.raises(SpecError, match="its privacy unit must be given: event, person-day or person"):
        ledger.set_budget("taps", epsilon=1)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"epsilon": 0.1}, "epsilon must be an exact number"),
        ({"epsilon": True}, "epsilon must be an exact number"),
        ({"epsilon": "nan"}, "epsilon must be an exact number"),
        ({"epsilon": "1/0"}, "epsilon must be an exact number"),
        ({"epsilon": "-1"}, "epsilon must be at least 0, got '-1'"),
        ({"epsilon": 0}, "A release must cost something"),
        ({"epsilon": Fraction(1, 10**1001)}, "epsilon must be a number of at most 1000 digits"),
        ({"delta": 1}, "delta must be at least 0 and below 1, got '1'"),
        ({"unit": "person-dya"}, "Did you mean 'person-day'"),
        ({"dataset": ""}, "the dataset must be 1 to 4096 printable characters"),
        ({"dataset": "a\nb"}, "the dataset must be 1 to 4096 printable characters"),
        ({"release": "\ud800"}, "the name of the release must be"),
    ],
)
def test_what_cannot_be_charged_is_refused_and_writes_nothing(ledger, charge, wrong, says):
    with pytest.raises(SpecError, match=re.escape(says)):
        charge(ledger, **wrong)
    assert ledger.history() == ()


def test_a_digest_is_a_digest(ledger, charge):
    with pytest.raises(SpecError, match="spec_digest must be a SHA-256 digest"):
        ledger.reserve("taps", epsilon=1, unit="event", release="w", spec_digest="x", output="w")
    with pytest.raises(SpecError, match="card_digest must be a SHA-256 digest"):
        ledger.publish(charge(ledger).id, card_digest=DIGEST.upper())


def test_publishing_needs_a_reservation_and_happens_once(ledger, charge):
    with pytest.raises(DataError, match="has no reservation 'nonsense'"):
        ledger.publish("nonsense", card_digest=DIGEST)
    reservation = charge(ledger)
    ledger.publish(reservation.id, card_digest=DIGEST)
    with pytest.raises(DataError, match="is published already"):
        ledger.publish(reservation.id, card_digest=DIGEST)
    assert len(ledger.account("taps").reservations) == 1


def test_names_and_paths_come_back_as_they_were(ledger, charge, tmp_path):
    name = "opal'; DROP TABLE noisegate_entry; -- [red] ε %s ?"
    charge(ledger, dataset=name, release="woche 1 — 'ö'", output=tmp_path / "a b" / "ü%20?")
    (account,) = ledger.accounts()
    assert account.dataset == name
    assert account.reservations[0].release == "woche 1 — 'ö'"
    assert account.reservations[0].output == tmp_path / "a b" / "ü%20?"


def test_a_relative_output_is_kept_as_an_absolute_path(ledger, charge, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert charge(ledger, output=Path("here")).output == tmp_path / "here"


def test_opened_for_reading_a_missing_ledger_is_empty_and_is_not_made(target):
    for _ in range(2):
        with open_ledger(target, read_only=True) as ledger:
            assert not ledger.exists
            assert (ledger.accounts(), ledger.history(), ledger.check()) == ((), (), ())


def test_two_ledgers_open_at_once_see_each_others_charges(target, charge):
    with open_ledger(target) as one, open_ledger(target) as two:
        one.set_budget("taps", epsilon=2, unit="person-day")
        charge(two)
        charge(one)
        assert one.account("taps") == two.account("taps")
        with pytest.raises(BudgetExceeded):
            charge(two, epsilon="1/100")


def test_an_error_inside_a_transaction_undoes_it_and_frees_the_ledger(ledger, charge):
    def fail():
        with ledger._store.exclusive():
            ledger._write("budget", "taps", unit="event", epsilon="1", delta="0", source="set")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert ledger.history() == ()
    charge(ledger)
