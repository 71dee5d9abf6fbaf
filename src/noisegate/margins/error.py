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

*derive*: a sum of as many independent noises of the base as there are base cells. *independent*: the same with the table's
own noise. *reconcile*: the error of the least-squares estimate, a fixed combination of the noises of all measured
tables; the same whichever table the sum is read from. All of it is public: it follows from the plan of a release.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import (
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LatticeLaw,
    Law,
    RoundedLaplace,
)
from noisegate.margins.design import Design, Influence, MeasuredTable, Table, TableShape
from noisegate.margins.pieces import AnyPiece, pieces
from noisegate.tables import Domain, Groups, Ints, Margin, Selection

Floats = NDArray[np.float64]
Method = Literal["derive", "reconcile", "independent"]

_FOLDS = 64
_NEGLIGIBLE = 1e-13
_REACH_SDS = 32
_WIDEST_SD = 2048.0
_TAIL_NATS = 40.0
#: Bells are taken to end this many standard deviations out, and sums over integers turned round from this scale on.
_TAIL_SDS, _POISSON_SCALE = 9.0, 0.5


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
        unit, mass = _tabulated(self)
        inside = mass[0] + 2 * np.concatenate([[0.0], np.cumsum(mass[1:])])
        # Up to what the transform's own error could hide; never narrower than the level asks.
        return unit * int(np.searchsorted(inside, level + _NEGLIGIBLE))

    @property
    def expected_absolute(self) -> float:
        """Mean distance of the rounded estimate from the truth."""
        unit, mass = _tabulated(self)
        return float(unit * 2 * (mass @ np.arange(len(mass))))

    def tabulated(self) -> tuple[int, Floats]:
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


@lru_cache(maxsize=8)  # every law is asked for its mean distance and its half-width
def _tabulated(law: ErrorLaw, /) -> tuple[int, Floats]:
    return law.tabulated()


def characteristic(law: Law, t: Floats, /) -> Floats:
    """E cos(tX): the characteristic function of a law that is symmetric about zero."""
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        return np.asarray((1 - q) ** 2 / ((1 - q) ** 2 + 4 * q * np.sin(t / 2) ** 2))
    if isinstance(law, Laplace):
        return np.asarray(1 / (1 + (law.scale * t) ** 2))
    if isinstance(law, Gaussian):
        return np.asarray(np.exp(-0.5 * (law.scale * t) ** 2))
    if isinstance(law, RoundedLaplace):
        q = math.exp(-1 / law.scale)
        tails = q * (np.cos(t) - q) / ((1 - q) ** 2 + 4 * q * np.sin(t / 2) ** 2)
        return np.asarray(-math.expm1(-0.5 / law.scale) + 2 * math.sinh(0.5 / law.scale) * tails)
    if isinstance(law, DiscreteGaussian) and law.scale >= _POISSON_SCALE:
        return _discrete_gaussian(law.scale, t)
    if isinstance(law, LatticeLaw) and law.mean == 0:
        values = np.arange(1, law.reach(_TAIL_NATS) + 1)
        total = np.full(t.shape, math.exp(float(law.logpmf(0))))
        for value, mass in zip(values, np.exp(law.logpmf(values)), strict=True):
            total += 2 * mass * np.cos(value * t)
        return total
    raise SpecError(f"the error of sums of {law.name} noise is not worked out; use discrete-laplace.")


def _discrete_gaussian(scale: float, t: Floats, /) -> Floats:
    """By Poisson summation: the wide bell that a sum over all integers is, has a narrow one as its transform."""
    turn = 2 * math.pi
    near = t - turn * np.round(t / turn)
    away = range(1, 1 + math.ceil(_TAIL_SDS / (turn * scale) + 0.5))
    total = np.exp(-0.5 * (scale * near) ** 2)
    for m in away:
        total += np.exp(-0.5 * (scale * (near + turn * m)) ** 2)
        total += np.exp(-0.5 * (scale * (near - turn * m)) ** 2)
    return np.asarray(total / (1 + 2 * sum(math.exp(-0.5 * (scale * turn * m) ** 2) for m in away)))


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumErrors:
    """The tables of a release: `laws` holds the noise of each measured one, the base under its own name."""

    domain: Domain
    base: str
    margins: Mapping[str, Margin]
    laws: Mapping[str, LatticeLaw]
    method: Method
    parts: tuple[AnyPiece, ...]

    @classmethod
    def of(
        cls,
        domain: Domain,
        /,
        *,
        base: str,
        margins: Mapping[str, Margin],
        laws: Mapping[str, LatticeLaw],
        method: Method,
    ) -> SumErrors:
        """The errors of a release's sums; refuses margins that cannot be reconciled."""
        parts = pieces(domain, margins) if method == "reconcile" else ()
        return cls(domain=domain, base=base, margins=margins, laws=laws, method=method, parts=parts)

    def tables(self, selection: Selection, /) -> dict[str, Groups]:
        """The selected cells of every table that can answer."""
        domains = {self.base: self.domain, **{name: m.domain for name, m in self.margins.items()}}
        return {
            name: selection.groups(domain)
            for name, domain in domains.items()
            if selection.restricted <= set(domain.names)
        }

    def best_table(self, cells_of: Mapping[str, Groups], /) -> str:
        """The table whose sums have the least noise; where tables agree, the one with the fewest cells."""

        def noise(name: str) -> float:
            terms = cells_of[name].counts()
            mean = float(terms[terms > 0].mean()) if (terms > 0).any() else math.inf
            if self.method == "reconcile":
                return mean
            return mean * self.laws[name].variance if name in self.laws else math.inf

        return self.base if self.method == "derive" else min(cells_of, key=noise)

    def laws_of(self, cells: Groups, table: str, groups: Ints, /) -> list[ErrorLaw]:
        """The law of the error of each of these groups' sums, read from `table`."""
        if self.method != "reconcile":
            law, terms = self.laws[table if self.method == "independent" else self.base], cells.counts()
            made = {
                n: ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=n, law=law),))
                for n in set(terms[groups].tolist())
            }
            return [made[n] for n in terms[groups].tolist()]
        known: dict[bytes, ErrorLaw] = {}
        boxes = [piece.boxes(cells) for piece in self.parts]
        found = []
        for group in groups.tolist():
            own = [one[group] for one in boxes]
            key = b"".join(one.tobytes() for one in own)
            if key not in known:
                known[key] = self._of_boxes(own)
            found.append(known[key])
        return found

    def _of_boxes(self, boxes: Sequence[Ints], /) -> ErrorLaw:
        terms: list[ErrorTerm] = []
        names = {self.base: self.domain.names, **{name: m.domain.names for name, m in self.margins.items()}}
        for piece, taken in zip(self.parts, boxes, strict=True):
            box = piece.box(taken)
            if box is not None:
                design = piece.design({names[name]: law.variance for name, law in self.laws.items()})
                terms += ErrorLaw.of(design, tuple(self.laws.values()), box).terms
        return ErrorLaw(terms=tuple(terms))
