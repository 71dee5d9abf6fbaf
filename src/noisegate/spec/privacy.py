"""The privacy block: what is promised, to whom, and what it costs in noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, PlainValidator, model_validator

from noisegate.spec.fields import AtLeastOne, Flag, Positive, Share, SpecBlock, exact, one_of, refusal, shown

Unit = Literal["event", "person-day", "person"]
Law = Literal["discrete-laplace", "laplace", "rounded-laplace", "discrete-gaussian"]
Zeros = Literal["perturb", "keep"]
Margins = Literal["derive", "reconcile", "independent"]
StrategyFor = Literal["tables", "workload"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributionBound:
    """The most that adding or removing one privacy unit changes the base table.

    `cells` counts cells that change (the L0 bound); each changes by at most `per_cell` (the L∞ bound).
    """

    cells: int
    per_cell: int

    @property
    def total(self) -> int:
        """The most that all cells change together (the L1 bound); holds for every margin too."""
        return self.cells * self.per_cell


class Suppress(SpecBlock):
    """Which small values are left out: below a number, or so that few empty cells appear."""

    below: AtLeastOne | None = None
    spurious: Share | None = None

    @model_validator(mode="after")
    def _one_rule(self) -> Suppress:
        if (self.below is None) == (self.spurious is None):
            raise refusal(
                "must have exactly one of below (a number) and spurious (a share of the empty cells)"
            )
        return self


def _shares(value: object) -> dict[str, Fraction]:
    if not isinstance(value, dict):
        raise refusal(f"must be a block that gives each table its share, got {shown(value)}")
    return {str(name): exact(share) for name, share in value.items()}


def _bounds(value: object) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or len(value) < 2:
        raise refusal(f"must list at least two bounds such as [2, 4, 8], got {shown(value)}")
    found = tuple(int(number) for one in value if (number := exact(one)).denominator == 1 and number >= 1)
    if len(found) < len(value) or any(a >= b for a, b in pairwise(found)):
        raise refusal("must list whole numbers from 1 on in ascending order, each once")
    return found


class BoundChoice(SpecBlock):
    """A bound that is chosen privately: among which, at what epsilon, and the share of units that it should leave whole."""

    epsilon: Positive
    among: Annotated[tuple[int, ...], PlainValidator(_bounds)]
    keeps: Share = Fraction(19, 20)


class Privacy(SpecBlock):
    """What is promised about one unit, and how the noise is made."""

    unit: Annotated[Unit, one_of("event", "person-day", "person")]
    max_cells: AtLeastOne | None = None
    max_per_cell: AtLeastOne = 1
    epsilon: Positive | None = None
    delta: Share | None = None
    scale: Positive | None = None
    law: Annotated[Law, one_of("discrete-laplace", "laplace", "rounded-laplace", "discrete-gaussian")] = (
        "discrete-laplace"
    )
    zeros: Annotated[Zeros, one_of("perturb", "keep")] = "perturb"
    suppress: Suppress | None = None
    margins: Annotated[Margins, one_of("derive", "reconcile", "independent")] = "reconcile"
    report_clipped: Positive | None = None
    choose_bound: BoundChoice | None = None
    split: Annotated[dict[str, Fraction], PlainValidator(_shares)] | None = None
    # Not in the digest of a spec, which ledgers keep: what comes of it is.
    strategy: Annotated[StrategyFor, one_of("tables", "workload")] = Field(default="tables", repr=False)
    unsafe: Flag = False

    @property
    def contribution(self) -> ContributionBound:
        """The most that one unit changes the base table; by the smallest bound until one is chosen."""
        smallest = 1 if self.choose_bound is None else self.choose_bound.among[0]
        return ContributionBound(cells=self.max_cells or smallest, per_cell=self.max_per_cell)

    @property
    def beside_tables(self) -> Fraction:
        """The epsilon of what is told or chosen beside the tables, for each unit."""
        chosen = Fraction(0) if self.choose_bound is None else self.choose_bound.epsilon
        return chosen + (self.report_clipped or Fraction(0))

    @model_validator(mode="after")
    def _noise_is_stated_once(self) -> Privacy:
        if self.epsilon is None and self.scale is None:
            raise refusal("must state its noise: give epsilon (for all tables together) or scale")
        if self.epsilon is not None and self.scale is not None:
            raise refusal("must have epsilon or scale, not both; the one determines the other")
        gaussian = self.law == "discrete-gaussian" and self.epsilon is not None
        if gaussian and self.delta is None:
            raise refusal(
                "is missing; Gaussian noise keeps a promise of epsilon only together with a delta",
                at=["delta"],
            )
        if self.delta is not None and not gaussian:
            raise refusal("belongs to epsilon with law: discrete-gaussian; remove it", at=["delta"])
        return self

    @model_validator(mode="after")
    def _contribution_is_bounded(self) -> Privacy:
        if self.unit == "event":
            if self.max_cells not in {None, 1} or self.max_per_cell != 1:
                at = "max_per_cell" if self.max_per_cell != 1 else "max_cells"
                raise refusal(
                    "bounds what a person adds, but an event always adds one to one cell; remove it", at=[at]
                )
            for name in ("report_clipped", "choose_bound"):
                if getattr(self, name) is not None:
                    raise refusal("is about a bound, but events are not bounded; remove it", at=[name])
        elif self.choose_bound is not None:
            if self.max_cells is not None:
                raise refusal(
                    "is stated and chosen; keep one of max_cells and choose_bound", at=["max_cells"]
                )
            if self.epsilon is None:
                raise refusal("fits the noise to the bound; give epsilon, not scale", at=["choose_bound"])
        elif self.max_cells is None:
            raise refusal(
                f"is missing; unit {self.unit} needs the most cells that one unit may add to",
                at=["max_cells"],
            )
        return self

    @model_validator(mode="after")
    def _split_makes_sense(self) -> Privacy:
        if self.split is None:
            return self
        if self.epsilon is None or self.margins == "derive":
            reason = (
                "derived margins have no noise of their own"
                if self.epsilon
                else "scale fixes the noise of each table"
            )
            raise refusal(f"divides epsilon over measured tables, but {reason}; remove it", at=["split"])
        for name, share in self.split.items():
            if share < 0:
                raise refusal(f"must not be negative, got '{share}'", at=["split", name])
        if sum(self.split.values()) != 1:
            raise refusal(f"must add up to 1, got {float(sum(self.split.values())):.6g}", at=["split"])
        return self

    @model_validator(mode="after")
    def _strategy_makes_sense(self) -> Privacy:
        if self.strategy == "tables":
            return self
        for name, odd, reason in (
            ("split", self.split is not None, "the shares follow from the workload"),
            ("scale", self.epsilon is None, "it divides an epsilon"),
            ("margins", self.margins != "reconcile", "it needs margins: reconcile"),
            ("choose_bound", self.choose_bound is not None, "it needs to know the bound"),
        ):
            if odd:
                raise refusal(
                    f"does not go with strategy: workload, because {reason}; change one of them", at=[name]
                )
        return self

    @model_validator(mode="after")
    def _unsafe_is_admitted(self) -> Privacy:
        if self.unsafe:
            return self
        if self.zeros == "keep":
            raise refusal(
                "is 'keep', which shows for certain that somebody was there; use perturb, or admit it with unsafe: true",
                at=["zeros"],
            )
        if self.margins == "independent":
            raise refusal(
                "is 'independent', which leaks by differences between tables; use reconcile or derive, or admit it with unsafe: true",
                at=["margins"],
            )
        return self
