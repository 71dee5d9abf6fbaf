"""What every cell shows, a value or nothing, and how likely that is at its intensity.

A cell's count is negative binomial around an intensity and is published as count + noise if that reaches a threshold.
Margins add noisy sums over missing cells. Log-intensities are kept here; whoever fits them moves them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.profile.missing import LEAST_LOG, MOST_LOG, Missing, missing_tables
from noisegate.inference.profile.noisy_sums import NoisySums
from noisegate.inference.profile.slopes import interpolate, near_slopes, pulled, seen_slopes, totals
from noisegate.mechanisms import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DISPERSIONS = np.exp(np.linspace(math.log(0.005), math.log(4.0), 16))
#: Where the search for the dispersion starts: about 0.3.
_FIRST = 10


@dataclass(slots=True, kw_only=True, eq=False)
class Observed:
    """Cells with a value and cells without, and the log-intensity of each as far as it has been fitted."""

    shown: Ints
    hidden: Ints
    seen: Floats
    noise: float
    remainders: list[NoisySums]
    eta: Floats
    tables: tuple[Missing, ...] = field(repr=False)
    place: int = _FIRST

    @classmethod
    def of(cls, values: Floats, mechanism: Mechanism, remainders: Sequence[NoisySums], /) -> Observed:
        """The cells of a table; NaN in `values` says that nothing was published."""
        hidden = np.isnan(values)
        seen = np.maximum(values[~hidden], 0.0)
        start = math.log(max((seen.sum() + 0.5) / len(values), 1e-3))
        return cls(
            shown=np.flatnonzero(~hidden),
            hidden=np.flatnonzero(hidden),
            seen=seen,
            noise=mechanism.published_law.variance,
            remainders=[sums.of_cells(hidden) for sums in remainders],
            eta=np.full(len(values), start),
            tables=missing_tables(mechanism, tuple(DISPERSIONS.tolist())),
        )

    @property
    def dispersion(self) -> float:
        """How far single cells stray from their intensities: the negative binomial variance is m + dispersion m^2."""
        return float(DISPERSIONS[self.place])

    @property
    def missing(self) -> Missing:
        """What a missing row says, under the present dispersion."""
        return self.tables[self.place]

    def move(self, step: Floats | float, /) -> None:
        """Move log-intensities."""
        self.eta = np.clip(self.eta + step, LEAST_LOG, MOST_LOG)

    def slopes(self, *, sums: bool = True) -> tuple[Floats, Floats]:
        """First and (negative) second derivative of the log-likelihood by each cell's log-intensity.

        With `sums`, of what margins say too; the second derivative is then an upper bound.
        """
        slope, bend = np.zeros(len(self.eta)), np.zeros(len(self.eta))
        seen_slopes(self.eta, self.shown, self.seen, self.dispersion, self.noise, slope, bend)
        if self.hidden.size:
            of = self.missing
            near_slopes(self.eta, self.shown, self.seen, of.least, *of.scale, of.near, slope, bend)
            found = interpolate(self.eta, self.hidden, *of.scale, of.table)
            for one in self.remainders if sums else ():
                part = one.settled(found[2])
                total, width, reach = totals(part.codes, found, len(part.seen))
                speaks = part.speaks(total) / (width + part.variance)
                pulled(part.codes, speaks * (part.seen - total), speaks * reach, found)
            slope[self.hidden], bend[self.hidden] = found[0], found[1]
        return slope, bend
