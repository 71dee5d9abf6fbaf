"""The card: the public statement of how a release was made.

Everything an analyst or assessor needs and nothing secret: it is a function of the plan, the
published tables' sizes and the ledger's reservation. Names follow the OpenDP deployments registry
where it has one (privacy_unit, dp_variant, privacy_parameters, composition, post_processing).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from typing import Any

from noisegate.mechanisms import delta as exact_delta
from noisegate.mechanisms import detection
from noisegate.releases.attacker import AttackerView, attacker_views
from noisegate.releases.loss import EXAMPLE_EVENTS, StatedLoss, upwards
from noisegate.releases.plan import Plan, TablePlan
from noisegate.releases.prediction import workload_statement
from noisegate.spec import BoundChoice
from noisegate.tables import (
    Bounding,
    Card,
    CardLoss,
    CardNoise,
    Clipped,
    ExampleLoss,
    NestingLeftOut,
    Software,
    StatedCertainty,
    StatedDomain,
    StatedError,
    StatedLosses,
    StatedMechanism,
    StatedPayment,
    StatedTable,
)

_METHODS = {
    "derive": "margins are sums of the published base table",
    "reconcile": "base and margins measured with noise, reconciled by weighted least squares, rounded to consistent non-negative integers",
    "independent": "each table perturbed on its own",
}


def make_card(
    plan: Plan,
    /,
    *,
    rows: Mapping[str, int],
    clipped: Clipped | None = None,
    dataset: str | None,
    reservation: str,
    simulated: bool,
    series: Mapping[str, Any] | None = None,
    published: str | None = None,
    views: tuple[AttackerView, ...] | None = None,
) -> Card:
    """The card of a release. `rows` are the published rows of each table, `dataset` its public name if any, `views` what `attacker_views` gives."""
    privacy = plan.spec.privacy
    return Card(
        name=_name(plan),
        software=Software(name="noisegate", version=metadata.version("noisegate")),
        simulated=simulated,
        unit=privacy.unit,
        unit_description=_unit_words(plan),
        neighbours="add-remove",
        dp_variant=_variant(plan),
        parameters=_stated(plan.charged),
        losses=_losses(plan),
        bounding=_bounding(plan, clipped),
        composition="losses of all measured tables add up; the figures hold for all tables together"
        + ("" if plan.series is None else f" of all {plan.series.terms.weeks} weeks of the series"),
        mechanism=StatedMechanism(
            law=privacy.law,
            sampler="exact integer sampler, within 2^-170 of the ideal law a draw",
            rounding="integers only",
            zeros=privacy.zeros,
            margins=privacy.margins,
            margins_description=_METHODS[privacy.margins],
        ),
        tables=tuple(_table(plan, table, rows[table.name]) for table in plan.tables),
        post_processing=tuple(_post_processing(plan)),
        unsafe=tuple(unsafe_choices(plan)),
        attacker=tuple(
            StatedCertainty(whose=one.whose, right=float(upwards(one.right)), guessing=one.guessing)
            for one in (attacker_views(plan) if views is None else views)
        ),
        not_protected=tuple(_not_protected(plan)),
        domain=_domain(plan),
        workload=workload_statement(plan),
        payment=StatedPayment(dataset=dataset, reservation=reservation),
        series=series,
        published=published,
    )


def _name(plan: Plan, /) -> str:
    """What the release is called: of a series with its week, or its weeks."""
    if plan.series is None:
        return plan.spec.name
    week = plan.series.week
    return f"{plan.spec.name}, {f'weeks 1 to {week}' if plan.series.running else f'week {week}'}"


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
        if plan.series is None
        else f"one person in all {plan.series.terms.weeks} weeks of the series"
    )
    each = " in each week" if plan.series is not None and plan.spec.privacy.unit == "person" else ""
    return f"everything {whom} adds: at most {bound.cells} cells{each}, each at most {bound.per_cell} times"


def _stated(loss: StatedLoss, /) -> CardLoss:
    return CardLoss(**loss.as_json())


def _losses(plan: Plan, /) -> StatedLosses:
    losses = plan.losses

    def shown(loss: StatedLoss | None) -> CardLoss | None:
        return None if loss is None else _stated(loss)

    example = None
    if losses.example is not None:
        each = "in a cell of its own"
        example = ExampleLoss(events=EXAMPLE_EVENTS, each=each, loss=_stated(losses.example))
    return StatedLosses(
        event=shown(losses.event),
        person_day=shown(losses.person_day),
        person=shown(losses.person),
        example=example,
        days=losses.days,
        parts_of_a_unit=None
        if plan.spec.privacy.unit == "event"
        else "one event or day more or less can change what the bound keeps of the others, which is counted here",
    )


def _bounding(plan: Plan, clipped: Clipped | None, /) -> Bounding | None:
    privacy = plan.spec.privacy
    if privacy.unit == "event":
        return None
    bound = privacy.contribution
    return Bounding(
        max_cells=bound.cells,
        max_per_cell=bound.per_cell,
        kept="uniformly at random beyond the bound" + _choice_words(privacy.choose_bound),
        clipped=clipped,
    )


def _choice_words(choice: BoundChoice | None, /) -> str:
    if choice is None:
        return ""
    among = ", ".join(map(str, choice.among))
    return f"; max_cells was chosen with epsilon {float(choice.epsilon):g} among {among}"


def _table(plan: Plan, table: TablePlan, rows: int, /) -> StatedTable:
    noise = None
    if table.noise is not None:
        noise = CardNoise(
            law=table.noise.name,
            scale=float(table.noise.scale),
            scale_exact=str(table.noise.scale),
            variance=table.noise.law.variance,
        )
    return StatedTable(
        name=table.name,
        dimensions=table.dimensions,
        cells=table.cells,
        rows=rows,
        base=table.name == plan.base.name,
        share=None if table.share is None else float(table.share),
        noise=noise,
        threshold=table.least,
        spurious_share=table.spurious,
        error=StatedError(
            terms=table.error.terms,
            standard_deviation=table.error.standard_deviation,
            expected_absolute=table.error.expected_absolute,
            level=table.error.level,
            half_width=table.error.half_width,
            holds_for="cells whose value was not changed by a cut; before non-negative rounding",
        ),
    )


def _post_processing(plan: Plan, /) -> list[str]:
    steps = []
    if plan.series is not None and not plan.series.by.exact:
        steps.append("estimated by least squares from what was measured in this and earlier weeks, rounded")
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


def _domain(plan: Plan, /) -> StatedDomain:
    """The public cells, and what values files rule out and they hold all the same."""
    left_out = tuple(
        NestingLeftOut(dimension=one.dimension, within=one.within, reason=one.reason)
        for one in plan.spec.nesting_left_out
    )
    described = {
        name: words
        for name in plan.spec.domain.names
        if (words := plan.spec.dimensions[name].description) is not None
    }
    return replace(StatedDomain.of(plan.spec.domain), nesting_left_out=left_out, described=described)
