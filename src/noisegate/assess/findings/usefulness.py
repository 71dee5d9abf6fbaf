"""What analysts lose by the release as it is."""

from __future__ import annotations

from noisegate.assess.finding import Check, Result
from noisegate.assess.usefulness import Usefulness


def about_usefulness(useful: Usefulness | None, /) -> list[Result]:
    """The error of totals, measured against the raw counts."""
    if useful is None:
        return []
    worst = max(useful.questions, key=lambda one: one.relative or 0.0)
    cause = "suppression" if worst.suppression > worst.noise else "noise"
    return [
        Check(
            id="utility",
            outcome="known",
            title=(
                f"against the raw counts: {useful.drop_rate:.1%} of cells with people are not published; the worst of "
                f"{len(useful.questions)} questions is {worst.name}, half of its answers are off by "
                f"{worst.relative or 0.0:.1%} or more, mostly by {cause}"
            ),
            numbers=useful.to_json(),
            evidence=[
                (
                    f"{one.name}: off by {one.together:.3g} on average ({one.noise:.3g} by noise and bounding, "
                    f"{one.suppression:.3g} by suppression)."
                )
                for one in useful.questions
            ],
        )
    ]
