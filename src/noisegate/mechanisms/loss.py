"""The privacy loss between two raw counts, and the exact delta that follows from it (MATH 3).

For a published value y, the loss is log P(y | c) - log P(y | c'). Its distribution under c
decides everything: delta(epsilon) = E[(1 - e^{epsilon - loss})+], plus the probability of
values that c' can never give (an infinite loss).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.laws import (
    ContinuousLaw,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LatticeLaw,
    Law,
    RoundedLaplace,
    log_subtract,
)
from noisegate.mechanisms.mechanism import Response

Floats = NDArray[np.float64]

#: Which way a loss is rounded: so that delta can only rise (the safe side), or only fall.
Side = Literal["upper", "lower"]


class PrivacyLoss(Protocol):
    """The loss of one pair of raw counts."""

    def delta(self, epsilon: ArrayLike, /) -> Floats:
        """The exact delta at each `epsilon` (which may be negative)."""

    def atoms(self, step: float, /, *, side: Side) -> LossAtoms:
        """The loss as finitely many values; a continuous one in bins `step` wide, rounded to `side`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoLoss:
    """No privacy-loss distribution bounds what a mechanism gives away, and why."""

    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class LossAtoms:
    """A loss with finitely many values: `mass[i]` at `loss[i]`, and `infinite` at infinity."""

    loss: Floats
    mass: Floats
    infinite: float = 0.0

    def delta(self, epsilon: ArrayLike, /) -> Floats:
        """The exact delta at each `epsilon`."""
        eps = np.asarray(epsilon, float)
        gain = -np.expm1(np.minimum(eps[..., None] - self.loss, 0.0))
        return np.asarray(self.infinite + np.sum(self.mass * gain, axis=-1))

    def atoms(self, step: float, /, *, side: Side) -> LossAtoms:
        """Itself."""
        del step, side
        return self

    @property
    def bound(self) -> float:
        """The largest loss."""
        return math.inf if self.infinite > 0 else float(self.loss[self.mass > 0].max(initial=-math.inf))


@dataclass(frozen=True)
class LaplaceLoss:
    """The loss of Laplace noise between two counts that are `span` scales apart.

    It is +span with probability 1/2, -span with probability e^{-span}/2, and has density
    e^{(l - span)/2} / 4 between.
    """

    span: float

    def delta(self, epsilon: ArrayLike, /) -> Floats:
        """1 - e^{(epsilon - span)/2} within +-span, 0 above, 1 - e^epsilon below."""
        eps = np.minimum(np.asarray(epsilon, float), self.span)
        inside = eps > -self.span
        return np.asarray(-np.expm1(np.where(inside, (eps - self.span) / 2, np.minimum(eps, 0.0))))

    def atoms(self, step: float, /, *, side: Side) -> LossAtoms:
        """The two ends, and the middle part in bins: seen as one outcome each below, whose loss is in its middle; split above."""
        if side == "lower":
            bins = max(1, math.ceil(self.span / step))
            edges = np.linspace(-self.span, self.span, bins + 1)
            inner = np.diff(np.exp((edges - self.span) / 2)) / 2
            ends = [math.exp(-self.span) / 2, 0.5]
            middle = (edges[:-1] + edges[1:]) / 2
            return LossAtoms(
                loss=np.concatenate([[-self.span], middle, [self.span]]),
                mass=np.concatenate([ends[:1], inner, ends[1:]]),
            )
        bins = max(1, math.ceil(2 * self.span / step))
        edges = np.linspace(-self.span, self.span, bins + 1)
        mass_p = np.diff(np.exp((edges - self.span) / 2)) / 2
        mass_q = -np.diff(np.exp(-(edges + self.span) / 2)) / 2
        mass = _on_edges(edges, mass_p, mass_q, side)
        mass[0] += math.exp(-self.span) / 2
        mass[-1] += 0.5
        return LossAtoms(loss=edges, mass=mass)


