"""What analysts lose, for the custodian: the error of each question against the raw data, and what it is due to.

The questions are those of the workload, on the release's card or in a spec. Without either they are cells, totals by each
dimension and the rows of every margin; these are answered by adding up published rows, and their error splits into
noise (with bounding) in rows that are published and suppression of rows that are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.inference import tally
from noisegate.reading import Structure
from noisegate.tables import MarginLink, Table
from noisegate.workload.error_parts import Measured, StagedAnswers, largest_kept
from noisegate.workload.frame import Frame, WorkloadSource
from noisegate.workload.measure import Workload
from noisegate.workload.raw import count_file
from noisegate.workload.truth_file import Truth

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Origin = Literal["card", "spec", "default"]
_Asked = tuple[Origin, Sequence[Measured], Sequence[str], bool | None]

_MISFIT = (
    "The raw data do not fit the published tables, so these errors mean little: the release was made from other events, or "
    "from some of them only. A spec given with --workload says which events count."
)

#: Rankings are of the dimension with the most values; so many places.
_TOP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """The questions, and the usual three figures about cells of the base. Raw: never for publishing.

    Attributes
    ----------
    source
        Where the questions come from: `card`, `spec`, or `default` where nobody stated any.
    how
        What the split of errors rests on, in sentences.
    fits
        Whether the raw data can be those that the release was made from; None if that was not looked at.
    drop_rate
        The share of non-empty cells that are not published.
    spurious_rate
        The share of published cells that are really empty.
    median_relative
        Of published cells that are not empty.
    top_right
        How many of the ten largest values of the longest dimension the release puts among its ten.
    outside
        The share of events in cells that no table shows; they are in no figure here.
    """

    source: Origin
    questions: tuple[Measured, ...]
    how: tuple[str, ...]
    fits: bool | None
    drop_rate: float
    spurious_rate: float
    median_relative: float | None
    top_right: int | None
    outside: float

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "source": self.source,
            "measured": True,
            "questions": [question.to_json() for question in self.questions],
            "how": list(self.how),
            "fits": self.fits,
            "drop_rate": self.drop_rate,
            "spurious_rate": self.spurious_rate,
            "median_relative": self.median_relative,
            "top_right": self.top_right,
            "events_outside": self.outside,
        }


def usefulness(structure: Structure, truth: Truth, /, *, asked: WorkloadSource | None = None) -> Usefulness:
    """The error of each question of the workload, else of questions that any table can be asked.

    Raises
    ------
    SpecError, DataError
        If a spec states the workload and the tables or the raw data do not fit it.
    """
    base = structure.base
    shown, raw = base.dense(), truth.counts.astype(np.float64)
    published, filled = ~np.isnan(shown), raw > 0
    codes = base.codes(np.arange(base.size))
    both = published & filled
    source, questions, how, fits = _ask(structure, truth, asked)
    return Usefulness(
        source=source,
        questions=tuple(questions),
        how=tuple(how),
        fits=fits,
        drop_rate=float((filled & ~published).sum() / max(int(filled.sum()), 1)),
        spurious_rate=float((published & ~filled).sum() / max(int(published.sum()), 1)),
        median_relative=float(np.median(np.abs(shown[both] / raw[both] - 1))) if both.any() else None,
        top_right=_top(base, codes, shown, raw),
        outside=truth.outside / max(truth.events, 1),
    )


def _ask(structure: Structure, truth: Truth, asked: WorkloadSource | None, /) -> _Asked:
    """The questions; those of a card give way to the default ones where they cannot be put to what was read."""
    raw = truth.counts.astype(np.float64)
    if asked is None:
        return "default", *_default(structure, raw), None
    try:
        return asked.kind, *_of_workload(structure, truth, asked)
    except (DataError, SpecError) as problem:
        if asked.kind == "spec":
            raise
        questions, how = _default(structure, raw)
        return "default", questions, [f"The workload on the card was not used: {problem}", *how], None


def _of_workload(
    structure: Structure, truth: Truth, asked: WorkloadSource, /
) -> tuple[Sequence[Measured], Sequence[str], bool]:
    frame = asked.frame(structure)
    raw = count_file(truth.file, frame, asked.wanted)
    workload = Workload(frame=frame, raw=raw)
    fits = workload.fits
    return [workload.measure(one) for one in asked.wanted], _how(frame, workload, fits=fits), fits


def _how(frame: Frame, workload: Workload, /, *, fits: bool) -> list[str]:
    """What the split rests on; what makes it worthless first."""
    said = []
    if not fits:
        said.append(_MISFIT)
    if workload.joint:
        said.append(f"Noise and bounding are shown together: {workload.raw.why_not}.")
    elif frame.bound is not None:
        said.append(
            "Bounding is told from noise on average: which cells a unit with too many kept was decided by lots that "
            "nobody wrote down, and their luck counts as noise."
        )
    if frame.release is None:
        said.append("Rows that are missing are taken to have had no noise, because no card states its law.")
    elif any(not table.shown.all() for table in frame.tables):
        said.append(
            "The noise of missing rows is gone; it is counted by its mean, given that it left the row below the cut"
            + (" (approximately, because tables were made to agree)." if frame.method == "reconcile" else ".")
        )
    return said


def _default(structure: Structure, raw: Floats, /) -> tuple[Sequence[Measured], Sequence[str]]:
    """Cells, totals by each dimension, and margins as they were published."""
    base = structure.base
    shown, codes = base.dense(), base.codes(np.arange(base.size))
    questions = [_question(f"cells of {base.name}", base.name, np.arange(base.size), shown, raw)]
    questions += [
        _question(
            f"totals of {base.name} by {dimension.name}", base.name, codes[j].astype(np.int64), shown, raw
        )
        for j, dimension in enumerate(base.dimensions)
        if dimension.size > 1
    ]
    questions += [_margin(link, raw) for link in structure.links]
    how = [
        (
            "Nobody stated what will be asked, so these are cells, totals and margins. A workload on the card, or in a "
            "spec given with --workload, tells aggregation and bounding apart too."
        ),
        "Noise and bounding are shown together, in rows that are published; missing rows are taken to have had none.",
    ]
    return questions, how


def _margin(link: MarginLink, raw: Floats, /) -> Measured:
    """The rows of a margin against the sums of raw counts that they stand for."""
    groups = link.groups()
    inside = groups >= 0
    sums = tally(groups[inside], raw[inside], size=link.margin.size)
    covered = np.flatnonzero(link.comparable)
    name = link.margin.name
    return _question(
        f"rows of {name}", name, np.arange(covered.size), link.margin.dense()[covered], sums[covered]
    )


def _question(name: str, table: str, groups: Ints, shown: Floats, raw: Floats, /) -> Measured:
    """The error of sums over groups; answers that are empty and shown as nothing are left out."""
    hidden = np.isnan(shown)
    size = int(groups.max(initial=-1)) + 1
    truth = tally(groups, raw, size=size)
    noised = tally(groups, np.where(hidden, raw, shown), size=size)
    published = tally(groups, np.where(hidden, 0.0, shown), size=size)
    there = tally(groups, ~hidden, size=size) > 0
    asked = (truth > 0) | there
    if not asked.any():
        return Measured(name=name, reason="nothing is published, and nothing was there")
    answers = StagedAnswers(
        before=(truth[asked], truth[asked], truth[asked]),
        noised=[noised[asked]],
        published=[published[asked]],
        shown=[there[asked]],
    )
    return answers.measured(name, table=table, joint=True)


def _top(base: Table, codes: NDArray[np.int32], shown: Floats, raw: Floats, /) -> int | None:
    """How many of the largest values are among the published largest, for the longest dimension."""
    sizes = [dimension.size for dimension in base.dimensions]
    if not sizes or max(sizes) <= _TOP:
        return None
    longest = codes[int(np.argmax(sizes))]
    real, seen = (tally(longest, np.nan_to_num(values), size=max(sizes)) for values in (raw, shown))
    return round(_TOP * largest_kept(real, seen, _TOP))
