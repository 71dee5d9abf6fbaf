"""What more weeks of the same would give away."""

from __future__ import annotations

import math

from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.weeks import CERTAINTIES, WIDTHS, Weeks

#: A chance of being seen above the first is high, above the second medium.
_HIGH, _MEDIUM = 0.05, 0.001
_ADVICE = (
    "Decide on the number of weeks beforehand and spread one budget over them: perturb zeros, bound what a person adds, and "
    "choose the noise from the epsilon that is wanted for all weeks together."
)


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
                evidence=[*said, *(f"Assumed: {line}." for line in weeks.assumes)],
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
            evidence=[*said, *(f"Assumed: {line}." for line in weeks.assumes)],
            advice=_ADVICE,
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
