"""What an attacker believes about the cells before looking at the tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.errors import SpecError
from noisegate.inference.linked.problem import Floats, Ints


@dataclass(frozen=True, slots=True)
class Flat:
    """Every count is as likely as any other: the attacker with minimal knowledge."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NegativeBinomial:
    """Over-dispersed counts, one mean for every cell: the informed attacker.

    Cell i has variance `mean[i] + mean[i]**2 / shape[i]`; with probability `zero_share[i]` it is
    zero for a reason of its own (no service). A shape of 1e9 is as good as Poisson.
    """

    mean: Floats
    shape: Floats
    zero_share: Floats

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64)
        if mean.ndim != 1 or not (np.isfinite(mean) & (mean >= 0)).all():
            raise SpecError("prior means must be a list of finite numbers of at least 0.")
        shape = np.broadcast_to(np.asarray(self.shape, dtype=np.float64), mean.shape).copy()
        share = np.broadcast_to(np.asarray(self.zero_share, dtype=np.float64), mean.shape).copy()
        if not (np.isfinite(shape) & (shape > 0)).all():
            raise SpecError("prior shapes must be finite and above 0.")
        if not ((share >= 0) & (share < 1)).all():
            raise SpecError("shares of zeros must be at least 0 and below 1.")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "zero_share", share)

    def at(self, cells: Ints, /) -> NegativeBinomial:
        """The prior of some of the cells."""
        return NegativeBinomial(
            mean=self.mean[cells], shape=self.shape[cells], zero_share=self.zero_share[cells]
        )


Prior = Flat | NegativeBinomial
