"""What each population has spent, durably.

A release reserves its loss before any noise is drawn and marks it published once it is in
place; what was reserved stays spent. See docs/explanation/ledger.md.
"""

from __future__ import annotations

from noisegate.ledger._account import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    UNITS,
    Exact,
    Loss,
    PrivacyBudget,
    Reservation,
    as_delta,
    as_epsilon,
    as_unit,
    default_budget,
    float_down,
    float_up,
    shown_down,
    shown_up,
)
from noisegate.ledger._book import SIMULATED
from noisegate.ledger._charge import Binding, Charge, Days, Part, SeriesWeek, UnitLoss, signatures
from noisegate.ledger._check import Discrepancy, find_problems
from noisegate.ledger._document import (
    account_document,
    budget_document,
    entry_document,
    problem_document,
    reservation_document,
)
from noisegate.ledger._entry import Entry
from noisegate.ledger._head import forget_head
from noisegate.ledger._ledger import Ledger, default_target, open_ledger
from noisegate.ledger._population import Account, Spent
from noisegate.ledger._sqlite import APPLICATION_ID, SqliteStore

__all__ = [
    "APPLICATION_ID",
    "DEFAULT_DELTA",
    "DEFAULT_EPSILON",
    "SIMULATED",
    "UNITS",
    "Account",
    "Binding",
    "Charge",
    "Days",
    "Discrepancy",
    "Entry",
    "Exact",
    "Ledger",
    "Loss",
    "Part",
    "PrivacyBudget",
    "Reservation",
    "SeriesWeek",
    "Spent",
    "SqliteStore",
    "UnitLoss",
    "account_document",
    "as_delta",
    "as_epsilon",
    "as_unit",
    "budget_document",
    "default_budget",
    "default_target",
    "entry_document",
    "find_problems",
    "float_down",
    "float_up",
    "forget_head",
    "open_ledger",
    "problem_document",
    "reservation_document",
    "shown_down",
    "shown_up",
    "signatures",
]
