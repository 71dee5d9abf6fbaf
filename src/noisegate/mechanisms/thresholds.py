"""Where a published table was cut: the smallest count that it shows, and by which rule.

A table that drops small counts has a sharp edge: many rows at 18, none at 17. The smallest count
alone proves nothing, since every table has one. What proves a cut is that the frequencies just above
the edge, continued smoothly to below it, promise rows that are not there.

The counts near the edge are modelled as independent Poisson frequencies with a smooth density,
``exp(a + b x + c x²)``, times the share of each value that is let through: 1 everywhere (no cut), or
1 above a value, a share `fill` at it and nothing (or a small leak) below. Every such hypothesis gets
its probability, with even odds for "cut" and "no cut" beforehand; `a`, `b`, `c` are integrated out by
Laplace's method. The share at the edge tells the rule:

* about 1: ``ge``, after rounding (every value that rounds to the edge is published);
* about ½: ``gt``, before rounding (of what rounds to 18, only 18.0 to 18.5 was published);
* nearly 0: a cut one higher that let a few rows through.

A rule ``> 17`` applied to rounded counts is the same thing as ``>= 18`` and is reported as the latter.

Assumes that rows are independent and that the density of counts is smooth near the edge, as a mix of
many different cells is. None of this is a privacy guarantee; it reads public numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import DataError
from noisegate.mechanisms.mechanism import Cut, Rule

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: A cut is reported only when it is this probable: the edge was looked for, so it has to be plain.
DECISIVE = 0.99
#: Fewer rows than this show no edge, however they lie.
LEAST_ROWS = 10
#: Rows wanted in the window above the edge, and the least and most values it spans.
WINDOW_ROWS = 120
WINDOW_LEAST, WINDOW_MOST = 10, 60
#: Edges are looked for among the smallest counts: this share of rows may lie below one.
TRICKLE = 0.02
#: How far below and above the most abrupt value the edge may lie.
REACH_BELOW, REACH_ABOVE = 12, 3
#: Share of the edge's own value that is published, with prior weights: 1, ½, or anything between.
FILLS = (1.0, 0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)
FILL_WEIGHTS = (0.55, 0.25, *(0.2 / 8,) * 8)
#: Share of rows below the edge that slipped through, with prior weights.
LEAKS = (0.0, 0.003, 0.01, 0.03)
LEAK_WEIGHTS = (0.91, 0.03, 0.03, 0.03)
#: Prior standard deviation of log level, slope and bend of the density across the window.
SMOOTHNESS = np.array([5.0, 5.0, 5.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading of the edge: which values are published, and how probable that is."""

    value: float
    rule: Rule
    cut: Cut
    probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Where a table was cut, or that it was not.

    Attributes
    ----------
    value
        The smallest count that is published as a rule; None when there is no cut.
    rule
        ``ge``: counts from `value` on are published. ``gt``: counts above `value` are.
    cut
        Whether the rule looked at the count before or after it was rounded.
    sure
        Probability of this value (whatever the rule); of "no cut" when `value` is None.
    evidence
        One sentence: what was seen.
    below
        Rows published although they lie below `value`.
    fill
        Share of the edge's own value that is published, against the values above it.
    alternatives
        Other readings with a probability of at least 1 %, most probable first.
    """

    value: float | None
    rule: Rule | None
    cut: Cut | None
    sure: float
    evidence: str
    below: int = 0
    fill: float | None = None
    alternatives: tuple[Reading, ...] = ()

    def to_json(self) -> dict[str, object]:
        """The threshold as plain values for JSON."""
        return {
            "value": self.value,
            "rule": self.rule,
            "cut": self.cut,
            "sure": round(self.sure, 6),
            "evidence": self.evidence,
            "below": self.below,
            "fill": None if self.fill is None else round(self.fill, 4),
            "alternatives": [
                {
                    "value": c.value,
                    "rule": c.rule,
                    "cut": c.cut,
                    "probability": round(c.probability, 6),
                }
                for c in self.alternatives
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """Frequencies of the values around the most abrupt one, in units of the rounding base."""

    values: Integers
    frequency: Floats
    edge: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hypotheses:
    """What each hypothesis lets through; the first one is "no cut"."""

    passed: Floats
    log_prior: Floats
    edge: Integers
    fill: Floats


def find_threshold(counts: ArrayLike, /) -> Threshold:
    """Where the table with these published `counts` was cut.

    Parameters
    ----------
    counts
        The published counts of one table, in any order. Whole numbers, or not rounded at all.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> counts = np.rint(rng.pareto(1.0, 20_000) * 8 + 1 + rng.laplace(0, 1.4, 20_000))
    >>> find_threshold(counts).value is None
    True
    >>> edge = find_threshold(counts[counts >= 18])
    >>> edge.value, edge.rule, edge.cut
    (18.0, 'ge', 'after')
    """
    numbers = np.asarray(counts, dtype=np.float64).ravel()
    if not np.isfinite(numbers).all():
        raise DataError(
            "Published counts must be finite numbers; set the others aside before looking for a cut."
        )
    if numbers.size < LEAST_ROWS:
        return _uncut(f"{numbers.size} rows are too few to tell", sure=0.5)
    if numbers.min() < 0:
        return _uncut("negative counts are published, so small ones were not removed", sure=1.0)
    rounded = bool((numbers == np.rint(numbers)).all())
    steps, base = _in_steps(numbers, rounded=rounded)
    steps = np.sort(_without_kept_zeros(steps))
    if steps.size == 0:
        return _uncut("the table shows zeros only", sure=1.0)
    window = _window(steps)
    if window.edge <= 1:
        return _uncut("nothing is missing between 0 and the smallest counts", sure=1.0)
    return _judge(window, steps, base=base, rounded=rounded)


def _uncut(evidence: str, *, sure: float) -> Threshold:
    return Threshold(value=None, rule=None, cut=None, sure=sure, evidence=evidence)


def _in_steps(numbers: Floats, *, rounded: bool) -> tuple[Integers, int]:
    """The counts as multiples of the base they are rounded to, and that base."""
    whole = np.floor(numbers).astype(np.int64)
    if not rounded:
        return whole, 1
    base = max(int(np.gcd.reduce(whole)), 1)
    # A common divisor of a handful of rows is chance; of many, it is a rounding base.
    if np.unique(whole).size < 20:
        base = 1
    return whole // base, base


def _without_kept_zeros(steps: Integers) -> Integers:
    """The counts without zeros that are published for another reason (zeros kept as zeros)."""
    positive = steps[steps > 0]
    kept = positive.size < steps.size and (positive.size == 0 or positive.min() > 3)
    return positive if kept else steps


def _abrupt(steps: Integers) -> tuple[int, int]:
    """The value where sorted `steps` jump up most clearly, and the width of the comparison."""
    least = int(steps[0])
    trickle = int(steps[min(int(TRICKLE * steps.size), steps.size - 1)])
    edges = np.arange(least, min(trickle, least + 500) + 1)
    first = np.searchsorted(steps, edges)
    beyond = steps[np.minimum(first + WINDOW_ROWS, steps.size - 1)] - edges
    width = np.clip(beyond, WINDOW_LEAST, np.clip(edges, 25, WINDOW_MOST))
    above = np.searchsorted(steps, edges + width) - first
    below = first - np.searchsorted(steps, edges - width)
    best = int(np.argmax((above - below) / np.sqrt(above + below + 1.0)))
    return int(edges[best]), int(width[best])


def _window(steps: Integers) -> _Window:
    """The values around the most abrupt one, from 1 on (from 0 when zeros are among them)."""
    edge, width = _abrupt(steps)
    lowest = max(edge - width, min(int(steps[0]), 1))
    inside = steps[(steps >= lowest) & (steps <= edge + width)]
    frequency = np.bincount(inside - lowest, minlength=edge + width - lowest + 1).astype(np.float64)
    return _Window(values=np.arange(lowest, edge + width + 1), frequency=frequency, edge=edge, width=width)


def _hypotheses(window: _Window) -> _Hypotheses:
    """Every cut that the window allows for, and no cut."""
    values, shown = window.values, window.frequency > 0
    edges = range(max(int(values[0]) + 1, window.edge - REACH_BELOW), window.edge + REACH_ABOVE + 1)
    rows: list[tuple[Floats, float, int, float]] = [(np.ones(values.size), 0.5, 0, 1.0)]
    for edge in edges:
        for fill, fill_weight in zip(FILLS, FILL_WEIGHTS, strict=True):
            # A leak and an odd fill at once would explain anything.
            leaks = LEAKS if fill in {1.0, 0.5} else LEAKS[:1]
            for leak, leak_weight in zip(leaks, LEAK_WEIGHTS, strict=False):
                passed = np.where(values < edge, leak, np.where(values == edge, fill, 1.0))
                if not (shown & (passed == 0)).any():
                    rows.append((passed, 0.5 * fill_weight * leak_weight / len(edges), edge, fill))
    return _Hypotheses(
        passed=np.array([row[0] for row in rows]),
        log_prior=np.log([row[1] for row in rows]),
        edge=np.array([row[2] for row in rows], dtype=np.int64),
        fill=np.array([row[3] for row in rows]),
    )


def _judge(window: _Window, steps: Integers, *, base: int, rounded: bool) -> Threshold:
    """Weigh all hypotheses and put the answer into words."""
    cases = _hypotheses(window)
    log_evidence, curve = _log_evidence(window, cases.passed)
    log_weight = log_evidence + cases.log_prior
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    uncut = float(weight[0])
    if 1.0 - uncut < DECISIVE:
        return _uncut(
            "the frequencies fade out towards the smallest counts; there is no sharp edge", sure=uncut
        )
    readings = _readings(cases, weight, base=base, rounded=rounded)
    value_of = {c.value: sum(d.probability for d in readings if d.value == c.value) for c in readings}
    value = max(value_of, key=lambda v: value_of[v])
    best = next(c for c in readings if c.value == value)
    likeliest = int(np.argmax(np.where(cases.edge > 0, weight, -1.0)))
    fill = _fill(window, curve[likeliest], edge=round(value / base))
    below = int((steps < round(value / base)).sum())
    return Threshold(
        value=value,
        rule=best.rule,
        cut=best.cut,
        sure=value_of[value],
        evidence=_evidence(window, curve[likeliest], value=value, base=base, below=below, fill=fill),
        below=below,
        fill=fill,
        alternatives=tuple(c for c in readings if c is not best and c.probability >= 0.01),
    )


def _readings(cases: _Hypotheses, weight: Floats, *, base: int, rounded: bool) -> list[Reading]:
    """The hypotheses gathered into rules a person would state, most probable first."""
    total: dict[tuple[float, Rule, Cut], float] = {}
    for edge, fill, share in zip(
        cases.edge[1:].tolist(), cases.fill[1:].tolist(), weight[1:].tolist(), strict=True
    ):
        key: tuple[float, Rule, Cut]
        if not rounded:
            key = (float(edge), "ge", "before")
        elif fill < 0.25:
            key = (float((edge + 1) * base), "ge", "after")
        else:
            key = (
                (float(edge * base), "ge", "after") if fill >= 0.75 else (float(edge * base), "gt", "before")
            )
        total[key] = total.get(key, 0.0) + share
    ranked = sorted(total.items(), key=lambda item: -item[1])
    return [Reading(value=v, rule=r, cut=a, probability=p) for (v, r, a), p in ranked]


def _fill(window: _Window, curve: Floats, *, edge: int) -> float:
    at = int(edge - window.values[0])
    return float(window.frequency[at] / curve[at])


def _evidence(window: _Window, curve: Floats, *, value: float, base: int, below: int, fill: float) -> str:
    """One sentence on what was seen around the edge."""
    edge = round(value / base)
    under = (window.values < edge) & (window.values >= edge - 5)
    expected = float(curve[under].sum())
    seen = int(window.frequency[window.values >= edge].sum())
    last = int(window.values[-1]) * base
    few = f"{below} row{'s' * (below != 1)} below it" if below else "none below it"
    return (
        f"{seen:,} rows from {value:g} to {last}, {few}, where a smooth curve through them "
        f"expects about {expected:,.0f} in the {under.sum()} values next to it; "
        f"{value:g} itself has {fill:.0%} of what the curve expects"
    )


def _log_evidence(window: _Window, passed: Floats) -> tuple[Floats, Floats]:
    """Log marginal likelihood of each hypothesis, and its fitted density at each value.

    Laplace's method: the posterior of level, slope and bend at its mode, times its width.
    """
    model = _Density(window, passed)
    posterior, eta = model.mode()
    width = -0.5 * np.linalg.slogdet(model.curvature(eta))[1] - np.log(SMOOTHNESS).sum()
    log_passed = (window.frequency * np.log(np.where(window.frequency > 0, passed, 1.0))).sum(axis=1)
    return posterior + width + log_passed, np.exp(eta)


class _Density:
    """Posterior of the log-quadratic density, for all hypotheses (rows) at once; concave in theta."""

    def __init__(self, window: _Window, passed: Floats) -> None:
        scaled = (window.values - window.edge) / window.width
        self.design = np.stack([np.ones_like(scaled), scaled, scaled**2], axis=1)
        self.precision = np.diag(SMOOTHNESS**-2.0)
        self.frequency, self.passed = window.frequency, passed
        self.centre = np.array([np.log(max(self.frequency.sum(), 1.0) / self.frequency.size), 0.0, 0.0])

    def value(self, theta: Floats) -> tuple[Floats, Floats]:
        """Log posterior up to a constant, and the log density at each value."""
        eta = np.clip(theta @ self.design.T, -60.0, 40.0)
        off = theta - self.centre
        fit = (self.frequency * eta).sum(axis=1) - (self.passed * np.exp(eta)).sum(axis=1)
        return fit - 0.5 * ((off @ self.precision) * off).sum(axis=1), eta

    def slope(self, theta: Floats, eta: Floats) -> Floats:
        """Gradient of the log posterior."""
        residual = self.frequency - self.passed * np.exp(eta)
        return np.asarray(residual @ self.design - (theta - self.centre) @ self.precision)

    def curvature(self, eta: Floats) -> Floats:
        """Negative Hessian of the log posterior, positive definite."""
        pairs = self.design[:, :, None] * self.design[:, None, :]
        return np.tensordot(self.passed * np.exp(eta), pairs, axes=1) + self.precision

    def mode(self) -> tuple[Floats, Floats]:
        """The largest log posterior and its log density: Newton steps, halved until they climb."""
        theta = np.tile(self.centre, (self.passed.shape[0], 1))
        best, eta = self.value(theta)
        for _ in range(100):
            step = np.linalg.solve(self.curvature(eta), self.slope(theta, eta)[..., None])[..., 0]
            for _ in range(40):
                climbed, climbed_eta = self.value(theta + step)
                worse = climbed < best - 1e-10
                if not worse.any():
                    break
                step[worse] /= 2
            step[worse] = 0.0
            theta = theta + step
            gain = np.where(worse, 0.0, climbed - best)
            eta = np.where(worse[:, None], eta, climbed_eta)
            best = best + gain
            if gain.max() < 1e-9:
                break
        return best, eta
