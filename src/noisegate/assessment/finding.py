"""Findings: what is wrong with a release; and checks: what was looked at and is in order, or cannot be told."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from noisegate.errors import InternalError, SpecError

Severity = Literal["low", "medium", "high"]
Outcome = Literal["fine", "cannot tell", "known", "refused"]

#: From the least to the most severe.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
#: What a gate can ask for; the first also fails tables whose protection was not recognised.
GATES: tuple[str, ...] = ("unrecognised", *SEVERITIES)
#: A `repr` shows so many lines of evidence, and so much of each.
_LINES, _WIDTH = 5, 120


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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
    baseline
        What would be known without what the finding is about, by name; empty where there is no such thing.
    evidence
        Sentences that name the cells or tables it rests on.
    assumptions
        What it rests on and nobody can check, without a full stop.
    advice
        What to do about it.
    picture
        The name of its picture among those of the assessment; None if it has none.
    """

    id: str
    severity: Severity
    title: str
    advice: str
    numbers: Mapping[str, Any] = field(default_factory=dict)
    baseline: Mapping[str, Any] = field(default_factory=dict)
    evidence: Sequence[str] = ()
    assumptions: Sequence[str] = ()
    picture: str | None = None

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise InternalError(f"a finding cannot have severity {self.severity!r}")

    @property
    def comparison(self) -> str:
        """The baseline in a sentence; empty if there is none.

        Examples
        --------
        >>> base = {"from": "each cell by itself", "cells": 0}
        >>> Finding(id="known-exactly", severity="low", title="", advice="", baseline=base).comparison
        'From each cell by itself: cells 0.'
        """
        source = str(self.baseline.get("from", "a guess"))
        rest = [
            f"{name.replace('_', ' ')} {_number(value)}"
            if isinstance(value, int | float)
            else f"{name.replace('_', ' ')} {value}"
            for name, value in self.baseline.items()
            if name != "from" and isinstance(value, str | int | float)
        ]
        lead = source if source.startswith(("without", "nothing")) else f"from {source}"
        return f"{lead[:1].upper()}{lead[1:]}: {', '.join(rest)}." if rest else ""

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON; assumptions stand among the evidence too, as they always did."""
        return {
            "id": self.id,
            "severity": self.severity,
            "title": self.title,
            "numbers": dict(self.numbers),
            "evidence": [*self.evidence, *map(assumed, self.assumptions)],
            "advice": self.advice,
            "baseline": dict(self.baseline),
            "assumptions": list(self.assumptions),
            "picture": self.picture,
        }

    def __repr__(self) -> str:
        lines = [f"{self.severity.upper()} {self.id}: {self.title}"]
        lines += [f"  - {line}" for line in self.evidence[:_LINES]]
        if len(self.evidence) > _LINES:
            lines.append(f"  - and {len(self.evidence) - _LINES:,} more")
        lines += [f"  Assumed: {line}" for line in self.assumptions[:_LINES]]
        lines.append(f"  Advice: {self.advice}")
        return "\n".join(shortened(line) for line in lines)

    def _repr_html_(self) -> str:
        said = "".join(f"<li>{html.escape(line)}</li>" for line in self.evidence[:_LINES])
        return (
            f"<p><b>{self.severity.upper()}</b> {html.escape(self.id)}: {html.escape(self.title)}</p>"
            f"<ul>{said}</ul><p><i>{html.escape(self.advice)}</i></p>"
        )


def _number(value: float, /) -> str:
    """As people read it: counts whole, all else with four digits that count."""
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
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

    def __repr__(self) -> str:
        return shortened(f"{self.outcome} {self.id}: {self.title}")


Result = Finding | Check


def shortened(line: str, /) -> str:
    """The line, as far as a screen has room for it."""
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def assumed(line: str, /) -> str:
    """An assumption as it stands among evidence."""
    return f"Assumed: {line}."


def by_severity(findings: Sequence[Finding], /) -> list[Finding]:
    """The findings, the most severe first."""
    return sorted(findings, key=lambda finding: -SEVERITIES.index(finding.severity))


def at_least(findings: Sequence[Finding], severity: str, /) -> list[Finding]:
    """The findings of this severity or a higher one; all of them for `unrecognised`, which is the strictest gate."""
    if severity not in GATES:
        raise SpecError.for_choice("--fail-on", found=severity, allowed=GATES)
    least = max(GATES.index(severity) - 1, 0)
    return [finding for finding in findings if SEVERITIES.index(finding.severity) >= least]
