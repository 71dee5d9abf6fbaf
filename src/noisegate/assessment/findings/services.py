"""What a timetable gives away: cells of one vehicle, hours that binning does not protect, taps that are missing."""

from __future__ import annotations

from collections.abc import Sequence

from noisegate.assessment.closed import ClosedServices
from noisegate.assessment.exposure import Exposure, Suggestion, UniqueCell
from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.residuals import RUNNING, MissingTaps, sure
from noisegate.assessment.services import Services

#: A residual belongs to a cell from this probability on.
_SURE = 0.9
_SHOWN = 5


def about_services(
    services: Services,
    exposure: Exposure,
    closed: ClosedServices,
    missing: Sequence[MissingTaps],
    suggestion: Suggestion | None,
    /,
) -> list[Result]:
    """Everything that follows from the timetable."""
    results = [_linked(services), _unique(services, exposure, suggestion)]
    if missing:
        results.append(_missing(missing))
    if closed.found:
        results.append(_closed(closed))
    return results


def _linked(services: Services, /) -> Check:
    idle = services.dates_without_service()
    said = [f"{one.location}: {one.reason}" for one in services.matching.unmatched[:_SHOWN]]
    if idle:
        said.append(
            f"No vehicle of the feed runs on {', '.join(idle[:_SHOWN])}; nothing is said about these dates."
        )
    if services.matching.left_over:
        said.append(
            f"{len(services.matching.left_over):,} stops that vehicles serve have no location; what is called impossible "
            "may be possible if their taps are published under another name."
        )
    return Check(
        id="timetable",
        outcome="known",
        title=f"timetable: {services.matching.summary()}",
        numbers={
            "matched": len(services.matching.how),
            "unmatched": len(services.matching.unmatched),
            "vehicles": len(services.visits.runs),
            "late_min": services.late,
        },
        evidence=said,
    )


def _unique(services: Services, exposure: Exposure, suggestion: Suggestion | None, /) -> Result:
    numbers = exposure.to_json()["cells"] | {
        "unprotected_hours": exposure.unprotected(),
        "trails": len(exposure.trails),
        "late_min": services.late,
    }
    if not exposure.published_alone:
        return Check(
            id="vehicle-unique-cells",
            outcome="fine",
            title=f"no published cell belongs to one vehicle, if cards are read within {services.late} min of the timetable",
            numbers=numbers,
        )
    said = [_trail(trail) for trail in exposure.trails[:_SHOWN]]
    said += [_cell(cell) for cell in exposure.listed[: _SHOWN - len(said)]]
    said += [
        f"{mode}: most cells belong to one vehicle at {_hours(hours)}."
        for mode, hours in exposure.unprotected().items()
    ]
    said.append(f"Assumed: every card is read within {services.late} min of the timetable.")
    return Finding(
        id="vehicle-unique-cells",
        severity="medium",
        title=(
            f"{exposure.published_alone:,} of {exposure.published:,} published cells belong to one vehicle"
            + (
                f"; {len(exposure.trails):,} vehicles can be followed from cell to cell"
                if exposure.trails
                else ""
            )
        ),
        numbers=numbers,
        evidence=said,
        advice=_advice(suggestion),
    )


def _trail(trail: Sequence[UniqueCell], /) -> str:
    cells = "; ".join(f"{cell.title}: {cell.count:g}" for cell in trail[:3])
    more = f" and {len(trail) - 3} more" if len(trail) > 3 else ""
    return f"{trail[0].vehicle}: {cells}{more}."


def _cell(cell: UniqueCell, /) -> str:
    where = f", at {cell.stop}" if cell.stop else ""
    return f"{cell.title}: {cell.count:g} on {cell.vehicle}{where}."


def _hours(hours: Sequence[int], /) -> str:
    """Hours in words, neighbours together: 00-04, 22."""
    spans: list[list[int]] = []
    for hour in sorted(hours):
        if spans and hour == spans[-1][1] + 1:
            spans[-1][1] = hour
        else:
            spans.append([hour, hour])
    return ", ".join(f"{low:02d}:00-{high:02d}:59" for low, high in spans)


def _advice(suggestion: Suggestion | None, /) -> str:
    start = "Merge times or places at the hours when few vehicles run"
    if suggestion is None:
        return f"{start}, so that every cell mixes several."
    merges = suggestion.merges
    if merges.hopeless:
        return f"{start}. On some dates a mode has fewer than {merges.k} vehicles in all: leave it out, or ask for fewer."
    rest = (
        f" Nothing is known about {suggestion.uncovered} locations without a stop."
        if suggestion.uncovered
        else ""
    )
    return (
        f"{start}: the fragment of a release spec in the section 'services' leaves every cell with at least {merges.k} "
        f"vehicles ({merges.before:,} cells become {merges.after:,}).{rest}"
    )


def _missing(missing: Sequence[MissingTaps], /) -> Result:
    clear = sure(missing, probability=_SURE)
    numbers = {"rows": len(missing), "sure": len(clear), "probability": _SURE}
    if not clear:
        return Check(
            id="missing-taps",
            outcome="fine",
            title=f"{len(missing):,} totals hold taps of a few suppressed cells, and the timetable favours none of these",
            numbers=numbers,
        )
    said = []
    for one in clear[:_SHOWN]:
        first = one.ranked[0]
        rest = ", ".join(f"{other.title} {other.candidate.probability:.1%}" for other in one.ranked[1:3])
        said.append(
            f"{one.row}: {one.residual:g} more in {one.margin} than published; {first.title} "
            f"{first.candidate.probability:.1%} ({first.candidate.count.low} to {first.candidate.count.high} taps)"
            + (f", then {rest}." if rest else ".")
        )
    said.append(f"Assumed: {RUNNING.describe()}; all missing taps of a row belong to one cell.")
    return Finding(
        id="missing-taps",
        severity="medium",
        title=f"{len(clear):,} {'total holds' if len(clear) == 1 else 'totals hold'} taps that the timetable gives to one suppressed cell",
        numbers=numbers,
        evidence=said,
        advice="Derive totals from the published cells (margins: derive), or reconcile them; then nothing is left over.",
    )


def _closed(closed: ClosedServices, /) -> Check:
    shut = [one for one in closed.found if one.closed]
    names, modes = closed.services.matching.locations, closed.services.feed.modes
    said = [
        f"{modes[one.mode]} {names[one.origin]} to {names[one.destination]}, {one.lag_s[1] / 60:g} min, {one.runs:,} runs"
        for one in shut[:_SHOWN]
    ]
    return Check(
        id="closed-services",
        outcome="known",
        title=(
            f"{len(shut)} of {len(closed.found)} two-stop services are closed; "
            f"{len(closed.couplings)} of them leave equal counts that were compared"
        ),
        numbers={"two_stop": len(closed.found), "closed": len(shut), "coupled": len(closed.couplings)},
        evidence=said,
    )