@dataclass(frozen=True)
class GaussianLoss:
    """The loss of Gaussian noise between two counts that are `span` standard deviations apart."""

    span: float

    def delta(self, epsilon: ArrayLike, /) -> Floats:
        """Phi(span/2 - eps/span) - e^eps Phi(-span/2 - eps/span)."""
        from scipy import special

        eps = np.asarray(epsilon, float)
        big = special.log_ndtr(self.span / 2 - eps / self.span)
        small = eps + special.log_ndtr(-self.span / 2 - eps / self.span)
        return np.asarray(np.exp(log_subtract(big, np.minimum(small, big))))

    def atoms(self, step: float, /, *, side: Side) -> LossAtoms:
        """Bins out to 12 standard deviations; the rest above is infinite, or at the last edge."""
        from scipy import special

        centre, half = self.span**2 / 2, 12 * self.span
        edges = step * np.arange(math.floor((centre - half) / step), math.ceil((centre + half) / step) + 1.0)
        z = (edges - centre) / self.span
        mass_p = np.exp(log_subtract(special.log_ndtr(-z[:-1]), special.log_ndtr(-z[1:])))
        mass_q = np.exp(
            log_subtract(special.log_ndtr(-z[:-1] - self.span), special.log_ndtr(-z[1:] - self.span))
        )
        mass = _on_edges(edges, mass_p, mass_q, side)
        mass[0] += float(special.ndtr(z[0]))
        beyond = float(special.ndtr(-z[-1]))
        mass[-1] += beyond if side == "lower" else 0.0
        return LossAtoms(loss=edges, mass=mass, infinite=beyond if side == "upper" else 0.0)


def _on_edges(edges: Floats, mass_p: Floats, mass_q: Floats, side: Side, /) -> Floats:
    """The mass of each bin moved to its edges: split between both (upper) or all to the left (lower)."""
    mass = np.zeros(len(edges))
    if side == "lower":
        mass[:-1] = mass_p
        return mass
    up, down = split_between(edges[:-1], edges[1:], mass_p, mass_q)
    mass[:-1] += down
    mass[1:] += up
    return mass


def split_between(low: Floats, high: Floats, mass_p: Floats, mass_q: Floats, /) -> tuple[Floats, Floats]:
    """Shares of `mass_p` to move to the losses `high` and `low` so that P and Q masses are kept.

    Moving mass to both ends of a bin this way keeps delta exact at the ends and raises it
    between them (delta is convex in e^epsilon): the "connect the dots" bound of Doroshenko,
    Ghazi, Kamath, Kumar and Manurangsi (2022).
    """
    weight_low, weight_high = np.exp(-low), np.exp(-high)
    up = np.clip((mass_p * weight_low - mass_q) / (weight_low - weight_high), 0.0, mass_p)
    return up, mass_p - up


def shift_loss(law: Law, shift: int, /) -> PrivacyLoss:
    """The loss between two counts `shift` apart, both far from zero and from any cut."""
    if isinstance(law, Laplace):
        return LaplaceLoss(shift / law.scale)
    if isinstance(law, Gaussian):
        return GaussianLoss(shift / law.scale)
    if isinstance(law, DiscreteLaplace | RoundedLaplace):
        return _flat_tailed_loss(law, shift)
    if isinstance(law, ContinuousLaw):
        raise SpecError(
            f"the privacy of {law.name} noise is not known; round it, or use laplace or gaussian."
        )
    lattice = cast("LatticeLaw", law)
    k = np.arange(-lattice.reach(740) - shift, lattice.reach(740) + 1)
    return loss_of_pmfs(lattice.logpmf(k), lattice.logpmf(k + shift))


def _flat_tailed_loss(law: DiscreteLaplace | RoundedLaplace, shift: int, /) -> LossAtoms:
    """Exact: beyond the two centres the loss is plus or minus shift/scale; few values lie between."""
    inner = np.arange(-shift, 1) if isinstance(law, RoundedLaplace) else np.arange(1 - shift, 0)
    first, last = (-shift, 0) if isinstance(law, RoundedLaplace) else (1 - shift, -1)
    bound = law.loss_bound(shift)
    loss = law.logpmf(inner) - law.logpmf(inner + shift)
    return LossAtoms(
        loss=np.concatenate([[-bound], loss, [bound]]),
        mass=np.exp(np.concatenate([[law.logcdf(first - 1)], law.logpmf(inner), [law.logsf(last)]])),
    )


