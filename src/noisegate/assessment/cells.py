"""What suppressed cells give away: pinned counts, people shown to be there, and what the cut removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.cell_sums import calendar_figure, exposed, moments
from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inference import Inference
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Words
from noisegate.assessment.words import chance, number, plural
from noisegate.inference import SumEstimates
from noisegate.pictures import ExposedCells
from noisegate.recovery import names
from noisegate.tables import Kind, Table

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts
    from noisegate.assessment.known_counts import KnownCounts

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

#: Somebody was in the cell, with more than this probability.
_SURE = 0.99
#: Interval widths that are counted.
_WIDTHS = (0, 2, 5)
_LISTED = 10
#: So many cells are named in a picture.
_NAMED = 8

_ADVICE = (
    "Suppressing a small cell does not hide it while totals over few cells stay. Derive margins from the published "
    "base or reconcile them (margins: reconcile), perturb zeros, and merge {what}."
)

WORDS: Mapping[str, Words] = {
    "inference": Words(
        says="How suppressed cells were inferred, and what was assumed.",
    ),
    "pinned-cells": Words(
        says="Suppressed cells with people in them are known to within a few.",
        meaning="Some counts that were withheld can be told from the totals they are in.",
        method=(
            "Every suppressed cell gets a posterior from all linked tables together: its own suppression, the "
            "totals it is in, and the cells published beside it. A cell is pinned when the interval of that "
            "posterior is narrow."
        ),
    ),
    "presence": Words(
        says="Suppressed cells are shown to hold somebody, with more than 99 %.",
        meaning="For cells that were withheld, the tables often show that somebody was there.",
        method=(
            "From the posterior of each suppressed cell: the probability that it is empty. Where that is below "
            "one in a hundred, the tables show that somebody was there although the cell itself was withheld."
        ),
    ),
    "sharpest-rows": Words(
        says="Totals under which suppressed cells are known best.",
    ),
    "suppressed-cells": Words(
        says="Whether suppressed cells could be inferred at all, and if not, why.",
    ),
    "suppressed-total": Words(
        says="What the suppressed cells of a table add up to.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """What the posteriors say about suppressed cells, or why there are none."""
    if facts.request.attacker is None:
        return []
    if facts.inference is None:
        if not facts.structure.base.suppressed:
            return [_nothing_hidden(facts.structure.base)]
        return about_no_inference(facts.why_not_inferred)
    return about_cells(facts.inference, known=facts.known_counts)


def _advice(inference: Inference, /) -> str:
    """What to do, in terms of the dimensions at hand."""
    dimensions = inference.cells.dimensions
    if any(one.kind is Kind.TIME for one in dimensions):
        return _ADVICE.format(what="bins at hours and places with few vehicles")
    names = [one.name for one in sorted(dimensions, key=lambda one: -one.size) if one.size > 2][:2]
    return _ADVICE.format(what=f"values of {' and '.join(names) or 'dimensions'} that few people have")


def about_cells(inference: Inference, /, *, known: KnownCounts | None = None) -> list[Result]:
    """What the posteriors say about suppressed cells, beyond what sums prove of them (`known`)."""
    hidden = np.flatnonzero(inference.hidden)
    if not hidden.size:
        return [_nothing_hidden(inference.cells)]
    return [
        *_pinned(inference, hidden, known),
        *_present(inference, hidden, known),
        *_sharpest(inference),
        *_totals(inference),
        _method(inference),
    ]


def _nothing_hidden(table: Table, /) -> Check:
    title = f"{table.name}: every possible cell is published, nothing is suppressed"
    return Check(id="suppressed-cells", outcome="known", title=title)


def about_no_inference(reason: str, /) -> list[Result]:
    """Why there are no posteriors."""
    return [Check(id="suppressed-cells", outcome="cannot tell", title=f"suppressed cells: {reason}")]


def most_exposed(inference: Inference, /, limit: int = _LISTED) -> Ints:
    """Suppressed cells that surely hold somebody, the sharpest first; among equals the smallest count first."""
    posterior = inference.posterior
    shown = np.flatnonzero(inference.hidden & (posterior.low > 0))
    width = posterior.high[shown] - posterior.low[shown]
    return shown[np.lexsort((shown, posterior.mean[shown], width))[:limit]]


def _pinned(inference: Inference, hidden: Ints, known: KnownCounts | None, /) -> list[Result]:
    """Cells with narrow intervals. What sums prove to within one is a finding of its own, and not counted here again."""
    posterior = inference.posterior
    own_low, own_high = (ends[hidden] for ends in inference.cells.ranges())
    low, high = posterior.low[hidden], posterior.high[hidden]
    if known is not None:
        own_low, own_high = (ends[hidden].astype(float) for ends in (known.bounds.low, known.bounds.high))
        low = np.maximum(low, known.bounds.low[hidden])
        high = np.maximum(np.minimum(high, known.bounds.high[hidden]), low)
    rest = own_high - own_low > 1
    width = high - low
    # What a marker says by itself, or sums prove, is no finding here: only cells that are narrowed beyond that count.
    filled = (rest | (known is None)) & (low > 0) & (width < own_high - own_low)
    numbers: dict[str, Any] = {"suppressed": int(hidden.size), "level": posterior.level}
    for most in _WIDTHS:
        numbers[f"width_at_most_{most}"] = int((width <= most).sum())
        numbers[f"width_at_most_{most}_non_empty"] = int((filled & (width <= most)).sum())
    chosen = most_exposed(inference)
    numbers["most_exposed"] = _cells(inference, chosen)
    sharp, exact = numbers["width_at_most_2_non_empty"], numbers["width_at_most_0_non_empty"]
    if not numbers["width_at_most_5_non_empty"]:
        title = f"no suppressed cell of {inference.cells.name} with people in it is known to within 5"
        if known is None or rest.all():
            return [Check(id="pinned-cells", outcome="fine", title=title, numbers=numbers)]
        title = f"beyond what sums prove, {title}"
        return [Check(id="pinned-cells", outcome="known", title=title, numbers=numbers)]
    within = numbers["width_at_most_5_non_empty"]
    said = f"{plural(within, 'suppressed cell')} with people in {'it is' if within == 1 else 'them are'} known to within 5"
    closer = f": {sharp:,} to within 2, {exact:,} exactly" if sharp else ""
    if known is not None:
        said = said.replace("suppressed", "more suppressed", 1) if (~rest).any() else said
        closer = f" with {posterior.level:.0%}, {sharp:,} of them to within 2"
    title = f"{said}{closer}"
    if inference.looked is not None:
        counted = hidden[filled & (width <= max(_WIDTHS))]
        title += f"; of {hidden.size:,} looked at{inference.looked.said(counted)}"
        numbers |= inference.looked.numbers(counted)
    return [
        Finding(
            id="pinned-cells",
            severity="high" if sharp and known is None else "medium",
            title=title,
            numbers=numbers,
            baseline=_baseline(inference),
            evidence=[_line(one) for one in numbers["most_exposed"]],
            assumptions=inference.evidence.assumes,
            advice=_advice(inference),
            picture="exposed" if (posterior.p_zero[hidden] < 1 - _SURE).any() else None,
        )
    ]


def _baseline(inference: Inference, /) -> dict[str, Any]:
    """What a suppressed cell gives away by itself: that a larger count would hardly have been suppressed."""
    mechanism, level = inference.evidence.base.mechanism, inference.posterior.level
    least, most = (ends[inference.evidence.suppressed] for ends in inference.cells.ranges())
    if np.isfinite(most).all() and most.size:
        return {"from": "what its marker says alone", "lo": int(least.min()), "hi": int(most.max())}
    if mechanism.whole_threshold is None:
        return {"from": "what its marker says alone", "cells": 0}
    high = 0
    while np.exp(mechanism.response(high + 1).log_suppressed) >= 1 - level:
        high += 1
    return {"from": "its own suppression alone", "lo": 0, "hi": high, "level": level}


def _present(inference: Inference, hidden: Ints, known: KnownCounts | None, /) -> list[Result]:
    posterior = inference.posterior
    proven = np.zeros(hidden.size, bool) if known is None else known.bounds.low[hidden] > 0
    sure = hidden[(posterior.p_zero[hidden] < 1 - _SURE) | proven]
    numbers: dict[str, Any] = {
        "suppressed": int(hidden.size),
        "present": int(sure.size),
        "probability": _SURE,
    }
    if inference.looked is not None:
        numbers |= inference.looked.numbers(sure)
    if not sure.size:
        title = f"no suppressed cell of {inference.cells.name} is shown to hold anybody with more than {_SURE:.0%}"
        return [Check(id="presence", outcome="fine", title=title, numbers=numbers)]
    if not inference.evidence.linked:
        title = (
            f"{sure.size:,} of {hidden.size:,} suppressed cells of {inference.cells.name} surely hold somebody, to judge "
            "by how counts vary; no total adds to that"
        )
        return [Check(id="presence", outcome="known", title=title, numbers=numbers)]
    alone = int((inference.cells.ranges()[0][sure] > 0).sum())
    if alone == sure.size:
        title = f"the markers of {sure.size:,} suppressed cells of {inference.cells.name} say that they hold somebody; totals add nothing to that"
        return [Check(id="presence", outcome="known", title=title, numbers=numbers)]
    if proven.sum() == sure.size:
        title = f"{sure.size:,} suppressed cells of {inference.cells.name} surely hold somebody, as markers and sums prove; nothing adds to that"
        return [Check(id="presence", outcome="known", title=title, numbers=numbers)]
    lonely = sure[np.lexsort((sure, posterior.mean[sure]))[:_LISTED]]
    in_all = "" if inference.looked is None else f", of those looked at{inference.looked.said(sure)}"
    return [
        Finding(
            id="presence",
            severity="medium",
            title=(
                f"{sure.size:,} of {hidden.size:,} suppressed cells of {inference.cells.name} are shown to hold "
                f"somebody with more than {_SURE:.0%}{in_all}"
            ),
            numbers={**numbers, "fewest_people": _cells(inference, lonely)},
            baseline={"from": "what each cell's own marker or suppression says", "present": alone},
            evidence=[_line(one) for one in _cells(inference, lonely)],
            assumptions=inference.evidence.assumes,
            advice=_advice(inference),
            picture="exposed",
        )
    ]


def _sharpest(inference: Inference, /) -> list[Result]:
    """The totals under which suppressed cells are known best."""
    results: list[Result] = []
    posterior, hidden = inference.posterior, inference.hidden
    for rows, seen in inference.evidence.margins:
        group = np.where(hidden, rows.link.groups(), -1)
        mine = np.flatnonzero(group >= 0)
        mine = mine[~np.isnan(seen.values[group[mine]])]
        if not mine.size:
            continue
        size = seen.values.size
        cells = np.bincount(group[mine], minlength=size)
        people = np.bincount(group[mine], weights=posterior.mean[mine], minlength=size)
        width = np.bincount(group[mine], weights=(posterior.high - posterior.low)[mine], minlength=size)
        mean_width = np.where((cells > 0) & (people >= 1), width / np.maximum(cells, 1), np.inf)
        best = np.argsort(mean_width, kind="stable")[:_LISTED]
        best = best[np.isfinite(mean_width[best])]
        if not best.size:
            continue
        listed = [
            {
                "row": title,
                "published": float(seen.values[g]),
                "suppressed_cells": int(cells[g]),
                "people": round(float(people[g]), 1),
                "mean_width": round(float(mean_width[g]), 3),
            }
            for title, g in zip(names(seen.cells, best), best.tolist(), strict=True)
        ]
        first = listed[0]
        results.append(
            Check(
                id="sharpest-rows",
                outcome="known",
                title=(
                    f"suppressed cells are known best under {seen.cells.name} {first['row']}: "
                    f"{first['suppressed_cells']:,} cells share about {first['people']:g} people, intervals are "
                    f"{first['mean_width']:.2g} wide on average"
                ),
                numbers={"table": seen.cells.name, "rows": listed},
            )
        )
    return results


def _totals(inference: Inference, /) -> list[Result]:
    results: list[Result] = []
    for name, one in inference.totals.items():
        results.append(
            Check(
                id="suppressed-total",
                outcome="known" if one.told[0] else "cannot tell",
                title=_total_words(name, one),
                numbers={
                    "table": name,
                    "mean": float(one.mean[0]),
                    "sd": float(one.sd[0]),
                    "interval": [int(one.low[0]), int(one.high[0])],
                    "level": one.level,
                    "status": "estimate" if one.told[0] else "withdrawn",
                },
            )
        )
    return results


def _total_words(name: str, one: SumEstimates, /) -> str:
    if not one.told[0]:
        return (
            f"{name}: the tables do not tell what is suppressed; between {one.low[0]:,} and {one.high[0]:,}"
        )
    return (
        f"{name}: what is suppressed adds up to about {one.mean[0]:,.0f} "
        f"({one.level:.0%}: {one.low[0]:,} to {one.high[0]:,})"
    )


def _method(inference: Inference, /) -> Check:
    """How the posteriors were made, and on which assumptions."""
    posterior, evidence = inference.posterior, inference.evidence
    used = " and ".join(seen.cells.name for _, seen in evidence.margins) or "no margin"
    said = [f"Assumed: {_belief(inference)}."]
    cells = posterior.cells
    if inference.looked is not None:
        cells = len(inference.looked.cells)
        said.insert(0, f"{inference.looked.words[0].upper()}{inference.looked.words[1:]}.")
    said += [f"Assumed: {line}." for line in evidence.assumes]
    said += [f"{name} is not used: {reason}." for name, reason in evidence.left_out]
    fit = inference.engine.checks if inference.engine.knows_sums else ()
    said += [f"Fit, {check.name} ({check.outcome}): {check.says}." for check in fit]
    return Check(
        id="inference",
        outcome="known",
        title=f"{inference.attacker} attacker: {cells:,} cells inferred, linked by {used}",
        numbers={
            "cells": cells,
            "exact": int(posterior.exact.sum()),
            "sweeps": posterior.iterations,
        },
        evidence=said,
    )


def _belief(inference: Inference, /) -> str:
    if inference.engine.flat:
        return "every count is as likely as any other beforehand"
    if inference.attacker == "informed":
        return "counts vary by place, time and day as the tables show"
    return "a cell is near what the levels of its totals give, each day by itself, and nothing else is known"


def _cells(inference: Inference, which: Ints, /) -> list[dict[str, Any]]:
    """Some cells with what is known about them."""
    posterior = inference.posterior
    return [
        {
            "cell": title,
            "mean": round(float(posterior.mean[i]), 2),
            "lo": int(posterior.low[i]),
            "hi": int(posterior.high[i]),
            "p_zero": float(posterior.p_zero[i]),
        }
        for title, i in zip(names(inference.cells, which), which.tolist(), strict=True)
    ]


def _line(one: dict[str, Any], /) -> str:
    if one["lo"] == one["hi"]:
        return f"{one['cell']}: {one['lo']}"
    return f"{one['cell']}: {one['lo']} to {one['hi']} (mean {one['mean']:g})"


def show(assessment: Assessment, /) -> Exhibit | None:
    """What is suppressed in sum, the cells by day and time, and the most exposed ones."""
    inference = assessment.inference
    if inference is None:
        return None
    totals = Grid(
        caption="What is suppressed adds up to",
        columns=("table", "events", f"{assessment.level:.0%} interval"),
        rows=tuple(
            (
                name,
                f"{float(one.mean[0]):,.0f}" if one.told[0] else "not told",
                f"{int(one.low[0]):,} to {int(one.high[0]):,}",
            )
            for name, one in inference.totals.items()
        ),
        numeric=(1, 2),
    )
    found = moments(inference)
    figures = [calendar_figure(assessment.base.name, found)] if found else []
    return Exhibit(section="cells", grids=(totals,), figures=(*figures, *_exposed(assessment, inference)))


def _exposed(assessment: Assessment, inference: Inference, /) -> Iterator[Figure]:
    found = exposed(inference, most=_NAMED)
    if not found:
        return
    base = assessment.base
    line = "" if base.threshold.value is None else " Dashed: the least count that is published."
    first = found[0]
    yield Figure(
        key="exposed",
        caption=(
            f"Suppressed cells of {base.name} that the linked tables tell most sharply. Line: {assessment.level:.0%} "
            f"interval of the raw count. Dot: the likeliest count.{line}"
        ),
        alt=(
            f"Interval plot of {len(found)} suppressed cells. The sharpest, {first.name}, held {number(first.low)} to "
            f"{number(first.high)}, most likely {number(first.mode)}."
        ),
        picture=ExposedCells(cells=found, threshold=base.threshold.value, level=assessment.level),
        data=Grid.of(
            "Suppressed cells told most sharply",
            ("cell", "low", "likeliest", "high", "chance that it is empty"),
            ((one.name, one.low, one.mode, one.high, chance(one.chance_empty)) for one in found),
        ),
        about=("pinned-cells", "presence"),
    )
