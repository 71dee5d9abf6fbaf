"""Whether empty cells get noise, and what follows if they do not."""

from __future__ import annotations

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.loss import Privacy
from noisegate.mechanisms.privacy import MEANINGFUL_DELTA
from noisegate.recovery.zeros import ZeroRule


def about_zeros(zeros: ZeroRule, privacy: Privacy, /) -> list[Result]:
    """The zero rule, and the exact delta if zeros are kept."""
    if zeros.rule == "perturb":
        return [
            Check(
                id="zeros",
                outcome="fine",
                title=f"empty cells get noise like any other: {zeros.statement}",
                numbers=zeros.numbers,
            )
        ]
    if zeros.rule is None:
        title = f"whether empty cells get noise cannot be told: {zeros.statement}"
        return [Check(id="zeros", outcome="cannot tell", title=title, numbers=zeros.numbers)]
    delta = privacy.delta
    known = "" if delta is None else f"; one event shows itself with probability {delta:.3g}"
    chances = privacy.numbers.get("detection", {})
    groups = [
        f"A group of {group} in an otherwise empty cell shows itself with probability {p:.3g}."
        for group, p in chances.items()
    ]
    return [
        Finding(
            id="zeros-kept",
            severity="high" if (delta or 0.0) > MEANINGFUL_DELTA else "medium",
            title=f"Empty cells stay empty, so a published count proves that somebody was there{known}",
            numbers={**zeros.numbers, "source": zeros.source, "delta": delta, "detection": chances},
            evidence=[f"{zeros.statement[0].upper()}{zeros.statement[1:]}.", *groups],
            advice="Perturb zeros like any count (zeros: perturb); then delta is 0 and a published count proves nothing.",
        )
    ]
