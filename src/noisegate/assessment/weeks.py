"""What more weeks of the same would give away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Finding, Result, Severity, assumed
from noisegate.assessment.growth import CERTAINTIES, EPSILONS, WIDTHS, Weeks
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Words
from noisegate.assessment.words import chance, number
from noisegate.pictures import Curve, Panel, WeekPanels

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: A chance of being seen above the first is high, above the second medium.
_HIGH, _MEDIUM = 0.05, 0.001
_ADVICE = (
    "Decide on the number of weeks beforehand and spread one budget over them: perturb zeros, bound what a person adds, and "
    "choose the noise from the epsilon that is wanted for all weeks together."
)

WORDS: Mapping[str, Words] = {
    "more-weeks": Words(
        says="What further weeks of such releases add: detection, width, loss.",
        meaning="The risks grow with every further week that is released.",
        method=(
            "For somebody who comes back every week, the chance of showing at least once is that of one week, "
            "repeated. Repeated differences average, so an interval shrinks with the root of the weeks. Losses "
            "add up, in the worst case and by exact composition."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """What more weeks would give away, if somebody asked."""
    return [] if facts.request.outside.weeks is None else about_weeks(facts.weeks)


def about_weeks(weeks: Weeks | None, /) -> list[Result]:
    """Detection, width and loss after so many weeks; None if the noise is not known."""
    if weeks is None:
        return [
            Check(
                id="more-weeks",
                outcome="cannot tell",
                title="what more weeks would give away is not known, because the noise is not; state it with --noise",
            )
        ]
    said = [*_seen(weeks), *_width(weeks), *_loss(weeks), *_persons(weeks)]
    numbers = weeks.to_json()
    shown = max((one.by_week(weeks.horizon)[-1] for one in weeks.recurring), default=0.0)
    short = {"horizon": weeks.horizon, "seen": shown, "weeks_until": numbers["detection"][-1]["weeks_until"]}
    if shown == 0:
        return [
            Check(
                id="more-weeks",
                outcome="known",
                title=f"after {weeks.horizon} weeks a published count still proves nothing; the loss grows{_epsilon(weeks)}",
                numbers=short,
                evidence=[*said, *map(assumed, weeks.assumes)],
            )
        ]
    severity: Severity = "high" if shown > _HIGH else "medium" if shown > _MEDIUM else "low"
    after = f"after {weeks.horizon} weeks a recurring group of 12 has been seen with probability up to {shown:.3g}"
    if not weeks.zeros_known:
        severity, after = "medium" if severity == "high" else "low", f"if empty cells stay empty, {after}"
    return [
        Finding(
            id="more-weeks",
            severity=severity,
            title=f"{after[0].upper()}{after[1:]}",
            numbers=short,
            evidence=said,
            assumptions=weeks.assumes,
            baseline={"from": "one week", "seen": max(one.by_week(1)[-1] for one in weeks.recurring)},
            advice=_ADVICE,
            picture="weeks",
        )
    ]


def _epsilon(weeks: Weeks, /) -> str:
    if not weeks.growth:
        return ""
    last = weeks.growth[min(1, len(weeks.growth) - 1)].at[-1]
    return f" to epsilon {last.tight:.3g} for a commuter" if math.isfinite(last.tight) else " without bound"


def _seen(weeks: Weeks, /) -> list[str]:
    said = []
    for one in weeks.recurring:
        chance = one.by_week(weeks.horizon)[-1]
        if chance <= 0:
            continue
        who = "one person" if one.group == 1 else f"a group of {one.group}"
        until = ", ".join(
            f"{c:.0%} after {w:,} weeks" for c in CERTAINTIES if (w := one.weeks_until(c)) is not None
        )
        said.append(
            f"{who}, {one.pattern}: seen with probability {chance:.3g} in {weeks.horizon} weeks; {until}."
        )
    return said


def _width(weeks: Weeks, /) -> list[str]:
    width = weeks.width
    if width is None:
        return []
    until = [(w, width.weeks_until(w)) for w in WIDTHS]
    reached = ", ".join(f"{w} after {n} weeks" for w, n in until if n is not None)
    return [
        f"A suppressed count of {width.count} that recurs, in a total with {weeks.parts} published parts: its "
        f"{width.level:.0%} interval is {width.expected[0]:.1f} wide after one week and {width.expected[-1]:.1f} after "
        f"{weeks.horizon}" + (f"; {reached}." if reached else ".")
    ]


def _loss(weeks: Weeks, /) -> list[str]:
    if any(not math.isfinite(one.at[0].linear) for one in weeks.growth):
        return ["No epsilon bounds the loss, of one week or of many: the noise has a largest value."]
    said = [
        f"{one.who}: epsilon {one.at[0].linear:.3g} after one week; after {weeks.horizon}, {one.at[-1].linear:.4g} in the "
        f"worst case and {one.at[-1].tight:.4g} at delta {one.at[-1].delta:.2g}."
        for one in weeks.growth
    ]
    if weeks.promised is not None:
        epsilon, days = weeks.promised
        releases = -(-7 * weeks.horizon // days)
        said.append(
            f"The card promises a person epsilon {epsilon:.3g} for {days} days: {releases * epsilon:.4g} for "
            f"{releases} releases."
        )
    return said


def _persons(weeks: Weeks, /) -> list[str]:
    if weeks.persons is None or weeks.persons.event_epsilon is None:
        return []
    costs = weeks.persons.to_json()["quantiles"]
    wanted = [one for one in costs if one["share_of_persons"] in (0.5, 0.9, 0.99)]
    parts = ", ".join(f"{one['share_of_persons']:.0%} at most {one['epsilon']:.3g}" for one in wanted)
    return [f"In the raw data, of {weeks.persons.days} days: {parts} in the worst case."]


def show(assessment: Assessment, /) -> Exhibit | None:
    """Growth by week: being seen, a recurring count, and the loss."""
    weeks = assessment.weeks
    if weeks is None:
        return None
    return Exhibit(section="weeks", grids=(_recurring(weeks), _losses(weeks)), figures=tuple(_figures(weeks)))


def _recurring(weeks: Weeks, /) -> Grid:
    """How many weeks it takes to prove a group that recurs."""
    rows = [
        (
            f"{number(one.group)}, {one.pattern}",
            one.chance,
            *(one.weeks_until(certainty) or "never" for certainty in CERTAINTIES),
        )
        for one in weeks.recurring
        if one.chance
    ]
    columns = ("people, how often", "chance each time", *(f"{c:.0%} after weeks" for c in CERTAINTIES))
    return Grid.of("Weeks until a recurring group has been proved", columns, rows)


def _losses(weeks: Weeks, /) -> Grid:
    """When the loss of a traveller exceeds round numbers."""
    rows = [(one.who, *(one.weeks_until(e) or "never" for e in EPSILONS)) for one in weeks.growth]
    first, *rest = EPSILONS
    columns = ("who", f"epsilon above {first:g} in week", *(f"above {e:g}" for e in rest))
    return Grid.of("Weeks until the loss exceeds", columns, rows)


def _figures(weeks: Weeks, /) -> Iterator[Figure]:
    """Three panels over the weeks, those that are known."""
    seen, width, loss = _seen_curves(weeks), _width_curve(weeks), _loss_curves(weeks)
    panels = [
        Panel(
            title="chance that a recurring group has been proved to be there",
            curves=seen,
            factors=True,
            chances=True,
        ),
        Panel(
            title="width of the interval of a recurring suppressed count", curves={"": width} if width else {}
        ),
        Panel(title="epsilon of a commuter", curves=loss, factors=True),
    ]
    shown = [panel for panel in panels if panel.curves]
    if not shown:
        return
    yield Figure(
        key="weeks",
        caption=(
            "What every further week adds, if it is released like these with fresh noise. A group recurs once a week in a cell "
            "that would otherwise be empty; a suppressed count recurs in a total that is published; losses add up."
        ),
        alt=f"Curves over the weeks. {_last_values(weeks, seen, width, loss)}",
        picture=WeekPanels(panels=shown, title=f"The same release for {weeks.horizon} weeks"),
        data=Grid.of(
            "Risks by week", ("what", "week", "value"), _points({**seen, "width": width, **loss}), most=80
        ),
        about=("more-weeks",),
    )


def _seen_curves(weeks: Weeks, /) -> dict[str, Curve]:
    """The chance by week for groups that recur once a week."""
    curves = {
        f"{number(one.group)} {'person' if one.group == 1 else 'people'}": [
            (float(week), p) for week, p in enumerate(one.by_week(weeks.horizon), 1) if p > 0
        ]
        for one in weeks.recurring
        if one.per_week == 1
    }
    return {name: curve for name, curve in curves.items() if curve}


def _width_curve(weeks: Weeks, /) -> Curve:
    if weeks.width is None:
        return ()
    return [(float(week), float(value)) for week, value in enumerate(weeks.width.expected, 1)]


def _loss_curves(weeks: Weeks, /) -> dict[str, Curve]:
    """Epsilon of the commuter, in the worst case and by exact composition."""
    chosen = next((one for one in weeks.growth if "commuter" in one.who), None)
    if chosen is None:
        return {}
    pairs = {
        "worst case": [(one.weeks, one.linear) for one in chosen.at],
        "exact composition": [(one.weeks, one.tight) for one in chosen.at],
    }
    curves = {
        name: [(float(week), value) for week, value in points if math.isfinite(value) and value > 0]
        for name, points in pairs.items()
    }
    return {name: curve for name, curve in curves.items() if curve}


def _last_values(weeks: Weeks, seen: Mapping[str, Curve], width: Curve, loss: Mapping[str, Curve], /) -> str:
    """The last values, in words."""
    parts = [
        f"a group of {name} is proved with {chance(curve[-1][1])}" for name, curve in list(seen.items())[-1:]
    ]
    if width:
        parts.append(f"the interval shrinks from {width[0][1]:.1f} to {width[-1][1]:.1f}")
    parts += [f"epsilon grows to {curve[-1][1]:,.0f} in the {name}" for name, curve in list(loss.items())[:1]]
    return f"After {number(weeks.horizon)} weeks, {', '.join(parts)}."


def _points(curves: Mapping[str, Curve], /) -> Iterator[Sequence[object]]:
    for name, curve in curves.items():
        every = max(1, len(curve) // 8)
        kept = curve[::every] if (len(curve) - 1) % every == 0 else [*curve[::every], curve[-1]]
        for week, value in kept:
            yield name, week, float(f"{value:.4g}")
