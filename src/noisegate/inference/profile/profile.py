"""Intensities of counts of which only the large ones were published, and how uncertain these are.

A cell's count is negative binomial around an intensity, a product of multipliers: one for each level of some effects (place,
time, day, pairs of them). They are fitted from coarse to fine by the likelihood of what every cell *shows*, a value or its
absence, and of the sums over missing cells that margins leave:

1. Effects of single dimensions, with all that is finer left to the dispersion of cells. Fitting many fine effects at
   the same time would find each at its likeliest value, and such values explain what is missing by too much.
2. Levels of these of which little is shown, by their whole posterior law (`levels`).
3. Pairs of dimensions one after the other, as departures from what is there. Their spread is learnt from single cells.

After each step the dispersion is judged anew. Assumes that intensities are near such a product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.problem import NegativeBinomial
from noisegate.inference.profile.effects import MOST_SPREAD, ProfileEffect, likeliest_dispersion, without_own
from noisegate.inference.profile.levels import GRID, level_logs, level_posterior, row_counts
from noisegate.inference.profile.observed import LEAST_LOG, MOST_LOG, NoisySums, Observed
from noisegate.mechanisms import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS, _SWEEPS, _PASSES = 6, 4, 3
_LONGEST_STEP = 1.5
#: A fit whose levels move less than this, in the root mean square, has settled.
_SETTLED = 0.02
#: The same for levels of which little is shown.
_NEARLY_SETTLED = 0.2
#: Levels whose cells and rows count for more than this are known well enough by their likeliest value.
_SURE = 10.0
#: Fewer levels than this say nothing about the law of levels.
_FEW_LEVELS = 5
#: A sure level counts in the law of levels as if it were known so well only: the grid is not finer.
_MOST_PRECISE = 8.0
#: How much of what single little-seen levels are off by is taken to be the same for all of them: hours of the night are alike.
_TOGETHER = 0.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileFit:
    """What the other cells say of each cell, and how uncertain each level of each effect is.

    `own` and `common` are relative variances of the multipliers (see `ProfileEffect`).
    """

    prior: NegativeBinomial
    dispersion: float
    own: tuple[Floats, ...]
    common: tuple[Floats, ...]


def fit_profile(
    values: Floats,
    effects: Sequence[Ints],
    /,
    *,
    mechanism: Mechanism,
    mains: int,
    remainders: Sequence[NoisySums] = (),
) -> ProfileFit:
    """Intensities of all cells from what they show; NaN in `values` says that nothing was published.

    The first `mains` of the effects are those of single dimensions.
    """
    observed = Observed.of(values, mechanism, remainders)
    every = [ProfileEffect.of(codes) for codes in effects]
    _fit_mains(observed, every[:mains])
    for _ in range(_PASSES if observed.hidden.size else 0):
        moved = max(_judge_levels(observed, effect) for effect in every[:mains]) if mains else 0.0
        if _renew_dispersion(observed, every[:mains]) and moved < _NEARLY_SETTLED:
            break
    fitted = every[:mains]
    for effect in sorted(every[mains:], key=lambda one: len(one.value)):
        fitted.append(effect)
        _fit_pairs(observed, fitted)
    apart, spread = without_own(observed, fitted)
    bounded = np.minimum(spread, MOST_SPREAD)
    prior = NegativeBinomial(
        mean=np.exp(np.clip(apart, LEAST_LOG, MOST_LOG)),
        shape=1 / (observed.dispersion + np.expm1(bounded)),
        zero_share=np.zeros(1),
    )
    return ProfileFit(
        prior=prior,
        dispersion=observed.dispersion,
        own=tuple(effect.own for effect in every),
        common=tuple(effect.common for effect in every),
    )


def _renew_dispersion(observed: Observed, effects: Sequence[ProfileEffect], /) -> bool:
    """Judge the dispersion anew; whether it is the same as before."""
    before = observed.place
    observed.place = likeliest_dispersion(observed, effects)
    return observed.place == before


def _fit_mains(observed: Observed, mains: Sequence[ProfileEffect], /) -> None:
    """The overall level and the effects of single dimensions."""
    for _ in range(_ROUNDS):
        for _ in range(_SWEEPS):
            slope, bend = observed.slopes()
            step = float(np.clip(slope.sum() / max(bend.sum(), 1e-9), -_LONGEST_STEP, _LONGEST_STEP))
            observed.move(step)
            if max([abs(step), *(effect.follow(observed) for effect in mains)]) < _SETTLED:
                break
        if _renew_dispersion(observed, mains):
            break
    for effect in mains:
        count, _ = effect.evidence(observed)
        effect.own = 1 / (effect.shape + count)


def _judge_levels(observed: Observed, effect: ProfileEffect, /) -> float:
    """Levels of which little is shown by their whole posterior, the others by their likeliest value; how far they moved."""
    moved = effect.follow(observed)
    count = effect.evidence(observed)[0] + row_counts(observed, effect)
    unsure = count <= _SURE
    effect.own = 1 / (effect.shape + count)
    if len(count) < _FEW_LEVELS or not unsure.any():
        return moved
    logs = np.empty((len(count), len(GRID)))
    sure = ~unsure
    logs[sure] = (
        -0.5 * np.minimum(count[sure], _MOST_PRECISE)[:, None] * (GRID - effect.value[sure][:, None]) ** 2
    )
    logs[unsure], totals = level_logs(observed, effect, unsure)
    found = level_posterior(logs, [total.among(unsure) for total in totals])
    step = np.where(unsure, np.log(np.maximum(found.mean, np.exp(GRID[0]))) - effect.value, 0.0)
    moved = effect.shift(observed, step)
    # What levels are like in general is all that is known of these: where it is wrong, many are off together.
    effect.own = np.where(unsure, (1 - _TOGETHER) * found.own, effect.own)
    effect.common = np.where(unsure, found.common + _TOGETHER * found.own, 0.0)
    return moved


def _fit_pairs(observed: Observed, fitted: Sequence[ProfileEffect], /) -> None:
    """The last of the effects, all others as they are."""
    for _ in range(_ROUNDS):
        fitted[-1].learn(observed)
        for _ in range(_SWEEPS):
            if fitted[-1].follow(observed) < _SETTLED:
                break
        if _renew_dispersion(observed, fitted):
            break
