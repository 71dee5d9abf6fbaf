"""A mechanism: how one raw count becomes one published value, in four public steps (MATH 1).

    noise      add a draw of `law`
    rounding   none, or to the nearest integer
    cut        publish only what is above (`gt`) or at least (`ge`) the threshold
    zeros      `perturb`: a raw 0 gets noise like any count; `keep`: a raw 0 stays 0

What is not published is *suppressed*: absent from the table, or shown as 0, which says the same.
A kept 0 goes through the cut like any value, so with a threshold above 0 it is suppressed.
The cut looks at the value after rounding, unless `cut="before"`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws._law import ContinuousLaw, LatticeLaw, Law
from noisegate.laws.laplace import DiscreteLaplace, Laplace

Rule = Literal["gt", "ge"]
Rounding = Literal["none", "nearest"]
Cut = Literal["before", "after"]
Zeros = Literal["keep", "perturb"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """How one raw count becomes one published value.

    Examples
    --------
    >>> from noisegate.laws import Laplace
    >>> Mechanism(law=Laplace(1.4), threshold=18).response(1).log_published < -12
    True
    """

    law: Law
    threshold: float | None = None
    rule: Rule = "gt"
    rounding: Rounding = "none"
    cut: Cut = "after"
    zeros: Zeros = "keep"

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise SpecError.for_value("law", found=self.law, allowed="a noise law")
        for name, kind in (("rule", Rule), ("rounding", Rounding), ("cut", Cut), ("zeros", Zeros)):
            if getattr(self, name) not in get_args(kind):
                raise SpecError.for_choice(name, found=getattr(self, name), allowed=get_args(kind))
        if self.threshold is not None and not (math.isfinite(self.threshold) and self.threshold >= 0):
            raise SpecError.for_value(
                "threshold", found=self.threshold, allowed="a finite number of at least 0"
            )

    @property
    def published_law(self) -> Law:
        """The law of the noise as it appears in a published value: rounded, if values are."""
        if self.rounding == "nearest" and isinstance(self.law, ContinuousLaw):
            return self.law.rounded()
        return self.law

    @property
    def integers(self) -> bool:
        """Whether published values are integers."""
        return self.published_law.lattice

    @property
    def cuts_before_rounding(self) -> bool:
        """Whether the cut looks at a value that rounding then changes."""
        return (
            self.cut == "before"
            and self.threshold is not None
            and self.rounding == "nearest"
            and not self.law.lattice
        )

    def passes(self, value: float, /) -> bool:
        """Whether the cut lets `value` through."""
        if self.threshold is None:
            return True
        return value > self.threshold if self.rule == "gt" else value >= self.threshold

    @property
    def least(self) -> int | None:
        """The least integer that the cut lets through; None without a cut."""
        if self.threshold is None:
            return None
        return math.floor(self.threshold) + 1 if self.rule == "gt" else math.ceil(self.threshold)

    def response(self, count: int, /) -> Response:
        """What can be published for a raw count of `count`, and how likely."""
        if isinstance(count, bool) or count != int(count) or count < 0:
            raise SpecError.for_value("a raw count", found=count, allowed="a whole number of at least 0")
        return Response(mechanism=self, count=int(count))


@dataclass(frozen=True, kw_only=True)
class Response:
    """The distribution of the published value for one raw count."""

    mechanism: Mechanism
    count: int

    @property
    def fixed(self) -> bool:
        """Whether this is a zero that is kept: no noise, one outcome."""
        return self.count == 0 and self.mechanism.zeros == "keep"

    @property
    def _law(self) -> Law:
        return self.mechanism.published_law.at(self.count)

    @property
    def _cut_on_noise(self) -> float:
        """The noise must be above this for the value to be published."""
        m = self.mechanism
        if m.threshold is None:
            return -math.inf
        if m.integers and not m.cuts_before_rounding:
            return cast("int", m.least) - 1 - self.count
        return m.threshold - self.count

    @property
    def log_published(self) -> float:
        """log P(a value is published)."""
        if self.fixed:
            return 0.0 if self.mechanism.passes(0) else -math.inf
        if self.mechanism.threshold is None:
            return 0.0
        law = self.mechanism.law if self.mechanism.cuts_before_rounding else self._law
        return float(law.logsf(self._cut_on_noise))

    @property
    def log_suppressed(self) -> float:
        """log P(nothing is published)."""
        if self.fixed:
            return -math.inf if self.mechanism.passes(0) else 0.0
        if self.mechanism.threshold is None:
            return -math.inf
        law = self.mechanism.law if self.mechanism.cuts_before_rounding else self._law
        return float(law.logcdf(self._cut_on_noise))

    def logprob(self, values: ArrayLike, /) -> Floats:
        """Log-probability (or log-density, where values are not integers) of publishing `values`."""
        y = np.asarray(values, float)
        m = self.mechanism
        if self.fixed:
            return np.where((y == 0) & m.passes(0), 0.0, -np.inf)
        if m.cuts_before_rounding:
            low = np.maximum(y - 0.5, cast("float", m.threshold)) - self.count
            high = np.maximum(y + 0.5 - self.count, low)
            return np.where(y == np.rint(y), m.law.log_between(low, high), -np.inf)
        law = self._law
        logs = law.logpmf(y - self.count) if isinstance(law, LatticeLaw) else _density(law, y - self.count)
        shown = (
            y > -math.inf
            if m.threshold is None
            else (y > m.threshold if m.rule == "gt" else y >= m.threshold)
        )
        return np.where(shown, logs, -np.inf)

    def support(self, *, nats: float = 750.0) -> NDArray[np.int64]:
        """The integers that can be published, but for a probability of e^{-nats}."""
        if not self.mechanism.integers:
            raise SpecError("this mechanism publishes real numbers; ask for its density instead.")
        law = cast("LatticeLaw", self._law)
        low, high = (0, 0) if self.fixed else (self.count - law.reach(nats), self.count + law.reach(nats))
        least = self.mechanism.least
        if least is not None:
            low = max(low, least - int(self.mechanism.cuts_before_rounding))
        return np.arange(low, high + 1)


def _density(law: Law, x: Floats, /) -> Floats:
    return cast("ContinuousLaw", law).logpdf(x)


def second_algorithm(*, scale: float = 1.4, threshold: float = 18, **conventions: str) -> Mechanism:
    """The mechanism of the 2016 release: Laplace noise, zeros kept, small values cut.

    `conventions` (rule, rounding, cut) default to the report's own statement of it: published
    when above the threshold, before rounding.
    """
    return Mechanism(law=Laplace(scale), threshold=threshold, zeros="keep", **conventions)  # type: ignore[arg-type]  # checked by Mechanism


def corrected(*, scale: float = 1.4, threshold: float | None = 18, **conventions: str) -> Mechanism:
    """The 2016 mechanism with the report's correction: zeros get noise like any count."""
    return Mechanism(law=Laplace(scale), threshold=threshold, zeros="perturb", **conventions)  # type: ignore[arg-type]  # checked by Mechanism


def stability_histogram(*, epsilon: float, delta: float) -> Mechanism:
    """Discrete Laplace noise on non-zero counts only, with the least threshold that gives `delta`.

    Guarantee: (epsilon, delta) for one event added or removed in one cell. Keeping zeros is
    sound here because the threshold is derived from the wanted delta.
    """
    from noisegate.mechanisms.calibration import scale_for, threshold_for

    law = DiscreteLaplace(float(scale_for("discrete-laplace", epsilon=epsilon)))
    return Mechanism(law=law, threshold=threshold_for(law, delta=delta), rule="ge", zeros="keep")


def describe(mechanism: Mechanism, /) -> dict[str, object]:
    """The mechanism as it stands in JSON outputs."""
    return {
        "law": mechanism.law.name,
        "scale": getattr(mechanism.law, "scale", None),
        "threshold": mechanism.threshold,
        "rule": mechanism.rule,
        "rounding": mechanism.rounding,
        "cut": mechanism.cut,
        "zeros": mechanism.zeros,
    }


__all__ = [
    "Mechanism",
    "Response",
    "corrected",
    "describe",
    "second_algorithm",
    "stability_histogram",
]
