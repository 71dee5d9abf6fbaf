"""A mechanism: how one raw count becomes one published value, in four public steps (MATH 1).

    noise      add a draw of `law`
    rounding   none, or to the nearest integer
    cut        publish only what is above (`gt`) or at least (`ge`) the threshold
    zeros      `perturb`: a raw 0 gets noise like any count; `keep`: a raw 0 stays 0

What is not published is *suppressed*: absent from the table, or shown as 0, which says the same.
A kept 0 goes through the cut like any value, so with a threshold above 0 it is suppressed.
The cut looks at the value after rounding, unless `cut="before"`.

How likely a published value, or a suppression, is for each possible raw sum.

The same numbers as `Mechanism.response(count)`, for many sums at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws import LARGEST, ContinuousLaw, DiscreteLaplace, Laplace, LatticeLaw, Law, PointMass

if TYPE_CHECKING:
    from noisegate.mechanisms.loss import NoLoss
    from noisegate.mechanisms.privacy import CountLosses

Rule = Literal["gt", "ge"]
Rounding = Literal["none", "nearest"]
Cut = Literal["before", "after"]
Zeros = Literal["keep", "perturb", "show"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The end of a range of raw counts that has none.
UNBOUNDED = np.iinfo(np.int64).max


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """How one raw count becomes one published value.

    Examples
    --------
    >>> from noisegate import Mechanism, make_law
    >>> Mechanism(law=make_law("laplace", scale=1.4), threshold=18).response(1).log_published < -12
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
        if self.threshold is not None and not 0 <= self.threshold < math.inf:
            raise SpecError.for_value(
                "threshold", found=self.threshold, allowed="a finite number of at least 0"
            )
        if self.threshold is not None and self.threshold > LARGEST:
            raise SpecError.for_value("threshold", found=str(self.threshold)[:40], allowed="at most 10^15")

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
    def exact(self) -> bool:
        """Whether what is published is the raw count itself."""
        return isinstance(self.law, PointMass)

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
    def keeps_zeros(self) -> bool:
        """Whether empty cells get no noise."""
        return self.zeros != "perturb"

    @property
    def shows_zeros(self) -> bool:
        """Whether an empty cell that is kept empty is shown as 0."""
        return self.zeros == "show" or self.passes(0)

    @property
    def whole_threshold(self) -> int | None:
        """The least integer that is shown; None without a threshold."""
        if self.threshold is None:
            return None
        return math.floor(self.threshold) + 1 if self.rule == "gt" else math.ceil(self.threshold)

    def response(self, count: int, /) -> Response:
        """What can be published for a raw count of `count`, and how likely."""
        if isinstance(count, bool) or count != int(count) or count < 0:
            raise SpecError.for_value("a raw count", found=count, allowed="a whole number of at least 0")
        return Response(mechanism=self, count=int(count))

    def log_likelihood(self, shown: ArrayLike, counts: ArrayLike, /) -> Floats:
        """log P(what is shown | raw count), elementwise; NaN is shown where a value is suppressed.

        Where values are not integers it is a log-density. Negative counts are impossible. The same numbers as
        `response(count)`, for many at once.
        """
        seen, sums = np.broadcast_arrays(np.asarray(shown, np.float64), np.asarray(counts, np.int64))
        possible = sums >= 0
        safe = np.where(possible, sums, 0)
        if type(self.law).at is Law.at:
            return np.where(possible, _log_likelihood(self, seen, safe), -np.inf)
        alike = self.law.alike(safe)
        logs = np.empty(sums.shape)
        for kind in np.unique(alike).tolist():
            here = alike == kind
            logs[here] = _log_likelihood(replace(self, law=self.law.at(kind)), seen[here], safe[here])
        return np.where(possible, logs, -np.inf)

    def raw_range(self, shown: ArrayLike, /) -> tuple[Ints, Ints]:
        """The least and the largest raw count that can lie behind each value; NaN is a suppressed one.

        Only what is impossible is left out, however unlikely the rest: with noise that has no largest value, every
        count (but 0, if zeros are kept and a value is shown). `UNBOUNDED` says that there is no largest one. A value
        that no count can give has an empty range, from 1 to 0.
        """
        values = np.asarray(shown, np.float64)
        if self.bounded:
            return _exact_range(self, values)
        near = np.maximum(np.rint(np.where(np.isnan(values), 1.0, values)), 1.0).astype(np.int64)
        some = self.log_likelihood(values, near) > -np.inf
        zero = some
        if self.keeps_zeros:
            zero = values == 0 if self.shows_zeros else np.isnan(values)
        return np.where(zero, 0, 1), np.where(some, UNBOUNDED, 0)

    def loss(self, change: int = 1, /) -> CountLosses | NoLoss:
        """The privacy losses that can be worst when one cell changes by `change`; none bounds noise with a largest value."""
        from noisegate.mechanisms.loss import NoLoss
        from noisegate.mechanisms.privacy import count_losses

        if self.bounded:
            return NoLoss(reason=f"{self.law.name} noise has a largest value: a count that far off is proof")
        return count_losses(self, change=change)

    def to_dp_event(self, *, change: int = 1, cells: int = 1) -> Any:
        """The mechanism as an event of dp_accounting, so that its accountants take it: a person who changes so many cells by so much.

        A threshold only hides (post-processing) where zeros are perturbed. Zeros that are kept, and noise that dp_accounting has no event for, become
        `NonPrivateDpEvent` and `UnsupportedDpEvent`: nothing is promised that is not so. Discrete Gaussian noise becomes its concentrated bound.

        Raises
        ------
        SpecError
            If dp_accounting is not installed.
        """
        from noisegate.mechanisms.dp_event import dp_event_of

        return dp_event_of(self, change=change, cells=cells)

    def reach(self, nats: float, /) -> int:
        """A distance that the noise exceeds with probability below e^{-nats}."""
        law = self.published_law
        if isinstance(law, LatticeLaw):
            return law.reach(nats)
        far = 1.0
        while float(law.logsf(far)) > -nats:
            far *= 1.25
        return math.ceil(far)

    @property
    def bounded(self) -> bool:
        """Whether the noise cannot leave a fixed range at all."""
        return float(self.law.logsf(self.reach(40.0))) == -math.inf

    def window(self, shown: Floats, /, *, nats: float) -> tuple[Floats, Floats]:
        """For each value the raw counts that can lie behind it, but for chances below e^{-nats}; NaN is a suppressed one."""
        width = self.reach(nats)
        hidden = np.isnan(shown)
        top = math.inf if self.threshold is None else math.ceil(self.threshold) + width
        values = np.where(hidden, 0.0, shown)
        low = np.where(hidden, 0.0, np.maximum(np.floor(values) - width, 0.0))
        high = np.where(hidden, top, np.maximum(np.ceil(values) + width, 0.0))
        return low, high


