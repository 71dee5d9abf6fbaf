"""The noise laws that recovery chooses among, and what may be said about each.

A published table shows whether values are whole, so the rounded and the discrete law of a family
are rivals on whole residuals, and the continuous one takes whatever is not whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from noisegate.errors import SpecError
from noisegate.laws import (
    BoundedUniform,
    DiscreteGaussian,
    DiscreteLaplace,
    Floats,
    Gaussian,
    Laplace,
    Law,
    RandomRounding,
    RoundedGaussian,
    RoundedLaplace,
)

Rounding = Literal["none", "nearest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One law that may have made the noise.

    Attributes
    ----------
    name
        How `laws=` and `evidence` call it.
    family
        Laws of one family differ only in how they come to be whole.
    law, rounding
        How a fit reports it.
    whole_values
        Whether it makes whole residuals.
    least
        The smallest scale, for laws whose scale is a whole number; 0 for the others.
    per_sd
        The scale for a noise of standard deviation one, about.
    """

    name: str
    family: str
    law: str
    rounding: Rounding
    make: Callable[[float], Law]
    whole_values: bool
    least: int
    per_sd: float

    def scales(self, sd: Floats, /) -> Floats:
        """The scales of noises with about these standard deviations, increasing, without repeats."""
        scale = np.asarray(sd, dtype=float) * self.per_sd
        return np.unique(np.maximum(np.rint(scale), self.least)) if self.least else scale


_ROOT_HALF, _ROOT3, _ROOT6 = math.sqrt(0.5), math.sqrt(3), math.sqrt(6)

CANDIDATES: dict[str, Candidate] = {
    c.name: c
    for c in (
        Candidate(
            name="rounded-laplace",
            family="laplace",
            law="laplace",
            rounding="nearest",
            make=RoundedLaplace,
            whole_values=True,
            least=0,
            per_sd=_ROOT_HALF,
        ),
        Candidate(
            name="discrete-laplace",
            family="laplace",
            law="discrete-laplace",
            rounding="none",
            make=DiscreteLaplace,
            whole_values=True,
            least=0,
            per_sd=_ROOT_HALF,
        ),
        Candidate(
            name="laplace",
            family="laplace",
            law="laplace",
            rounding="none",
            make=Laplace,
            whole_values=False,
            least=0,
            per_sd=_ROOT_HALF,
        ),
        Candidate(
            name="rounded-gaussian",
            family="gaussian",
            law="gaussian",
            rounding="nearest",
            make=RoundedGaussian,
            whole_values=True,
            least=0,
            per_sd=1.0,
        ),
        Candidate(
            name="discrete-gaussian",
            family="gaussian",
            law="discrete-gaussian",
            rounding="none",
            make=DiscreteGaussian,
            whole_values=True,
            least=0,
            per_sd=1.0,
        ),
        Candidate(
            name="gaussian",
            family="gaussian",
            law="gaussian",
            rounding="none",
            make=Gaussian,
            whole_values=False,
            least=0,
            per_sd=1.0,
        ),
        Candidate(
            name="uniform",
            family="uniform",
            law="uniform",
            rounding="none",
            make=BoundedUniform,
            whole_values=True,
            least=1,
            per_sd=_ROOT3,
        ),
        Candidate(
            name="random-rounding",
            family="random-rounding",
            law="random-rounding",
            rounding="none",
            make=RandomRounding,
            whole_values=True,
            least=2,
            per_sd=_ROOT6,
        ),
    )
}

#: The family that is named as long as no other is clear.
PRESUMED = "laplace"
#: Prior weight of each family. Released counts mostly carry Laplace noise; the weight decides only
#: where the residuals do not.
FAMILY_WEIGHT: dict[str, float] = {"laplace": 4.0, "gaussian": 1.0, "uniform": 1.0, "random-rounding": 1.0}


def eligible(laws: Sequence[str], /, *, whole: bool, grid: int) -> list[Candidate]:
    """The candidates among `laws` that can make such residuals at all.

    Random rounding needs published values that are all multiples of one base.
    """
    for name in laws:
        if name not in CANDIDATES:
            raise SpecError.for_choice("law", found=name, allowed=CANDIDATES)
    chosen = [CANDIDATES[name] for name in dict.fromkeys(laws)]
    return [c for c in chosen if c.whole_values == whole and (c.name != "random-rounding" or grid >= c.least)]


def prior_weights(candidates: Sequence[Candidate], /) -> Floats:
    """The prior probability of each candidate: a family's weight, shared equally by its members."""
    families = [c.family for c in candidates]
    weight = np.array([FAMILY_WEIGHT[f] / families.count(f) for f in families])
    return np.asarray(weight / weight.sum())
