"""What a decision-maker takes away: the verdict, and what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from noisegate.report.methods import plain_of
from noisegate.report.page import Standing, Step, Verdict
from noisegate.report.source import Source
from noisegate.report.words import plural

_HEADLINES: dict[Standing, str] = {
    "high": "This release gives away more than it seems to.",
    "medium": "This release has weaknesses that can be used.",
    "low": "No serious weakness was found.",
    "open": "No weakness was found, but these tables leave questions open.",
}
#: So many reasons are given with the verdict.
_NAMED = 4


def verdict_of(source: Source, anchors: Mapping[int, str], /) -> Verdict:
    """The verdict: as severe as the most severe finding; open if there is none and something cannot be told.

    `anchors` gives the place of each finding on the page, by its number.
    """
    severities = Counter(str(one.get("severity")) for one in source.findings)
    standing: Standing = "low"
    for level in ("high", "medium"):
        if severities[level]:
            standing = "high" if level == "high" else "medium"
            break
    else:
        if not source.findings and _outcomes(source)["cannot tell"]:
            standing = "open"
    reasons: dict[str, str] = {}
    for place, one in enumerate(source.findings):
        reasons.setdefault(plain_of(str(one.get("id")), str(one.get("title", ""))), anchors[place])
    return Verdict(
        standing=standing,
        headline=_HEADLINES[standing],
        reasons=tuple(reasons.items())[:_NAMED],
        tally=_tally(source, severities),
    )


def _tally(source: Source, severities: Counter[str], /) -> str:
    outcomes = _outcomes(source)
    counted = ", ".join(f"{severities[s]} {s}" for s in ("high", "medium", "low") if severities[s])
    parts = [plural(len(source.findings), "finding") + (f" ({counted})" if counted else "")]
    if outcomes["fine"]:
        parts.append(f"{plural(outcomes['fine'], 'point')} in order")
    if outcomes["cannot tell"]:
        parts.append(f"{plural(outcomes['cannot tell'], 'question')} that these tables do not decide")
    return "; ".join(parts) + "."


def _outcomes(source: Source, /) -> Counter[str]:
    return Counter(str(one.get("outcome")) for one in source.checks)


def steps_of(source: Source, anchors: Mapping[int, str], /) -> tuple[Step, ...]:
    """What to do: each advice once, in the order of the most severe finding that asks for it.

    `anchors` gives the place of each finding on the page, by its number.
    """
    asked: dict[str, list[tuple[str, str]]] = {}
    for place, one in enumerate(source.findings):
        advice = str(one.get("advice") or "")
        if advice:
            kind = str(one.get("id", "finding")).replace("-", " ")
            asked.setdefault(advice, []).append((kind, anchors[place]))
    return tuple(Step(text=text, findings=tuple(dict.fromkeys(who))) for text, who in asked.items())
