"""What laws of counts that explain the published cells alike well say of the hidden ones (MATH 10 d).

Where no total speaks, nothing but a law of the counts tells hidden cells, and cells above a threshold tell one law from another only there. So what is learnt is set beside rivals: counts around an intensity are negative binomial or Poisson around
a lognormal one, of any dispersion; a share of all cells may be empty or quieter than the others; intensities may all be off by one factor, and differ less from each other than was learnt. Each is as likely as what the cells show is likely under it. What they differ by about hidden
cells is what nobody can know from these tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.linked.problem import NegativeBinomial
from noisegate.inference.profile.humps import SeenCells
from noisegate.mechanisms import Mechanism

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

#: So many cells tell laws apart as well as tables let them.
MOST_SEEN = 10_000
#: Variances of the log of the intensity (or of its relative size) of single cells.
_DISPERSIONS = (0.003, 0.03, 0.1, 0.2, 0.35, 0.6, 1.0, 1.6, 2.5)
#: Logs of one factor for all intensities.
_FACTORS = np.linspace(-1.5, 1.5, 31)
#: Powers of intensities: what is learnt of single places and hours may be chance.
_POWERS = (0.25, 0.5, 0.75, 1.0)
#: Shares of cells that are apart from the others, and what they have of the intensity of these.
_APART_SHARES = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
_APART_SIZES = (1e-3, 0.2)
#: That no cells are apart is as likely beforehand as that some are.
_NONE_APART = 0.5
#: Logs of means at which laws are worked out; between these they are interpolated.
_STEP, _LEAST_MEAN = 0.08, 1e-3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ByMean:
    """Of one law: the log-chance to be hidden, the mean of what is hidden, and the chance of each pair of a value and a class, for each factor (last axis)."""

    hidden: Floats
    inside: Floats
    shown: Floats


def rivals_say(
    values: Floats, asked: Bools, prior: NegativeBinomial, /, *, mechanism: Mechanism
) -> RivalWord | None:
    """What rivals of a learnt law say of those hidden cells that are asked for; None if too little is seen."""
    seen = SeenCells.of(values, prior, mechanism, ())
    if seen is None:
        return None
    number = seen.count(asked & np.isnan(values))
    logs, said = [], []
    for lognormal in (False, True):
        for dispersion in _DISPERSIONS:
            for power in _POWERS:
                found = _word(seen, number, dispersion, power, lognormal=lognormal)
                logs.append(found[0])
                said.append(found[1])
    weight = np.concatenate(logs)
    chance, sums = special.softmax(weight), np.concatenate(said)
    mean = float(chance @ sums)
    own = seen.plain()[:, 0, :] * seen.hidden
    learnt = float(number @ (own @ seen.counts / np.maximum(own.sum(axis=1), 1e-300)))
    return RivalWord(mean=mean, sd=math.sqrt(float(chance @ (sums - mean) ** 2)), learnt=learnt)


def _word(
    seen: SeenCells, asked: Floats, dispersion: float, power: float, /, *, lognormal: bool
) -> tuple[Floats, Floats]:
    """The log-likelihoods of one dispersion and power with every factor, share and size of cells apart, and what each says."""
    shifts = np.concatenate([[0.0], np.log(_APART_SIZES)])
    plain, *others = _by_mean(seen, dispersion, power, shifts, lognormal=lognormal)
    hidden = seen.told + seen.untold
    logs, said = [], []
    for other in others:
        for share in _APART_SHARES.tolist():
            mass = (1 - share) * plain.hidden + share * other.hidden
            inside = (1 - share) * plain.inside + share * other.inside
            shown = (1 - share) * plain.shown + share * other.shown
            value = hidden @ np.log(np.maximum(mass, 1e-300))
            value += seen.number @ np.log(np.maximum(shown, 1e-300))
            none = _NONE_APART / len(others)
            some = (1 - _NONE_APART) / len(others) / (len(_APART_SHARES) - 1)
            logs.append(value + math.log(none if share == 0 else some))
            said.append(asked @ (inside / np.maximum(mass, 1e-300)))
    return np.concatenate(logs), np.concatenate(said)


def _by_mean(
    seen: SeenCells, dispersion: float, power: float, shifts: Floats, /, *, lognormal: bool
) -> list[_ByMean]:
    """The law of one dispersion and power, for intensities that are moved by each shift and each factor."""
    level = np.log(seen.level)
    level = power * level + (1 - power) * level.mean()
    low = max(float(level.min() + _FACTORS[0] + shifts.min()), math.log(_LEAST_MEAN))
    grid = np.arange(low, float(level.max() + _FACTORS[-1]) + 2 * _STEP, _STEP)
    masses = _masses(np.exp(grid), seen.counts, dispersion, lognormal=lognormal)
    hidden = masses @ seen.hidden
    inside = masses @ (seen.hidden * seen.counts)
    shown = seen.shown @ masses.T
    found = []
    for shift in shifts.tolist():
        at = np.clip((level[:, None] + _FACTORS + shift - low) / _STEP, 0, len(grid) - 1.001)
        whole = at.astype(np.int64)
        part = at - whole
        rows = seen.values[:, None]
        mine, by = whole[seen.classes], part[seen.classes]
        found.append(
            _ByMean(
                hidden=(1 - part) * hidden[whole] + part * hidden[whole + 1],
                inside=(1 - part) * inside[whole] + part * inside[whole + 1],
                shown=(1 - by) * shown[rows, mine] + by * shown[rows, mine + 1],
            )
        )
    return found


def _masses(means: Floats, x: Floats, dispersion: float, /, *, lognormal: bool) -> Floats:
    """Laws of counts around each of some means."""
    m = means[:, None]
    if not lognormal:
        r = 1 / dispersion
        logs = special.gammaln(x + r) - special.gammaln(r) - special.gammaln(x + 1)
        return np.asarray(np.exp(logs + x * np.log(m / (m + r)) - r * np.log1p(m / r)))
    wide = math.log1p(dispersion)
    found = np.zeros((len(means), len(x)))
    base = special.gammaln(x + 1)
    for node, weight in zip(_NODES.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True):
        one = m * math.exp(math.sqrt(wide) * node - wide / 2)
        found += weight * np.exp(x * np.log(one) - one - base)
    return found
