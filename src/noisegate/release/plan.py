"""What a release will do, settled before any event is read: noise, cuts and loss of every table.

The plan is a function of the spec alone, so nothing in it is secret. The loss is worked out here
once, exactly, and then charged, printed and written on the card.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from noisegate.core.composition import Contribution, composed_delta
from noisegate.core.margins import (
    Design,
    ErrorFigures,
    ErrorLaw,
    ErrorTerm,
    MeasuredTable,
    Piece,
    best_split,
    pieces,
)
from noisegate.core.perturb import NoiseName, Perturbation, PublishedNoise
from noisegate.errors import SpecError
from noisegate.release.loss import Loss, LossStatement, state_losses
from noisegate.spec import ReleaseSpec

#: The level of the intervals that a card states.
LEVEL = 0.95

_PUBLISHED_LAW: dict[str, NoiseName] = {
    "laplace": "rounded-laplace",
    "rounded-laplace": "rounded-laplace",
    "discrete-laplace": "discrete-laplace",
    "discrete-gaussian": "discrete-gaussian",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """How one table is made. `noise` is None for a table that is only summed from others."""

    name: str
    dimensions: tuple[str, ...]
    cells: int
    share: Fraction | None
    noise: PublishedNoise | None
    least: int | None
    error: ErrorFigures

    @property
    def spurious(self) -> float | None:
        """The share of empty cells that the noise alone carries over the cut; None without a cut."""
        if self.least is None or self.noise is None or self.least < 1:
            return None
        return float(self.noise.passing(self.least))


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a whole release is made, and what it costs."""

    spec: ReleaseSpec
    tables: tuple[TablePlan, ...]
    charged: Loss
    losses: LossStatement

    @property
    def base(self) -> TablePlan:
        """The finest table."""
        return next(table for table in self.tables if table.name == self.spec.base)

    @property
    def margins(self) -> tuple[TablePlan, ...]:
        """The other tables."""
        return tuple(table for table in self.tables if table.name != self.spec.base)

    def perturbation(self, table: TablePlan, /) -> Perturbation:
        """The noise and cut of a measured table, as the samplers take it."""
        if table.noise is None:
            raise SpecError(f"table {table.name!r} is not measured.")
        return Perturbation(noise=table.noise, least=table.least, zeros=self.spec.privacy.zeros)


def make_plan(spec: ReleaseSpec, /) -> Plan:
    """The plan of a release; refuses what cannot be made, before anything is read or spent."""
    return _Planner(spec).plan()


