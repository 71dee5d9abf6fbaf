"""Laws that fall off like one without a bound, and stop: cut off at a bound, or with all that lies beyond it set at the bound.

Such a law has two parameters, its scale and its bound. The further out it stops the less it leaves out of the whole law, and the less any sample
tells the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import LatticeLaw, make_law
from noisegate.recovery.noise_sums import NoiseSums, half_of

Floats = NDArray[np.float64]
Ending = Literal["cut", "edge"]

#: Laws are looked at that leave out between so much and so little of the whole law: what leaves out more is one of the laws with a usual bound, and no
#: sample of a usual size tells what leaves out less.
MOST_LEFT_OUT, LEAST_LEFT_OUT = 0.05, 0.001
#: An epsilon asks that each law is excluded that is cut off and leaves out so much or more, or sets so much or more at its bound. Set on sums alone (150 to
#: 300 worlds each, seeds from 7,000 on): of noise within ±7 (like Laplace noise of 1.4), ±8, ±10 (2) and ±12 (3), cut off or set at the bound, in 1,000 pairs
#: and 3,000 sums of three, 0 to 1.5 % of the worlds pass (all rows together 0.2 %); of Laplace noise of 1.4, 2 and 3 27, 25 and 19 % with 1,000 pairs, 72, 68 and 60 % with 3,000,
#: 93, 92 and 84 % with 5,000. At 0.005 for both, 1 to 10 % of the worlds within ±7 and ±10 pass.
OPEN: dict[Ending, float] = {"cut": 0.003, "edge": 0.004}
#: Laws with a narrower bound are among those with a usual one.
_NARROWEST = 6
#: At its best scale none leaves out more than this: it would be another law, not one that stops. Gaussian noise is closer to Laplace noise of a larger
#: scale without its tails than to any whole.
_MOST_AT_BEST = 0.03
#: Bounds are so far apart, as a share of the standard deviation, and one at least.
_APART = 0.15
#: Half the distance, in log-scale, of the three places a parabola goes through, and how often it is laid anew.
_NEAR, _TURNS = 0.03, 5
#: Narrower laws than one that is behind by so much are not looked at.
_HOPELESS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StoppedLaw:
    """One law that stops, at its best scale.

    Attributes
    ----------
    bound, scale
        Where it stops, and the scale of the whole law.
    left_out
        What the whole law has beyond the bound.
    share
        How much of all bounds this one stands for: evenly by the logarithm of what the likeliest whole law has beyond them.
    half
        P(0), P(1), ... of one noise.
    log_likelihood
        At that scale.
    bend
        How the log-likelihood bends there, in log-scale.
    """

    bound: int
    scale: float
    left_out: float
    share: float
    half: Floats
    log_likelihood: float
    bend: float


def stopped(whole: Floats, bound: int, /, *, ending: Ending = "cut") -> Floats:
    """P(0), P(1), ... of a law with P(k) = whole[|k|] that stops at a bound; what lies beyond is shared out, or set at the bound."""
    half = np.zeros(bound + 1)
    half[: min(whole.size, bound + 1)] = whole[: bound + 1]
    if ending == "edge":
        half[bound] += whole[bound + 1 :].sum()
    return np.asarray(half / (half[0] + 2 * half[1:].sum()))


def stopped_laws(name: str, scale: float, sums: NoiseSums, /, *, ending: Ending = "cut") -> list[StoppedLaw]:
    """The law of this name, whose likeliest scale is given, at every bound that leaves out something and can be told from it; the widest first."""
    found: list[StoppedLaw] = []
    whole = _whole(name, scale)
    log, best = math.log(scale), -math.inf
    for bound, share in _bounds(whole, sums):

        def at_scale(where: float, bound: int = bound) -> float:
            return sums.log_likelihood(stopped(_whole(name, math.exp(where)), bound, ending=ending))

        log, height, bend = _top(at_scale, log)
        law = _whole(name, math.exp(log))
        left_out = float(2 * law[bound + 1 :].sum())
        if left_out > _MOST_AT_BEST:
            break
        found.append(
            StoppedLaw(
                bound=bound,
                scale=math.exp(log),
                left_out=left_out,
                share=share,
                half=stopped(law, bound, ending=ending),
                log_likelihood=height,
                bend=bend,
            )
        )
        best = max(best, height)
        if height < best - _HOPELESS:
            break
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStop:
    """The narrowest law that falls off like one without a bound, stops, and is not excluded.

    Attributes
    ----------
    bound
        Where it stops.
    left_out
        What it leaves out of the whole law, or sets at its bound.
    counts
        Whether that is so much that no epsilon is stated.
    """

    bound: int
    left_out: float
    counts: bool


def open_stop(name: str, scale: float, sums: NoiseSums, least: float, /) -> OpenStop | None:
    """The narrowest law that stops and whose log-likelihood is not below `least`; None if all that are looked at are excluded."""
    found = [
        OpenStop(bound=one.bound, left_out=one.left_out, counts=one.left_out >= much)
        for ending, much in OPEN.items()
        for one in stopped_laws(name, scale, sums, ending=ending)
        if one.log_likelihood > least
    ]
    return min(found, key=lambda one: (not one.counts, one.bound), default=None)


def _bounds(whole: Floats, sums: NoiseSums, /) -> list[tuple[int, float]]:
    """Bounds and how much of all of them each stands for, the widest first; none that is narrower than what was seen."""
    beyond = 2 * np.cumsum(whole[::-1])[::-1]
    beyond = np.append(beyond[1:], 0.0)
    inside = np.flatnonzero((beyond <= MOST_LEFT_OUT) & (beyond >= LEAST_LEFT_OUT))
    if not inside.size:
        return []
    spread = math.sqrt(2 * float(np.arange(whole.size) ** 2 @ whole))
    apart = max(int(spread * _APART), 1)
    bounds = inside[::-1][::apart]
    shares = np.log(beyond[np.maximum(bounds - apart, 0)] / beyond[bounds])
    shares /= math.log(MOST_LEFT_OUT / LEAST_LEFT_OUT)
    least = max(sums.least_bound, _NARROWEST)
    return [(b, s) for b, s in zip(bounds.tolist(), shares.tolist(), strict=True) if b >= least]


def _top(value: Callable[[float], float], start: float, /) -> tuple[float, float, float]:
    """Where a function is highest, how high, and how it bends there: by parabolas, from nearby."""
    middle, near = start, _NEAR
    for _ in range(_TURNS):
        left, top, right = (value(middle + step) for step in (-near, 0.0, near))
        bend = -(left - 2 * top + right) / near**2
        slope = (right - left) / (2 * near)
        move = math.copysign(3 * near, slope) if bend <= 0 else max(-3 * near, min(3 * near, slope / bend))
        middle += move
        if abs(move) < near / 2:
            return middle, top + 0.5 * bend * move**2, max(bend, 1.0)
    return middle, value(middle), max(bend, 1.0)


def _whole(name: str, scale: float, /) -> Floats:
    law = make_law(name, scale=scale)
    assert isinstance(law, LatticeLaw)
    return half_of(law)
