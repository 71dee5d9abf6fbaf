"""Laws on the integers for errors that are combinations of independent noises."""

from __future__ import annotations

import math

import numpy as np

from noisegate.laws import LatticeLaw, RoundedGaussian, Tabulated
from noisegate.margins import ErrorLaw, characteristic

#: Wider than this a normal law is as good, and a table of the law is long.
_WIDEST_SD = 300.0
_REACH_SDS = 32.0
_FOLDS = 8
_LEAST_LOG = -60.0


def lattice_law(error: ErrorLaw, /) -> LatticeLaw:
    """The law of a rounded error as a law of noise: what `ErrorLaw` describes, on the integers.

    The rounding is to one of the two neighbouring integers, by the fraction (see `core.margins.error`).

    Examples
    --------
    >>> from noisegate.laws import DiscreteLaplace
    >>> from noisegate.margins import ErrorTerm
    >>> law = lattice_law(ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=2, law=DiscreteLaplace(1.4)),)))
    >>> round(law.variance, 6) == round(2 * DiscreteLaplace(1.4).variance, 6)
    True
    """
    only = error.terms[0] if len(error.terms) == 1 else None
    if only is not None and only.coefficient == 1 and only.copies == 1 and isinstance(only.law, LatticeLaw):
        return only.law
    sd = error.standard_deviation
    if sd > _WIDEST_SD:
        return RoundedGaussian(sd)
    half = 1 << math.ceil(math.log2(_REACH_SDS * sd + 64))
    t = math.pi * np.arange(half + 1) / half
    if all(term.law.lattice and float(term.coefficient).is_integer() for term in error.terms):
        folded = _phi(error, t)
    else:
        folded = sum(
            (
                _phi(error, shifted) * np.sinc(shifted / (2 * math.pi)) ** 2
                for m in range(-_FOLDS, _FOLDS + 1)
                for shifted in [t + 2 * math.pi * m]
            ),
            start=np.zeros_like(t),
        )
    mass = np.maximum(np.fft.irfft(folded)[: half + 1], 0.0)
    kept = max(1, int(np.flatnonzero(mass > 1e-15 * mass.max())[-1]) + 1)
    logs = np.maximum(np.log(np.maximum(mass[:kept], 1e-300)), _LEAST_LOG)
    return Tabulated.symmetric(logs)


def _phi(
    error: ErrorLaw, t: np.ndarray[tuple[int], np.dtype[np.float64]], /
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    product = np.ones_like(t)
    for term in error.terms:
        product *= characteristic(term.law, term.coefficient * t) ** term.copies
    return product
