"""How a table was made, as far as tables tell: the kind of mechanism, its rivals, and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.mechanisms import Known
from noisegate.recovery.free_law import BEYOND, UNLIKELY, USUAL_BOUND, Excluded
from noisegate.tables import Table

Floats = NDArray[np.float64]
MechanismKind = Literal[
    "exact",
    "hidden-ranges",
    "nearest-rounding",
    "random-rounding",
    "rounding",
    "graded-rounding",
    "uniform",
    "bounded",
    "laplace",
    "gaussian",
    "growing",
    "summed",
    "unknown",
]
#: Noise that has no largest value: the only kinds of which an epsilon can be stated, with its condition.
UNBOUNDED_KINDS = ("laplace", "gaussian")


#: A table has likely no noise of its own from this probability on.
_LIKELY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recognition:
    """How a table was made, as far as the tables tell.

    Attributes
    ----------
    kind
        What it was; `unknown` if rivals remain.
    base
        The base of rounding; None if there is none.
    rivals
        All kinds that remain possible and their probabilities, the likeliest first.
    known
        As mechanisms with probabilities; None if there is no law to state.
    bound
        The largest value of the noise, where it has one.
    pmf, pmf_se
        P(0), P(1), ... of one noise, where a law was fitted, and how far off each may be (one standard error), where the law is free.
    excluded
        How far out bounded laws are excluded, where the likeliest law is unbounded.
    usual_bound
        The probability of laws with a bound that do not merely fall off like an unbounded one and stop.
    within, small_up
        How far a value that was rounded can be from its raw count for certain, None if nothing says so; and whether any count above 0 may be
        shown as one base.
    noise_sd
        The standard deviation of one noise, where there is one.
    same_cell, zeros_kept
        Whether the same cell was seen to have the same noise in several tables, and zeros to stay 0.
    n, slips
        How many identities tell, and how many of them are off where the rest is exact.
    left_open
        How many sums leave for cells behind markers what these allow, where no noise is seen.
    evidence
        In words.
    """

    table: str
    kind: MechanismKind
    evidence: str
    base: int | None = None
    rivals: Mapping[str, float] = field(default_factory=dict)
    known: Known | None = None
    bound: int | None = None
    pmf: tuple[float, ...] = ()
    pmf_se: tuple[float, ...] = ()
    excluded: Excluded | None = None
    usual_bound: float = 0.0
    within: int | None = None
    small_up: bool = False
    noise_sd: float | None = None
    same_cell: bool = False
    zeros_kept: bool = False
    n: int = 0
    slips: int = 0
    left_open: int = 0

    @property
    def raw_counts(self) -> bool:
        """Whether what is published is the raw count."""
        return self.kind in {"exact", "hidden-ranges"}

    @property
    def perhaps_exact(self) -> bool:
        """Whether there are sums, all of them hold, and they are only too few to tell that counts are published as they are.

        Sums with members behind markers count too: who hides a cell by a marker seldom perturbs the others. Absent rows are no such sign.
        """
        exact = {"exact", "hidden-ranges"} & self.rivals.keys()
        return (
            self.kind == "unknown" and bool(exact) and self.n + self.left_open > 0 and self.noise_sd is None
        )

    @property
    def without_noise(self) -> float:
        """The probability that counts are published as they are, holes or not."""
        return sum(self.rivals.get(kind, 0.0) for kind in ("exact", "hidden-ranges"))

    @property
    def silent(self) -> bool:
        """Whether the table, as it seems, has no noise where others have."""
        return self.noise_sd == 0.0 and self.without_noise > _LIKELY

    @property
    def likely_exact(self) -> bool:
        """Whether counts published as they are explain the table better than all else together, though that does not settle it.

        Absent rows leave any total possible, with noise or without: sums that all lack such a row are no reason.
        """
        least = 0.5 if self.n + self.left_open > 0 else _LIKELY
        return self.kind == "unknown" and self.without_noise > least and self.noise_sd is None

    @property
    def falls_off_like(self) -> str | None:
        """The unbounded law that noise of an unknown kind falls off like, where nothing is left open but whether it stops somewhere; its scale is the same then."""
        own = max(UNBOUNDED_KINDS, key=lambda kind: self.rivals.get(kind, 0.0))
        likely = self.rivals.get(own, 0.0)
        others = sum(p for kind, p in self.rivals.items() if kind not in {own, "bounded"}) + self.usual_bound
        return (
            own if self.kind == "unknown" and likely > 0 and likely >= _LIKELY * (likely + others) else None
        )

    @property
    def rounded(self) -> bool:
        """Whether values were rounded to a base, or to several."""
        return self.base is not None or self.kind == "graded-rounding"

    @property
    def has_epsilon(self) -> bool:
        """Whether an epsilon can be stated, with its condition: no law with a bound that would matter explains the tables as well."""
        if self.kind not in UNBOUNDED_KINDS or self.excluded is None or self.slips:
            return False
        if self.excluded.stops is not None and self.excluded.stops.counts:
            return False
        usual = self.excluded.bound >= USUAL_BOUND and self.usual_bound < UNLIKELY
        return usual and self.excluded.beyond < BEYOND[self.kind]

    @property
    def least_delta(self) -> float | None:
        """What delta is at least, whatever the epsilon: the chance of a value that one person less could not have led to (MATH 8).

        None where nothing says that there is a largest change.
        """
        if self.kind == "bounded" and self.bound is not None and len(self.pmf) == self.bound + 1:
            return self.pmf[-1]
        if self.kind == "uniform" and self.bound is not None:
            return 1 / (2 * self.bound + 1)
        if self.kind == "random-rounding" and self.base is not None:
            return 1 / self.base
        return 1.0 if self.kind == "nearest-rounding" else None

    @property
    def reach(self) -> int | None:
        """How far a published value can be from its raw count for certain; None if nothing says so."""
        return 0 if self.raw_counts else self.within

    def ranges(self, table: Table, /) -> tuple[Floats, Floats] | None:
        """The least and the largest raw count of every cell of the table; None if its mechanism sets no limits."""
        if self.reach is None:
            return None
        low, high = table.ranges()
        shown = table.status(np.arange(table.size)) == 0
        least = np.maximum(low - self.reach, 0)
        if self.small_up:
            least = np.where(high == self.base, np.minimum(least, 1), least)
        return np.where(shown, least, low), np.where(shown, high + self.reach, high)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "kind": self.kind,
            "rounding_base": self.base,
            "rivals": {kind: round(chance, 4) for kind, chance in self.rivals.items()},
            "bound": self.bound,
            "pmf": [round(p, 5) for p in self.pmf],
            "pmf_se": [round(error, 5) for error in self.pmf_se],
            "excluded_up_to": None if self.excluded is None else self.excluded.bound,
            "mass_beyond": None if self.excluded is None else float(f"{self.excluded.beyond:.3g}"),
            "may_stop_at": None
            if self.excluded is None or self.excluded.stops is None
            else self.excluded.stops.bound,
            "noise_sd": None if self.noise_sd is None else float(f"{self.noise_sd:.4g}"),
            "same_cell": self.same_cell,
            "zeros_kept": self.zeros_kept,
            "n": self.n,
            "slips": self.slips,
            "evidence": self.evidence,
        }
