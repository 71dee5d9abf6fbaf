"""The gate: a release is let in if, with it, what every unit has lost stays within its budget.

By plain addition, or where that is too much by the tight bound at the budget's delta: the filter never admits what would exceed it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from noisegate.errors import BudgetExceeded
from noisegate.ledger._account import Loss, PrivacyBudget, shown_down, shown_up
from noisegate.ledger._balance import Balance, Pile
from noisegate.ledger._charge import Charge

_RAISE = "or raise the budget with 'noisegate ledger set'"
_WHOSE = {"event": "one event", "person-day": "one day of a person", "person": "one person"}


def refuse_overspending(
    balance: Balance,
    /,
    *,
    population: str,
    unit: str,
    loss: Loss,
    charge: Charge,
    budgets: Mapping[str, PrivacyBudget],
) -> None:
    """`BudgetExceeded` if a population has lost more than its budgets allow.

    `balance` is what it has lost with the release that is asked for, whose loss per `unit` is `loss`.
    """
    about = f"of population {population!r}"
    for name, budget in budgets.items():
        spending = balance.spending[name]
        own = charge.losses.get(name) if name in charge.losses else None
        if name not in charge.losses and name != unit:
            raise BudgetExceeded(
                f"What the release costs {_WHOSE[name]} {about} is not known, but {_whose_budget(budget)} per {name}. "
                f"Use unit {name} in the spec, {_RAISE}."
            )
        if name in charge.losses and own is None:
            raise BudgetExceeded(
                f"The release promises nothing to {_WHOSE[name]} {about}: it is counted per {unit}, but "
                f"{_whose_budget(budget)} per {name}. Use unit {name} in the spec, or set a budget per {unit} with "
                "'noisegate ledger set' if that is meant."
            )
        chosen = budget.source != "default"
        if chosen and (spending.unbounded or spending.unknown):
            what = "unbounded" if spending.unbounded else "not known"
            raise BudgetExceeded(
                f"What {_WHOSE[name]} {about} has lost in earlier releases is {what}, so nothing more fits a budget per "
                f"{name}. See 'noisegate ledger show {population}'."
            )
        over = spending.over(budget, least=not chosen)
        if over is not None:
            raise _too_much(over, loss if own is None else own.loss, budget, population=population)


def _whose_budget(budget: PrivacyBudget, /) -> str:
    return "the default budget is kept" if budget.source == "default" else "a budget is kept"


def _too_much(over: Pile, asked: Loss, budget: PrivacyBudget, /, *, population: str) -> BudgetExceeded:
    """The refusal of a release that asks for more than is left."""
    remark = " (the default: nobody has set a budget)" if budget.source == "default" else ""
    left = Loss(
        epsilon=max(Fraction(0), budget.epsilon - over.epsilon + asked.epsilon),
        delta=max(Fraction(0), budget.delta - over.delta + asked.delta),
    )
    if asked.epsilon > left.epsilon:
        return BudgetExceeded.for_request(
            population=population,
            unit=budget.unit,
            asked=shown_up(asked.epsilon),
            left=shown_down(left.epsilon) + remark,
        )
    return BudgetExceeded(
        f"The release asks for delta {shown_up(asked.delta)} per {budget.unit} of population {population!r}; "
        f"the ledger holds {shown_down(left.delta)}{remark}. "
        "Choose a mechanism with a smaller delta, or raise the budget with 'noisegate ledger set'."
    )
