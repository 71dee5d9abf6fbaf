"""The law of the error of an estimated sum, and the figures that a card states from it.

The error of a reconciled sum is a fixed linear combination of independent noises (`Design.influences`), and
that of a derived sum a plain sum of them. The law is worked out from its characteristic function phi,
the product of those of the noises, without a normal approximation.

Published values are whole: each estimate goes to one of its two neighbouring integers, which one is decided by
sums that must be kept. What is tabulated is therefore the law of E rounded up with the probability of its fraction,

    P(k) = E max(0, 1 - |E - k|) = 1/(2 pi) * integral of phi(t) sinc(t/2)^2 e^{-ikt} dt
         = 1/(2 pi) * integral over (-pi, pi) of  [sum over m of phi(t + 2 pi m) sinc(t/2 + pi m)^2]  e^{-ikt} dt,

a little wider than rounding to the nearest. A fast Fourier transform gives it for all k at once. If E is
whole anyway (sums of whole noise), the bracket is phi(t) and the law is exact; otherwise the sum over m
is cut at `_FOLDS`. Very wide laws are tabulated in units of a power of two, and half-widths are then rounded
up to that unit.

The figures hold for the signed estimate. Making counts non-negative shrinks errors near zero and biases small
counts; see `docs/explanation/margins.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import DiscreteLaplace, Gaussian, Laplace, LatticeLaw, Law
from noisegate.margins.design import Design, Influence, MeasuredTable
from noisegate.margins.shape import Table, TableShape

Floats = NDArray[np.float64]
Method = Literal["derive", "reconcile", "independent"]

_FOLDS = 64
_NEGLIGIBLE = 1e-13
_REACH_SDS = 32
_WIDEST_SD = 2048.0
_TAIL_NATS = 40.0


class Influenced(Protocol):
    """A design that knows how each measured noise enters the estimate of a sum."""

    def influences(self, box: Any, /) -> tuple[Influence, ...]:
        """How each measured noise enters the estimated sum over a box."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTerm:
    """`copies` independent draws from `law`, each times `coefficient`."""

    coefficient: float
    copies: int
    law: Law


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorFigures:
    """What a card says about the cells of one table; the same for all of them."""

    terms: int
    standard_deviation: float
    expected_absolute: float
    half_width: int
    level: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorLaw:
    """The law of a sum of independent noises with real coefficients, all symmetric about zero.

    Examples
    --------
    >>> law = ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=3, law=DiscreteLaplace(1.4)),))
    >>> law.half_width(0.95)
    7
    """

    terms: tuple[ErrorTerm, ...]

    @classmethod
    def of(cls, design: Influenced, laws: tuple[Law, ...], box: Any, /) -> ErrorLaw:
        """The error of the estimated sum over a box; `laws` are those of the measured tables."""
        found = design.influences(box)
        return cls(
            terms=tuple(
                ErrorTerm(coefficient=one.coefficient, copies=one.copies, law=laws[one.source])
                for one in found
                if one.coefficient != 0
            )
        )

    @property
    def standard_deviation(self) -> float:
        """Square root of the exact variance."""
        return math.sqrt(sum(t.copies * t.coefficient**2 * t.law.variance for t in self.terms))

    def half_width(self, level: float, /) -> int:
        """The smallest whole h such that the rounded error lies within h with probability `level`."""
        if not 0 < level < 1:
            raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
        unit, mass = self._tabulated()
        inside = mass[0] + 2 * np.concatenate([[0.0], np.cumsum(mass[1:])])
        # Up to what the transform's own error could hide; never narrower than the level asks.
        return unit * int(np.searchsorted(inside, level + _NEGLIGIBLE))

    @property
    def expected_absolute(self) -> float:
        """Mean distance of the rounded estimate from the truth."""
        unit, mass = self._tabulated()
        return float(unit * 2 * (mass @ np.arange(len(mass))))

    def _tabulated(self) -> tuple[int, Floats]:
        """A unit, and P(error = k units) for k = 0, 1, 2, ..."""
        sd = self.standard_deviation
        unit = 1 << max(0, math.ceil(math.log2(sd / _WIDEST_SD))) if sd > _WIDEST_SD else 1
        half = 1 << math.ceil(math.log2(_REACH_SDS * sd / unit + 64))
        t = math.pi * np.arange(half + 1) / half
        if unit == 1 and all(_whole(term) for term in self.terms):
            folded = self._phi(t)
        else:
            folded = self._folded(t, unit)
        mass = np.fft.irfft(folded)[: half + 1]
        return unit, np.maximum(mass, 0.0)

    def _folded(self, t: Floats, unit: int) -> Floats:
        """The bracket of the module's docstring, for the error in `unit`s."""
        total = self._phi(t / unit) * np.sinc(t / (2 * math.pi)) ** 2
        for m in range(1, _FOLDS + 1):
            pair = np.zeros_like(t)
            for shifted in (t + 2 * math.pi * m, t - 2 * math.pi * m):
                pair += self._phi(shifted / unit) * np.sinc(shifted / (2 * math.pi)) ** 2
            total += pair
            if float(np.abs(pair).max()) < _NEGLIGIBLE:
                break
        return total

    def _phi(self, t: Floats) -> Floats:
        product = np.ones_like(t)
        for term in self.terms:
            product *= characteristic(term.law, term.coefficient * t) ** term.copies
        return product


