"""What bounding leaves out, told with noise of its own: so that nobody takes a bound that bites for a quiet city.

Four whole numbers are measured, each with a quarter of `report_clipped`: units, units beyond the bound (one unit changes each by 1), events
that count and events that do not, of the latter at most as many of one unit as its bound (one unit changes each by the bound). So with
scales of 4/ε and 4·bound/ε a unit loses ε in all (`docs/proofs/release.md`). The shares that the card states, and their
intervals, are made of these four alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from noisegate.engine import Clipping
from noisegate.errors import InternalError
from noisegate.laws import Entropy
from noisegate.mechanisms import PublishedNoise
from noisegate.spec import ReleaseSpec
from noisegate.tables import Clipped

_PARTS = 4
#: The quantile of the standard bell curve of two-sided intervals of 95 %.
_SPREAD = 1.959964


def report_clipped(spec: ReleaseSpec, raw: Clipping | None, /, *, entropy: Entropy) -> Clipped | None:
    """The noisy shares beyond the bound; None if the spec does not ask for them. Draws noise: it must have been charged."""
    epsilon = spec.privacy.report_clipped
    if epsilon is None:
        return None
    if raw is None:
        raise InternalError("what bounding did was not counted")
    bound = spec.privacy.contribution.total
    units, units_var = _noisy(raw.units, Fraction(_PARTS) / epsilon, entropy)
    beyond, beyond_var = _noisy(raw.beyond, Fraction(_PARTS) / epsilon, entropy)
    kept, kept_var = _noisy(raw.kept, Fraction(_PARTS * bound) / epsilon, entropy)
    lost, lost_var = _noisy(raw.lost, Fraction(_PARTS * bound) / epsilon, entropy)
    share, low, high = _share(beyond, beyond_var, units, units_var)
    gone, gone_low, gone_high = _share(lost, lost_var, lost + kept, lost_var + kept_var)
    return Clipped(
        epsilon=float(epsilon),
        units=share,
        units_low=low,
        units_high=high,
        events=gone,
        events_low=gone_low,
        events_high=gone_high,
    )


def _noisy(count: int, scale: Fraction, entropy: Entropy, /) -> tuple[int, float]:
    noise = PublishedNoise(name="discrete-laplace", scale=scale)
    return count + int(noise.draw(1, entropy=entropy)[0]), noise.law.variance


def _share(part: int, part_var: float, whole: int, whole_var: float, /) -> tuple[float, float, float]:
    """A share of two noisy numbers with its interval, all from 0 to 1; everything where the whole drowns in noise."""
    if whole <= _SPREAD * math.sqrt(whole_var):
        return 0.5, 0.0, 1.0
    share = float(np.clip(part / whole, 0.0, 1.0))
    spread = _SPREAD * math.sqrt(part_var + share**2 * whole_var) / whole
    return share, max(0.0, share - spread), min(1.0, share + spread)
