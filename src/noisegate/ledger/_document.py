"""The ledger as plain values, ready to be written as JSON.

Numbers appear twice: as a number rounded outward, to be plotted, and exactly, as `p/q`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from noisegate.ledger._account import Loss, PrivacyBudget, Reservation, float_down, float_up
from noisegate.ledger._balance import SeriesBalance
from noisegate.ledger._check import Discrepancy
from noisegate.ledger._entry import Entry
from noisegate.ledger._population import Account, Spent

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
        **_charge_document(one),
    }


def _charge_document(one: Reservation, /) -> Document:
    """What a reservation costs every unit (null: unbounded; not there: unknown), its dates, and who approved."""
    if one.charge is None:
        return {}
    losses = {
        unit: None if loss is None else _amount(loss.loss, rounded=float_up)
        for unit, loss in one.charge.losses.items()
    }
    days = one.charge.days
    return {
        "losses": losses,
        "days": None
        if days is None
        else {"from": str(days.first), "to": str(days.last), "clock": days.clock},
        "by": list(one.charge.by),
    }


def _spent_document(one: Spent, /) -> Document:
    """What a unit has lost: worst case and tight; null where nothing bounds it."""
    tight = one.tight
    return {
        "budget": budget_document(one.budget),
        "worst": _amount(one.worst, rounded=float_up) if one.bounded else None,
        "tight": {"epsilon": tight, "delta": float_down(one.tight_delta)} if math.isfinite(tight) else None,
        "bounded": _amount(one.worst, rounded=float_up),
        "unbounded_releases": one.unbounded,
        "unknown_releases": one.unknown,
        "left": _amount(one.left, rounded=float_down),
    }


def account_document(account: Account, /) -> Document:
    """An account: budget, spent and left of its first unit, the same of every unit, and all reservations."""
    return {
        "dataset": account.dataset,
        "budget": budget_document(account.budget),
        "spent": _amount(account.spent, rounded=float_up),
        "left": _amount(account.left, rounded=float_down),
        "population": account.dataset,
        "units": {one.unit: _spent_document(one) for one in account.units},
        "bindings": [{"name": name, "sha256": digest} for name, digest in account.bindings],
        "adopted": list(account.adopted),
        "reservations": [reservation_document(one) for one in account.reservations],
        **({"series": [_series_document(one) for one in account.series]} if account.series else {}),
    }


def _series_document(one: SeriesBalance, /) -> Document:
    """A series that was paid for: its weeks, and the reservations of each."""
    reserved = {str(week): ids for week, ids in sorted(one.reserved.items())}
    return {"name": one.name, "weeks": one.weeks, "reserved": reserved}


def entry_document(entry: Entry, /) -> Document:
    """An entry, as stored, without the columns it does not use; `by` is who approved it."""
    document: Document = {name: value for name, value in asdict(entry).items() if value is not None}
    try:
        by = json.loads(entry.facts or "{}").get("by", [])
    except (ValueError, AttributeError):
        by = []
    return {**document, "by": by} if isinstance(by, list) and by else document


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
