"""What a release will do, settled before any event is read: noise, thresholds and loss of every table.

The plan is a function of the spec alone, so nothing in it is secret. The loss is worked out here
once, exactly, and then charged, printed and written on the card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.margins import LEVEL, AnyPiece, ErrorFigures, ErrorLaw, ErrorTerm, best_split, pieces
from noisegate.mechanisms import NoiseName, Perturbation, PublishedNoise
from noisegate.releases.gaussian import gaussian_noises
from noisegate.releases.loss import (
    LossStatement,
    StatedLoss,
    state_losses,
    unit_change,
)
from noisegate.releases.series import Combination, SeriesTerms
from noisegate.releases.strategy import strategy_of
from noisegate.spec import ReleaseSpec

_PUBLISHED_LAW: dict[str, NoiseName] = {
    "laplace": "rounded-laplace",
    "rounded-laplace": "rounded-laplace",
    "discrete-laplace": "discrete-laplace",
    "discrete-gaussian": "discrete-gaussian",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """How one table is made.

    `noise` is None for a table that is only summed from others. `spurious` is the share of empty cells
    that are published at most; None where nothing is cut or it is not worked out.
    """

    name: str
    dimensions: tuple[str, ...]
    cells: int
    share: Fraction | None
    noise: PublishedNoise | None
    least: int | None
    spurious: float | None
    error: ErrorFigures


@dataclass(frozen=True, kw_only=True)
class SeriesPart:
    """What one release of a series is: a week, or all weeks up to it (`running`), estimated `by` measurements."""

    terms: SeriesTerms
    week: int
    running: bool
    by: Combination


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a whole release is made, and what it costs. The loss of a part of a series is that of the whole series."""

    spec: ReleaseSpec
    tables: tuple[TablePlan, ...]
    charged: StatedLoss
    losses: LossStatement
    series: SeriesPart | None = None

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
        return Perturbation(noise=table.noise, threshold=table.least, zeros=self.spec.privacy.zeros)


def make_plan(spec: ReleaseSpec, /, *, week: int | None = None) -> Plan:
    """The plan of a release; refuses what cannot be made, before anything is read or spent.

    Of a series it is that of one week; if none is named, of the one with the most noise. With `strategy: workload` it is that of the spec
    that says what is measured for the workload.
    """
    strategy = strategy_of(spec)
    spec = spec if strategy is None else strategy.spec
    if week is not None:
        spec.of_week(week)  # refuses a week that there is none of
    return _Planner(spec, week).plan()


def base_error_law(plan: Plan, /) -> ErrorLaw:
    """The law of the error of a cell of the base, before counts are made non-negative; the widest, where parts of the domain differ."""
    week, running = (None, False) if plan.series is None else (plan.series.week, plan.series.running)
    return _Planner(plan.spec, week, running=running).error_law(plan.base.name)


def running_plan(plan: Plan, /) -> Plan | None:
    """The plan of the running total that is published with a week of a series; None if there is none."""
    part = plan.series
    if part is None or part.terms.running(part.week) is None:
        return None
    return _Planner(plan.spec, part.week, running=True, terms=part.terms).plan()


