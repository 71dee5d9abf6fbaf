"""Rivals of a learnt law (MATH 10 d).

Where no total speaks, nothing but a law of the counts tells hidden cells, and cells above a threshold tell one law from another only there. So what is learnt is set beside rivals: counts around an intensity are negative binomial or Poisson around
a lognormal one, of any dispersion, the same at all intensities or larger, by share, at small ones (parties); a share of all cells may be empty or quieter than the others; intensities may all be off by one factor, and differ less or more from each other than was learnt. Each is as likely as what some two hundred of the cells show is
likely under it, however many there are: none of them is right. What they differ by about hidden cells is what nobody can know from these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.linked.problem import NegativeBinomial
from noisegate.inference.profile.seen import MOST_COUNT, SeenCells
from noisegate.mechanisms import Mechanism

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: At most so many cells are looked at.
MOST_SEEN = 3_000
#: Variances of the log of the intensity (or of its relative size) of single cells at the threshold, and whether they grow as the intensity falls: people who come in parties vary more, by share, where few are expected.
_DISPERSIONS, _GROWTHS = (0.01, 0.05, 0.15, 0.35, 0.7, 1.4, 2.5), (0.0, 1.0)
_MOST_DISPERSION = 50.0
#: Logs of one factor for all intensities.
_FACTORS = np.linspace(-1.5, 1.5, 16)
#: Powers of intensities: what is learnt of single places and hours may be chance, or not half of it.
_POWERS = (0.4, 0.7, 1.0, 1.25)
#: Shares of cells that are apart from the others, and what they have of the intensity of these.
_APART_SHARES = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8])
_APART_SIZES = (1e-3, 0.2)
#: That no cells are apart is as likely beforehand as that some are.
_NONE_APART = 0.5
#: Logs of means at which laws are worked out; between these they are interpolated.
_STEP, _LEAST_MEAN = 0.1, 1e-3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalWord:
    """What rivals say of a sum of hidden cells, on average and with which standard deviation; and what the learnt law says."""

    mean: float
    sd: float
    learnt: float

    @property
    def off(self) -> float:
        """By which share of itself the learnt law may be off."""
        return math.hypot(self.sd, self.mean - self.learnt) / max(self.learnt, 1.0)


def rivals_say(
    values: Floats, asked: Bools, prior: NegativeBinomial, /, *, mechanism: Mechanism
) -> RivalWord | None:
    """What rivals of a learnt law say of those hidden cells that are asked for; None if too little is seen."""
    # Cells of far larger intensities are hardly ever hidden.
    small = np.flatnonzero(prior.mean <= MOST_COUNT / 3)
    values, asked = values[small], asked[small]
    seen = SeenCells.of(values, prior.at(small), mechanism, ())
    if seen is None:
        return None
    number, threshold = seen.count(asked & np.isnan(values)), max(float(mechanism.threshold or 1.0), 1.0)
    laws = product((False, True), _DISPERSIONS, _GROWTHS)
    words = [
        word
        for lognormal, dispersion, growth in laws
        for word in _words(seen, number, threshold, lognormal=lognormal, dispersion=dispersion, growth=growth)
    ]
    logs, sums = (np.concatenate(one) for one in zip(*words, strict=True))
    chance = special.softmax(logs)
    mean = float(chance @ sums)
    own = seen.plain()[:, 0, :] * seen.hidden
    learnt = float(number @ (own @ seen.counts / np.maximum(own.sum(axis=1), 1e-300)))
    return RivalWord(mean=mean, sd=math.sqrt(float(chance @ (sums - mean) ** 2)), learnt=learnt)


def _words(
    seen: SeenCells, asked: Floats, threshold: float, /, *, lognormal: bool, dispersion: float, growth: float
) -> Iterator[tuple[Floats, Floats]]:
    """The log-weights of one law with every power, factor, share and size of cells apart, and what each says of hidden cells."""
    shifts, level = np.concatenate([[0.0], np.log(_APART_SIZES)]), np.log(seen.level)
    levels = [power * level + (1 - power) * level.mean() for power in _POWERS]
    low = max(min(float(one.min()) for one in levels) + _FACTORS[0] + shifts.min(), math.log(_LEAST_MEAN))
    top = max(float(one.max()) for one in levels) + _FACTORS[-1]
    grid = np.arange(low, top + 2 * _STEP, _STEP)
    spread = np.minimum(dispersion * np.exp(growth * (math.log(threshold) - grid)), _MOST_DISPERSION)
    masses = _masses(np.exp(grid), seen.counts, spread, lognormal=lognormal)
    known = masses @ seen.hidden, masses @ (seen.hidden * seen.counts), seen.shown @ masses.T
    for one in levels:
        at = np.clip(
            (one[:, None] + _FACTORS - low) / _STEP + shifts[:, None, None] / _STEP, 0, len(grid) - 1.001
        )
        yield from _apart(seen, asked, [_at(seen, known, place) for place in at])


def _at(
    seen: SeenCells, known: tuple[Floats, Floats, Floats], at: Floats, /
) -> tuple[Floats, Floats, Floats]:
    """The chance to be hidden, what is hidden then, and the chance of each pair of a value and a class, interpolated at these places of a grid for each class and factor."""
    hidden, inside, shown = known
    whole = at.astype(np.int64)
    part = at - whole
    rows, mine, by = seen.values[:, None], whole[seen.classes], part[seen.classes]
    return (
        (1 - part) * hidden[whole] + part * hidden[whole + 1],
        (1 - part) * inside[whole] + part * inside[whole + 1],
        (1 - by) * shown[rows, mine] + by * shown[rows, mine + 1],
    )


def _apart(
    seen: SeenCells, asked: Floats, laws: Sequence[tuple[Floats, Floats, Floats]], /
) -> Iterator[tuple[Floats, Floats]]:
    """Log-weights and words of cells that are all alike, or of which a share has another law."""
    (hidden, inside, shown), *others = laws
    worth, number = seen.worth, seen.told + seen.untold
    some = (1 - _NONE_APART) / len(others) / (len(_APART_SHARES) - 1)
    for other, share, chance in (
        (laws[0], 0.0, _NONE_APART),
        *((one, share, some) for one in others for share in _APART_SHARES[1:].tolist()),
    ):
        mass = np.maximum((1 - share) * hidden + share * other[0], 1e-300)
        value = number @ np.log(mass)
        value += seen.number @ np.log(np.maximum((1 - share) * shown + share * other[2], 1e-300))
        yield worth * value + math.log(chance), asked @ (((1 - share) * inside + share * other[1]) / mass)


def _masses(means: Floats, x: Floats, dispersion: Floats, /, *, lognormal: bool) -> Floats:
    """Laws of counts around each of some means."""
    m, d = means[:, None], dispersion[:, None]
    if not lognormal:
        r = 1 / d
        logs = special.gammaln(x + r) - special.gammaln(r) - special.gammaln(x + 1)
        return np.asarray(np.exp(logs + x * np.log(m / (m + r)) - r * np.log1p(m / r)))
    wide = np.log1p(d)
    found, base = np.zeros((len(means), len(x))), special.gammaln(x + 1)
    for node, weight in zip(_NODES.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True):
        one = m * np.exp(np.sqrt(wide) * node - wide / 2)
        found += weight * np.exp(x * np.log(one) - one - base)
    return found
