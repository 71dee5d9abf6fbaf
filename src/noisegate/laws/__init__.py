"""Noise laws: what is added to a count before it is published (MATH 1)."""

from __future__ import annotations

from noisegate.errors import SpecError
from noisegate.laws import exact
from noisegate.laws._law import ContinuousLaw, LatticeLaw, Law, log_subtract
from noisegate.laws.bounded import BoundedUniform, PointMass, RandomRounding
from noisegate.laws.compiled import compiled
from noisegate.laws.entropy import Entropy, OsNoise, SeededNoise, as_entropy, as_rng
from noisegate.laws.gaussian import DiscreteGaussian, Gaussian, RoundedGaussian
from noisegate.laws.laplace import DiscreteLaplace, DiscreteLaplaceSum, Laplace, LaplaceSum, RoundedLaplace
from noisegate.laws.tabulated import Tabulated, convolve

__all__ = [
    "LAWS",
    "BoundedUniform",
    "ContinuousLaw",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteLaplaceSum",
    "Entropy",
    "Gaussian",
    "Laplace",
    "LaplaceSum",
    "LatticeLaw",
    "Law",
    "OsNoise",
    "PointMass",
    "RandomRounding",
    "RoundedGaussian",
    "RoundedLaplace",
    "SeededNoise",
    "Tabulated",
    "as_entropy",
    "as_rng",
    "compiled",
    "convolve",
    "exact",
    "log_subtract",
    "make_law",
]

#: The laws a person can name, each with one parameter, its scale.
LAWS: dict[str, type[Law]] = {
    law.name: law
    for law in (
        Laplace,
        RoundedLaplace,
        DiscreteLaplace,
        Gaussian,
        DiscreteGaussian,
        BoundedUniform,
        RandomRounding,
    )
}


def make_law(name: str, /, *, scale: float) -> Law:
    """The law called `name` with parameter `scale`.

    Examples
    --------
    >>> make_law("discrete-laplace", scale=1.4)
    DiscreteLaplace(scale=1.4)
    """
    if name not in LAWS:
        raise SpecError.for_choice("law", found=name, allowed=LAWS)
    return LAWS[name](scale)  # type: ignore[call-arg]  # every named law takes its scale
