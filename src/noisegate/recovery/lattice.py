"""The lattice on which residual laws are worked out, and the noise laws on it.

Whole residuals live on the integers. Others are put on a lattice much finer than the noise, and
whole ones of very wide noise on a coarser one; a law's mass at a point is then what it gives to the
cell around it. Sums are products of Fourier transforms on a ring of `points`, wide enough for
nothing to come round; probabilities below about 1e-15 are not told apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from noisegate.laws import Floats, Ints, LatticeLaw, Law
from noisegate.recovery.edge import spread
from noisegate.recovery.identities import ResidualIdentities

Spectra = NDArray[np.complex128]

#: Shells of contamination: an identity may be off by 1.5-3, 3-6, 6-12 or 12-24 spreads of the residual.
SHELLS = (1.5, 3.0, 6.0, 12.0)
OUTERMOST = 2 * SHELLS[-1]
_COARSE_ABOVE = 100.0
_MOST_POINTS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The multiples of `step` on a ring of `points`, for one set of identities.

    `width` is the spread of its residuals, `centre` their median; residuals more than 24 spreads
    away from it are moved to that distance.
    """

    step: float
    width: float
    centre: float
    points: int

    @property
    def values(self) -> Ints:
        """The lattice numbers in the order of the transform: 0, 1, ..., -2, -1."""
        return np.asarray(fft.fftfreq(self.points, 1 / self.points)).round().astype(np.int64)

    def place(self, residual: Floats, /) -> Ints:
        """The lattice number of each residual, as far out as the lattice goes."""
        reach = OUTERMOST * self.width
        inside = np.clip(residual, self.centre - reach, self.centre + reach)
        return np.rint(inside / self.step).astype(np.int64)

    def shells(self) -> Floats:
        """The chance of being off by each lattice number, one row a shell of contamination."""
        away = np.abs(self.values) * self.step
        edges = np.array([*SHELLS, OUTERMOST]) * self.width
        inside = (away > edges[:-1, None]) & (away <= edges[1:, None])
        return np.asarray(inside / inside.sum(axis=1, keepdims=True))

    def masses(self, laws: Sequence[Law], /) -> Floats:
        """The mass of each law at every lattice number, one row a law."""
        values = self.values
        if self.step == 1.0 and all(isinstance(law, LatticeLaw) for law in laws):
            logs = [law.logpmf(values) for law in laws if isinstance(law, LatticeLaw)]
        else:
            low, high = (values - 0.5) * self.step, (values + 0.5) * self.step
            logs = [law.log_between(low, high) for law in laws]
        mass = np.exp(np.stack(logs))
        return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def common_step(sets: Sequence[ResidualIdentities], /) -> float:
    """The lattice step that suits all sets."""
    sd = min(_noise_sd(s, step=0.0) for s in sets)
    if all(s.whole for s in sets):
        return 1.0 if sd <= _COARSE_ABOVE else 2.0 * round(sd / 64) + 1
    return sd / 24 if sd > 0 else 1e-6


def lattice_for(identities: ResidualIdentities, /, *, step: float, widest: float) -> Lattice:
    """The lattice for a set, when one noise has a standard deviation of at most `widest`."""
    residual = identities.low[identities.seen]
    width = spread(residual, step=step)
    centre = float(np.median(residual)) if len(residual) else 0.0
    noises = float(identities.noises.sum(axis=1).max())
    hidden = float(identities.missing.max()) * max(identities.cut, 0.0) if identities.missing.any() else 0.0
    reach = abs(centre) + 2 * OUTERMOST * width + 8 * widest * math.sqrt(noises) + hidden
    points = fft.next_fast_len(min(math.ceil(2 * reach / step), _MOST_POINTS), real=True)
    return Lattice(step=step, width=width, centre=centre, points=points + points % 2)


def noise_sd(sets: Sequence[ResidualIdentities], /, *, step: float) -> float:
    """A first guess at the standard deviation of one noise."""
    return float(np.median([_noise_sd(s, step=step) for s in sets]))


def _noise_sd(identities: ResidualIdentities, /, *, step: float) -> float:
    usable = identities.seen & (identities.missing == 0)
    if not usable.any():
        usable = identities.seen
    if not usable.any():
        return max(step, 1.0)
    each = identities.low[usable] / np.sqrt(identities.noises[usable].sum(axis=1))
    return spread(each, step=step / 4)
