"""How far a draw is from its ideal law, at most: proven in docs/proofs/exact-noise.md."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from noisegate.errors import SpecError
from noisegate.laws.exact.gaussian import discrete_gaussian_runs
from noisegate.laws.exact.geometric import bernoulli_table, geometric_runs
from noisegate.laws.exact.laplace import discrete_laplace_runs, rounded_laplace_runs
from noisegate.laws.exact.parameters import Number, as_probability, as_scale, as_sigma
from noisegate.laws.exact.table import UNIFORM_BITS

#: Every draw of every law here is within 2**-DISTANCE_BOUND_BITS of its ideal law in total variation.
DISTANCE_BOUND_BITS = 170

_BOUNDS: dict[str, Callable[[Number], Fraction]] = {
    "discrete-laplace": lambda scale: discrete_laplace_runs(as_scale(scale)).distance_bound,
    "discrete-gaussian": lambda sigma: discrete_gaussian_runs(as_sigma(sigma)).distance_bound,
    "rounded-laplace": lambda scale: rounded_laplace_runs(as_scale(scale)).distance_bound,
    "uniform": lambda _: Fraction(0),
    "random-rounding": lambda _: Fraction(0),
    "geometric": lambda success: geometric_runs(as_probability(success)).distance_bound,
    "bernoulli": lambda success: Fraction(
        bernoulli_table(as_probability(success)).outcomes, 1 << UNIFORM_BITS
    ),
}


def distance_bound(law: str, parameter: Number, /) -> Fraction:
    """Proven bound on the total-variation distance of one draw from the law with exactly this parameter.

    Of n independent draws together, n times as much. A release that would be (ε, δ)-private with
    ideal draws is (ε, δ + (1 + e^ε) n bound)-private with these.

    Examples
    --------
    >>> distance_bound("discrete-laplace", 1.4) < 2**-180
    True
    """
    if law not in _BOUNDS:
        raise SpecError.for_choice("law", found=law, allowed=_BOUNDS)
    return _BOUNDS[law](parameter)
