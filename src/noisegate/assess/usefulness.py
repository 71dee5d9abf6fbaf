"""What analysts lose, for the custodian: the error of totals by question, and what it is due to.

For each question the published rows that answer it are added up. Against the raw counts the error splits
without a rest: *noise* (and bounding) in rows that are published, *suppression* of rows that are not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assess.truth import Truth
from noisegate.core.linked.problem import tally
from noisegate.tables import Cells, Link, Structure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Rankings are of the dimension with the most values; so many places.
_TOP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question: the mean error of its answers, in events, in all and by cause."""

    name: str
    answers: int
    noise: float
    suppression: float
    together: float
    relative: float | None

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "name": self.name,
            "answers": self.answers,
            "absolute": {"noise": self.noise, "suppression": self.suppression},
            "total": {"absolute": self.together, "median_relative": self.relative},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """The questions, and the usual three figures about cells of the base.

    Attributes
    ----------
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

    questions: tuple[Question, ...]
    drop_rate: float
    spurious_rate: float
    median_relative: float | None
    top_right: int | None
    outside: float

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "questions": [question.to_json() for question in self.questions],
            "drop_rate": self.drop_rate,
            "spurious_rate": self.spurious_rate,
            "median_relative": self.median_relative,
            "top_right": self.top_right,
            "events_outside": self.outside,
        }


def usefulness(structure: Structure, truth: Truth, /) -> Usefulness:
    """The error of each cell, of totals by each dimension, and of every margin as it was published."""
    base = structure.base
    shown, raw = base.dense(), truth.counts.astype(np.float64)
    published = ~np.isnan(shown)
    codes = base.codes(np.arange(base.size))
    questions = [_question(f"cells of {base.name}", np.arange(base.size), shown, raw)]
    questions += [
        _question(f"totals of {base.name} by {dimension.name}", codes[j].astype(np.int64), shown, raw)
        for j, dimension in enumerate(base.dimensions)
        if dimension.size > 1
    ]
    questions += [_margin(link, raw) for link in structure.links]
    filled = raw > 0
    both = published & filled
    return Usefulness(
        questions=tuple(questions),
        drop_rate=float((filled & ~published).sum() / max(int(filled.sum()), 1)),
        spurious_rate=float((published & ~filled).sum() / max(int(published.sum()), 1)),
        median_relative=float(np.median(np.abs(shown[both] / raw[both] - 1))) if both.any() else None,
        top_right=_top(base, codes, shown, raw),
        outside=truth.outside / max(truth.events, 1),
    )


def _margin(link: Link, raw: Floats, /) -> Question:
    """The rows of a margin against the sums of raw counts that they stand for."""
    groups = link.groups()
    inside = groups >= 0
    sums = tally(groups[inside], raw[inside], size=link.margin.size)
    covered = np.flatnonzero(link.comparable)
    return _question(
        f"rows of {link.margin.name}",
        np.arange(covered.size),
        link.margin.dense()[covered],
        sums[covered],
    )


def _question(name: str, groups: Ints, shown: Floats, raw: Floats, /) -> Question:
    """The error of sums over groups; answers that are empty and shown as nothing are left out."""
    hidden = np.isnan(shown)
    size = int(groups.max(initial=-1)) + 1
    noise = tally(groups, np.where(hidden, 0.0, shown - raw), size=size)
    lost = tally(groups, np.where(hidden, raw, 0.0), size=size)
    total = tally(groups, raw, size=size)
    asked = (total > 0) | (tally(groups, ~hidden, size=size) > 0)
    wrong = noise - lost
    filled = total > 0
    return Question(
        name=name,
        answers=int(asked.sum()),
        noise=_mean(np.abs(noise)[asked]),
        suppression=_mean(lost[asked]),
        together=_mean(np.abs(wrong)[asked]),
        relative=float(np.median(np.abs(wrong[filled]) / total[filled])) if filled.any() else None,
    )


def _mean(values: Floats, /) -> float:
    return float(values.mean()) if values.size else 0.0


def _top(base: Cells, codes: NDArray[np.int32], shown: Floats, raw: Floats, /) -> int | None:
    """How many of the largest values are among the published largest, for the longest dimension."""
    sizes = [dimension.size for dimension in base.dimensions]
    if not sizes or max(sizes) <= _TOP:
        return None
    longest = codes[int(np.argmax(sizes))]
    totals = [tally(longest, np.nan_to_num(values), size=max(sizes)) for values in (raw, shown)]
    best = [set(np.argsort(-total, kind="stable")[:_TOP].tolist()) for total in totals]
    return len(best[0] & best[1])
