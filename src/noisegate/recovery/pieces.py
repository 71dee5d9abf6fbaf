"""Cells that are sums of pieces, each of which was perturbed and cut on its own.

A table of quarters of an hour that somebody has summed to the hour looks like an hourly table, but an
hour holds as many noises as quarters were published: between one and four, and nobody says how many.
It shows. Pieces of at least t add up to t or more alone, to 2t or more in twos: counts thin out from t
on and become frequent again at exactly 2t. No table that was cut once has such a valley.

What is then assumed, and said: a piece is a quarter of an hour (unless told otherwise), and a sum of q
pieces that is at least one and a half times q·t holds all q of them. Smaller sums may miss a piece and
are not used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.errors import SpecError
from noisegate.recovery.moments import Moments
from noisegate.tables import Table

#: How many standard deviations each side of the valley must rise.
_SIGMAS = 5.0
#: And by which factor counts must rise at twice the cut.
_STEEP = 1.2
#: A sum is taken to be complete when its pieces average this many times the cut.
_AMPLE = 1.5
#: Bins that agencies publish, in minutes; the first that divides a step and is finer is assumed.
_USUAL_BINS = (15, 5, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """How many separately published pieces a cell sums.

    `number` is None when cells are sums and nothing says of how many pieces. `least` is the count from
    which a cell is taken to hold all its pieces.
    """

    number: int | None
    minutes: int | None
    cut: float
    evidence: str

    @property
    def least(self) -> float:
        """The count from which a cell is taken to hold all its pieces."""
        return _AMPLE * (self.number or 1) * self.cut

    @property
    def assumption(self) -> str:
        """What is assumed, in words."""
        return (
            f"a cell is a sum of {self.number} counts of {self.minutes} min, each with its own noise and cut; "
            f"cells of at least {self.least:g} hold all {self.number}, smaller ones are not used"
        )


def find_pieces(cells: Table, /, *, told: int | None = None) -> Pieces | None:
    """Whether the cells of a table are sums of pieces that were cut one by one; None if not.

    Parameters
    ----------
    told
        The width of a piece in minutes, if a person says so.
    """
    step = Moments.of(cells).step
    cut = float(cells.values.min()) if cells.values.size else 0.0
    if told is not None:
        if step is None or told < 1 or step % told or step == told:
            bins = "no time bins" if step is None else f"bins of {step} min"
            raise SpecError(
                f"--summed-from must be a bin that is finer than those of {cells.name} and divides them; "
                f"got {told} min, and it has {bins}."
            )
        return Pieces(number=step // told, minutes=told, cut=cut, evidence="stated")
    evidence = _valley(cells)
    if evidence is None:
        return None
    width = next((w for w in _USUAL_BINS if step and step > w and step % w == 0), None)
    number = step // width if step and width else None
    return Pieces(number=number, minutes=width, cut=cut, evidence=evidence)


def _valley(cells: Table, /) -> str | None:
    """The valley just below twice the cut, in words; None if there is none."""
    counts = cells.values
    if cells.threshold.value is None or not np.issubdtype(counts.dtype, np.integer):
        return None
    cut = int(counts.min())
    width = max(3, cut // 3)
    if cut < 2 * width:
        return None
    starts = (cut, 2 * cut - width, 2 * cut)
    first, inside, after = (int(((counts >= low) & (counts < low + width)).sum()) for low in starts)
    rises = [(side - inside) / np.sqrt(max(side + inside, 1)) for side in (first, after)]
    if min(rises) < _SIGMAS or after < _STEEP * inside:
        return None
    said = [
        f"{n:,} counts from {low} to {low + width - 1}"
        for n, low in zip((first, inside, after), starts, strict=True)
    ]
    return (
        f"{said[0]}, {said[1]}, {said[2]}: they thin out up to twice the cut of {cut} and then rise, as sums of "
        "counts that were cut one by one do"
    )