@dataclass(frozen=True, kw_only=True)
class Response:
    """The distribution of the published value for one raw count."""

    mechanism: Mechanism
    count: int

    @property
    def fixed(self) -> bool:
        """Whether this is a zero that is kept: no noise, one outcome."""
        return self.count == 0 and self.mechanism.keeps_zeros

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
            return cast("int", m.whole_threshold) - 1 - self.count
        return m.threshold - self.count

    @property
    def log_published(self) -> float:
        """log P(a value is published)."""
        if self.fixed:
            return 0.0 if self.mechanism.shows_zeros else -math.inf
        if self.mechanism.threshold is None:
            return 0.0
        law = self.mechanism.law if self.mechanism.cuts_before_rounding else self._law
        return float(law.logsf(self._cut_on_noise))

    @property
    def log_suppressed(self) -> float:
        """log P(nothing is published)."""
        if self.fixed:
            return -math.inf if self.mechanism.shows_zeros else 0.0
        if self.mechanism.threshold is None:
            return -math.inf
        law = self.mechanism.law if self.mechanism.cuts_before_rounding else self._law
        return float(law.logcdf(self._cut_on_noise))

    def logprob(self, values: ArrayLike, /) -> Floats:
        """Log-probability (or log-density, where values are not integers) of publishing `values`."""
        y = np.asarray(values, float)
        m = self.mechanism
        if self.fixed:
            return np.where((y == 0) & m.shows_zeros, 0.0, -np.inf)
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
        if self.fixed:
            return np.arange(int(self.mechanism.shows_zeros))
        law = cast("LatticeLaw", self._law)
        low, high = self.count - law.reach(nats), self.count + law.reach(nats)
        least = self.mechanism.whole_threshold
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
    from noisegate.mechanisms.privacy import scale_for, threshold_for

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


def _log_likelihood(mechanism: Mechanism, seen: Floats, counts: Ints, /) -> Floats:
    """For a law that is the same for all `counts`, none of them negative."""
    hidden = np.isnan(seen)
    logs = np.empty(counts.shape)
    if hidden.any():
        logs[hidden] = _suppressed(mechanism, counts[hidden])
    if not hidden.all():
        logs[~hidden] = _published(mechanism, seen[~hidden], counts[~hidden])
    if mechanism.keeps_zeros:
        shows = mechanism.shows_zeros
        kept = np.where(hidden, not shows, shows & (seen == 0))
        logs = np.where(counts == 0, np.where(kept, 0.0, -np.inf), logs)
    return logs


def _suppressed(mechanism: Mechanism, counts: Ints, /) -> Floats:
    if mechanism.threshold is None:
        return np.full(counts.shape, -np.inf)
    if mechanism.cuts_before_rounding or not mechanism.integers:
        law = mechanism.law if mechanism.cuts_before_rounding else mechanism.published_law
        return law.logcdf(mechanism.threshold - counts)
    return mechanism.published_law.logcdf(cast("int", mechanism.whole_threshold) - 1 - counts)


def _published(mechanism: Mechanism, shown: Floats, counts: Ints, /) -> Floats:
    if mechanism.cuts_before_rounding:
        low = np.maximum(shown - 0.5, cast("float", mechanism.threshold)) - counts
        logs = mechanism.law.log_between(low, np.maximum(shown + 0.5 - counts, low))
        return np.where(shown == np.rint(shown), logs, -np.inf)
    law = mechanism.published_law
    if isinstance(law, LatticeLaw):
        logs = law.logpmf(shown - counts)
    else:
        logs = cast("ContinuousLaw", law).logpdf(shown - counts)
    if mechanism.threshold is None:
        return logs
    passes = shown > mechanism.threshold if mechanism.rule == "gt" else shown >= mechanism.threshold
    return np.where(passes, logs, -np.inf)


def _exact_range(mechanism: Mechanism, values: Floats, /) -> tuple[Ints, Ints]:
    """For noise with a largest value: look at all counts within its reach."""
    distinct, place = np.unique(values, return_inverse=True)
    low, high = mechanism.window(distinct, nats=40.0)
    endless = np.isinf(high)
    first = low.astype(np.int64)
    tried = first[:, None] + np.arange(int(np.max(np.where(endless, low, high) - low, initial=0)) + 1)
    possible = mechanism.log_likelihood(distinct[:, None], tried) > -np.inf
    none = ~possible.any(axis=1)
    least = np.where(none, 1, first + possible.argmax(axis=1))
    most = np.where(none, 0, first + tried.shape[1] - 1 - possible[:, ::-1].argmax(axis=1))
    return least[place].reshape(values.shape), most[place].reshape(values.shape)
