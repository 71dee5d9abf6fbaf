"""What is let into the ledger, and what is refused."""

from __future__ import annotations

import re

from noisegate.errors import BudgetExceeded, SpecError
from noisegate.ledger._account import Account, Budget, Loss
from noisegate.ledger._exact import shown_down, shown_up

_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_LONGEST = 4096


def as_name(value: str, /, *, what: str) -> str:
    """`value` as a name or path: text that fits on one line."""
    if not 0 < len(value) <= _LONGEST or not value.isprintable() or not value.strip():
        raise SpecError.for_value(what, found=value[:60], allowed=f"1 to {_LONGEST} printable characters")
    return value


def as_digest(value: str, /, *, what: str) -> str:
    """`value` as a SHA-256 digest."""
    if not _DIGEST.fullmatch(value):
        raise SpecError.for_value(what, found=value[:70], allowed="a SHA-256 digest of 64 hex digits")
    return value


def refuse_other_unit(dataset: str, /, *, unit: str, budget: Budget) -> None:
    """`SpecError` if a loss per `unit` cannot be charged to `budget`.

    A loss per event says nothing about a person with many events, and the neighbours of one
    unit are not neighbours of another; so units are never converted.
    """
    if unit != budget.unit:
        raise SpecError(
            f"The release is counted per {unit}, but the budget of dataset {dataset!r} is kept per {budget.unit}. "
            f"Use unit {budget.unit} in the spec, or keep this release under another dataset."
        )


def refuse_overspending(account: Account, /, *, loss: Loss, budget: Budget) -> None:
    """`BudgetExceeded` if `loss` on top of what `account` has spent is over `budget`."""
    after = account.spent + loss
    if after.fits(budget):
        return
    remark = " (the default: nobody has set a budget)" if budget.source == "default" else ""
    left = Account(dataset=account.dataset, budget=budget, spent=account.spent).left
    if after.epsilon > budget.epsilon:
        raise BudgetExceeded.for_request(
            dataset=account.dataset, asked=shown_up(loss.epsilon), left=shown_down(left.epsilon) + remark
        )
    raise BudgetExceeded(
        f"The release asks for delta {shown_up(loss.delta)} of dataset {account.dataset!r}; "
        f"the ledger holds {shown_down(left.delta)}{remark}. "
        "Choose a mechanism with a smaller delta, or raise the budget with 'noisegate ledger set'."
    )