@dataclass(frozen=True)
class _Planner:
    spec: ReleaseSpec

    def plan(self) -> Plan:
        tables = tuple(self._table(name) for name in self.spec.tables)
        noises = {table.name: table.noise for table in tables if table.noise is not None}
        losses = state_losses(self.spec, {n: (noise, self._least(n)) for n, noise in noises.items()})
        return Plan(spec=self.spec, tables=tables, charged=losses.unit, losses=losses)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The parts of the domain that are reconciled; refuses margins that cannot be."""
        return pieces(self.spec.domain, self.spec.margins)

    @cached_property
    def shares(self) -> dict[str, Fraction]:
        """The share of the loss that each table is measured with; 0 for one that is only summed."""
        privacy, names = self.spec.privacy, list(self.spec.tables)
        if privacy.split is not None:
            return dict(privacy.split)
        if privacy.margins == "derive":
            return {name: Fraction(int(name == self.spec.base)) for name in names}
        if privacy.margins == "independent" or privacy.scale is not None:
            return dict.fromkeys(names, Fraction(1, len(names)))
        return best_split([piece.shape for piece in self.pieces], self.spec.tables)

    @cached_property
    def noises(self) -> dict[str, PublishedNoise]:
        """The noise of every measured table."""
        name = _PUBLISHED_LAW[self.spec.privacy.law]
        if self.spec.privacy.margins == "reconcile":
            _ = self.pieces
        return {
            table: PublishedNoise(name=name, scale=self._scale(share))
            for table, share in self.shares.items()
            if share > 0
        }

    def _scale(self, share: Fraction, /) -> Fraction:
        privacy = self.spec.privacy
        if privacy.scale is not None:
            return privacy.scale
        if privacy.epsilon is None:
            raise SpecError("privacy must state epsilon or scale.")
        if privacy.law == "discrete-gaussian":
            return self._gaussian_scale / Fraction(math.isqrt(int(share * 10**12))) * 10**6
        return privacy.contribution.total / (privacy.epsilon * share)

    @cached_property
    def _gaussian_scale(self) -> Fraction:
        """The sigma of a table with the whole budget, such that all tables together keep the promise.

        A table with share s gets sigma / sqrt(s), so that the squared losses add up to that of the
        whole. Found by bisection on the exact composition, and safe: never below what is needed.
        """
        privacy = self.spec.privacy
        epsilon, delta = float(privacy.epsilon or 0), float(privacy.delta or 0)

        def holds(sigma: float) -> bool:
            made = [
                self._gaussian_contribution(table, sigma / math.sqrt(share))
                for table, share in self.shares.items()
                if share > 0
            ]
            return composed_delta(made, epsilon).upper <= delta

        low, high = 0.0, 1.0
        while not holds(high):
            low, high = high, 2 * high
        while high - low > 1e-4 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if holds(middle) else (middle, high)
        return Fraction(high).limit_denominator(10**6) + Fraction(1, 10**6)

    def _gaussian_contribution(self, table: str, sigma: float, /) -> Contribution:
        bound = self.spec.privacy.contribution
        mechanism = Perturbation(
            noise=PublishedNoise(name="discrete-gaussian", scale=Fraction(sigma))
        ).mechanism
        if table == self.spec.base:
            return Contribution(mechanism=mechanism, cells=bound.cells, change=bound.per_cell)
        # All events of a unit may fall into one cell of a margin.
        return Contribution(mechanism=mechanism, cells=1, change=bound.total)

    def _table(self, name: str, /) -> TablePlan:
        domain = self.spec.domain if name == self.spec.base else self.spec.margins[name].domain
        noise = self.noises.get(name)
        return TablePlan(
            name=name,
            dimensions=self.spec.tables[name],
            cells=domain.size,
            share=None if self.spec.privacy.scale is not None else self.shares[name],
            noise=noise,
            least=self._least(name),
            error=_figures(self._error_law(name), terms=self._terms(name)),
        )

    def _least(self, name: str, /) -> int | None:
        """The least value that is published; a derived margin is a sum of what is already cut."""
        suppress = self.spec.privacy.suppress
        derived = self.spec.privacy.margins == "derive" and name != self.spec.base
        if suppress is None or derived:
            return None
        if suppress.below is not None:
            return int(suppress.below)
        share = float(suppress.spurious or 0)
        noise = self.noises.get(name)
        if self.spec.privacy.margins != "reconcile" and noise is not None:
            return _least_passing(noise, share)
        return self._error_law(name).half_width(1 - 2 * share) + 1

    def _terms(self, name: str, /) -> int:
        """The most base cells that add up to one cell of the table."""
        if name == self.spec.base:
            return 1
        dropped = [axis for axis in self.spec.domain.names if axis not in self.spec.tables[name]]
        axes = [self.spec.domain.axis(axis) for axis in dropped]
        return max(math.prod(block.shape[axis] for axis in axes) for block in self.spec.domain.blocks)

    def _error_law(self, name: str, /) -> ErrorLaw:
        """The law of the error of the table's cells; the widest, where parts of the domain differ."""
        method = self.spec.privacy.margins
        if method == "reconcile":
            laws = [self._reconciled_law(piece, name) for piece in self.pieces]
            return max(laws, key=lambda law: law.standard_deviation)
        noise = self.noises.get(name)
        if method == "independent" and noise is not None:
            return ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=1, law=noise.law),))
        base = self.noises[self.spec.base].law
        return ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=self._terms(name), law=base),))

    def _reconciled_law(self, piece: Piece, name: str, /) -> ErrorLaw:
        measured: Mapping[str, PublishedNoise] = self.noises
        axes = {table: piece.shape.table(self.spec.tables[table]) for table in self.spec.tables}
        design = Design(
            shape=piece.shape,
            measured=tuple(
                MeasuredTable(table=axes[table], variance=noise.law.variance)
                for table, noise in measured.items()
            ),
        )
        laws = tuple(noise.law for noise in measured.values())
        return ErrorLaw.of(design, laws, design.cell_of(axes[name]))


def _least_passing(noise: PublishedNoise, share: float, /) -> int:
    """The least value that an empty cell reaches with probability at most `share`."""
    low, high = 0, 1
    while noise.passing(high) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if noise.passing(middle) <= share else (middle, high)
    return high


def _figures(law: ErrorLaw, /, *, terms: int) -> ErrorFigures:
    return ErrorFigures(
        terms=terms,
        standard_deviation=law.standard_deviation,
        expected_absolute=law.expected_absolute,
        half_width=law.half_width(LEVEL),
        level=LEVEL,
    )
