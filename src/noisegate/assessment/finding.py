"""Findings: what is wrong with a release; and checks: what was looked at and is in order, or cannot be told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from noisegate.errors import InternalError, SpecError

Severity = Literal["low", "medium", "high"]
Outcome = Literal["fine", "cannot tell", "known", "refused"]

#: From the least to the most severe.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One result of an assessment that somebody should act on.

    Attributes
    ----------
    id
        The kind of finding, in words joined by hyphens; it does not change between versions.
    severity
        `low`: worth knowing; `medium`: weakens the protection; `high`: the protection is not what it seems.
    title
        One sentence with the main number.
    numbers
        Everything that was worked out, by name.
    evidence
        Sentences that name the cells or tables it rests on.
    advice
        What to do about it.
    """

    id: str
    severity: Severity
    title: str
    advice: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise InternalError(f"a finding cannot have severity {self.severity!r}")

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "numbers": dict(self.numbers),
            "evidence": list(self.evidence),
            "advice": self.advice,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something that was looked at and gave no reason to act.

    `fine`: looked for and not there. `cannot tell`: these tables do not decide it. `known`: a fact.
    `refused`: an identity that does not hold, so no number is given.
    """

    id: str
    outcome: Outcome
    title: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "id": self.id,
            "outcome": self.outcome,
            "title": self.title,
            "numbers": dict(self.numbers),
            "evidence": list(self.evidence),
        }


Result = Finding | Check


def by_severity(findings: Sequence[Finding], /) -> list[Finding]:
    """The findings, the most severe first."""
    return sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))


def at_least(findings: Sequence[Finding], severity: str, /) -> list[Finding]:
    """The findings of this severity or a higher one."""
    if severity not in SEVERITIES:
        raise SpecError.for_choice("--fail-on", found=severity, allowed=SEVERITIES)
    least = SEVERITIES.index(severity)
    return [finding for finding in findings if SEVERITIES.index(finding.severity) >= least]
