"""An assessment: what was decided about each table, what was recovered, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from noisegate.assessment.finding import Check, Finding, by_severity
from noisegate.assessment.inference import Inference
from noisegate.assessment.loss import Privacy
from noisegate.assessment.outside import Sections
from noisegate.assessment.score import Score
from noisegate.reading.structure import Structure
from noisegate.reading.summary import TableSummary
from noisegate.recovery.couplings import Coupling
from noisegate.recovery.noise import Noise
from noisegate.recovery.pieces import Pieces
from noisegate.workload.answered import Answered
from noisegate.workload.usefulness import Usefulness


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssessedTable:
    """One table: what was decided about it, and its noise."""

    summary: TableSummary
    noise: Noise

    def to_json(self, *, level: float) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {**self.summary.to_json(), "noise": self.noise.to_json(level=level)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assessment:
    """Everything that an assessment found.

    Attributes
    ----------
    tables
        The base first.
    findings
        The most severe first.
    checks
        What was looked at and is in order, or cannot be told.
    privacy
        The loss of an event and of a person.
    level
        Of all intervals.
    structure, couplings, pieces
        What later steps build on: how the tables hang together, which cells hold equal counts, and whether
        the cells of the base are sums of pieces.
    inference, score
        What is known about every cell of the base, and how well that does against the raw counts.
    useful, answered
        The questions of the workload: their errors against the raw data or, without these, answers with intervals.
    sections
        What follows from timetables, claims, more weeks and raw trips.
    """

    tables: tuple[AssessedTable, ...]
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    privacy: Privacy
    level: float
    structure: Structure
    couplings: tuple[Coupling, ...]
    pieces: Pieces | None = None
    inference: Inference | None = None
    score: Score | None = None
    useful: Usefulness | None = None
    answered: Answered | None = None
    sections: Sections = field(default_factory=Sections)

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(by_severity(self.findings)))

    @property
    def results(self) -> tuple[Finding | Check, ...]:
        """All findings, then all checks."""
        return (*self.findings, *self.checks)

    @property
    def noise(self) -> dict[str, Noise]:
        """The noise of each table, by name."""
        return {table.summary.name: table.noise for table in self.tables}

    def to_json(self) -> dict[str, Any]:
        """The content of `assessment.json`."""
        content: dict[str, Any] = plain(
            {
                "software": {"name": "noisegate", "version": metadata.version("noisegate")},
                "level": self.level,
                "tables": [table.to_json(level=self.level) for table in self.tables],
                "findings": [finding.to_json() for finding in self.findings],
                "privacy": self.privacy.to_json(),
                "checks": [check.to_json() for check in self.checks],
                "inference": None if self.inference is None else self.inference.to_json(),
                "score": None if self.score is None else self.score.to_json(),
                "utility": None if (asked := self.useful or self.answered) is None else asked.to_json(),
                **self.sections.to_json(),
            }
        )
        return content


def plain(value: Any, /) -> Any:
    """The value with nothing in it that JSON has no word for: NumPy numbers, infinities, tuples."""
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
