"""The scale of noise where no sum is whole: how likely the totals are under each scale, hidden counts summed out (MATH 2, 10 c and h).

Every total lacks a part, so no difference is noise alone. But an engine that does not know a margin predicts it, from the base and from the other margins, with hidden cells as unsure as they are; at
the right scale its totals stray from that as far as they should. The product over margins of how likely each is given all else, and of what whole margins differ by, is a pseudo-likelihood of the scale. It is flat to small scales, as hidden
counts then explain all that strays, and falls off to large ones. So the scale is known to a factor of two or so, and everything is averaged over that.

The law itself is not told by so little: Laplace noise is assumed, one scale for all tables, and that is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from noisegate.errors import DataError
from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.linked.problem import Floats
from noisegate.inference.posterior import Posterior, parts_of_cells
from noisegate.inference.trial import some_parts

#: Scales that published counts have: about 1.5, between 0.3 and 7.5 in 19 of 20.
_USUAL, _USUAL_LOG_SD = 1.5, 0.8
#: Scales are tried in steps of this factor, as long as they are not so much less likely than the best.
_STEP, _GIVE_UP, _LEAST, _MOST = math.sqrt(3.0), 8.0, 0.2, 25.0
#: The scale is never taken to be known better than this, as the standard deviation of its log. In 117 worlds of 13 laws (40 by 24, scales 0.7, 1.4 and 3) it was off by 1.03 of what is claimed so, in the root mean square, and its
#: 95 and 50 % intervals held 94 and 51 %; with 0.3 1.11, 91 and 50. Where margins are multiplied and not averaged 1.32, 86 and 44.
_LEAST_DOUBT = 0.4
#: Totals stray from what is predicted like draws of a t law of so many degrees of freedom: one that is far off tells little of the scale.
_FREEDOM = 8
#: Hidden counts vary by so many times what the learnt law says of them: about once, between a fifth and five times in 19 of 20.
_LAW_OFF = np.exp(np.linspace(-2.0, 2.0, 9))
_LAW_LOGS = special.log_softmax(-0.5 * (np.log(_LAW_OFF) / 0.8) ** 2)
#: Of more cells some tell the scale.
_CELLS = 6_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentScale:
    """The likeliest scale, how unsure its log is (a standard deviation), and how many totals tell it."""

    scale: float
    doubt: float
    totals: int

    @property
    def interval(self) -> tuple[float, float]:
        """It lies between these with 95 %."""
        return self.scale * math.exp(-1.96 * self.doubt), self.scale * math.exp(1.96 * self.doubt)


def likely_scale(evidence: Evidence, /) -> LatentScale | None:
    """The scale of the noise of all tables, as multiples of what they have in `evidence`; None if no margin says anything of it."""
    margins = [one for one in evidence.margins if one.measured and np.isfinite(one.values).any()]
    if not margins:
        return None
    some = evidence.among(some_parts(evidence, parts_of_cells(evidence), most=_CELLS))
    found: dict[int, float] = {}

    def weight(step: int) -> float:
        if step not in found:
            away = (step * math.log(_STEP) / _USUAL_LOG_SD) ** 2 / 2
            found[step] = _log_likelihood(some.at_scale(_USUAL * _STEP**step)) - away
        return found[step]

    best = weight(0)
    for side in (1, -1):
        step = side
        while _LEAST < _USUAL * _STEP**step < _MOST and weight(step) > best - _GIVE_UP:
            best, step = max(best, weight(step)), step + side
    steps = np.array(sorted(found))
    chance = np.exp(np.array([found[step] for step in steps.tolist()]) - best)
    chance /= chance.sum()
    logs = steps * math.log(_STEP) + math.log(_USUAL)
    mean = float(chance @ logs)
    # Between two steps the scale may be anything.
    spread = float(chance @ (logs - mean) ** 2) + math.log(_STEP) ** 2 / 12
    totals = sum(int((np.isfinite(one.values) & one.usable_rows).sum()) for one in some.margins)
    return LatentScale(scale=math.exp(mean), doubt=max(math.sqrt(spread), _LEAST_DOUBT), totals=totals)


def _log_likelihood(evidence: Evidence, /) -> float:
    """How likely each margin is given all other tables, on average, as all of them add up the same cells; and what margins differ by in all, which no law of counts can explain."""
    away, noise = evidence.differences()
    found = -0.5 * float((np.log(noise) + away**2 / noise).sum())
    return found + float(
        np.mean([_predicted(evidence, margin) for margin in evidence.margins if margin.measured])
    )


def _predicted(evidence: Evidence, margin: Observation, /) -> float:
    """How likely a margin is given all other tables; a scale under which they contradict each other is not likely at all."""
    cells = evidence.live
    row = margin.where.of(cells)
    inside = (row >= 0) & margin.usable_rows[np.maximum(row, 0)]
    try:
        engine = Posterior(evidence=evidence.without(margin.name), plain=True)
        said = engine.sums(cells[inside], row[inside], size=len(margin.values), level=0.95)
        hidden = inside & np.isnan(evidence.base.values[cells])
        law = engine.sums(cells[hidden], row[hidden], size=len(margin.values), level=0.95).sd ** 2
    except DataError:
        return -math.inf
    there = np.bincount(row[inside], minlength=len(margin.values)) > 0
    shown, missing = there & np.isfinite(margin.values), there & np.isnan(margin.values)
    noise = np.maximum(said.sd**2 - law, 0.0) + margin.noise
    # How much hidden counts vary the law tells badly: what is right for one scale is too much for another.
    sd = np.sqrt(np.maximum(_LAW_OFF[:, None] * law + noise, 1e-9))
    told = _log_t((margin.values - said.mean)[shown] / sd[:, shown]) - np.log(sd[:, shown])
    below = special.log_ndtr((margin.least - 0.5 - said.mean)[missing] / sd[:, missing])
    return float(special.logsumexp(told.sum(axis=1) + below.sum(axis=1) + _LAW_LOGS))


def _log_t(away: Floats, /) -> Floats:
    return np.asarray(-0.5 * (_FREEDOM + 1) * np.log1p(away**2 / _FREEDOM))
