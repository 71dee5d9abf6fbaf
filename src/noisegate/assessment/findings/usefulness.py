"""What analysts lose by the release as it is."""

from __future__ import annotations

from noisegate.assessment.finding import Check, Result
from noisegate.inference.profile.parts import ErrorParts, Trio
from noisegate.workload.measure import MeasuredQuestion
from noisegate.workload.usefulness import Usefulness


def about_usefulness(useful: Usefulness | None, /) -> list[Result]:
    """The error of each question, measured against the raw data."""
    if useful is None:
        return []
    found = [(one, one.parts, one.trio) for one in useful.questions if one.parts and one.trio]
    refused = [f"{one.name}: not answered, {one.reason}." for one in useful.questions if one.reason]
    return [
        Check(
            id="utility",
            outcome="known",
            title=f"against the raw counts: {useful.drop_rate:.1%} of cells with people are not published{_worst(found)}",
            numbers=useful.to_json(),
            evidence=[*(_split(one, parts) for one, parts, _ in found), *refused, *useful.how],
        )
    ]


def _worst(found: list[tuple[MeasuredQuestion, ErrorParts, Trio]], /) -> str:
    if not found:
        return "; none of the questions can be answered"
    one, parts, trio = max(found, key=lambda three: three[2].relative["median"])
    causes = one.causes(parts.absolute)
    return (
        f"; the worst of {len(found)} questions is {one.name}, half of its answers are off by "
        f"{trio.relative['median']:.1%} or more, mostly by {max(causes, key=lambda cause: causes[cause])}"
    )


def _split(one: MeasuredQuestion, parts: ErrorParts, /) -> str:
    causes = ", ".join(f"{value:.3g} by {name}" for name, value in one.causes(parts.absolute).items())
    return f"{one.name}: off by {parts.total_absolute:.3g} on average ({causes})."