def loss_of_pmfs(log_p: Floats, log_q: Floats, /) -> LossAtoms:
    """The loss between two lists of log-probabilities over the same outcomes."""
    seen, both = log_p > -np.inf, (log_p > -np.inf) & (log_q > -np.inf)
    return LossAtoms(
        loss=log_p[both] - log_q[both],
        mass=np.exp(log_p[both]),
        infinite=float(np.sum(np.exp(log_p[seen & ~both]))),
    )


def response_loss(p: Response, q: Response, /) -> LossAtoms:
    """The loss between two responses that publish integers, by listing what can be published."""
    low = min(p.support()[:1].min(initial=0), q.support()[:1].min(initial=0))
    high = max(p.support()[-1:].max(initial=0), q.support()[-1:].max(initial=0))
    values = np.arange(low, high + 1)
    log_p = np.append(p.logprob(values), p.log_suppressed)
    log_q = np.append(q.logprob(values), q.log_suppressed)
    return loss_of_pmfs(log_p, log_q)


def zero_losses(response: Response, /) -> tuple[LossAtoms, LossAtoms]:
    """The losses between a kept zero and `response`: when its people leave, and when they come.

    A kept zero has one outcome, o. Leaving: everything but o is impossible without them.
    Coming: the loss is -log P(o | they are there).
    """
    made = response.mechanism
    shows = made.shows_zeros
    if shows and made.integers:
        log_same = float(response.logprob(0.0))
    else:
        log_same = -math.inf if made.zeros == "show" else response.log_suppressed
    log_other = float(log_subtract(0.0, log_same)) if shows else response.log_published
    if log_same == -math.inf:
        certain = LossAtoms(loss=np.zeros(0), mass=np.zeros(0), infinite=1.0)
        return certain, certain
    leaving = LossAtoms(
        loss=np.array([log_same]), mass=np.array([math.exp(log_same)]), infinite=math.exp(log_other)
    )
    return leaving, LossAtoms(loss=np.array([-log_same]), mass=np.ones(1))


def delta_of_two(first: PrivacyLoss, second: PrivacyLoss, epsilon: ArrayLike, /) -> Floats:
    """The exact delta when both losses are suffered at once, independently."""
    eps = np.asarray(epsilon, float)
    if isinstance(first, GaussianLoss) and isinstance(second, GaussianLoss):
        return GaussianLoss(math.hypot(first.span, second.span)).delta(eps)
    if isinstance(second, LossAtoms) and not isinstance(first, LossAtoms):
        first, second = second, first
    if isinstance(first, LossAtoms):
        return np.asarray(first.infinite + second.delta(eps[..., None] - first.loss) @ first.mass)
    if isinstance(first, LaplaceLoss) and isinstance(second, LaplaceLoss):
        return np.asarray(np.vectorize(lambda e: _two_laplace(first, second, float(e)))(eps))
    raise SpecError("the joint privacy of Laplace and Gaussian noise in one table pair is not worked out.")


def _two_laplace(a: LaplaceLoss, b: LaplaceLoss, eps: float, /) -> float:
    """The ends of `a` as atoms, its middle by Gauss-Legendre between the kinks of `b`."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    total = 0.5 * float(b.delta(eps - a.span)) + 0.5 * math.exp(-a.span) * float(b.delta(eps + a.span))
    kinks = np.clip([-a.span, eps - b.span, eps + b.span, a.span], -a.span, a.span)
    for low, high in itertools.pairwise(kinks):
        loss = (low + high) / 2 + (high - low) / 2 * nodes
        values = np.exp((loss - a.span) / 2) / 4 * b.delta(eps - loss)
        total += float(np.sum(weights * values)) * (high - low) / 2
    return total
