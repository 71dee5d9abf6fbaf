"""Whether the tables add up, or each was perturbed on its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Words
from noisegate.recovery import MarginRows, perturbed_apart

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

WORDS: Mapping[str, Words] = {
    "independent-margins": Words(
        says="A margin and the base got noise of their own, and differences give both away.",
        meaning="Totals and their parts were perturbed separately, and differences between them give things away.",
        method=(
            "Each row of the coarser table is compared with the sum of the finer cells it stands for. Sums of "
            "published cells that exceed their own total, or complete rows that do not add up, show noise drawn "
            "separately for each table."
        ),
    ),
    "margins": Words(
        says="A margin adds up to the base, or no row shows whether it does.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How each margin compares with the sums of the base."""
    base = facts.recognised.get(facts.structure.base.name)
    as_counted = facts.card is None and base is not None and base.raw_counts
    rounded = {name for name, one in facts.recognised.items() if one.rounded} | {*facts.bases}
    if (
        base is not None and base.base is not None
    ):  # few multiples of the base show no lattice, and are rounded all the same
        margins = [rows.link.margin for rows in facts.sound_rows]
        rounded |= {one.name for one in margins if not (np.asarray(one.values) % base.base).any()}
    counted = {name for name, one in facts.recognised.items() if one.silent}
    return [
        one
        for rows in facts.sound_rows
        for one in about_margins(rows, as_counted=as_counted, rounded=rounded, counted=counted)
    ]


def about_margins(
    rows: MarginRows,
    /,
    *,
    as_counted: bool = False,
    rounded: AbstractSet[str] = frozenset(),
    counted: AbstractSet[str] = frozenset(),
) -> list[Result]:
    """How one margin compares with the sums of the base.

    Parameters
    ----------
    as_counted
        Whether counts are published as they are: that tables add up then protects nobody.
    rounded
        The tables whose values are multiples of a base.
    counted
        The tables that likely have no noise.
    """
    base, margin = rows.link.base.name, rows.link.margin.name
    numbers = _numbers(rows)
    if rows.link.unlisted:
        return [
            Check(
                id="margins",
                outcome="cannot tell",
                title=f"{margin} counts what {base} does not list ({', '.join(rows.link.unlisted[:3])})",
                numbers=numbers,
            )
        ]
    apart = perturbed_apart(rows)
    if apart:
        return [_independent(rows, numbers, rounded=rounded, counted=counted)]
    if apart is None and not as_counted:
        whole = int(rows.complete.sum())
        title = f"{margin}: no row has all its cells of {base} published, and none is below the sum of those that are"
        if whole:
            title = f"{margin}: {whole:,} of its rows have all cells of {base} published and add up, too few to tell"
        return [Check(id="margins", outcome="cannot tell", title=title, numbers=numbers)]
    derived = bool((rows.residual == 0).all())
    empty = " (or every cell behind a marker is 0)" if rows.link.base.hidden.size else ""
    how = (
        f"every row of {margin} is the sum of the published cells of {base}: it was derived from them{empty}"
        if derived
        else f"{margin} adds up to {base} in all {int(rows.complete.sum()):,} rows that can be checked"
    )
    if numbers["complete_off"]:
        how = (
            f"{margin} was made to add up to {base}, as the card says; {numbers['complete_off']:,} of its rows hold cells that "
            "no table shows"
        )
    if as_counted:
        title = (
            f"{margin} adds up to {base} where it can be checked, as counts do that are published as they are"
        )
        return [Check(id="margins", outcome="known", title=title, numbers={**numbers, "derived": derived})]
    title = f"{how}; differences between the two reveal no noise"
    return [Check(id="margins", outcome="fine", title=title, numbers={**numbers, "derived": derived})]


def _independent(
    rows: MarginRows, numbers: dict[str, Any], /, *, rounded: AbstractSet[str], counted: AbstractSet[str]
) -> Finding:
    base, margin = rows.link.base.name, rows.link.margin.name
    how = f"{margin} and {base} were perturbed independently"
    if margin in counted and base not in counted and base not in rounded:
        how = f"{base} was perturbed and {margin}, as it seems, was not"
    if base in rounded:
        how = f"{margin} and {base} were rounded each by itself"
        how = how if margin in rounded else f"{base} was rounded and {margin} was not"
    below, off = numbers["below_parts"], numbers["complete_off"]
    seen = []
    if off and rows.pieces is None:
        seen.append(f"{off:,} of {numbers['complete']:,} complete rows do not add up")
    if below:
        seen.append(f"{below:,} of {numbers['rows']:,} rows fall below the sum of their published parts")
    return Finding(
        id="independent-margins",
        severity="medium",
        title=f"{how}: {' and '.join(seen)}",
        numbers=numbers,
        baseline={"from": "totals derived from what is published", "complete_off": 0, "below_parts": 0},
        evidence=rows.examples(rows.impossible),
        advice=(
            f"Derive {margin} from the published {base}, or round both together so that they add up (controlled rounding). What "
            "totals and their parts differ by narrows the counts behind both."
        )
        if base in rounded
        else (
            f"Derive {margin} from the published {base}, or measure both and reconcile them (margins: reconcile). "
            "Differences between independent tables reveal their noise and the suppressed counts, and every further "
            "table adds to the privacy loss."
        ),
    )


def _numbers(rows: MarginRows, /) -> dict[str, Any]:
    complete = rows.residual[rows.complete]
    return {
        "margin": rows.link.margin.name,
        "base": rows.link.base.name,
        "rows": int(rows.rows.size),
        "complete": int(rows.complete.sum()),
        "complete_off": int((complete != 0).sum()),
        "below_parts": int((rows.residual < 0).sum()),
        "residual_rms": round(math.sqrt(float(np.mean(complete**2))), 4) if complete.size else None,
        "least_residual": float(rows.residual.min()) if rows.rows.size else None,
    }


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
