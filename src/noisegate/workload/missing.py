"""What missing rows held before they were left out: the mean, given the raw data and that they are missing.

The noise of a row that is not published is gone. Its mean is not: it follows from the law of the noise, and from the
row's having stayed below the threshold. With it the errors of noise and of suppression have, over many releases, the
means that they would have if the noise had been written down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from noisegate.laws._law import LatticeLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The law of the noise is looked at as far as it has this probability, in nats.
_NATS = 45.0
_ROWS = 1 << 14


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Raw counts after bounding, cell by cell: events that stay for sure, those that draw lots, and how many of these stay.

    `kept` is the mean of the last; how many really stayed is not known.
    """

    sure: Ints
    drawing: Ints
    kept: Floats

    @property
    def mean(self) -> Floats:
        """The expected count."""
        return self.sure + self.kept

    def take(self, which: NDArray[np.bool_] | Ints, /) -> Kept:
        """Some of the cells."""
        return Kept(sure=self.sure[which], drawing=self.drawing[which], kept=self.kept[which])


@dataclass(frozen=True, kw_only=True)
class MissingRows:
    """The mean of a noisy count that was left out, for any raw count.

    Attributes
    ----------
    law
        Of the noise.
    least
        The least value that is published.
    zeros
        `keep` if empty cells get no noise.
    floor
        None if values may be negative. Else all were lowered by this much, and then raised to zero where they would be
        below it: what is gained there is taken from the others, so that sums stay what they are.
    """

    law: LatticeLaw
    least: int
    zeros: str
    floor: float | None

    def means(self, kept: Kept, /) -> Floats:
        """The mean of each of these missing rows.

        Lots are taken to be drawn event by event, each with the mean chance of its cell.
        """
        chances, moments = self._below
        last = chances.size - 1
        found = np.empty(kept.sure.size)
        for events in np.unique(kept.drawing).tolist():
            rows = np.flatnonzero(kept.drawing == events)
            for part in np.array_split(rows, -(-rows.size * (events + 1) // (_ROWS * 64)) or 1):
                counts = np.minimum(kept.sure[part, None] + np.arange(events + 1), last)
                share = np.clip(kept.kept[part] / max(events, 1), 0.0, 1.0)
                lots = binom.pmf(np.arange(events + 1), events, share[:, None])
                below = (lots * chances[counts]).sum(axis=1)
                mean = (lots * moments[counts]).sum(axis=1)
                # A row that cannot be missing is as large as a missing one can be.
                found[part] = np.where(below > 0, mean / np.where(below > 0, below, 1.0), self.least - 1.0)
        return found

    @cached_property
    def _below(self) -> tuple[Floats, Floats]:
        """For each raw count from 0 the chance of staying below the least value, and the mean on that event."""
        reach = self.law.reach(_NATS)
        count = np.arange(self.least + reach + 1)
        noise = np.arange(-2 * reach - self.least - 1, self.least)
        mass = np.exp(self.law.logpmf(noise))
        chance, moment = np.cumsum(mass), np.cumsum(noise * mass)
        top = self.least - 1 - count - noise[0]
        chances = chance[top]
        moments = moment[top] + count * chance[top]
        if self.floor is not None:
            bottom = math.ceil(self.floor) - 1 - count - noise[0]
            below = np.minimum(bottom, top)
            moments -= moment[below] + count * chance[below] + self.floor * (chance[top] - chance[below])
        if self.zeros == "keep":
            chances[0], moments[0] = 1.0, 0.0
        return chances, moments
