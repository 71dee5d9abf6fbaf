"""What has been worked out for the cases on the workbench: assessments, open releases, prices; the few used last are kept."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from noisegate import limits
from noisegate.api.assessing import OpenAssessment, assess
from noisegate.assessment import CellState, CloseLook
from noisegate.errors import DataError, SpecError
from noisegate.query import OpenRelease, open_release
from noisegate.recovery import rivals_of
from noisegate.report import CellMap, map_of
from noisegate.workbench.cases import Case, Cases, make_private
from noisegate.workbench.jobs import Say

#: Maps of one assessment that are kept as they are sent.
_MAPS = 6
#: Weeks that are played forward.
WEEKS = 52


@dataclass(kw_only=True, eq=False)
class Opened:
    """One assessed case, and what was worked out of it since."""

    case: Case
    assessment: OpenAssessment
    _maps: OrderedDict[str, bytes] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The whole assessment as plain values."""
        return self.assessment.to_json()

    @cached_property
    def map(self) -> CellMap:
        """The cells, ready to be laid out."""
        found = map_of(self.assessment)
        if found is None:
            why = next((one.title for one in self.assessment.checks if one.id == "suppressed-cells"), "")
            raise DataError(
                f"The hidden cells were not worked out ({why}); if you know the noise, say so on the page Files."
            )
        return found

    @property
    def mapped(self) -> bool:
        """Whether there is a map: cells that were inferred, or that sums bound."""
        return self.assessment.known_cells is not None

    @cached_property
    def states(self) -> dict[str, int]:
        """How many cells of the base are in each state: by a law of noise, else by what sums prove; empty if neither tells."""
        if not self.mapped:
            return {}
        states = self.map.microscope.states
        return {one.name.lower(): int((states == one).sum()) for one in CellState}

    def warm(self) -> None:
        """Work out what the first pages show, so that they open at once."""
        _ = self.content
        if self.mapped:
            first = self.map.first(self.map.view({}))
            if first is not None:
                self.look(first, [])
            self.encoded_map({})

    def rival(self, table: str, law: str, /) -> dict[str, Any]:
        """A law at many scales beside the fitted one, for the differences that a table's curve shows."""
        noises = {one.summary.name: one.noise for one in self.assessment.tables}
        if table not in noises:
            raise SpecError.for_choice("a table", found=table, allowed=sorted(noises))
        fit, curve = noises[table].fit, noises[table].curve()
        if fit is None or curve is None:
            raise DataError("No identity tells the noise of this table, so that no rival can be weighed.")
        found = rivals_of(fit, law, differences=curve.difference)
        return {
            "law": found.law,
            "scales": found.scales.tolist(),
            "log_likelihood": found.log_likelihood.round(3).tolist(),
            "expected": found.expected.round(3).tolist(),
        }

    def microscope(self, asked: Mapping[str, str], /) -> dict[str, Any]:
        """The map that is asked for, and the cells that are known best."""
        with self._lock:
            return self.map.to_json(asked)

    def encoded_map(self, asked: Mapping[str, str], /) -> bytes:
        """The same as JSON; the few maps that were looked at last are kept."""
        key = json.dumps(dict(asked), sort_keys=True)
        with self._lock:
            found = self._maps.get(key)
            if found is None:
                found = json.dumps(self.map.to_json(asked), allow_nan=False, separators=(",", ":")).encode()
                self._maps[key] = found
                while len(self._maps) > _MAPS:
                    self._maps.popitem(last=False)
            self._maps.move_to_end(key)
            return found

    def look(self, cell: int, without: list[str], /) -> CloseLook:
        """One cell closely."""
        with self._lock:
            return self.map.microscope.look(cell, without=without)


class Desk:
    """Everything that is open, at most so many at a time."""

    def __init__(self, cases: Cases, /) -> None:
        self.cases = cases
        self._lock = threading.Lock()
        self._opened: OrderedDict[str, Opened] = OrderedDict()
        self._releases: OrderedDict[str, OpenRelease] = OrderedDict()

    def key(self, case: Case, /) -> str:
        """What tells one assessment of a case from another."""
        return f"{case.id}:{self.cases.notes(case).digest}{':timetable' if self.timetable(case) else ''}"

    def timetable(self, case: Case, /) -> bool:
        """Whether the attacker has the timetable beside this case."""
        return self.cases.dial.timetable and case.timetable is not None

    def opened(self, key: str, /) -> Opened | None:
        """What is open under this key."""
        with self._lock:
            found = self._opened.get(key)
            if found is not None:
                self._opened.move_to_end(key)
            return found

    def assess(self, case: Case, say: Say, /) -> None:
        """Take a case apart, by the attacker of the dial."""
        key, notes = self.key(case), self.cases.notes(case)
        found = assess(
            list(case.sources),
            decisions=notes.decisions or None,
            gtfs=case.timetable if self.timetable(case) else None,
            noise=notes.noise or None,
            weeks=WEEKS,
            title=case.name,
            progress=say,
        )
        opened = Opened(case=case, assessment=found)
        say("preparing the pages")
        opened.warm()
        with self._lock:
            self._opened[key] = opened
            while len(self._opened) > limits.current().open_releases:
                self._opened.popitem(last=False)

    def release(self, case: Case, say: Say, /) -> OpenRelease:
        """A release, open for questions."""
        with self._lock:
            found = self._releases.get(case.id)
        if found is None:
            found = open_release(
                case.folder, report=lambda what, done, whole: say(f"{what} ({done} of {whole})")
            )
            with self._lock:
                self._releases[case.id] = found
                while len(self._releases) > limits.current().open_releases:
                    self._releases.popitem(last=False)
        return found

    def report(self, opened: Opened, say: Say, /) -> bytes:
        """The report of an assessment as one page, with what people said of its findings."""
        say("writing the report")
        notes = self.cases.notes(opened.case)
        judged = {key: one.sentence for key, one in notes.remarks.items()}
        signed = f"Signed by {notes.signed_by}, {notes.signed_at}." if notes.signed_by else ""
        parent = self.cases.state / "reports"
        make_private(parent)
        folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            page = opened.assessment.report(folder / "report.html", judged=judged, signed=signed)
            return page.read_bytes()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
