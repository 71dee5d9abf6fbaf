"""Whose taps are missing from a total: candidate cells of its residuals, with what the timetable says about each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.services import Services
from noisegate.errors import DataError
from noisegate.laws._law import Law
from noisegate.recovery.couplings import names
from noisegate.recovery.makers import Seen
from noisegate.recovery.margin_rows import MarginRows
from noisegate.recovery.residual_noise import noise_law
from noisegate.tables.table import Table
from noisegate.timetable.candidates import CandidateCell, chances, rank_candidates
from noisegate.timetable.punctuality import Running

Ints = NDArray[np.int64]

#: What is assumed about running early and late: a prior, to be changed by whoever knows better.
RUNNING = Running(early_share=0.1, early_mean_s=60, late_mean_s=120, off_lag_s=30)
PUNCTUAL = Running(early_share=0, late_mean_s=120, off_lag_s=30)
#: A residual is looked at if it is so many standard deviations of its noise above 0.
_SDS = 3.0
_MOST_CANDIDATES = 8
_MOST_ROWS = 50


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
