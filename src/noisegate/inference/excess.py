"""What published totals leave for the cells that are not shown, with no prior at all (MATH 10 e): the correction for selection.

    hidden sum = shown totals - their shown cells + excess of the cells - excess of the totals

The *excess* is what selection at a threshold does: a value is shown partly because its noise was high rather than low. Over all cells noise adds up to nothing on
average, so what shown values hold too much hidden ones hold too little. How much that is in all follows from the histogram of raw counts (`raw_law`); rows share in it
by what they show near the threshold: for Laplace noise of scale b, where a value y is seen at a distance d above the threshold, by exp(-d / b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.problem import Floats, Ints
from noisegate.inference.raw_law import ThresholdSelection, TotalSeen
from noisegate.laws import DiscreteLaplace, Laplace, Law, RoundedLaplace
from noisegate.mechanisms import Mechanism

#: Of so few published values nothing is said about their histogram at the threshold; nor of so few cells, if it is known how many there are.
_FEW_VALUES, _FEW_SHOWN = 30, 3
#: What is not seen is off by this share of itself at least.
_LEAST_DOUBT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdExcess:
    """By how much shown values exceed their raw counts, because low noise was cut away.

    `amplitude` times exp(-distance from the threshold / `scale`) is what a shown value adds to it, and `below` the same again for
    values that are hidden, as a share, known up to the variance `doubt`.
    """

    edge: float
    scale: float
    amplitude: float
    below: float
    doubt: float

    @classmethod
    def of(
        cls,
        shown: Floats,
        mechanism: Mechanism,
        /,
        *,
        hidden: int | None = None,
        total: TotalSeen | None = None,
    ) -> ThresholdExcess:
        """From the published values of a table, the number of its cells that show nothing, and what all of them add up to, if these are known."""
        law = mechanism.law
        none = cls(edge=0.0, scale=1.0, amplitude=0.0, below=0.0, doubt=0.0)
        few = len(shown) + (hidden or 0) < _FEW_VALUES or len(shown) < _FEW_SHOWN
        if threshold_of(mechanism) is None or few:
            return none
        edge, scale = threshold_of(mechanism) or (0.0, 1.0)
        amplitude = _kernel(law)[1]
        plain = cls(edge=edge, scale=scale, amplitude=amplitude, below=0.0, doubt=0.0)
        seen = float(plain.seen(shown).sum())
        if seen < 1e-6 * amplitude:
            return none
        selection = ThresholdSelection.of(mechanism, edge=edge, scale=scale)
        excess, variance = selection.raw_law(shown, hidden=hidden, total=total).sum_of(selection.excess)
        below = excess / seen - 1
        return cls(
            edge=edge,
            scale=scale,
            amplitude=amplitude,
            below=below,
            doubt=variance / seen**2 + (_LEAST_DOUBT * below) ** 2,
        )

    def seen(self, shown: Floats, /) -> Floats:
        """What each shown value adds by itself; nothing where a value is NaN."""
        away = np.maximum(np.nan_to_num(shown, nan=np.inf) - self.edge, 0.0)
        return np.asarray(self.amplitude * np.exp(-away / self.scale))

    def added(self, shown: Floats, codes: Ints, size: int, /) -> tuple[Floats, Floats]:
        """The excess of each of `size` groups of values, and its variance; code -1 is in none."""
        inside = codes >= 0
        one = self.seen(shown[inside])
        seen = np.bincount(codes[inside], weights=one, minlength=size)
        chance = np.bincount(codes[inside], weights=one**2, minlength=size)
        whole = 1 + self.below
        return np.asarray(whole * seen), np.asarray(whole**2 * chance + self.doubt * seen**2)


def threshold_of(mechanism: Mechanism, /) -> tuple[float, float] | None:
    """Where the threshold of a mechanism lies among real numbers, and the scale of its noise; None without either."""
    if mechanism.threshold is None or not 0 < mechanism.law.variance < math.inf:
        return None
    edge = float(mechanism.threshold)
    if not mechanism.cuts_before_rounding:
        whole = mechanism.whole_threshold
        assert whole is not None
        edge = whole - 0.5
    return edge, _kernel(mechanism.law)[0]


def _kernel(law: Law, /) -> tuple[float, float]:
    """How fast the excess falls off with the distance from the threshold, and what a value there adds."""
    if isinstance(law, DiscreteLaplace):
        return law.scale, 1 / (2 * math.sinh(1 / (2 * law.scale)))
    if isinstance(law, Laplace | RoundedLaplace):
        return law.scale, law.scale * (1 + 1 / (24 * law.scale**2))
    # The variance times the histogram at the threshold, by values within one standard deviation of it.
    scale = max(math.sqrt(law.variance / 2), 0.5)
    return scale, law.variance / (2 * scale)
