"""The ledger as plain values, ready to be written as JSON.

Numbers appear twice: as a number rounded outward, to be plotted, and exactly, as `p/q`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from noisegate.ledger._account import Account, Loss, PrivacyBudget, Reservation, float_down, float_up
from noisegate.ledger._check import Discrepancy
from noisegate.ledger._entry import Entry

Document = dict[str, Any]


def _amount(value: Loss | PrivacyBudget, *, rounded: Callable[..., float]) -> Document:
    return {
        "epsilon": rounded(value.epsilon),
        "delta": rounded(value.delta),
        "exact": {"epsilon": str(value.epsilon), "delta": str(value.delta)},
    }


def budget_document(budget: PrivacyBudget | None, /) -> Document | None:
    """A budget: epsilon, delta, unit, and who chose it."""
    if budget is None:
        return None
    return {**_amount(budget, rounded=float_down), "unit": budget.unit, "source": budget.source}


def reservation_document(one: Reservation, /) -> Document:
    """A reservation: what it cost, for what, and what became of it."""
    return {
        "id": one.id,
        "release": one.release,
        "state": one.state,
        "unit": one.unit,
        "loss": _amount(one.loss, rounded=float_up),
        "reserved_at": one.reserved_at,
        "published_at": one.published_at,
        "output": str(one.output),
        "spec_digest": one.spec_digest,
        "card_digest": one.card_digest,
    }


def account_document(account: Account, /) -> Document:
    """An account: budget, spent, left, and all reservations."""
    return {
        "dataset": account.dataset,
        "budget": budget_document(account.budget),
        "spent": _amount(account.spent, rounded=float_up),
        "left": _amount(account.left, rounded=float_down),
        "reservations": [reservation_document(one) for one in account.reservations],
    }


def entry_document(entry: Entry, /) -> Document:
    """An entry, as stored, without the columns it does not use."""
    return {name: value for name, value in asdict(entry).items() if value is not None}


def problem_document(problem: Discrepancy, /) -> Document:
    """A problem: kind, fault or note, and what it is about."""
    return {
        "kind": problem.kind,
        "fault": problem.fault,
        "message": problem.message,
        "dataset": problem.dataset or None,
        "reservation": problem.reservation or None,
        "path": str(problem.path) if problem.path else None,
    }
