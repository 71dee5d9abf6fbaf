"""Whose taps are missing from a total: candidate cells of its residuals, with what the timetable says about each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.services import Services
from noisegate.assessment.words import percent
from noisegate.errors import DataError
from noisegate.laws import Law
from noisegate.recovery import MarginRows, Seen, names, noise_law
from noisegate.tables import Table
from noisegate.timetable import CandidateCell, Running, chances, rank_candidates

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Ints = NDArray[np.int64]

#: What is assumed about running early and late: a prior, to be changed by whoever knows better.
RUNNING = Running(early_share=0.1, early_mean_s=60, late_mean_s=120, off_lag_s=30)
PUNCTUAL = Running(early_share=0, late_mean_s=120, off_lag_s=30)
#: A residual is looked at if it is so many standard deviations of its noise above 0.
_SDS = 3.0
_MOST_CANDIDATES = 8
_MOST_ROWS = 50
#: A residual belongs to a cell from this probability on, and more likely than not from that one.
_SURE, _LIKELY = 0.9, 0.5
_SHOWN = 5

WORDS: Mapping[str, Words] = {
    "missing-taps": Words(
        says="Taps missing from the published cells of a total are traced to a suppressed cell by the timetable.",
        meaning="With the timetable, what a total holds beyond its cells can be traced to one stop.",
        method=(
            "Where a total exceeds the cells published beside it, somebody is missing. The vehicles that call at "
            "each suppressed cell, and how early or late they may run, say which cell the missing taps can belong"
            " to; the probabilities of all candidates add up to one."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Totals that hold more than their published cells, and the suppressed cells that the timetable gives it to."""
    return [_missing(facts.missing_taps)] if facts.missing_taps else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One candidate by name; `on_time` is its probability if no vehicle is early."""

    title: str
    candidate: CandidateCell
    on_time: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        one = self.candidate
        return {
            "cell": self.title,
            "probability": one.probability,
            "on_time": self.on_time,
            "early": one.early,
            "count": {
                "mean": one.count.mean,
                "mode": one.count.mode,
                "interval": [one.count.low, one.count.high],
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTaps:
    """A row of a margin that holds more than its published cells, and the cells that the rest may belong to.

    The probabilities sum to one: all of the rest is taken to belong to one of the candidates.
    """

    margin: str
    row: str
    residual: float
    noise_sd: float
    ranked: tuple[Ranked, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "margin": self.margin,
            "row": self.row,
            "residual": self.residual,
            "noise_sd": self.noise_sd,
            "candidates": [one.to_json() for one in self.ranked],
        }


def missing_taps(
    services: Services, rows: MarginRows, /, *, base: Seen, margin: Seen, level: float
) -> list[MissingTaps]:
    """The residuals of a margin that the timetable gives to few cells, the sharpest first.

    Parameters
    ----------
    base, margin
        How the two tables were made.
    """
    link, cells = rows.link, services.base
    if (
        cells.size > limits.current().inferred_cells
        or link.base is not cells
        or set(services.roles.place.values()) != set(range(len(cells.dimensions)))
    ):
        return []
    groups = link.groups()
    hidden = np.ones(cells.size, dtype=bool)
    hidden[cells.cells] = False
    able = np.flatnonzero(hidden & (groups >= 0))
    able = able[services.vehicles(able) > 0]
    number = np.bincount(groups[able], minlength=link.margin.size)[rows.rows]
    noises = link.shown[rows.rows]
    part, whole = base.mechanism.published_law, margin.mechanism.published_law
    sd = np.sqrt(whole.variance + noises * part.variance)
    clear = np.flatnonzero((number > 0) & (number <= _MOST_CANDIDATES) & (rows.residual > _SDS * sd))
    clear = clear[np.lexsort((sd[clear], number[clear]))][:_MOST_ROWS]
    found = []
    for row in clear.tolist():
        mine = able[groups[able] == rows.rows[row]]
        noise = noise_law([(whole, 1), (part, int(noises[row]))])
        ranked = _rank(services, cells, mine, float(rows.residual[row]), noise, base, level)
        if ranked:
            title = names(link.margin, rows.rows[row : row + 1])[0]
            found.append(
                MissingTaps(
                    margin=link.margin.name,
                    row=title,
                    residual=float(rows.residual[row]),
                    noise_sd=float(sd[row]),
                    ranked=tuple(ranked),
                )
            )
    return found


def _rank(
    services: Services, cells: Table, mine: Ints, residual: float, noise: Law, base: Seen, level: float, /
) -> Sequence[Ranked]:
    """The candidates of one residual; none if no vehicle can be behind any of them."""
    numbers = services.roles.numbers(mine)
    title = dict(zip(numbers.tolist(), names(cells, mine), strict=True))
    try:
        ranked = rank_candidates(
            residual,
            chances=chances(services.possible, numbers, running=RUNNING),
            noise=noise,
            mechanism=base.mechanism,
            level=level,
        )
    except DataError:
        return []
    on_time = chances(services.possible, numbers, running=PUNCTUAL)
    whole = float(on_time.total.sum())
    shares = (
        dict(zip(on_time.cells.tolist(), (on_time.total / whole).tolist(), strict=True)) if whole > 0 else {}
    )
    return [Ranked(title=title[one.cell], candidate=one, on_time=shares.get(one.cell)) for one in ranked]


def sure(found: Sequence[MissingTaps], /, *, probability: float) -> list[MissingTaps]:
    """Those whose first candidate is at least so probable."""
    return [
        one
        for one in found
        if math.isfinite(one.residual) and one.ranked[0].candidate.probability >= probability
    ]


def _missing(missing: Sequence[MissingTaps], /) -> Result:
    clear = sure(missing, probability=_SURE)
    numbers = {"rows": len(missing), "sure": len(clear), "probability": _SURE}
    if not clear:
        return Check(
            id="missing-taps",
            outcome="fine",
            title=f"{len(missing):,} totals hold taps of a few suppressed cells, and the timetable favours none of these",
            numbers=numbers,
        )
    said = []
    for one in clear[:_SHOWN]:
        first = one.ranked[0]
        rest = ", ".join(f"{other.title} {other.candidate.probability:.1%}" for other in one.ranked[1:3])
        said.append(
            f"{one.row}: {one.residual:g} more in {one.margin} than published; {first.title} "
            f"{first.candidate.probability:.1%} ({first.candidate.count.low} to {first.candidate.count.high} taps)"
            + (f", then {rest}." if rest else ".")
        )
    return Finding(
        id="missing-taps",
        severity="medium",
        title=f"{len(clear):,} {'total holds' if len(clear) == 1 else 'totals hold'} taps that the timetable gives to one suppressed cell",
        numbers=numbers,
        baseline={
            "from": "without the timetable: every suppressed cell of the row alike",
            "probability": round(sum(1 / len(one.ranked) for one in clear) / len(clear), 4),
        },
        evidence=said,
        assumptions=[f"{RUNNING.describe()}; all missing taps of a row belong to one cell"],
        advice="Derive totals from the published cells (margins: derive), or reconcile them; then nothing is left over.",
    )


def show(assessment: Assessment, /) -> Exhibit | None:
    """Totals with taps that are not published, and the suppressed cell they most likely belong to."""
    if assessment.vehicles is None:
        return None
    rows = [
        (one.row, one.residual, first.title, percent(first.candidate.probability))
        for one in assessment.vehicles.missing
        for first in one.ranked[:1]
        if first.candidate.probability >= _LIKELY
    ]
    columns = ("total", "more than published", "likeliest cell", "probability")
    grid = Grid.of("Taps that a total holds and no cell shows", columns, rows, most=15)
    return Exhibit(section="services", grids=(grid,))
