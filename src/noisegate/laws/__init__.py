"""Noise laws: what is added to a count before it is published (MATH 1)."""

from __future__ import annotations

from noisegate.errors import SpecError
from noisegate.laws import exact
from noisegate.laws._law import LARGEST, ContinuousLaw, Floats, Ints, LatticeLaw, Law, log_subtract
from noisegate.laws.bounded import BoundedUniform, NearestRounding, PointMass, RandomRounding
from noisegate.laws.compiled import compiled, spare_linear_algebra
from noisegate.laws.entropy import Entropy, OsNoise, SeededNoise, as_entropy, as_rng
from noisegate.laws.exact.gaussian import discrete_gaussian_runs
from noisegate.laws.exact.geometric import bernoulli_table, geometric_runs
from noisegate.laws.exact.laplace import discrete_laplace_runs, rounded_laplace_runs
from noisegate.laws.exact.runs import CHUNK, REACH
from noisegate.laws.exact.table import OutcomeTable
from noisegate.laws.exact.uniform import below
from noisegate.laws.gaussian import DiscreteGaussian, Gaussian, RoundedGaussian
from noisegate.laws.laplace import (
    DiscreteLaplace,
    DiscreteLaplaceSum,
    Laplace,
    LaplaceSum,
    RoundedLaplace,
    fourth_cumulant,
)
from noisegate.laws.tabulated import Tabulated, convolve

__all__ = [
    "CHUNK",
    "LARGEST",
    "LAWS",
    "REACH",
    "BoundedUniform",
    "ContinuousLaw",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscreteLaplaceSum",
    "Entropy",
    "Floats",
    "Gaussian",
    "Ints",
    "Laplace",
    "LaplaceSum",
    "LatticeLaw",
    "Law",
    "NearestRounding",
    "OsNoise",
    "OutcomeTable",
    "PointMass",
    "RandomRounding",
    "RoundedGaussian",
    "RoundedLaplace",
    "SeededNoise",
    "Tabulated",
    "as_entropy",
    "as_rng",
    "below",
    "bernoulli_table",
    "compiled",
    "convolve",
    "discrete_gaussian_runs",
    "discrete_laplace_runs",
    "exact",
    "fourth_cumulant",
    "geometric_runs",
    "log_subtract",
    "make_law",
    "rounded_laplace_runs",
    "spare_linear_algebra",
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
