"""The card: the public statement of how a release was made.

Everything an analyst or assessor needs and nothing secret: it is a function of the plan, the
published tables' sizes and the ledger's reservation. Names follow the OpenDP deployments registry
where it has one (privacy_unit, dp_variant, privacy_parameters, composition, post_processing).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

from noisegate.mechanisms.privacy import delta as exact_delta
from noisegate.mechanisms.privacy import detection
from noisegate.releases.loss import EXAMPLE_EVENTS, StatedLoss
from noisegate.releases.plan import Plan, TablePlan
from noisegate.releases.prediction import workload_statement
from noisegate.tables.stated import state_domain

_METHODS = {
    "derive": "margins are sums of the published base table",
    "reconcile": "base and margins measured with noise, reconciled by weighted least squares, rounded to consistent non-negative integers",
    "independent": "each table perturbed on its own",
}


def make_card(
    plan: Plan, /, *, rows: Mapping[str, int], dataset: str | None, reservation: str, simulated: bool
) -> dict[str, Any]:
    """The card as plain data. `rows` are the published rows of each table, `dataset` its public name if any."""
    spec, privacy = plan.spec, plan.spec.privacy
    return {
        "name": spec.name,
        "software": {"name": "noisegate", "version": metadata.version("noisegate")},
        "simulated": simulated,
        "privacy_unit": privacy.unit,
        "privacy_unit_description": _unit_words(plan),
        "neighbours": "add-remove",
        "dp_variant": _variant(plan),
        "privacy_parameters": plan.charged.as_json(),
        "privacy_loss": _losses(plan),
        "bounding": _bounding(plan),
        "composition": "losses of all measured tables add up; the figures hold for all tables together",
        "mechanism": {
            "law": privacy.law,
            "sampler": "exact integer sampler, within 2^-170 of the ideal law a draw",
            "rounding": "integers only",
            "zeros": privacy.zeros,
            "margins": privacy.margins,
            "margins_description": _METHODS[privacy.margins],
        },
        "tables": {table.name: _table(plan, table, rows[table.name]) for table in plan.tables},
        "post_processing": _post_processing(plan),
        "unsafe": unsafe_choices(plan),
        "not_protected": _not_protected(plan),
        "domain": _domain(plan),
        **({"workload": workload_statement(plan)} if spec.workload else {}),
        "ledger": {"dataset": dataset, "reservation": reservation},
    }


def unsafe_choices(plan: Plan, /) -> list[dict[str, Any]]:
    """Each unsafe choice with its measured consequence."""
    privacy, found = plan.spec.privacy, list[dict[str, Any]]()
    if privacy.zeros == "keep":
        mechanism = plan.perturbation(plan.base).mechanism
        found.append(
            {
                "choice": "zeros: keep",
                "consequence": "a published value proves that somebody was in the cell; no epsilon makes delta 0",
                "delta_one_event_base_table": float(exact_delta(mechanism, 700.0)),
                "delta_one_unit_all_tables": float(plan.charged.delta),
                "detection_by_group": {str(g): detection(mechanism, g) for g in (1, 5, 12)},
            }
        )
    if privacy.margins == "independent":
        found.append(
            {
                "choice": "margins: independent",
                "consequence": "tables of the same events disagree; differences reveal suppressed counts and the noise",
                "epsilon_all_tables": plan.charged.as_json()["epsilon"],
                "epsilon_base_table_alone": float(
                    privacy.contribution.total / plan.perturbation(plan.base).noise.scale
                ),
            }
        )
    if plan.losses.example is not None:
        found.append(
            {
                "choice": "unit: event",
                "consequence": f"persons are not protected: somebody with {EXAMPLE_EVENTS} events loses the epsilon given here",
                "person_epsilon": plan.losses.example.as_json()["epsilon"],
                "events": EXAMPLE_EVENTS,
            }
        )
    return found


def _variant(plan: Plan, /) -> str:
    return "pure DP" if plan.charged.delta == 0 else "approximate DP"


def _unit_words(plan: Plan, /) -> str:
    bound = plan.spec.privacy.contribution
    if plan.spec.privacy.unit == "event":
        return "one event; nothing is promised to a person with several"
    whom = (
        "one person on one day"
        if plan.spec.privacy.unit == "person-day"
        else "one person in the whole release"
    )
    return f"everything {whom} adds: at most {bound.cells} cells, each at most {bound.per_cell} times"


def _losses(plan: Plan, /) -> dict[str, Any]:
    losses = plan.losses

    def shown(loss: StatedLoss | None) -> dict[str, float] | None:
        return None if loss is None else loss.as_json()

    return {
        "event": shown(losses.event),
        "person_day": shown(losses.person_day),
        "person": shown(losses.person),
        "person_example": None
        if losses.example is None
        else {"events": EXAMPLE_EVENTS, "each": "in a cell of its own", **losses.example.as_json()},
        "days": losses.days,
        "parts_of_a_unit": None
        if plan.spec.privacy.unit == "event"
        else "one event or day more or less can change what the bound keeps of the others, which is counted here",
    }


def _bounding(plan: Plan, /) -> dict[str, Any] | None:
    privacy = plan.spec.privacy
    if privacy.unit == "event":
        return None
    bound = privacy.contribution
    return {
        "max_cells": bound.cells,
        "max_per_cell": bound.per_cell,
        "l0": bound.cells,
        "l1": bound.total,
        "linf": bound.per_cell,
        "kept": "uniformly at random beyond the bound",
    }


def _table(plan: Plan, table: TablePlan, rows: int, /) -> dict[str, Any]:
    noise = None
    if table.noise is not None:
        noise = {
            "law": table.noise.name,
            "scale": float(table.noise.scale),
            "scale_exact": str(table.noise.scale),
            "variance": table.noise.law.variance,
        }
    return {
        "dimensions": list(table.dimensions),
        "cells": table.cells,
        "rows": rows,
        "suppressed": table.cells - rows,
        "base": table.name == plan.base.name,
        "share": None if table.share is None else float(table.share),
        "noise": noise,
        "threshold": None if table.least is None else {"value": table.least, "rule": "ge"},
        "spurious_share": table.spurious,
        "error": {
            "terms": table.error.terms,
            "standard_deviation": table.error.standard_deviation,
            "expected_absolute": table.error.expected_absolute,
            "level": table.error.level,
            "half_width": table.error.half_width,
            "holds_for": "cells whose value was not changed by a cut; before non-negative rounding",
        },
    }


def _post_processing(plan: Plan, /) -> list[str]:
    steps = []
    if plan.spec.privacy.margins == "reconcile":
        steps.append("weighted least squares over all measured tables, signed until the end")
        steps.append(
            "rounding to non-negative integers such that every margin is the exact sum of its base cells, shown and not shown"
        )
    if plan.spec.privacy.margins == "derive":
        steps.append("margins summed from the published base cells; suppressed cells count as 0 there")
    if plan.spec.privacy.suppress is not None:
        steps.append("values below the threshold are left out; this is cosmetic and not what protects")
    return steps


def _not_protected(plan: Plan, /) -> list[str]:
    unit = plan.spec.privacy.unit
    said = []
    if unit == "event":
        said.append("a person's travel as a whole: each further event adds to the loss")
    if unit == "person-day":
        said.append("habits over several days: the loss of a person is that of a day times the days")
    if plan.charged.delta > 0 and plan.spec.privacy.zeros == "keep":
        said.append("presence in an otherwise empty cell, with the stated probability")
    said.append(
        "what is true of groups however any one person behaves: differential privacy does not hide that"
    )
    return said


def _domain(plan: Plan, /) -> dict[str, Any]:
    """The public cells, and what values files rule out and they hold all the same."""
    left_out = [
        {"dimension": one.dimension, "within": one.within, "reason": one.reason}
        for one in plan.spec.nesting_left_out
    ]
    return {**state_domain(plan.spec.domain), **({"nesting_left_out": left_out} if left_out else {})}
