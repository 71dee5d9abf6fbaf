"""Whether residuals look like equal counts plus noise, or like counts that were never equal.

Three ways in which an identity that does not hold shows, each tested at one in a thousand, so that
sound identities are refused in fewer than one case in a hundred:

* *drift*: residuals are off to one side (riders who forget to tap off);
* *growth*: larger counts have larger residuals;
* *shape*: the residuals follow none of the laws, or too many need to be set aside as off.

With many identities a departure can be certain and still too small to matter. Each test therefore
also asks for a size that would move the scale by about one per cent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import special, stats

from noisegate.core.laws._law import Floats
from noisegate.core.recovery.identities import Flags
from noisegate.core.recovery.likelihood import UNBOUNDED, Group, Observed, tables
from noisegate.core.recovery.residual_law import Points

_SIZE = 0.001
_LEAST_DRIFT = 0.03  # of the probability scale: a tenth of a standard deviation
_LEAST_GROWTH = 0.1
_LEAST_SHAPE = 0.01
_MOST_OFF = 0.15
_CLASSES = 12
_FEWEST_EXPECTED = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodness:
    """How well the fitted law describes the residuals.

    Attributes
    ----------
    p_value
        Of a chi-square test of the residuals against the fitted law.
    drift, p_drift
        How far residuals are off to one side, in standard deviations, and its p-value.
    growth, p_growth
        Rank correlation of the size of a residual with the count, and its p-value (one-sided).
    statement
        In words.
    refusal
        Why the identities cannot be believed; None if they can.
    """

    p_value: float
    drift: float
    p_drift: float
    growth: float
    p_growth: float
    statement: str
    refusal: str | None

    @classmethod
    def exact(cls, n: int, /) -> Self:
        """For identities without any residual."""
        return cls(
            p_value=1.0,
            drift=0.0,
            p_drift=1.0,
            growth=0.0,
            p_growth=1.0,
            statement=f"All {n} identities hold exactly: the values carry no noise.",
            refusal=None,
        )


def judge(observed: Sequence[Observed], point: Points, weights: Floats, /) -> Goodness:
    """Compare residuals with the law fitted at `point` with these weights of contamination."""
    place, size, chances = _places(observed, point, weights)
    drift, p_drift = _drift(place)
    growth, p_growth = _growth(place, size)
    chi, p_value = _shape(place, chances, parameters=1)
    off = float(weights[1:].sum())
    refusal = None
    if p_drift < _SIZE and abs(drift) > _LEAST_DRIFT * math.sqrt(2 * math.pi):
        side = "larger" if drift > 0 else "smaller"
        refusal = (
            f"these do not look like equal counts: the second side is {side} throughout, by {abs(drift):.2f} "
            f"standard deviations on average (p = {p_drift:.1g})."
        )
    elif p_growth < _SIZE and growth > _LEAST_GROWTH:
        refusal = (
            "these do not look like equal counts: differences grow with the count "
            f"(rank correlation {growth:.2f}, p = {p_growth:.1g})."
        )
    elif off > _MOST_OFF:
        refusal = (
            f"these do not look like equal counts: {off:.0%} of the identities are off by more than noise."
        )
    elif p_value < _SIZE and chi > _LEAST_SHAPE * len(place):
        refusal = (
            "these do not look like equal counts: the differences follow none of the noise laws "
            f"(p = {p_value:.1g})."
        )
    statement = (
        f"{len(place)} residuals against the fitted law: chi-square p = {p_value:.2g}, drift {drift:+.2f} standard "
        f"deviations (p = {p_drift:.2g}), growth with the count {growth:+.2f} (p = {p_growth:.2g})."
    )
    return Goodness(
        p_value=p_value,
        drift=drift,
        p_drift=p_drift,
        growth=growth,
        p_growth=p_growth,
        statement=statement,
        refusal=refusal,
    )


def _places(observed: Sequence[Observed], point: Points, weights: Floats, /) -> tuple[Floats, Floats, Floats]:
    """Where each residual lies in the fitted law (0 to 1), its count, and the chances of all classes."""
    place: list[Floats] = []
    size: list[Floats] = []
    chances: list[Floats] = []
    for one in observed:
        for group, table in tables(one, point):
            law = np.einsum("j,jk->k", weights, table[:, 0, :])
            law /= law.sum()
            middle = np.cumsum(law) - law / 2
            usable = _unbounded(group)[group.column]
            column = group.column[usable]
            place.append(middle[group.low[column] + len(law) // 2])
            size.append(one.identities.size[group.rows[usable]])
            classes = np.minimum((middle * _CLASSES).astype(np.int64), _CLASSES - 1)
            share = np.bincount(classes, weights=law, minlength=_CLASSES)
            chances.append(np.broadcast_to(share, (len(column), _CLASSES)))
    return np.concatenate(place), np.concatenate(size), np.concatenate(chances)


def _unbounded(group: Group, /) -> Flags:
    """The columns whose residual is seen and not cut off from below."""
    return np.asarray((group.low == group.high) & (group.floor == -UNBOUNDED))


def _drift(place: Floats, /) -> tuple[float, float]:
    """Mean distance from the middle, in standard deviations, and its two-sided p-value."""
    if len(place) == 0:
        return 0.0, 1.0
    shift = float(np.mean(place)) - 0.5
    spread = max(float(np.std(place)), 1e-12)
    z = shift / spread * math.sqrt(len(place))
    return shift * math.sqrt(2 * math.pi), float(2 * special.ndtr(-abs(z)))


def _growth(place: Floats, size: Floats, /) -> tuple[float, float]:
    """Rank correlation of |place - 1/2| with the count, and its one-sided p-value."""
    away = np.abs(place - 0.5)
    if len(place) < 5 or np.ptp(size) == 0 or np.ptp(away) == 0:
        return 0.0, 1.0
    found = stats.spearmanr(away, size, alternative="greater")
    return float(found.statistic), float(found.pvalue)


def _shape(place: Floats, chances: Floats, /, *, parameters: int) -> tuple[float, float]:
    """Pearson's statistic over classes of equal chance, and its p-value."""
    if len(place) == 0:
        return 0.0, 1.0
    seen = np.bincount(np.minimum((place * _CLASSES).astype(np.int64), _CLASSES - 1), minlength=_CLASSES)
    expected = chances.sum(axis=0)
    seen_pooled, expected_pooled = _pooled(seen.astype(float), expected)
    freedom = len(seen_pooled) - 1 - parameters
    if freedom < 1:
        return 0.0, 1.0
    chi = float(np.sum((seen_pooled - expected_pooled) ** 2 / expected_pooled))
    return chi, float(special.chdtrc(freedom, chi))


def _pooled(seen: Floats, expected: Floats, /) -> tuple[Floats, Floats]:
    """Neighbouring classes joined until each expects enough."""
    rows: list[tuple[float, float]] = []
    have, want = 0.0, 0.0
    for s, e in zip(seen, expected, strict=True):
        have, want = have + float(s), want + float(e)
        if want >= _FEWEST_EXPECTED:
            rows.append((have, want))
            have, want = 0.0, 0.0
    if want > 0 and rows:
        rows[-1] = (rows[-1][0] + have, rows[-1][1] + want)
    if not rows:
        return np.zeros(0), np.zeros(0)
    joined = np.array(rows)
    return joined[:, 0], joined[:, 1]
