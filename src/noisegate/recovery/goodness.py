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
from scipy import special

from noisegate.laws import Floats
from noisegate.recovery.identities import Flags
from noisegate.recovery.likelihood import ObservedResiduals, ResidualGroup, tables
from noisegate.recovery.ranks import rank_correlation
from noisegate.recovery.residual_law import Points

_SIZE = 0.001
_LEAST_DRIFT = 0.1
_LEAST_GROWTH = 0.1
_LEAST_SHAPE = 0.01
_MOST_OFF = 0.15
_CLASSES = 12
#: Smaller p-values are not told apart.
_LEAST_P = 1e-12
_FEWEST_EXPECTED = 5.0
# A residual that would have been cut off with a smaller chance than this is taken as it is.
_HARDLY = 1e-3
# A small move of so many standard deviations shifts the place in a normal law by one.
_PER_PLACE = math.sqrt(4 * math.pi)


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


def judge(observed: Sequence[ObservedResiduals], point: Points, weights: Floats, /) -> Goodness:
    """Compare residuals with the law fitted at `point` with these weights of contamination."""
    found = _places(observed, point, weights)
    n = len(found.place)
    drift, p_drift = _drift(found)
    growth, p_growth = _growth(found)
    chi, p_value = _shape(found)
    off = float(weights[1:].sum())
    refusal = None
    if p_drift < _SIZE and abs(drift) > _LEAST_DRIFT:
        side = "larger" if drift > 0 else "smaller"
        refusal = (
            f"these do not look like equal counts: the second side is {side} throughout, by {abs(drift):.2f} "
            f"standard deviations on average ({_p(p_drift)})."
        )
    elif p_growth < _SIZE and growth > _LEAST_GROWTH:
        refusal = (
            "these do not look like equal counts: differences grow with the count "
            f"(rank correlation {growth:.2f}, {_p(p_growth)})."
        )
    elif off > _MOST_OFF:
        refusal = (
            f"these do not look like equal counts: {off:.0%} of the identities are off by more than noise."
        )
    elif p_value < _SIZE and chi > _LEAST_SHAPE * n:
        refusal = (
            "these do not look like equal counts: the differences follow none of the noise laws "
            f"({_p(p_value)})."
        )
    statement = (
        f"{n:,} residuals against the fitted law: {_shape_in_words(chi, p_value)}, drift {drift:+.2f} standard "
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


def _p(value: float, /) -> str:
    return f"p = {value:.1g}" if value >= _LEAST_P else f"p < {_LEAST_P:.0g}"


def _shape_in_words(chi: float, p_value: float, /) -> str:
    return f"chi-square p = {p_value:.2g}" if chi > 0 else "too few for a chi-square test"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where each residual lies in its fitted law.

    `place` is between 0 and 1, `variance` what its variance should be, `size` the count, and
    `chances` the probabilities of the classes it might have fallen into.
    """

    place: Floats
    variance: Floats
    size: Floats
    chances: Floats


def _places(observed: Sequence[ObservedResiduals], point: Points, weights: Floats, /) -> _Places:
    parts: list[tuple[Floats, Floats, Floats, Floats]] = []
    for one in observed:
        for group, table in tables(one, point):
            law = np.einsum("j,jk->k", weights, table[:, 0, :])
            law /= law.sum()
            middle = np.cumsum(law) - law / 2
            usable = _unbounded(group, middle)[group.column] & _partnered(one, middle)[group.rows]
            column = group.column[usable]
            n = len(column)
            classes = np.minimum((middle * _CLASSES).astype(np.int64), _CLASSES - 1)
            share = np.bincount(classes, weights=law, minlength=_CLASSES)
            parts.append(
                (
                    middle[group.low[column] + len(law) // 2],
                    np.full(n, float(law @ (middle - 0.5) ** 2)),
                    one.identities.size[group.rows[usable]],
                    np.broadcast_to(share, (n, _CLASSES)),
                )
            )
    place, variance, size, chances = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _Places(place=place, variance=variance, size=size, chances=chances)


def _unbounded(group: ResidualGroup, middle: Floats, /) -> Flags:
    """The columns whose residual is seen, and which would hardly have been cut off from below."""
    floor = np.clip(group.floor + len(middle) // 2, 0, len(middle) - 1)
    return np.asarray((group.low == group.high) & (middle[floor] < _HARDLY))


def _partnered(one: ObservedResiduals, middle: Floats, /) -> Flags:
    """The rows of one-sided pairs whose larger value is so large that its partner is published too."""
    if one.identities.held != "larger":
        return np.ones(len(one.identities), dtype=bool)
    seen = one.identities.seen
    larger = one.identities.size + np.abs(np.where(seen, one.identities.low, 0.0)) / 2
    room = np.rint((larger - one.identities.cut) / one.lattice.step).astype(np.int64)
    return np.asarray(middle[np.clip(len(middle) // 2 - room, 0, None)] < _HARDLY)


def _drift(found: _Places, /) -> tuple[float, float]:
    """Mean distance from the middle, in standard deviations, and its two-sided p-value."""
    total = float(found.variance.sum())
    if total <= 0:
        return 0.0, 1.0
    away = float(np.sum(found.place - 0.5))
    return away / len(found.place) * _PER_PLACE, float(2 * special.ndtr(-abs(away) / math.sqrt(total)))


def _growth(found: _Places, /) -> tuple[float, float]:
    """Rank correlation of |place - 1/2| with the count, and its one-sided p-value."""
    away = np.abs(found.place - 0.5)
    if len(away) < 10 or np.ptp(found.size) == 0 or np.ptp(away) == 0:
        return 0.0, 1.0
    rank = rank_correlation(away, found.size)
    return rank.value, rank.above


def _shape(found: _Places, /) -> tuple[float, float]:
    """Pearson's statistic over classes of about equal chance, and its p-value."""
    classes = np.minimum((found.place * _CLASSES).astype(np.int64), _CLASSES - 1)
    seen = np.bincount(classes, minlength=_CLASSES).astype(float)
    seen, expected = _pooled(seen, found.chances.sum(axis=0))
    freedom = len(seen) - 2
    if freedom < 1:
        return 0.0, 1.0
    chi = float(np.sum((seen - expected) ** 2 / expected))
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
