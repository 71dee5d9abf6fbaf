"""Whatever is done to a ledger, in whatever order: what was spent never shrinks, and never exceeds what was allowed."""

import tempfile
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from noisegate.errors import BudgetExceeded, DataError, SpecError
from noisegate.ledger import Loss, open_ledger

DIGEST = "ab" * 32
datasets = st.sampled_from(["taps", "scooters"])
amounts = st.fractions(min_value=0, max_value=4, max_denominator=30)
deltas = st.sampled_from(["0", "1e-7", "1/3000000"])


class Spending(RuleBasedStateMachine):
    """Random budgets, reservations, publications, settlements and reopenings."""

    reservations = Bundle("reservations")

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory(prefix="ng-spend-")
        self.target = Path(self.folder.name) / "ledger.sqlite"
        self.ledger = open_ledger(self.target)
        self.spent = {}
        self.published = set()
        self.length = 0

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.close()
            self.folder.cleanup()

    @rule(dataset=datasets, epsilon=amounts, delta=deltas, unit=st.just("event"))
    def set_budget(self, dataset, epsilon, delta, unit):
        refused = nullcontext() if epsilon else pytest.raises(SpecError)
        with refused:
            self.ledger.set_budget(dataset, epsilon=epsilon, delta=delta, unit=unit)

    @rule(target=reservations, dataset=datasets, epsilon=amounts, delta=deltas)
    def reserve(self, dataset, epsilon, delta):
        budget = self.ledger.budget(dataset)
        before = self.ledger.account(dataset).spent
        ask = Loss(epsilon=epsilon, delta=Fraction(delta))
        try:
            one = self.ledger.reserve(
                dataset,
                epsilon=epsilon,
                delta=delta,
                unit=budget.unit if budget else "event",
                release="r",
                spec_digest=DIGEST,
                output=Path(self.folder.name) / "out" / "r",
            )
        except BudgetExceeded:
            assert budget is None or not (before + ask).fits(budget)
            return None
        except SpecError:
            assert ask == Loss()
            return None
        now = self.ledger.account(dataset).per("event")
        tight = Fraction(now.tight) <= now.budget.epsilon * (1 + Fraction(1, 10**6))
        assert (before + ask).fits(now.budget) or (now.budget.delta and tight)
        self.spent[dataset] = self.spent.get(dataset, Loss()) + ask
        return one.id

    @rule(one=reservations)
    def publish(self, one):
        refused = pytest.raises(DataError) if one is None or one in self.published else nullcontext()
        with refused:
            self.ledger.publish(one or "nothing", card_digest=DIGEST)
        self.published.add(one)

    @rule()
    def settle(self):
        self.ledger.settle()

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = open_ledger(self.target)

    @invariant()
    def spent_is_exactly_what_was_reserved(self):
        if hasattr(self, "ledger"):
            for dataset in ("taps", "scooters"):
                assert self.ledger.account(dataset).spent == self.spent.get(dataset, Loss())

    @invariant()
    def history_only_grows_and_stays_consistent(self):
        if hasattr(self, "ledger"):
            history = self.ledger.history()
            assert len(history) >= self.length
            self.length = len(history)
            assert not [one for one in self.ledger.check() if one.fault]


Spending.TestCase.settings = settings(max_examples=10, stateful_step_count=15, deadline=None)
TestSpending = Spending.TestCase
