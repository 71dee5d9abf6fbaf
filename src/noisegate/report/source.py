"""What a report is made of: the files of one assessment, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisegate.errors import DataError
from noisegate.report.words import objects

#: The assessment as its job wrote it, and what it says about each cell of the base.
ASSESSMENT, CELLS = "assessment.json", "cells.parquet"

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """The files of an assessment.

    Every part is optional: what is absent, or is not what it should be, is left out of the report.

    Attributes
    ----------
    content
        The content of `assessment.json`.
    cells
        Where `cells.parquet` is; None if the cells of the base were not inferred.
    """

    content: Json
    cells: Path | None = None

    @classmethod
    def read(cls, directory: Path, /) -> Source:
        """The assessment in `directory`."""
        file = directory / ASSESSMENT
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
        except OSError as problem:
            raise DataError(
                f"There is no {ASSESSMENT} to be read in {directory}; make one with 'noisegate assess TABLE... --out DIR'."
            ) from problem
        except ValueError as problem:
            raise DataError(f"{file} is not JSON; assess the tables again.") from problem
        if not isinstance(content, dict) or not isinstance(content.get("tables"), list):
            raise DataError(f"{file} is not an assessment: it lists no tables; assess the tables again.")
        cells = directory / CELLS
        return cls(content=content, cells=cells if cells.is_file() else None)

    @property
    def tables(self) -> Sequence[Json]:
        """The tables, the base first."""
        return objects(self.content.get("tables"))

    @property
    def base(self) -> Json:
        """The finest table; empty if there is none."""
        return next((table for table in self.tables if table.get("role") == "base"), {})

    @property
    def findings(self) -> Sequence[Json]:
        """What somebody should act on, the most severe first."""
        return objects(self.content.get("findings"))

    @property
    def checks(self) -> Sequence[Json]:
        """What was looked at and gave no reason to act."""
        return objects(self.content.get("checks"))

    @property
    def privacy(self) -> Json:
        """The loss of an event and of a person."""
        return self.section("privacy") or {}

    @property
    def level(self) -> float:
        """The level of all intervals."""
        level = self.content.get("level")
        return float(level) if isinstance(level, int | float) else 0.95

    def section(self, name: str, /) -> Json | None:
        """A section of the assessment; None if it is not there or is empty."""
        section = self.content.get(name)
        return section if isinstance(section, dict) and section else None

    def finding(self, *ids: str) -> Json | None:
        """The first finding of one of these kinds."""
        return next((one for one in self.findings if one.get("id") in ids), None)

    def check(self, *ids: str) -> Json | None:
        """The first check of one of these kinds."""
        return next((one for one in self.checks if one.get("id") in ids), None)

    def dimension(self, kind: str, /) -> str | None:
        """The first dimension of the base that holds values of this kind (`date`, `time`)."""
        details = objects(self.base.get("details"))
        return next((str(one.get("name")) for one in details if one.get("kind") == kind), None)
