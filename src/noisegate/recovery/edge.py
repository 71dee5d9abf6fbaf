"""How dense published values are just above the cut: all that suppression does to a residual.

Suppression keeps a value when it is at or above a cut. If the raw counts behind the values were
equally likely just above and just below the cut, the noises of the kept values would follow their
law unchanged. They do not when the counts thin out: the noise of a kept value then follows the law
tilted by `e^{s l}`, with `s` the rate at which the log-density of counts falls. Averaged over the
kept values, that rate is

    E[s] = - ∫ p'(v) dv = p(cut),

the density of the kept values at the cut, whatever their distribution elsewhere. To first order in
`s` times the spread of the noise, this one number is the whole effect of suppression. See
docs/explanation/noise-recovery.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize

from noisegate.laws import Floats

# With fewer values than this near the cut the density is taken to be flat there.
_FEW = 12
# The steepest slope that is looked for, in powers of e across the window.
_STEEPEST = 12.0


def edge_density(values: Floats, /, *, cut: float, window: float, step: float) -> float:
    """The density of `values`, per unit, at `cut`.

    Parameters
    ----------
    values
        Published values, all at or above `cut`.
    cut
        The least value that is published; minus infinity if nothing is suppressed.
    window
        How far above the cut to look: about three times the spread of the noise.
    step
        The spacing of the values: 1 for integers.

    Notes
    -----
    Inside the window the density is taken to be `e^{-a u}`, with `a` found by maximum likelihood,
    and read off half a step below the cut, where the first cell begins.
    """
    if not math.isfinite(cut) or len(values) == 0:
        return 0.0
    width = step * max(1, round(window / step))
    near = values[values < cut + width] - cut + step / 2
    share = len(near) / len(values)
    if len(near) < _FEW:
        return share / width
    slope = _exponential_slope(float(near.mean()) / width)
    return share / width * _edge_height(slope)


def _exponential_slope(mean: float, /) -> float:
    """The `a` for which a density e^{-a u} on [0, 1] has this mean."""

    def gap(a: float) -> float:
        return _exponential_mean(a) - mean

    if gap(_STEEPEST) > 0:
        return _STEEPEST
    if gap(-_STEEPEST) < 0:
        return -_STEEPEST
    return float(optimize.brentq(gap, -_STEEPEST, _STEEPEST))


def _exponential_mean(a: float, /) -> float:
    return 0.5 - a / 12 if abs(a) < 1e-4 else 1 / a - 1 / math.expm1(a)


def _edge_height(a: float, /) -> float:
    """The height at 0 of the density e^{-a u} on [0, 1]."""
    return 1 + a / 2 if abs(a) < 1e-8 else a / -math.expm1(-a)


def spread(residual: Floats, /, *, step: float) -> float:
    """The half-width that holds 68 % of the residuals around their median; at least one step."""
    if len(residual) == 0:
        return step
    return max(float(np.quantile(np.abs(residual - np.median(residual)), 0.68)), step)