def characteristic(law: Law, t: Floats, /) -> Floats:
    """E cos(tX): the characteristic function of a law that is symmetric about zero."""
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        return np.asarray((1 - q) ** 2 / ((1 - q) ** 2 + 4 * q * np.sin(t / 2) ** 2))
    if isinstance(law, Laplace):
        return np.asarray(1 / (1 + (law.scale * t) ** 2))
    if isinstance(law, Gaussian):
        return np.asarray(np.exp(-0.5 * (law.scale * t) ** 2))
    if isinstance(law, LatticeLaw) and law.mean == 0:
        values = np.arange(1, law.reach(_TAIL_NATS) + 1)
        total = np.full(t.shape, math.exp(float(law.logpmf(0))))
        for value, mass in zip(values, np.exp(law.logpmf(values)), strict=True):
            total += 2 * mass * np.cos(value * t)
        return total
    raise SpecError(f"the error of sums of {law.name} noise is not worked out; use discrete-laplace.")


def error_figures(
    shape: TableShape,
    laws: Mapping[Table, Law],
    /,
    *,
    table: Table,
    method: Method,
    level: float = 0.95,
) -> ErrorFigures:
    """Expected absolute error and half-width of the cells of `table`.

    Parameters
    ----------
    shape
        That of the base.
    laws
        The noise of each measured table, the base among them.
    table
        The table to describe.
    method
        How its published values came about: sums of the base, least squares, or its own noise alone.
    level
        Of the half-width: the published value is within it of the truth with this probability at least.
    """
    law = _law_of(shape, laws, table, method)
    return ErrorFigures(
        terms=shape.terms(table),
        standard_deviation=law.standard_deviation,
        expected_absolute=law.expected_absolute,
        half_width=law.half_width(level),
        level=level,
    )


def _law_of(shape: TableShape, laws: Mapping[Table, Law], table: Table, method: Method, /) -> ErrorLaw:
    if shape.axes not in laws:
        raise SpecError("the base table must be among the measured tables.")
    if method == "independent":
        if table not in laws:
            raise SpecError("a table with independent noise must be among the measured tables.")
        return ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=1, law=laws[table]),))
    if method == "derive":
        base = laws[shape.axes]
        return ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=shape.terms(table), law=base),))
    if method == "reconcile":
        measured = tuple(MeasuredTable(table=t, variance=law.variance) for t, law in laws.items())
        design = Design(shape=shape, measured=measured)
        return ErrorLaw.of(design, tuple(laws.values()), design.cell_of(table))
    raise SpecError.for_choice("margins", found=method, allowed=("derive", "reconcile", "independent"))


def _whole(term: ErrorTerm, /) -> bool:
    """Whether the term takes whole values only."""
    return term.law.lattice and float(term.coefficient).is_integer()
