"""What a fit of the noise has to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from noisegate.laws import Floats, Law, PointMass
from noisegate.recovery.candidates import CANDIDATES, Rounding
from noisegate.recovery.goodness import Goodness
from noisegate.recovery.likelihood import ObservedResiduals
from noisegate.recovery.residual_law import Points

#: Less likely families are no rivals.
_POSSIBLE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class LawEvidence:
    """How well one law explains the identities.

    Attributes
    ----------
    log_likelihood
        At the best scale and contamination.
    probability
        Posterior probability of this law among those that were tried.
    scale, interval
        The best scale if this is the law, and the interval for it.
    """

    log_likelihood: float
    probability: float
    scale: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedModel:
    """The identities on their lattice, the fitted point, and the weights of contamination."""

    observed: tuple[ObservedResiduals, ...]
    point: Points
    weights: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFit:
    """What identities reveal about the noise of one table.

    Attributes
    ----------
    table
        Whose noise this is.
    law, rounding
        The law by name; "none" when the values carry no noise at all. A Laplace law is named as long
        as no other is clear: see `certainty` and `rivals`.
    scale, interval, level
        Its scale, and an interval that holds the true one with chance `level`, if the law is right.
    n
        How many identities were used.
    evidence
        Each law that was tried.
    told_apart
        False when the rounded and the discrete law of the family both remain possible; the rounded
        one is then named by convention.
    contamination
        The share of identities that are off.
    others
        The scale of the other table, if it has one of its own.
    goodness
        Whether the identities look like equal counts plus such noise.
    refusal
        Why no number should be believed; None if all is well.
    model
        The fitted law of the residuals, for pictures; None when there is no noise.
    """

    table: str
    law: str
    rounding: Rounding
    scale: float
    interval: tuple[float, float]
    level: float
    n: int
    evidence: Mapping[str, LawEvidence]
    told_apart: bool
    contamination: float
    others: Mapping[str, float]
    goodness: Goodness
    refusal: str | None
    model: FittedModel | None = field(default=None, repr=False)

    @property
    def noise(self) -> Law:
        """The fitted noise law."""
        if self.law == "none":
            return PointMass()
        return CANDIDATES[self.name].make(self.scale)

    @property
    def name(self) -> str:
        """The name of the law in `evidence`: law and rounding in one word."""
        if self.rounding == "nearest":
            return f"rounded-{self.law}"
        return self.law

    @property
    def certainty(self) -> float:
        """The probability of the family that is named; 1 when there is no noise."""
        return 1.0 if self.law == "none" else self._families()[CANDIDATES[self.name].family]

    @property
    def rivals(self) -> dict[str, float]:
        """The other families that remain possible, and the probability of each, the likeliest first."""
        own = "" if self.law == "none" else CANDIDATES[self.name].family
        others = {f: p for f, p in self._families().items() if f != own and p >= _POSSIBLE}
        return dict(sorted(others.items(), key=lambda item: -item[1]))

    def _families(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for name, one in self.evidence.items():
            family = CANDIDATES[name].family
            total[family] = total.get(family, 0.0) + one.probability
        return total
