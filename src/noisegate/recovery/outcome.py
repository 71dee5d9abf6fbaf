"""What a fit of the noise has to say, and its picture as plain numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from noisegate.errors import DataError
from noisegate.laws import Floats, Ints, Law, PointMass, as_rng
from noisegate.recovery.candidates import CANDIDATES, Rounding
from noisegate.recovery.goodness import Goodness
from noisegate.recovery.likelihood import ObservedResiduals, tables
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

    def allows(self, law: str, /) -> bool:
        """Whether noise of the family of this law is possible."""
        family = CANDIDATES[law].family if law in CANDIDATES else law
        return self._families().get(family, 0.0) >= _POSSIBLE

    def contradicts(self, law: str, scale: float, /) -> str:
        """Why noise of this law and scale is not what the identities show, in words; empty if it may be.

        A scale is another one only if it is well outside: the interval alone would cry wolf once in twenty times.
        """
        if self.law == "none":
            return (
                "" if law == "none" else "counts that should be equal are exactly equal, so there is no noise"
            )
        if not self.allows(law):
            return f"the noise is {self.law}"
        members = self.members(CANDIDATES[law].family)
        best = max(members.values(), key=lambda one: one.probability)
        low, high = best.interval
        slack = math.sqrt(high / low)
        if low / slack <= scale <= high * slack:
            return ""
        return f"recovered scale {best.scale:.3g} ({low:.3g} to {high:.3g})"

    def members(self, family: str, /) -> dict[str, LawEvidence]:
        """The laws of a family that were tried, by name."""
        return {name: one for name, one in self.evidence.items() if CANDIDATES[name].family == family}

    def _families(self) -> dict[str, float]:
        total: dict[str, float] = {}
        for name, one in self.evidence.items():
            family = CANDIDATES[name].family
            total[family] = total.get(family, 0.0) + one.probability
        return total


_NEGLIGIBLE = 1e-3
#: So many identities are expected at least in the tallest bar of a picture.
_TALL = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCurve:
    """How often each difference occurs.

    Attributes
    ----------
    difference
        The residuals, from the smallest to the largest that matters.
    observed
        How many identities show each.
    expected
        How many would under the fitted law, contamination included.
    simulated
        How many did in one simulation of as many identities from the fitted law.
    """

    difference: Floats
    observed: Ints
    expected: Floats
    simulated: Ints

    def gathered(self) -> DifferenceCurve:
        """The same with neighbours joined, an odd number each, until the tallest bar expects enough to be seen.

        Examples
        --------
        >>> few = np.array([0, 1, 0, 0, 1, 0, 1, 0, 1])
        >>> curve = DifferenceCurve(
        ...     difference=np.arange(-4.0, 5.0), observed=few, expected=np.full(9, 4 / 9), simulated=few
        ... )
        >>> curve.gathered().difference.tolist(), curve.gathered().observed.tolist()
        ([-3.0, 0.0, 3.0], [1, 1, 2])
        """
        enough = min(_TALL, float(self.observed.sum()) / 4)
        wide = self
        for width in range(3, len(self.difference) + 2, 2):
            if wide.expected.max() >= enough:
                break
            wide = self._joined(width)
        return wide

    def _joined(self, width: int, /) -> DifferenceCurve:
        """Bars of `width` neighbouring differences each; one of them is centred at zero."""
        step = self.difference[1] - self.difference[0]
        place = np.floor_divide(np.rint(self.difference / step) + width // 2, width).astype(np.int64)
        bars = np.arange(place[0], place[-1] + 1)

        def total(counts: Floats | Ints) -> Floats:
            return np.bincount(place - place[0], weights=counts, minlength=len(bars)).astype(np.float64)

        return DifferenceCurve(
            difference=bars * (width * step),
            observed=total(self.observed).astype(np.int64),
            expected=total(self.expected),
            simulated=total(self.simulated).astype(np.int64),
        )


def difference_curve(fit: NoiseFit, /, *, rng: np.random.Generator) -> DifferenceCurve:
    """Observed differences against the fitted law and against a simulation from it.

    Examples
    --------
    >>> from noisegate.recovery import difference_curve, fit_noise, pair_identities
    >>> rng = np.random.default_rng(1)
    >>> on, off = 100 + np.rint(rng.laplace(scale=1.4, size=(2, 300)))
    >>> curve = difference_curve(fit_noise(pair_identities(on, off)), rng=rng)
    >>> int(curve.observed.sum()), int(curve.simulated.sum())
    (300, 300)
    """
    generator = as_rng(rng)
    if fit.model is None:
        raise DataError("identities that hold exactly have no differences to draw.")
    model = fit.model
    half = max(one.lattice.points for one in model.observed) // 2
    seen, law, drawn = (np.zeros(2 * half + 1) for _ in range(3))
    for one in model.observed:
        for group, table in tables(one, model.point):
            mass = np.einsum("j,jk->k", model.weights, table[:, 0, :])
            mass /= mass.sum()
            shown = group.low == group.high
            n = int(group.times[shown].sum())
            here = slice(half - len(mass) // 2, half - len(mass) // 2 + len(mass))
            np.add.at(seen, group.low[shown] + half, group.times[shown])
            law[here] += n * mass
            drawn[here] += generator.multinomial(n, mass)
    matter = np.flatnonzero((law > _NEGLIGIBLE) | (seen > 0) | (drawn > 0))
    kept = slice(int(matter[0]), int(matter[-1]) + 1)
    return DifferenceCurve(
        difference=np.asarray(
            (np.arange(2 * half + 1) - half)[kept] * model.observed[0].lattice.step, dtype=float
        ),
        observed=seen[kept].astype(np.int64),
        expected=law[kept],
        simulated=drawn[kept].astype(np.int64),
    )
