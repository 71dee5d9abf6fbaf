"""Perturbing all cells of a table, zeros included, without visiting the zeros (MATH 6).

A table has `size` cells, few of them non-zero. A zero is published with probability q = P(the
noise reaches the cut), independently of all others; so the gaps between published zeros are
geometric, and what is published there is the tail of the noise. The work is proportional to the
non-zero cells and the published ones. `perturb_dense` visits every cell; it is the same mechanism,
the one that a table without a cut needs, and the oracle in tests.

Cell numbers may be those of a slice of a larger domain: perturbing slices one after the other,
or on different machines, gives the same distribution as perturbing the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Entropy,
    LatticeLaw,
    RoundedLaplace,
    as_entropy,
    exact,
)
from noisegate.mechanisms.mechanism import Mechanism, Zeros

Ints = NDArray[np.int64]
NoiseName = Literal["discrete-laplace", "rounded-laplace", "discrete-gaussian"]


@dataclass(frozen=True, slots=True)
class _Sampler:
    law: type[LatticeLaw]
    draw: Callable[..., Ints]
    above: Callable[..., Ints]
    tail: Callable[..., Decimal]


_SAMPLERS: dict[str, _Sampler] = {
    "discrete-laplace": _Sampler(
        DiscreteLaplace, exact.discrete_laplace, exact.discrete_laplace_above, exact.discrete_laplace_tail
    ),
    "rounded-laplace": _Sampler(
        RoundedLaplace, exact.rounded_laplace, exact.rounded_laplace_above, exact.rounded_laplace_tail
    ),
    "discrete-gaussian": _Sampler(
        DiscreteGaussian, exact.discrete_gaussian, exact.discrete_gaussian_above, exact.discrete_gaussian_tail
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedNoise:
    """Integer noise that can be published: a law with an exact scale and an exact sampler."""

    name: NoiseName
    scale: Fraction

    def __post_init__(self) -> None:
        if self.name not in _SAMPLERS:
            raise SpecError.for_choice("law", found=self.name, allowed=_SAMPLERS)
        widest = exact.LARGEST_SIGMA if self.name == "discrete-gaussian" else exact.LARGEST_SCALE
        if not 0 < self.scale <= widest:
            raise SpecError.for_value(
                f"the scale of {self.name} noise",
                found=float(self.scale),
                allowed=f"above 0 and at most {widest:,}",
                way_out="A small epsilon makes it large.",
            )

    @property
    def law(self) -> LatticeLaw:
        """The law, for calculations."""
        make: Any = _SAMPLERS[self.name].law
        made: LatticeLaw = make(float(self.scale))
        return made

    def draw(self, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` exact draws."""
        return _SAMPLERS[self.name].draw(self.scale, size, entropy=entropy)

    def above(self, threshold: int, size: int, /, *, entropy: Entropy) -> Ints:
        """`size` exact draws, given that each is above `threshold`."""
        return _SAMPLERS[self.name].above(self.scale, threshold, size, entropy=entropy)

    def passing(self, threshold: int, /) -> Decimal:
        """P(noise >= threshold), to 70 digits, for a threshold of at least 1."""
        return _tail(self.name, self.scale, threshold - 1)


@lru_cache(maxsize=64)
def _tail(name: str, scale: Fraction, threshold: int, /) -> Decimal:
    """Worked out once for all slices of a table."""
    return _SAMPLERS[name].tail(scale, threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """Noise, and what becomes of zeros and small values: values of at least `threshold` are published."""

    noise: PublishedNoise
    threshold: int | None = None
    zeros: Zeros = "perturb"

    @property
    def mechanism(self) -> Mechanism:
        """The same as a mechanism, for calculations."""
        return Mechanism(law=self.noise.law, threshold=self.threshold, rule="ge", zeros=self.zeros)

    def shows(self, values: Ints, /) -> NDArray[np.bool_]:
        """Which noisy values are published. Zeros that are kept are left out, so noisy ones are too."""
        shown = np.ones(len(values), bool) if self.threshold is None else values >= self.threshold
        return shown & (values != 0) if self.zeros == "keep" else shown


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublishedCells:
    """What is published of a table: cell numbers in ascending order and a value for each."""

    cells: Ints
    values: Ints


def perturb(
    cells: Ints, raw_counts: Ints, /, *, size: int, perturbation: Perturbation, entropy: Entropy
) -> PublishedCells:
    """The published cells of a table of `size` cells, of which `cells` (ascending) have `raw_counts`.

    Guarantee: the same distribution as adding noise to every cell and cutting, up to the bound of
    the exact samplers (docs/proofs/exact-noise.md).
    """
    as_entropy(entropy)
    if perturbation.zeros == "perturb" and (perturbation.threshold is None or perturbation.threshold < 1):
        return perturb_dense(cells, raw_counts, size=size, perturbation=perturbation, entropy=entropy)
    values = raw_counts + perturbation.noise.draw(len(cells), entropy=entropy)
    shown = perturbation.shows(values)
    found = PublishedCells(cells=cells[shown], values=values[shown])
    if perturbation.zeros == "keep" or perturbation.threshold is None:
        return found
    ranks = exact.successes(
        size - len(cells), perturbation.noise.passing(perturbation.threshold), entropy=entropy
    )
    spurious = perturbation.noise.above(perturbation.threshold - 1, len(ranks), entropy=entropy)
    return _merged(found, PublishedCells(cells=_nth_zeros(ranks, cells), values=spurious))


def perturb_dense(
    cells: Ints, raw_counts: Ints, /, *, size: int, perturbation: Perturbation, entropy: Entropy
) -> PublishedCells:
    """The same as `perturb`, visiting every cell."""
    values = perturbation.noise.draw(size, entropy=as_entropy(entropy))
    values[cells] += raw_counts
    if perturbation.threshold is None and perturbation.zeros == "perturb":
        return PublishedCells(cells=np.arange(size), values=values)
    shown = perturbation.shows(values)
    if perturbation.zeros == "keep":
        kept = np.zeros(size, bool)
        kept[cells] = True
        shown &= kept
    where = np.flatnonzero(shown)
    return PublishedCells(cells=where, values=values[where])


def perturb_whole(raw_counts: Ints, /, *, noise: PublishedNoise, entropy: Entropy) -> Ints:
    """The noisy value of every cell of a table of which every raw count is given: `perturb_dense` with nothing cut or kept."""
    values = noise.draw(len(raw_counts), entropy=as_entropy(entropy))
    values += raw_counts
    return values


def _nth_zeros(ranks: Ints, cells: Ints, /) -> Ints:
    """The cell numbers of the zeros with these ranks, given the non-zero `cells` in ascending order.

    Before cell c_i there are c_i - i zeros; the zero of rank r has as many non-zero cells before it
    as there are i with c_i - i <= r.
    """
    before = cells - np.arange(len(cells))
    return np.asarray(ranks + np.searchsorted(before, ranks, side="right"))


def _merged(one: PublishedCells, other: PublishedCells, /) -> PublishedCells:
    cells = np.concatenate([one.cells, other.cells])
    order = np.argsort(cells, kind="stable")
    return PublishedCells(cells=cells[order], values=np.concatenate([one.values, other.values])[order])
