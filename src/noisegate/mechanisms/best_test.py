"""How sure an attacker can be that a person is in the data: the success of the best test, exact.

Somebody knows the mechanism, which cells the person's events would be in, and everything else, and wonders whether the person is
in the data. P and Q are what is published with the person and without. By Neyman and Pearson no test beats the likelihood
ratio P/Q, so its success is that of every attack there can be. With `prior` beforehand it is right with probability

    (1 - prior) + prior * delta(log((1 - prior) / prior)),      delta(e) = sum of (P - exp(e) Q)+,

and without any table the better guess is right with max(prior, 1 - prior): the baseline. Delta comes from the privacy-loss
distribution, convolved over cells by fast Fourier transforms on a grid that is laid once above and once below the truth. Both
errors are of second order in the step for Laplace noise; Gaussian noise has a closed form; discrete laws lie on the grid.
A transform loses what is below 1e-13 of a probability, which no certainty shows: small deltas are `composed_delta`'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import ContinuousLaw, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from noisegate.mechanisms.composition import Bracket, Contribution, GridLoss, trimmed
from noisegate.mechanisms.loss import (
    GaussianLoss,
    LaplaceLoss,
    LossAtoms,
    PrivacyLoss,
    Side,
    response_loss,
    split_between,
)
from noisegate.mechanisms.mechanism import Response
from noisegate.mechanisms.privacy import CountLosses, count_losses

Floats = NDArray[np.float64]

#: Grid points to the largest loss of one event: for laws whose losses lie on the grid or are rounded to second order, for others, and for a pair of counts near a threshold.
_POINTS, _MORE_POINTS, _MOST_POINTS = 32, 512, 2048
#: The grid of a sum has no more points than this.
_LONGEST = 2**19
#: Mass that is cut from a tail, and what all floating point may have lost.
_TAIL, _ROUNDING = 1e-15, 1e-9
#: Bins of continuous noise that is cut, over so many standard deviations on each side.
_BINS = 20_000


def certainty(
    contributions: Sequence[Contribution],
    /,
    *,
    prior: float = 0.5,
    others: int | None = None,
    beside: float = 0.0,
) -> Bracket:
    """How often the best test is right about whether one person is in the data, between two bounds.

    The attacker knows the mechanism, which cells the person would be in, and everything else; beforehand the person is
    in with probability `prior`. Knowing nothing of the tables, the better guess is right with max(prior, 1 - prior), which is the
    baseline.

    Parameters
    ----------
    contributions
        What the person adds: `cells` cells that change by `change` each. Events in cells of their own are `cells=k`,
        events that all fall into the same cell `change=k`.
    prior
        How likely it is beforehand that the person is in.
    others
        How many other people are in each of the cells; it matters near a threshold. None: the worst case over all data.
    beside
        The epsilon of anything else that is told about the person.

    Examples
    --------
    >>> from noisegate import Contribution, Mechanism, certainty, make_law
    >>> flows = Mechanism(law=make_law("laplace", scale=1 / 0.66), zeros="perturb")
    >>> round(certainty([Contribution(mechanism=flows, cells=1)]).upper, 2)
    0.64
    >>> round(certainty([Contribution(mechanism=flows, cells=32)]).upper, 3)
    0.955
    """
    _check(prior, others, beside)
    less, more = min(prior, 1 - prior), max(prior, 1 - prior)
    live = tuple(c for c in contributions if c.cells)
    if not live and not beside:
        return Bracket(lower=more, upper=more)
    bell = _bell(live) if others is None and not beside else None
    if bell is not None:
        gained = float(bell.delta(math.log(more / less)))
        return Bracket(lower=more + less * gained, upper=more + less * gained)
    if others is not None:
        # P against Q as they are: for a prior above one half this delta is taken at a negative epsilon.
        ends = [
            _composed(live, side, 0, others, beside).delta(math.log((1 - prior) / prior)) for side in _SIDES
        ]
        low, high = (1 - prior + prior * end for end in ends)
        return Bracket(lower=max(more, low - _ROUNDING), upper=min(1.0, max(more, high + _ROUNDING)))
    at = math.log(more / less)
    upper = _composed(live, "upper", 0, None, beside).delta(at)
    lower = max(_composed(live, "lower", pick, None, beside).delta(at) for pick in range(_picks(live)))
    return Bracket(
        lower=max(more, more + less * lower - _ROUNDING), upper=min(1.0, more + less * upper + _ROUNDING)
    )


_SIDES: tuple[Side, Side] = ("lower", "upper")


def _check(prior: float, others: int | None, beside: float, /) -> None:
    if not 0 < prior < 1:
        raise SpecError.for_value("prior", found=prior, allowed="between 0 and 1")
    if others is not None and (isinstance(others, bool) or others != int(others) or others < 0):
        raise SpecError.for_value("others", found=others, allowed="a whole number of at least 0")
    if not 0 <= beside < math.inf:
        raise SpecError.for_value("beside", found=beside, allowed="a finite number of at least 0")


def _bell(live: Sequence[Contribution], /) -> GaussianLoss | None:
    """All cells as one shift of one bell curve, where all noise is Gaussian and no zero is kept."""
    if any(not isinstance(c.mechanism.published_law, Gaussian) or c.mechanism.keeps_zeros for c in live):
        return None
    squares = sum(c.cells * (c.change / cast("Gaussian", c.mechanism.law).scale) ** 2 for c in live)
    return GaussianLoss(math.sqrt(squares))


def _picks(live: Sequence[Contribution], /) -> int:
    """How many real pairs of counts the lower bound tries in all cells alike."""
    return max(len(_real_pairs(count_losses(c.mechanism, change=c.change))) for c in live) if live else 1


@lru_cache(maxsize=128)
def _composed(
    live: tuple[Contribution, ...], side: Side, pick: int, others: int | None, beside: float, /
) -> GridLoss:
    """The loss of all cells together on a grid that lies above or below the truth."""
    kept = any(c.mechanism.keeps_zeros for c in live)
    step = _step(live, beside, most=_MOST_POINTS if others is not None else _MORE_POINTS if kept else _POINTS)
    if kept and others is None:  # a kept zero is a long loss, however small that of each noise is
        step = max(step, 2 * _JOINED / _LONGEST)
    parts = [(_atoms(one, step, side, pick, others), one.cells) for one in live]
    if beside:
        parts.append((_randomised_response(beside), 1))
    total = GridLoss.nothing(step)
    for atoms, times in parts:
        grid = GridLoss.of(_within_reach(atoms, side), step=step, side=side)
        total = _plus(total, _times(grid, times, side), side)
    return total


def _within_reach(atoms: LossAtoms, side: Side, /) -> LossAtoms:
    """Losses beyond `_FAR` at its ends: with the person they have a chance below exp(-60), or without."""
    far = atoms.loss > _FAR
    loss = np.clip(atoms.loss, -_FAR, _FAR)
    if side == "lower" or not far.any():
        return LossAtoms(loss=loss, mass=atoms.mass, infinite=atoms.infinite)
    beyond = float(atoms.mass[far].sum())
    return LossAtoms(loss=loss[~far], mass=atoms.mass[~far], infinite=atoms.infinite + beyond)


#: A loss of this size is as good as proof, and the loss of the other side as good as impossible.
_FAR = 60.0


def _atoms(one: Contribution, step: float, side: Side, pick: int, others: int | None, /) -> LossAtoms:
    if others is not None:
        within, without = (one.mechanism.response(others + more) for more in (one.change, 0))
        return _pair_loss(within, without, side)
    losses = count_losses(one.mechanism, change=one.change)
    if side == "upper":
        return _worst(losses, step)
    pairs = _real_pairs(losses)
    pair = pairs[min(pick, len(pairs) - 1)]
    if _sure(pair):
        return LossAtoms(loss=np.array([_FAR / 2]), mass=np.array([1 - _PROOF]))
    return pair.atoms(step, side="lower")


def _sure(loss: PrivacyLoss, /) -> bool:
    """Whether one look is proof, up to `_PROOF`: such losses are too long for a grid."""
    return float(loss.delta(_FAR / 2)) > 1 - _PROOF


#: What is less likely than this does not show in a certainty.
_PROOF = 1e-12


def _real_pairs(losses: CountLosses, /) -> tuple[PrivacyLoss, ...]:
    """Pairs of counts that there can be; of many, the first, the last and some between."""
    zeros = [one for one in (losses.zero_losing, losses.zero_gaining) if one is not None]
    noisy = losses.noisy_losing
    few = noisy if len(noisy) <= _FEW_PAIRS else noisy[:: math.ceil(len(noisy) / _FEW_PAIRS)]
    return (*few, *zeros)


#: Pairs that a lower bound tries.
_FEW_PAIRS = 12


def _worst(losses: CountLosses, step: float, /) -> LossAtoms:
    """A loss at least as bad as every noisy one and as the kept zero, coming or going."""
    if any(_sure(one) for one in losses.noisy_losing):
        return LossAtoms(loss=np.zeros(0), mass=np.zeros(0), infinite=1.0)
    if len(losses.noisy_losing) == 1 and losses.zero_losing is None:
        return losses.noisy_losing[0].atoms(step, side="upper")
    return envelope((*losses.losing, *losses.gaining), step=step)


def envelope(losses: Sequence[PrivacyLoss], /, *, step: float) -> LossAtoms:
    """One loss that is at least as bad as each of `losses`: its delta is the largest of theirs, joined by chords in exp(epsilon).

    The largest of convex curves is convex, so it is the curve of a pair of laws, and dominates each of them in any composition.
    """
    reach = min(max(_longest(one) for one in losses), _JOINED)
    grid: Floats = (
        np.arange(-math.ceil(reach / step) - 1.0, math.ceil(reach / step) + 2.0).astype(np.float64) * step
    )
    most = np.max([one.delta(grid) for one in losses], axis=0)
    slopes = np.diff(most) / np.diff(np.exp(grid))
    # A pair of laws starts at delta = 1 where epsilon is minus infinity, and ends level.
    before = min(0.0, float(most[0] - 1) / math.exp(grid[0]))
    bends = np.maximum(np.diff(np.concatenate([[before], slopes, [0.0]])), 0.0)
    mass = np.asarray(bends * np.exp(grid), np.float64)
    # What rounding took from the whole is put where it cannot hide a loss.
    return LossAtoms(loss=grid, mass=mass, infinite=max(float(most[-1]), 1 - float(mass.sum())))


def _longest(loss: PrivacyLoss, /) -> float:
    if isinstance(loss, LossAtoms):
        return float(np.abs(loss.loss[loss.mass > 0]).max(initial=0.0))
    return loss.span if isinstance(loss, LaplaceLoss) else _JOINED


#: Curves are joined over losses up to this size; beyond, a difference of deltas has no digits.
_JOINED = 16.0


def _pair_loss(within: Response, without: Response, side: Side, /) -> LossAtoms:
    """The loss between two responses of one mechanism: listed where integers are published, else in bins of the value."""
    mechanism = within.mechanism
    if mechanism.integers:
        return response_loss(within, without)
    if within.fixed or without.fixed:
        return _kept_zero(within, without)
    law, shift = cast("ContinuousLaw", mechanism.law), within.count - without.count
    reach = mechanism.reach(_FAR)
    low = (
        -reach - shift
        if mechanism.threshold is None
        else max(mechanism.threshold - within.count, -reach - shift)
    )
    high = max(float(reach), low + 1)
    kinks = [x for x in (-float(shift), 0.0) if low < x < high]
    edges = np.union1d(np.linspace(low, high, _BINS + 1), kinks)
    ends = np.array([[law.logsf(high), law.logsf(high + shift)], [law.logcdf(low), law.logcdf(low + shift)]])
    shown = _binned(
        np.clip(law.logpdf(edges) - law.logpdf(edges + shift), -_FAR, 2 * _FAR),
        law.log_between(edges[:-1], edges[1:]),
        law.log_between(edges[:-1] + shift, edges[1:] + shift),
        side,
    )
    return LossAtoms(
        loss=np.concatenate([shown.loss, np.clip(ends[:, 0] - ends[:, 1], -_FAR, 2 * _FAR)]).astype(
            np.float64
        ),
        mass=np.concatenate([shown.mass, np.exp(ends[:, 0])]),
    )


def _binned(ratio: Floats, log_p: Floats, log_q: Floats, side: Side, /) -> LossAtoms:
    """Bins in which the ratio rises: each as one outcome (a coarser view, below), or split between its ends (above)."""
    mass = np.exp(log_p)
    if side == "lower":
        seen = mass > 0
        return LossAtoms(loss=np.clip((log_p - log_q)[seen], -_FAR, _FAR), mass=mass[seen])
    low, high = ratio[:-1], ratio[1:]
    flat = high - low < _FLAT
    up, down = split_between(low, np.where(flat, low + 1.0, high), mass, np.exp(log_q))
    return LossAtoms(
        loss=np.concatenate([low, high]),
        mass=np.concatenate([np.where(flat, 0.0, down), np.where(flat, mass, up)]),
    )


#: Bins whose loss rises by less than this are one value of it.
_FLAT = 1e-12


def _kept_zero(within: Response, without: Response, /) -> LossAtoms:
    """Without the person the cell is a zero that is kept: any other value proves that the person is there."""
    if not without.fixed:
        raise SpecError("a person cannot be in a cell that is empty with the person.")
    same = within.log_suppressed if not without.mechanism.passes(0) else -math.inf
    if same == -math.inf:
        return LossAtoms(loss=np.zeros(0), mass=np.zeros(0), infinite=1.0)
    return LossAtoms(
        loss=np.array([same]), mass=np.array([math.exp(same)]), infinite=math.exp(within.log_published)
    )


def _randomised_response(epsilon: float, /) -> LossAtoms:
    yes = 1 / (1 + math.exp(-epsilon))
    return LossAtoms(loss=np.array([epsilon, -epsilon]), mass=np.array([yes, 1 - yes]))


def _step(live: Sequence[Contribution], beside: float, /, *, most: int) -> float:
    """The step of the grid: fine enough that rounding does not show, coarse enough that a sum fits."""
    if not live:
        return beside / _POINTS
    law = live[0].mechanism.published_law
    alike = len({(type(c.mechanism.published_law), c.mechanism.published_law.variance) for c in live}) == 1
    fits = (
        most == _POINTS
        and alike
        and isinstance(law, Laplace | DiscreteLaplace | DiscreteGaussian)
        and not beside
    )
    spread = math.sqrt(max(law.variance, _NARROW))
    bound = law.loss_bound(1) if math.isfinite(law.loss_bound(1)) else 1 / spread
    unit = bound / math.ceil(bound)  # a loss above 1 is looked at in parts
    if isinstance(law, DiscreteGaussian):
        unit = 1 / (2 * law.scale**2)
        points = 1 if fits else math.ceil(unit * spread * max(most, _MORE_POINTS))
    else:
        points = _POINTS if fits else max(most, _MORE_POINTS)
    widest = sum(
        c.cells * c.change / math.sqrt(max(c.mechanism.published_law.variance, _NARROW)) for c in live
    )
    while points > 1 and 4 * (widest + beside) * points / unit > _LONGEST:
        points //= 2
    return unit / points


#: Variances below this do not make the grid any coarser.
_NARROW = 0.1


def _times(loss: GridLoss, n: int, side: Side, /) -> GridLoss:
    total, power = GridLoss.nothing(loss.step), loss
    while n:
        if n & 1:
            total = _plus(total, power, side)
        n >>= 1
        if n:
            power = _plus(power, power, side)
    return total


def _plus(one: GridLoss, other: GridLoss, side: Side, /) -> GridLoss:
    """Both losses, independently; by a Fourier transform where that is quicker."""
    small = min(len(one.mass), len(other.mass))
    if small <= _SMALL:
        mass = np.convolve(one.mass, other.mass)
    else:
        size = len(one.mass) + len(other.mass) - 1
        n = 1 << (size - 1).bit_length()
        first = np.fft.rfft(one.mass, n)
        second = first if other is one else np.fft.rfft(other.mass, n)
        mass = np.fft.irfft(first * second, n)[:size]
        mass = np.maximum(mass, 0.0)
    infinite = one.infinite + other.infinite - one.infinite * other.infinite
    return trimmed(GridLoss(one.step, one.first + other.first, mass, infinite), side, most=_TAIL)


#: Grids up to this length are convolved term by term.
_SMALL = 64


def success_bound(epsilon: float, /, *, delta: float = 0.0, prior: float = 0.5) -> float:
    """How often any test can be right about anything that is (epsilon, delta)-differentially private: an upper bound.

    Examples
    --------
    >>> round(success_bound(0.66), 3), success_bound(0.0)
    (0.659, 0.5)
    """
    _check(prior, None, 0.0)
    less, more = min(prior, 1 - prior), max(prior, 1 - prior)
    # Randomised response with the same epsilon and delta dominates: delta' at log(more / less) of it.
    at = math.log(more / less)
    if epsilon > _CERTAIN:
        return 1.0
    yes = 1 / (1 + math.exp(-epsilon))
    noisy = max(0.0, yes - math.exp(at) * (1 - yes)) if at < epsilon else 0.0
    return min(1.0, more + less * (delta + (1 - delta) * noisy))


#: From this epsilon on a guess is right for certain, up to rounding.
_CERTAIN = 40.0
