"""Residuals as sums of noises: how likely they are under a symmetric law of one noise, and the likeliest law of all.

A residual may hold, beside a number of noises of the law that is looked for, noises of other tables whose law is known. These are
its *background*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import LatticeLaw

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEVER = 1e-13
#: What is off for other reasons can be off by this much at least, and so many may be.
_FAR, _SHARES = 40, (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
_CYCLES, _SETTLED, _LEAST = 60, 0.01, 1e-12
_NONE = np.ones(1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumGroup:
    """Residuals that hold the same numbers of noises.

    Attributes
    ----------
    number
        How many noises of the law in question.
    values, counts
        Distances from 0, and how often each occurs.
    background
        P(0), P(1), ... of what else is in them.
    """

    number: int
    values: Ints
    counts: Ints
    background: Floats = field(default_factory=lambda: _NONE)

    def law(self, half: Floats, /) -> Floats:
        """P(residual = k) for k = 0, 1, ..."""
        return _joined(summed(half, self.number), self.background)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseSums:
    """Residuals, each a sum of several independent noises of one symmetric law.

    Attributes
    ----------
    groups
        Residuals by the number of noises in them.
    n
        How many residuals.
    off
        Whether a few may be off for other reasons, as pairs of counts can that do not hold quite the same people.
    """

    groups: tuple[SumGroup, ...]
    n: int
    off: bool = False

    @classmethod
    def of(
        cls,
        residual: Ints,
        noises: Ints,
        /,
        *,
        off: bool = False,
        background: Sequence[Floats] = (),
        which: Ints | None = None,
    ) -> NoiseSums:
        """From residuals and the number of noises in each.

        Parameters
        ----------
        background, which
            Laws of what else is in them, and which of these each residual holds.
        """
        some = noises >= 1
        kind = np.zeros(residual.size, np.int64) if which is None else which
        laws = background or (_NONE,)
        groups = []
        for number, place in np.unique(np.column_stack([noises[some], kind[some]]), axis=0).tolist():
            here = some & (noises == number) & (kind == place)
            values, counts = np.unique(np.abs(residual[here]), return_counts=True)
            groups.append(
                SumGroup(
                    number=int(number),
                    values=values.astype(np.int64),
                    counts=counts.astype(np.int64),
                    background=laws[place],
                )
            )
        return cls(groups=tuple(groups), n=int(some.sum()), off=off)

    @property
    def widest(self) -> int:
        """The residual that is furthest out."""
        return max((int(one.values.max(initial=0)) for one in self.groups), default=0)

    @property
    def usual_number(self) -> float:
        """How many noises of the law a residual holds on average."""
        return sum(one.number * int(one.counts.sum()) for one in self.groups) / max(self.n, 1)

    @property
    def wide(self) -> float:
        """The chance of each residual that is off for other reasons."""
        return 1.0 / (2 * max(2 * self.widest, _FAR) + 1)

    @property
    def spread(self) -> float:
        """About the standard deviation of one noise."""
        most = usual_mean(
            np.concatenate(
                [_NO_SQUARES, *(one.values.astype(float) ** 2 / one.number for one in self.groups)]
            ),
            np.concatenate([_NO_SQUARES, *(one.counts for one in self.groups)]),
        )
        total, n = 0.0, 0
        for one in self.groups:
            ground = 2 * float(np.arange(one.background.size) ** 2 @ one.background)
            left = float(one.values.astype(float) ** 2 @ one.counts) - ground * int(one.counts.sum())
            total, n = total + max(left, 0.0) / one.number, n + int(one.counts.sum())
        return math.sqrt(max(min(total / max(n, 1), most), 0.01))

    def log_likelihood(self, half: Floats, /) -> float:
        """Of a symmetric law with P(k) = half[|k|]; where some may be off, at the best share of those."""
        found = [np.maximum(at(one.law(half), one.values), NEVER) for one in self.groups]
        shares, wide = (_SHARES, self.wide) if self.off else ((0.0,), 0.0)
        return max(
            float(
                sum(
                    one.counts @ np.log((1 - share) * chance + share * wide)
                    for one, chance in zip(self.groups, found, strict=True)
                )
            )
            for share in shares
        )

    @property
    def least_bound(self) -> int:
        """No noise with a smaller largest value reaches what was seen; where some may be off, 98 % of it."""
        bounds = []
        for one in self.groups:
            far = int(one.values.max(initial=0))
            if self.off and one.counts.sum():
                share = np.cumsum(one.counts) / one.counts.sum()
                far = int(one.values[min(int(np.searchsorted(share, 0.98)), one.values.size - 1)])
            bounds.append(math.ceil(max(far - (one.background.size - 1), 0) / one.number))
        return max(bounds, default=1)


_NO_SQUARES = np.zeros(0)
#: No noise has a mean square of so many times its median, or of so many where that is less than 1.
_MOST_SQUARES = 1_000.0


def usual_mean(squares: Floats, counts: Floats, /) -> float:
    """The mean of squares that occur so often, without what a few that are off by far add to it."""
    if not squares.size:
        return 0.0
    order = np.argsort(squares, kind="stable")
    often = np.cumsum(counts[order])
    median = float(squares[order][int(np.searchsorted(often, often[-1] / 2))])
    return float(min(squares @ counts / often[-1], _MOST_SQUARES * max(median, 1.0)))


def summed(half: Floats, number: int, /) -> Floats:
    """P(sum = k) for k = 0, 1, ... of a sum of `number` draws."""
    if number == 0:
        return _NONE
    if number == 1:
        return half
    whole = np.concatenate([half[:0:-1], half])
    if number == 2 and half.size <= 400:
        return np.maximum(np.convolve(whole, whole)[2 * (half.size - 1) :], 0.0)
    size = number * (whole.size - 1) + 1
    length = 1 << (size - 1).bit_length()
    full = np.fft.irfft(np.fft.rfft(whole, length) ** number, length)[:size]
    return np.asarray(np.maximum(full[number * (half.size - 1) :], 0.0))


def _joined(one: Floats, other: Floats, /) -> Floats:
    """P(sum = k) for k = 0, 1, ... of one draw of each of two symmetric laws."""
    if other.size == 1:
        return one
    first, second = (np.concatenate([half[:0:-1], half]) for half in (one, other))
    size = first.size + second.size - 1
    if min(first.size, second.size) <= 64:
        full = np.convolve(first, second)
    else:
        length = 1 << (size - 1).bit_length()
        full = np.fft.irfft(np.fft.rfft(first, length) * np.fft.rfft(second, length), length)[:size]
    return np.asarray(np.maximum(full[size // 2 :], 0.0))


def half_of(law: LatticeLaw, /, *, most: int | None = None) -> Floats:
    """P(0), P(1), ... of a symmetric law, as far out as it matters; cut at `most` and made to add up to one if given."""
    reach = law.reach(36.0) if most is None else most
    half = np.exp(law.logpmf(np.arange(reach + 1)))
    return np.asarray(half / (half[0] + 2 * half[1:].sum()))


def at(law: Floats, places: Ints, /) -> Floats:
    """P at these distances from 0."""
    inside = places < law.size
    return np.where(inside, law[np.where(inside, places, 0)], 0.0)


def free_law(sums: NoiseSums, bound: int, /, *, start: Floats | None = None) -> tuple[Floats, float]:
    """The likeliest symmetric law on -bound .. bound, as P(0), P(1), ..., and its log-likelihood.

    Expectation maximisation over what each noise was, with extrapolated steps where they help. `start` is a law with a smaller
    bound, if there is one.
    """
    mass = np.full(bound + 1, 2.0)
    mass[0] = 1.0
    mass /= mass.sum()
    if start is not None:
        mass = 0.02 * mass
        mass[: start.size] += 0.98 * np.where(np.arange(start.size) > 0, 2, 1) * start
    turn = _Turn(sums, bound)
    best, last = mass, -math.inf
    for _ in range(_CYCLES):
        first, log = turn(mass)
        if log < last:  # the long step led astray
            mass = best
            first, log = turn(mass)
        second, _ = turn(first)
        best = second
        if log - last < _SETTLED and math.isfinite(last):
            break
        last = log
        mass = _extrapolated(mass, first, second)
    return _polished(sums, np.concatenate([best[:1], best[1:] / 2]))


#: So many steps of Fisher scoring at most, the shortest share of one that is tried, and what is added to the information, as a share of it.
_POLISHING, _SHORTEST, _RIDGE = 12, 0.01, 1e-8


def _polished(sums: NoiseSums, half: Floats, /) -> tuple[Floats, float]:
    """The law at the top of the likelihood, from one nearby: expectation maximisation all but stands still well below it."""
    log = sums.log_likelihood(half)
    for _ in range(_POLISHING):
        mass, slope = 2 * half[1:], _slope(sums, half)
        free = (mass > _LEAST) | (slope > 0)
        information = mass_information(sums, half)[np.ix_(free, free)]
        if not free.any():
            break
        information += _RIDGE * np.trace(information) * np.eye(int(free.sum()))
        step, size, before = np.linalg.lstsq(information, slope[free], rcond=None)[0], 1.0, log
        while size > _SHORTEST:
            moved = mass.copy()
            moved[free] = np.maximum(moved[free] + size * step, 0.0)
            if moved.sum() < 1:
                tried = np.concatenate([[1 - moved.sum()], moved / 2])
                if (found := sums.log_likelihood(tried)) > log:
                    half, log = tried, found
                    break
            size /= 2
        if log - before < _SETTLED:
            break
    return half, log


def _slope(sums: NoiseSums, half: Floats, /) -> Floats:
    """How the log-likelihood grows with the masses at ±1, ±2, ..."""
    steps, total = np.arange(half.size), np.zeros(half.size)
    for one in sums.groups:
        rest = replace(one, number=one.number - 1).law(half)
        near, far = np.abs(one.values[:, None] - steps), one.values[:, None] + steps
        gradient = one.number * (at(rest, near) + at(rest, far)) / 2
        total += (one.counts / np.maximum(at(one.law(half), one.values), NEVER)) @ gradient
    return np.asarray(total[1:] - total[0])


def mass_information(sums: NoiseSums, half: Floats, /) -> Floats:
    """Fisher's information on the masses at ±1, ±2, ... of a law P(k) = half[|k|], as these residuals have it.

    No unbiased estimate of a mass is sharper than the inverse of this, whoever makes it.
    """
    steps, bound = np.arange(half.size), half.size - 1
    information = np.zeros((bound, bound))
    for one in sums.groups:
        rest = replace(one, number=one.number - 1).law(half)
        near, far = np.abs(one.values[:, None] - steps), one.values[:, None] + steps
        gradient = one.number * (at(rest, near) + at(rest, far)) / 2
        gradient /= np.maximum(at(one.law(half), one.values), NEVER)[:, None]
        free = gradient[:, 1:] - gradient[:, :1]
        information += free.T @ (one.counts[:, None] * free)
    return information


def _extrapolated(start: Floats, first: Floats, second: Floats, /) -> Floats:
    """A long step along where two short ones lead (SQUAREM)."""
    move = first - start
    bend = (second - first) - move
    size = float(np.linalg.norm(bend))
    if size < 1e-14:
        return second
    length = max(float(np.linalg.norm(move)) / size, 1.0)
    far = np.maximum(start + 2 * length * move + length**2 * bend, _LEAST)
    return np.asarray(far / far.sum())


class _Turn:
    """One step of expectation maximisation for the masses at 0, ±1, ±2, ..."""

    def __init__(self, sums: NoiseSums, bound: int, /) -> None:
        steps = np.arange(bound + 1)
        self.sums, self.steps = sums, steps
        self.places = [
            (one, np.abs(one.values[:, None] - steps), one.values[:, None] + steps) for one in sums.groups
        ]
        self.share = 0.01 if sums.off else 0.0

    def __call__(self, mass: Floats, /) -> tuple[Floats, float]:
        """The next masses, and the log-likelihood of these."""
        half = np.concatenate([mass[:1], mass[1:] / 2])
        weight, log, off = np.zeros(mass.size), 0.0, 0.0
        wide = self.share * self.sums.wide
        for one, near, far in self.places:
            rest = _joined(summed(half, one.number - 1), one.background)
            chance = _joined_sum(rest, half, one)
            total = np.maximum((1 - self.share) * chance + wide, NEVER)
            log += float(one.counts @ np.log(total))
            ratio = one.counts * (1 - self.share) / total
            off += float((one.counts * wide / total).sum())
            both = at(rest, near) + np.where(self.steps > 0, at(rest, far), 0.0)
            weight += half * one.number * (ratio @ both)
        if self.share:
            self.share = min(max(off / self.sums.n, 1e-4), _SHARES[-1])
        total_weight = float(weight.sum())
        return (weight / total_weight if total_weight > 0 else mass), log


def _joined_sum(rest: Floats, half: Floats, one: SumGroup, /) -> Floats:
    """P of each residual of a group: one noise and the rest."""
    return at(_joined(rest, half) if rest.size > 1 else half * rest[0], one.values)
