"""From raw events to a private, consistent, documented release."""

from __future__ import annotations

from noisegate.releases.attacker import AttackerView, attacker_views, right_at_most
from noisegate.releases.bound_choice import bound_scores, choose_bound, score_sensitivity
from noisegate.releases.card import make_card
from noisegate.releases.card_text import card_text, escaped
from noisegate.releases.checking import EventCheck, check_events
from noisegate.releases.files import check_output, write_card, write_table
from noisegate.releases.gaussian import gaussian_noises
from noisegate.releases.job import ReleaseResult, release
from noisegate.releases.loss import (
    EXAMPLE_EVENTS,
    all_days_change,
    bell_delta,
    day_of_person_change,
    event_change,
    rounded_up,
    spread_change,
    state_losses,
    unit_change,
)
from noisegate.releases.plan import Plan, TablePlan, base_error_law, make_plan, running_plan
from noisegate.releases.prediction import (
    depends_on_counts,
    sum_errors,
    warnings_before_spending,
)
from noisegate.releases.questions import asked_questions
from noisegate.releases.strategy import WorkloadStrategy, strategy_of, workload_strategy
from noisegate.releases.tables import publish_tables

__all__ = [
    "EXAMPLE_EVENTS",
    "AttackerView",
    "EventCheck",
    "Plan",
    "ReleaseResult",
    "TablePlan",
    "WorkloadStrategy",
    "all_days_change",
    "asked_questions",
    "attacker_views",
    "base_error_law",
    "bell_delta",
    "bound_scores",
    "card_text",
    "check_events",
    "check_output",
    "choose_bound",
    "day_of_person_change",
    "depends_on_counts",
    "escaped",
    "event_change",
    "gaussian_noises",
    "make_card",
    "make_plan",
    "publish_tables",
    "release",
    "right_at_most",
    "rounded_up",
    "running_plan",
    "score_sensitivity",
    "spread_change",
    "state_losses",
    "strategy_of",
    "sum_errors",
    "unit_change",
    "warnings_before_spending",
    "workload_strategy",
    "write_card",
    "write_table",
]
