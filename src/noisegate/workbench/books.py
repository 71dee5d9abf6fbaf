"""The ledger as pages show it: what each population may lose, has lost and on what, in the order of time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from noisegate.ledger import account_document, open_ledger


def ledger_pages(target: str | None, /) -> dict[str, Any]:
    """Every population with its units and its releases; paths of this computer are left out but for the folder's name."""
    with open_ledger(target, read_only=True) as book:
        accounts = [account_document(one) for one in book.accounts()]
        exists = book.exists
    return {"exists": exists, "populations": [_population(one) for one in accounts]}


def _population(account: dict[str, Any], /) -> dict[str, Any]:
    return {
        "name": account["population"],
        "units": {name: _unit(one) for name, one in account["units"].items()},
        "releases": [
            _release(one) for one in sorted(account["reservations"], key=lambda one: one["reserved_at"])
        ],
    }


def _unit(one: dict[str, Any], /) -> dict[str, Any]:
    """What was budgeted, spent by plain addition and by composition, and what is left of the budget."""
    budget = one["budget"]
    return {
        "budget": _pair(budget),
        "spent": _pair(one["worst"]),
        "tight": _pair(one["tight"]),
        "left": _pair(one["left"]) if budget is not None else None,
        "unbounded": one["unbounded_releases"],
        "unknown": one["unknown_releases"],
    }


def _release(one: dict[str, Any], /) -> dict[str, Any]:
    place = Path(one["output"]) if one.get("output") else None
    return {
        "release": one["release"],
        "state": one["state"],
        "unit": one["unit"],
        "at": one["reserved_at"],
        "folder": "" if place is None else f"{place.parent.name}/{place.name}",
        "losses": {name: _pair(loss) for name, loss in one["losses"].items()},
        "days": one["days"],
        "by": one["by"],
    }


def _pair(amount: dict[str, Any] | None, /) -> dict[str, float] | None:
    return None if amount is None else {"epsilon": amount["epsilon"], "delta": amount["delta"]}
