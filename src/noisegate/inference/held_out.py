"""Published cells held out: what a learnt law says of a cell from all others, beside the value that the cell shows.

The intensity of every cell is known with its own value taken out (`profile`), so each published cell is a prediction that was never fitted to it: the law of its value, given that a value near the threshold
is shown. Where the law is right the values fall anywhere in their laws alike often (their probability integral transform is uniform), in the middle as at the ends.

If they lie further out than that, cells stray from the profile by more than the law has it: its dispersion is taken larger until they do not, in every cell, sum and draw (*widened*). If they still do not
fall alike often, the law has another shape than the counts. Its word then counts for nothing where no total speaks (*withdrawn*).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.linked.problem import Floats, NegativeBinomial
from noisegate.inference.trial import FitCheck, Outcome
from noisegate.mechanisms import Mechanism

#: Values up to so many times the threshold are looked at, and at least up to this many counts.
_WINDOW, _LEAST_TOP = 4, 48
#: A window of more counts than this is not looked at: the tables are of towns.
_MOST_COUNTS = 4_000
#: So many cells of a part tell enough, and fewer than this in all tell nothing.
_MOST_CELLS, _FEW_CELLS = 2_000, 60
#: How much larger the dispersion is taken, step by step.
_WIDER = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
#: Squares of scores that are off by so many standard errors, and by a quarter (intervals an eighth too short), are no chance. Dispersions are fitted part by part to about that: with a
#: tenth two of three parts of simulated weeks would be widened, whose intervals hold what they should.
_CLEAR, _SLIGHTLY = 3.5, 0.25
#: Shares of values are compared in so many parts of their laws. A law is of another shape if they are as unlikely as this and somewhere off by this share.
_PARTS, _UNLIKELY, _OFF = 10, 1e-4, 0.1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Where held-out values of one part lie in their laws, from 0 to 1, and how much larger the dispersion was taken for it."""

    places: Floats
    wider: float

    @classmethod
    def of(cls, values: Floats, prior: NegativeBinomial, window: ValueWindow | None, /) -> HeldOut:
        """The published ones of some values, by what all other cells say of each."""
        none = cls(places=np.zeros(0), wider=1.0)
        if window is None:
            return none
        inside = np.flatnonzero((values >= window.first) & (values < window.top))
        if not inside.size:
            return none
        # Always the same ones, and the same places of whole numbers in their steps: a check that is asked twice says the same.
        rng = np.random.default_rng(1)
        if len(inside) > _MOST_CELLS:
            inside = np.sort(rng.choice(inside, _MOST_CELLS, replace=False))
        share = rng.random(len(inside))
        mean, shape = (np.broadcast_to(one, len(values))[inside] for one in (prior.mean, prior.shape))
        found = none
        for wider in _WIDER:
            found = cls(places=window.places(values[inside], mean, shape / wider, share), wider=wider)
            if not found.strays:
                break
        return found

    @property
    def spread(self) -> float:
        """The mean square of the normal scores of values: 1 if the law is as wide as they are."""
        return float(np.mean(special.ndtri(self.places) ** 2)) if self.places.size else 1.0

    @property
    def strays(self) -> bool:
        """Whether values lie further out than the law has it."""
        off = self.spread - 1
        return off > _SLIGHTLY and off > _CLEAR * math.sqrt(2 / max(len(self.places), 1))

    def widened(self, prior: NegativeBinomial, /) -> NegativeBinomial:
        """The law as wide as held-out values need it."""
        return prior if self.wider == 1 else replace(prior, shape=prior.shape / self.wider)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueWindow:
    """Values of held-out cells that are looked at, and how likely each raw count (column) shows each of them (row)."""

    first: int
    top: int
    chance: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, /) -> ValueWindow | None:
        """The values near the threshold of a mechanism; None without one, if these are too many, or noise has no end."""
        first = mechanism.whole_threshold
        if first is None or not math.isfinite(mechanism.published_law.variance):
            return None
        top = max(_WINDOW * first, _LEAST_TOP)
        counts = np.arange(min(top + math.ceil(mechanism.reach(12.0)), _MOST_COUNTS + 1) + 1)
        if len(counts) > _MOST_COUNTS:
            return None
        values = np.arange(first, top, dtype=np.float64)
        return cls(first=first, top=top, chance=np.exp(mechanism.log_likelihood(values[:, None], counts)))

    def places(self, values: Floats, mean: Floats, shape: Floats, share: Floats, /) -> Floats:
        """Where each value lies in its law, given that it is in the window."""
        counts, m, r = np.arange(self.chance.shape[1]), np.maximum(mean, 1e-9)[:, None], shape[:, None]
        logs = special.gammaln(counts + r) - special.gammaln(r) - special.gammaln(counts + 1)
        logs += r * np.log(r / (r + m)) + counts * np.log(m / (r + m))
        mass = np.exp(logs) @ self.chance.T
        below = np.cumsum(mass, axis=1)
        row, at = np.arange(len(values)), np.rint(values).astype(np.int64) - self.first
        whole = np.maximum(below[:, -1], 1e-300)
        return np.asarray(np.clip((below[row, at] - share * mass[row, at]) / whole, 1e-6, 1 - 1e-6))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutCheck:
    """What held-out cells of all parts say, and whether the law may speak where no total does."""

    holds: bool
    check: FitCheck


def judge_held_out(parts: Sequence[HeldOut], /) -> HeldOutCheck | None:
    """Whether published cells fall where the law has them, each predicted from the others; None if there are none."""
    places = np.concatenate([part.places for part in parts]) if parts else np.zeros(0)
    if not places.size:
        return None
    count, wider = len(places), max(part.wider for part in parts)
    inside = float(((places > 0.025) & (places < 0.975)).mean())
    numbers = {"cells": count, "inside": inside, "wider": wider}
    if count < _FEW_CELLS:
        says = f"{count:,} published cells near the threshold are too few to hold out"
        return HeldOutCheck(holds=True, check=_check("cannot tell", says, None, numbers))
    worst, unlikely = _shares(places)
    wrong = unlikely < _UNLIKELY and worst > _OFF
    says = f"of {count:,} published cells, each predicted from all others, {inside:.1%} lie in their 95 % intervals"
    if wrong:
        says += "; they are spread over their laws as counts of another shape are: where no total speaks, only bounds are given"
    elif wider > 1:
        says += f" once the dispersion is taken {wider:g} times as large: cells and sums are widened"
    z = -float(special.ndtri(max(unlikely, 1e-300) / 2))
    return HeldOutCheck(
        holds=not wrong,
        check=_check("withdrawn" if wrong else "widened" if wider > 1 else "holds", says, z, numbers),
    )


def _check(outcome: Outcome, says: str, z: float | None, numbers: dict[str, float], /) -> FitCheck:
    return FitCheck(name="held-out cells", outcome=outcome, says=says, z=z, numbers=numbers)


def _shares(places: NDArray[np.float64], /) -> tuple[float, float]:
    """How far the shares of values up to each part of their laws are off at most, and how unlikely that is by chance."""
    found = np.histogram(places, bins=_PARTS, range=(0.0, 1.0))[0]
    mean = len(places) / _PARTS
    worst = float(np.abs(np.cumsum(found) / len(places) - np.arange(1, _PARTS + 1) / _PARTS).max())
    return worst, float(special.gammaincc((_PARTS - 1) / 2, ((found - mean) ** 2 / mean).sum() / 2))