@dataclass(frozen=True)
class _Planner:
    spec: ReleaseSpec
    week: int | None = None
    running: bool = False
    terms: SeriesTerms | None = None

    def plan(self) -> Plan:
        self._refuse_contradictions()
        self._refuse_silence()
        tables = tuple(self._table(name) for name in self.spec.tables)
        for table in tables:
            self._refuse_endless(table)
        measured = {table.name: (table.noise, table.least) for table in tables if table.noise is not None}
        losses = state_losses(self.spec, measured) if self.part is None else self.part.terms.losses
        if losses.unit.delta >= 1:
            raise SpecError(
                "privacy.zeros is 'keep', and a unit would show itself for certain: delta is 1 and nothing is "
                "promised; use zeros: perturb, or suppress more."
            )
        return Plan(spec=self.spec, tables=tables, charged=losses.unit, losses=losses, series=self.part)

    @cached_property
    def part(self) -> SeriesPart | None:
        """Which part of a series is planned; None if the spec has none."""
        if self.spec.series is None:
            return None
        terms = self.terms or SeriesTerms.of(self.spec, shares=self.shares)
        week = terms.noisiest_week if self.week is None else self.week
        by = terms.running(week) if self.running else terms.of_week(week)
        assert by is not None
        return SeriesPart(terms=terms, week=week, running=self.running, by=by)

    def _refuse_contradictions(self) -> None:
        """Refuse choices that the spec's own blocks cannot see to contradict each other."""
        privacy = self.spec.privacy
        if privacy.zeros == "keep" and privacy.margins == "reconcile":
            raise SpecError(
                "privacy.zeros is 'keep', but 'margins: reconcile' needs noise in every cell; use zeros: perturb, "
                "or margins: derive."
            )
        for name, share in (privacy.split or {}).items():
            if share == 0 and privacy.margins == "independent":
                raise SpecError(
                    f"privacy.split.{name} is 0, but independent tables have noise of their own; give it a share, "
                    "or use margins: reconcile."
                )

    def _refuse_silence(self) -> None:
        """Refuse noise so narrow that it is never drawn: the exact counts would be published."""
        for name, noise in self.noises.items():
            if noise.law.variance == 0:
                raise SpecError(
                    f"the noise of {name} has a scale of {float(noise.scale):.1g} and would never show; lower "
                    "privacy.epsilon, or give a larger privacy.scale."
                )

    def _refuse_endless(self, table: TablePlan, /) -> None:
        """Refuse a table with more rows than can be held, nearly all of them empty cells."""
        privacy = self.spec.privacy
        if table.noise is None or privacy.margins == "reconcile" or privacy.zeros == "keep":
            return
        rows = table.cells * (1.0 if table.least is None else float(table.noise.passing(table.least)))
        if rows > limits.current().reconciled_cells:
            raise SpecError(
                f"Table {table.name!r} would have {rows:.2g} rows of empty cells that only noise shows; at most "
                f"{limits.current().reconciled_cells:,} are allowed. Suppress more: privacy.suppress with a larger below or a smaller spurious."
            )

    @cached_property
    def pieces(self) -> tuple[AnyPiece, ...]:
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
        change = unit_change(self.spec)
        gaussian = privacy.law == "discrete-gaussian"
        squares = {name: Fraction(change.square(name)) for name in names} if gaussian else None
        return best_split([piece.shape for piece in self.pieces], self.spec.tables, squares=squares)

    @cached_property
    def noises(self) -> dict[str, PublishedNoise]:
        """The noise of every measured table."""
        privacy = self.spec.privacy
        if privacy.margins == "reconcile":
            _ = self.pieces
        if self.part is not None:
            return self.part.terms.noises(self.part.by)
        if privacy.epsilon is not None and privacy.delta is not None:
            change = unit_change(self.spec)
            return gaussian_noises(self.shares, change, epsilon=privacy.epsilon, delta=privacy.delta)
        name = _PUBLISHED_LAW[privacy.law]
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
        return privacy.contribution.total / (privacy.epsilon * share)

    def _table(self, name: str, /) -> TablePlan:
        domain = self.spec.domain if name == self.spec.base else self.spec.margins[name].domain
        noise, least = self.noises.get(name), self._least(name)
        return TablePlan(
            name=name,
            dimensions=self.spec.tables[name],
            cells=domain.size,
            share=None if self.spec.privacy.scale is not None else self.shares[name],
            noise=noise,
            least=least,
            spurious=self._spurious(name, least),
            error=_figures(self.error_law(name), terms=self._terms(name)),
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
            return least_passing(noise, share)
        # The error is symmetric: it is at least 1 with a probability below one half.
        return self.error_law(name).half_width(1 - 2 * share) + 1 if share < 0.5 else 1

    def _spurious(self, name: str, least: int | None, /) -> float | None:
        """The share of empty cells that noise carries over the cut, or what the spec allows of it."""
        suppress, noise = self.spec.privacy.suppress, self.noises.get(name)
        if suppress is None or least is None:
            return None
        if self.spec.privacy.zeros == "keep":
            return 0.0
        if self.spec.privacy.margins == "reconcile":
            return None if suppress.spurious is None else float(suppress.spurious)
        return None if noise is None else float(noise.passing(least))

    def _terms(self, name: str, /) -> int:
        """The most base cells that add up to one cell of the table; never too few."""
        if name == self.spec.base:
            return 1
        return self.spec.margins[name].most_terms

    def error_law(self, name: str, /) -> ErrorLaw:
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

    def _reconciled_law(self, piece: AnyPiece, name: str, /) -> ErrorLaw:
        measured: Mapping[str, PublishedNoise] = self.noises
        design = piece.design(
            {self.spec.tables[table]: noise.law.variance for table, noise in measured.items()}
        )
        laws = tuple(noise.law for noise in measured.values())
        return ErrorLaw.of(design, laws, piece.cell(design, self.spec.tables[name]))


def least_passing(noise: PublishedNoise, share: float, /) -> int:
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
