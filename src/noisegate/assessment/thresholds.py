"""Whether a table was cut, where, and how sure that is; and what was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.words import interval, number, percent, short
from noisegate.mechanisms import Threshold
from noisegate.reading import TableSummary
from noisegate.tables import Table

if TYPE_CHECKING:
    from noisegate.assessment.assessment import AssessedTable, Assessment
    from noisegate.assessment.facts import Facts

#: A least count is named from this probability on.
_SURE = 0.9
_SIGNS = {"ge": "at least", "gt": "more than"}

WORDS: Mapping[str, Words] = {
    "threshold": Words(
        says="The least count that is shown, how sure that is, and other readings.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """The cut of every table."""
    return [one for cells in facts.structure.tables for one in about_thresholds(cells)]


def about_thresholds(cells: Table, /) -> list[Result]:
    """The cut of one table."""
    cut = cells.threshold
    if cut.value is None or cut.rule is None:
        return [
            Check(
                id="threshold",
                outcome="known" if cut.sure >= 0.99 else "cannot tell",
                title=f"{cells.name}: no cut to be seen ({cut.evidence})",
                numbers={"table": cells.name, **cut.to_json()},
            )
        ]
    rest = [f"{_SIGNS[other.rule]} {other.value:g}: {other.probability:.0%}" for other in cut.alternatives]
    others = f" (other readings: {', '.join(rest)})" if rest else ""
    sure = cut.sure >= _SURE
    about = "" if sure else f"; it may be {' or '.join(_others(cut))}"
    return [
        Check(
            id="threshold",
            outcome="known" if sure else "cannot tell",
            title=f"{cells.name}: published from {cut.value:g} on, {cut.sure:.1%} sure{about}",
            numbers={"table": cells.name, **cut.to_json()},
            evidence=[f"{cut.evidence}{others}"],
        )
    ]


def _others(cut: Threshold, /) -> list[str]:
    """The other least counts that are possible, the likeliest first."""
    values = dict.fromkeys(one.value for one in cut.alternatives if one.value != cut.value)
    return [f"{value:g}" for value in values][:3] or ["another"]


def show(assessment: Assessment, /) -> Exhibit:
    """What was read, where each table was cut and its noise, and lines that were not read as rows."""
    tables = assessment.tables
    aside = [
        (table.summary.name, one.rows, one.reason, one.example)
        for table in tables
        for one in table.summary.set_aside
    ]
    return Exhibit(
        section="tables",
        grids=(
            Grid(
                caption="Tables that were read",
                columns=("table", "role", "dimensions", "published", "possible", "share"),
                rows=tuple(_table_row(table.summary) for table in tables),
                numeric=(3, 4, 5),
            ),
            Grid(
                caption="Cut and noise, as recovered",
                columns=("table", "shown from", "sure", "law", "scale", "interval", "identities"),
                rows=tuple(_noise_row(table) for table in tables),
                numeric=(1, 2, 4, 5, 6),
            ),
            Grid.of("Lines set aside", ("table", "lines", "reason", "for example"), aside),
        ),
    )


def _table_row(table: TableSummary, /) -> tuple[str, ...]:
    return (
        table.name,
        table.role,
        ", ".join(f"{one.name} ({number(one.values)})" for one in table.details),
        number(table.rows),
        number(table.domain_size),
        percent(table.rows / table.domain_size) if table.domain_size else "",
    )


def _noise_row(table: AssessedTable, /) -> tuple[str, ...]:
    cut, fit, made = table.summary.threshold, table.noise.fit, recognised_law(table)
    open_end = ", or one that stops" if may_stop(table) else ""
    law = (
        ("not recovered", "–")
        if fit is None
        else (f"{_law(fit.law, fit.rounding)}{open_end}", short(fit.scale))
    )
    return (
        table.summary.name,
        "no cut seen" if cut.value is None else short(cut.value),
        percent(round(cut.sure, 6)),
        *(law if made is None else made[:2]),
        "–" if fit is None or made is not None else interval(fit.interval) or "–",
        number(table.noise.n if made is None else made[2]),
    )


#: What a table was made by, where that is no law of noise that a scale was fitted for.
_MADE = {
    "exact": "as counted",
    "hidden-ranges": "as counted",
    "nearest-rounding": "nearest multiple",
    "random-rounding": "random rounding",
    "rounding": "rounding",
    "graded-rounding": "graded rounding",
    "uniform": "uniform",
    "bounded": "bounded",
    "growing": "grows with count",
    "summed": "summed",
}


def recognised_law(table: AssessedTable, /) -> tuple[str, str, int] | None:
    """The law in words, its base or bound, and the number of identities, where another than a scale says how a table was made."""
    made, fit = table.recognition, table.noise.fit
    if made is None or (fit is not None and made.kind.replace("-", " ") in fit.law.replace("-", " ")):
        return None
    if fit is not None and may_stop(table):
        return None
    if made.kind == "unknown" and made.noise_sd is not None and made.rivals:
        return "cannot tell", f"sd {made.noise_sd:.2g}", made.n
    if made.kind not in _MADE:
        return None
    size = made.base if made.rounded else made.bound if made.kind in {"uniform", "bounded"} else None
    bound = "–" if size is None else short(size) if made.rounded else f"±{size:,}"
    return _MADE[made.kind], bound, made.n


def may_stop(table: AssessedTable, /) -> bool:
    """Whether all that is open about the fitted law of a table is whether it stops somewhere: its scale is known all the same."""
    made, fit = table.recognition, table.noise.fit
    like = None if made is None else made.falls_off_like
    return fit is not None and like is not None and like in fit.law


def _law(law: str, rounding: str, /) -> str:
    rounded = rounding == "nearest" and "rounded" not in law
    name = law.replace("-", " ").replace("laplace", "Laplace").replace("gaussian", "Gaussian")
    return f"{name}{', rounded' if rounded else ''}"
