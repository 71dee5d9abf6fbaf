"""An assessment: what was decided about each table, what was recovered, and what follows from it."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from noisegate.assessment.arrow_tables import cells_batches
from noisegate.assessment.claims import Judged
from noisegate.assessment.differencing import Slivers
from noisegate.assessment.dropped import Dropped
from noisegate.assessment.finding import Check, Finding, at_least, by_severity, shortened
from noisegate.assessment.growth import Weeks
from noisegate.assessment.inference import Inference
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.loss import LossSummary
from noisegate.assessment.microdata import Microdata
from noisegate.assessment.provenance import Provenance
from noisegate.assessment.score import AttackScore
from noisegate.assessment.timetable import Vehicles
from noisegate.assessment.trajectories import Movement
from noisegate.assessment.words import plain, plural
from noisegate.columns import Columns
from noisegate.inference import TableSets
from noisegate.places import MARK, MARK_KEY
from noisegate.reading import Structure, TableSummary
from noisegate.recovery import Coupling, Noise, Pieces, Recognition, ZeroRule
from noisegate.tables import SharedMargin
from noisegate.workload import Answered, Usefulness

#: A `repr` shows so many findings.
_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AssessedTable:
    """One table: what was decided about it, its noise, and how it was made as far as the tables tell."""

    summary: TableSummary
    noise: Noise
    recognition: Recognition | None = None

    def to_json(self, *, level: float) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        made = None if self.recognition is None else self.recognition.to_json()
        return {**self.summary.to_json(), "noise": self.noise.to_json(level=level), "mechanism": made}


#: Words in the names of dimensions and counts of tables about rides.
_RIDES = frozenset(
    {
        "tap",
        "taps",
        "stop",
        "stops",
        "station",
        "stations",
        "wharf",
        "mode",
        "route",
        "boardings",
        "alightings",
        "riders",
    }
    | {"trips", "journeys", "passengers", "vehicle", "loc"}
)


def _shared_json(link: SharedMargin) -> dict[str, Any]:
    return {
        "left": link.left.name,
        "right": link.right.name,
        "dimensions": list(link.dimensions),
        "cells": link.domain.size,
        "how": link.how,
    }


def _beside_json(other: Assessment) -> dict[str, Any]:
    return {
        "measure": other.structure.measure,
        "base": other.base.name,
        "findings": [finding.id for finding in other.findings],
        "privacy": other.privacy.to_json(),
        "checks": [check.to_json() for check in other.checks],
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
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
    privacy, zeros
        The loss of an event and of a person, and what happens to empty cells.
    level
        Of all intervals.
    structure, couplings, pieces
        What later steps build on: how the tables hang together, which cells hold equal counts, and whether
        the cells of the base are sums of pieces.
    inference, score
        What is known about every cell of the base, and how well that does against the raw counts.
    known_counts
        What sums prove of counts that are hidden or rounded, where no noise is added.
    useful, answered
        The questions of the workload: their errors against the raw data or, without these, answers with intervals.
    vehicles
        The vehicles behind cells, if there is a timetable.
    dropped, claims
        Rows and trips that the tables do not show, and what was stated about them.
    weeks
        What more weeks of the same would give away, if somebody asked and the noise is known.
    microdata
        How few known points single a person out, if the raw data say whose events they are.
    slivers
        For every two tables of the same people, the people in whom they differ.
    table_sets
        The smallest sets of tables that give hidden counts away; None if nothing is given away, or noise is added.
    movement
        What came of following people through the counts, if somebody asked.
    beside
        Assessments of other measures and of tables that overlap; their findings and tables are among those here as well.
    provenance
        When it was made, by which command, from which files.
    """

    tables: tuple[AssessedTable, ...]
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    privacy: LossSummary
    zeros: ZeroRule
    level: float
    structure: Structure
    couplings: tuple[Coupling, ...]
    dropped: Dropped
    pieces: Pieces | None = None
    inference: Inference | None = None
    known_counts: KnownCounts | None = None
    score: AttackScore | None = None
    useful: Usefulness | None = None
    answered: Answered | None = None
    vehicles: Vehicles | None = None
    claims: tuple[Judged, ...] = ()
    weeks: Weeks | None = None
    microdata: Microdata | None = None
    slivers: tuple[Slivers, ...] = ()
    table_sets: TableSets | None = None
    movement: Movement | None = None
    beside: tuple[Assessment, ...] = ()
    provenance: Provenance | None = None

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

    @property
    def unrecognised(self) -> dict[str, str]:
        """Tables of which nothing tells how they were protected, if at all, and why not: what is not examined is not safe."""
        if self.privacy.source == "card":
            return {}
        return {
            table.summary.name: table.noise.reason if made is None else made.evidence
            for table in self.tables
            for made in [table.recognition]
            if table.noise.fit is None
            and (made is None or (made.kind == "unknown" and made.excluded is None))
        }

    @property
    def not_examined(self) -> dict[str, str]:
        """What was not looked at, or not to the end, and why: tables, sheets, and counts whose bounds are not proven."""
        found = dict(self.unrecognised)
        skipped = self.structure.beside[len(self.beside) :]
        if skipped:
            names = ", ".join(one.measure or one.base.name for one in skipped[:3])
            more = ", ..." if len(skipped) > 3 else ""
            found[f"{len(skipped)} tables beside these ({names}{more})"] = (
                f"only {len(self.beside)} are assessed together; assess them by themselves"
            )
        if self.structure.left_out:
            found[plural(len(self.structure.left_out), "sheet")] = "no table of counts was found there"
        for one in (self, *self.beside):
            bounds = next((check for check in one.checks if check.id == "bounds"), None)
            if bounds is not None and bounds.numbers["proven"] < bounds.numbers["hidden"]:
                rest = bounds.numbers["hidden"] - bounds.numbers["proven"]
                found[f"bounds of {rest:,} hidden counts of {one.base.name}"] = (
                    "not proven to be the best: time ran out, or sums contradict each other"
                )
        return found

    @property
    def about_transport(self) -> bool:
        """Whether the tables are about rides: by the names of their dimensions and counts, or because a timetable was given."""
        names = [
            name for table in self.tables for name in (*table.summary.dimensions, table.summary.count_column)
        ]
        words = {word for name in names for word in re.split(r"[^a-z]+", name.casefold())}
        return self.vehicles is not None or not _RIDES.isdisjoint(words)

    def failures(self, gate: str, /) -> list[str]:
        """What a gate (`--fail-on`) stumbles over: findings so severe or worse, and for `unrecognised` tables that nobody examined."""
        found = [one.id for one in at_least(self.findings, gate)]
        if gate == "unrecognised":
            found += [f"unrecognised {name}" for name in self.unrecognised]
            if len(self.beside) < len(self.structure.beside):
                found.append(f"{len(self.structure.beside) - len(self.beside)} tables that were not assessed")
        return found

    @property
    def base(self) -> TableSummary:
        """What was decided about the finest table."""
        return self.tables[0].summary

    @property
    def custodian_only(self) -> bool:
        """Whether anything in it was measured against raw data, so that nothing of it may be published."""
        measured = (self.score, self.microdata, self.useful, self.weeks and self.weeks.persons)
        return any(one is not None for one in measured)

    def finding(self, kind: str, /) -> Finding | None:
        """The first finding of a kind."""
        return next((one for one in self.findings if one.id == kind), None)

    def numbers(self, kind: str, /) -> list[Mapping[str, Any]]:
        """The numbers of every finding of a kind, also of those that stand in a group."""
        found: list[Mapping[str, Any]] = []
        for one in self.findings:
            if one.id == kind:
                found += (
                    [of["numbers"] for of in one.numbers["members"]]
                    if "members" in one.numbers
                    else [one.numbers]
                )
        return found

    def cells_table(self) -> Columns | None:
        """What is known about every cell of the base, as in `cells.parquet`; None if the cells were neither inferred nor bounded."""
        known = self.known_cells
        return None if known is None else Columns.joined(cells_batches(known))

    @property
    def known_cells(self) -> Inference | KnownCounts | None:
        """What is known about every cell of the base: by a law, else by bounds."""
        return self.inference or self.known_counts

    def to_json(self) -> dict[str, Any]:
        """The content of `assessment.json`."""
        content: dict[str, Any] = plain(
            {
                "software": {"name": "noisegate", "version": metadata.version("noisegate")},
                MARK_KEY: self.custodian_only,
                "notice": f"{MARK}: not private, not to be published" if self.custodian_only else None,
                "provenance": None if self.provenance is None else self.provenance.to_json(),
                "level": self.level,
                "tables": [table.to_json(level=self.level) for table in self.tables],
                "findings": [finding.to_json() for finding in self.findings],
                "privacy": self.privacy.to_json(),
                "not_examined": self.not_examined,
                "checks": [check.to_json() for check in self.checks],
                "left_out": list(self.structure.left_out),
                "shared": [_shared_json(one) for one in self.structure.shared],
                "beside": [_beside_json(one) for one in self.beside],
                "inference": None if self.inference is None else self.inference.to_json(),
                "score": None if self.score is None else self.score.to_json(),
                "utility": None if (asked := self.useful or self.answered) is None else asked.to_json(),
                "services": None if self.vehicles is None else self.vehicles.to_json(),
                "dropped": self._dropped_json(),
                "weeks": None if self.weeks is None else self.weeks.to_json(),
                "microdata": None if self.microdata is None else self.microdata.to_json(),
            }
        )
        return content

    def _dropped_json(self) -> dict[str, Any]:
        totals = {} if self.inference is None else self.inference.totals
        return {
            "rows": self.dropped.to_json(),
            "linked": {
                name: {
                    "mean": float(one.mean[0]),
                    "interval": [int(one.low[0]), int(one.high[0])],
                    "level": one.level,
                }
                for name, one in totals.items()
            },
            "claims": [one.to_json() for one in self.claims],
        }

    def __repr__(self) -> str:
        lines = [f"Assessment of {', '.join(table.summary.name for table in self.tables)}"]
        lines += [f"  {one.severity.upper()} {one.id}: {one.title}" for one in self.findings[:_SHOWN]]
        if len(self.findings) > _SHOWN:
            lines.append(f"  and {len(self.findings) - _SHOWN} more findings")
        lines.append(f"  {len(self.findings)} findings, {len(self.checks)} checks; see .findings and .checks")
        return "\n".join(shortened(line) for line in lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{one.severity}</td><td>{html.escape(one.id)}</td><td>{html.escape(one.title)}</td></tr>"
            for one in self.findings[:_SHOWN]
        )
        names = html.escape(", ".join(table.summary.name for table in self.tables))
        return (
            f"<p>Assessment of {names}: {len(self.findings)} findings, {len(self.checks)} checks</p>"
            f"<table><thead><tr><th>severity</th><th>id</th><th>finding</th></tr></thead><tbody>{rows}</tbody></table>"
        )
