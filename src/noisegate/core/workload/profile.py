"""Intensities of counts of which only the large ones were published, and how uncertain these are.

A cell's count z is negative binomial around an intensity m, published as z + noise if that reaches a threshold. The
log-intensity is a sum of effects, one for each level of some codes (place, time, day, pairs of them), each
drawn from a normal law whose variance is learnt. What is maximised is the likelihood of what every cell *shows*,
a value or its absence, and of the sums over missing cells that margins leave, penalised by the effects' laws.
It needs no expected counts, so it does not creep as expectation-maximisation does where nearly everything is
missing: each level makes Newton steps with the curvature of the observed likelihood.

How far single cells stray from their intensities (the dispersion) maximises the likelihood of each cell under the
intensity that the *other* cells give it.

Assumes that the log-intensity is near a sum of the effects. Where no cell of a level is shown and no margin covers it,
the data bound its intensity from above only; such cells are said to be *unseen*, and their uncertainty is taken
as common to all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from noisegate.core.linked import NegativeBinomial
from noisegate.core.mechanism import Mechanism
from noisegate.core.workload.missing import LEAST_LOG, MOST_LOG, Missing, log_mass, missing_tables
from noisegate.core.workload.slopes import (
    by_level,
    interpolate,
    near_slopes,
    pulled,
    seen_slopes,
    shifted,
    totals,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_DISPERSIONS = np.exp(np.linspace(math.log(0.005), math.log(4.0), 16))
#: Where the search for it starts: about 0.3.
_FIRST = 10
_ROUNDS, _SWEEPS = 8, 6
_LONGEST_STEP = 1.5
#: After longer steps than this the slopes are worked out anew; after shorter ones they are moved along their bend.
_SHORT_STEP = 0.2
#: A fit whose levels move less than this, in the root mean square, has settled.
_SETTLED = 0.01
#: Effects of single dimensions, and of pairs, are never taken to vary less than this: hours differ even if none is shown.
_LEAST_OF_ONE, _LEAST_OF_PAIR, _MOST_VARIANCE = 1.0, 0.003, 16.0
_SAMPLE = 20_000
_MOST_SPREAD = 1.0
#: What an effect of which nothing is seen may be off, as a variance on the log scale.
_MOST_UNSEEN = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remainders:
    """Noisy sums over missing cells: `rest[code]` with noise of `variance[code]`; a code of -1 is in none.

    Where `upper` is true the sum is only known not to be above `rest`.
    """

    codes: Ints
    rest: Floats
    variance: Floats
    upper: Bools


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileFit:
    """What the other cells say of each cell, and how uncertain each level of each effect is on the log scale."""

    prior: NegativeBinomial
    dispersion: float
    uncertainty: tuple[Floats, ...]
    spread: Floats


def fit_profile(
    values: Floats,
    effects: Sequence[Ints],
    /,
    *,
    mechanism: Mechanism,
    mains: int,
    remainders: Sequence[Remainders] = (),
) -> ProfileFit:
    """Intensities of all cells from what they show; NaN in `values` says that nothing was published.

    The first `mains` of the effects are those of single dimensions.
    """
    return _Fitter.of(values, effects, mechanism, remainders, mains).run()


@dataclass(slots=True, kw_only=True, eq=False)
class _Effect:
    codes: Ints
    value: Floats
    uncertainty: Floats
    least: float
    variance: float = 1.0


@dataclass(slots=True, kw_only=True, eq=False)
class _Fitter:
    shown: Ints
    hidden: Ints
    seen: Floats
    noise: float
    mechanism: Mechanism
    remainders: list[Remainders]
    effects: list[_Effect]
    eta: Floats
    dispersion: float
    tables: tuple[Missing, ...] = field(repr=False)
    missing: Missing = field(repr=False)

    @classmethod
    def of(
        cls,
        values: Floats,
        effects: Sequence[Ints],
        mechanism: Mechanism,
        remainders: Sequence[Remainders],
        mains: int,
        /,
    ) -> _Fitter:
        hidden = np.isnan(values)
        seen = np.maximum(values[~hidden], 0.0)
        start = math.log(max((seen.sum() + 0.5) / len(values), 1e-3))
        sizes = [int(codes.max(initial=0)) + 1 for codes in effects]
        tables = missing_tables(mechanism, tuple(_DISPERSIONS.tolist()))
        return cls(
            shown=np.flatnonzero(~hidden),
            hidden=np.flatnonzero(hidden),
            seen=seen,
            noise=mechanism.published_law.variance,
            mechanism=mechanism,
            remainders=[
                Remainders(codes=r.codes[hidden], rest=r.rest, variance=r.variance, upper=r.upper)
                for r in remainders
            ],
            effects=[
                _Effect(
                    codes=codes,
                    value=np.zeros(size),
                    uncertainty=np.ones(size),
                    least=_LEAST_OF_ONE if place < mains else _LEAST_OF_PAIR,
                )
                for place, (codes, size) in enumerate(zip(effects, sizes, strict=True))
            ],
            eta=np.full(len(values), start),
            dispersion=float(_DISPERSIONS[_FIRST]),
            tables=tables,
            missing=tables[_FIRST],
        )

    def run(self) -> ProfileFit:
        for _ in range(_ROUNDS):
            before = self.dispersion
            moves = [math.inf]
            while len(moves) <= _SWEEPS and moves[-1] > _SETTLED:
                moves.append(self._sweep())
            self._judge()
            if self.dispersion == before and moves[1] < 2 * _SETTLED:
                break
        self._weigh()
        apart, spread = self._without_own()
        bounded = np.minimum(spread, _MOST_SPREAD)
        prior = NegativeBinomial(
            # Between the median of a log-normal intensity and its mean: its upper tail is cut by what is missing.
            mean=np.exp(np.clip(apart + bounded / 3, LEAST_LOG, MOST_LOG)),
            shape=1 / (self.dispersion + np.expm1(bounded)),
            zero_share=np.zeros(1),
        )
        return ProfileFit(
            prior=prior,
            dispersion=self.dispersion,
            uncertainty=tuple(effect.uncertainty for effect in self.effects),
            spread=spread,
        )

    def _slopes(self) -> tuple[Floats, Floats]:
        """First and (negative) second derivative of the log-likelihood by each cell's log-intensity."""
        slope, bend = np.zeros(len(self.eta)), np.zeros(len(self.eta))
        seen_slopes(self.eta, self.shown, self.seen, self.dispersion, self.noise, slope, bend)
        if self.hidden.size:
            of = self.missing
            near_slopes(self.eta, self.shown, self.seen, of.least, *of.scale, of.near, slope, bend)
            found = interpolate(self.eta, self.hidden, *self.missing.scale, self.missing.table)
            for sums in self.remainders:
                total, width, reach = totals(sums.codes, found, len(sums.rest))
                speaks = (~sums.upper | (total > sums.rest)) / (width + sums.variance)
                pulled(sums.codes, speaks * (sums.rest - total), speaks * reach, found)
            slope[self.hidden], bend[self.hidden] = found[0], found[1]
        return slope, bend

    def _sweep(self) -> float:
        """One Newton step for the overall level, and for each level of each effect; how far levels moved."""
        slope, bend = self._slopes()
        step = float(np.clip(slope.sum() / max(bend.sum(), 1e-9), -_LONGEST_STEP, _LONGEST_STEP))
        self.eta = np.clip(self.eta + step, LEAST_LOG, MOST_LOG)
        longest, furthest = math.inf, abs(step)
        for effect in self.effects:
            if longest > _SHORT_STEP:
                slope, bend = self._slopes()
            pull, curvature = by_level(effect.codes, slope, bend, len(effect.value))
            curvature += 1 / effect.variance
            pull -= effect.value / effect.variance
            move = np.clip(pull / curvature, -_LONGEST_STEP, _LONGEST_STEP)
            effect.value += move
            effect.uncertainty = 1 / curvature
            shifted(effect.codes, move, self.eta, slope, bend, LEAST_LOG, MOST_LOG)
            longest = float(np.abs(move).max(initial=0.0))
            furthest = max(furthest, math.sqrt(float(np.mean(move**2))))
            renewed = float(np.mean(effect.value**2 + effect.uncertainty))
            effect.variance = min(max(renewed, effect.least), _MOST_VARIANCE)
        return furthest

    def _weigh(self) -> None:
        """Renew how uncertain each level is, from what is shown alone: what is missing bounds it on one side only."""
        mean = np.exp(self.eta[self.shown])
        sure = np.zeros(len(self.eta))
        sure[self.shown] = mean**2 / (mean + self.dispersion * mean**2 + self.noise)
        other = np.zeros(len(self.eta))
        for effect in self.effects:
            other += np.minimum(effect.uncertainty[effect.codes], _MOST_SPREAD)
        variance, gain = self.missing.at(self.eta[self.hidden], self.missing.variance, self.missing.gain)
        found = []
        for effect in self.effects:
            size = len(effect.value)
            known = np.bincount(effect.codes, weights=sure, minlength=size) + 1 / effect.variance
            for sums in self.remainders:
                inside = (sums.codes >= 0) & ~sums.upper[sums.codes]
                codes, gains = sums.codes[inside], gain[inside]
                free = variance[inside] + gains**2 * other[self.hidden][inside]
                width = np.bincount(codes, weights=free, minlength=len(sums.rest)) + sums.variance
                level = effect.codes[self.hidden][inside]
                distinct, place = np.unique(level * len(sums.rest) + codes, return_inverse=True)
                reach = np.bincount(place, weights=gains)
                told = reach**2 / width[distinct % len(sums.rest)]
                known += np.bincount(distinct // len(sums.rest), weights=told, minlength=size)
            found.append(np.minimum(1 / known, _MOST_UNSEEN))
        for effect, uncertainty in zip(self.effects, found, strict=True):
            effect.uncertainty = uncertainty

    def _without_own(self) -> tuple[Floats, Floats]:
        """The log-intensity of each cell and its variance, its own evidence taken out by one Newton step."""
        slope, bend = self._slopes()
        slope[self.hidden] = bend[self.hidden] = 0.0
        spread = np.zeros(len(self.eta))
        for effect in self.effects:
            spread += effect.uncertainty[effect.codes]
        left = np.maximum(1 - spread * bend, 0.1)
        return self.eta - np.clip(spread * slope / left, -2.0, 2.0), spread / left

    def _judge(self) -> None:
        """Renew the dispersion: the one under which cells are best predicted from the others."""
        apart, spread = self._without_own()
        best, found = -math.inf, self.dispersion
        some, others = (group[:: max(1, len(group) // _SAMPLE)] for group in (self.shown, self.hidden))
        weights = [
            len(group) / max(1, len(part)) for group, part in ((self.shown, some), (self.hidden, others))
        ]
        seen = np.rint(self.seen[:: max(1, len(self.shown) // _SAMPLE)])
        mean = np.exp(apart[some])
        extra = np.expm1(np.minimum(spread[some], _MOST_SPREAD)) + self.noise / np.maximum(mean, 1e-3) ** 2
        missing = self._missing_scores(apart[others])
        unsure = np.expm1(np.minimum(spread[others], _MOST_SPREAD))
        for own in _DISPERSIONS:
            score = weights[0] * float(log_mass(seen, mean, 1 / (own + extra)).sum())
            nearest = np.searchsorted(_DISPERSIONS, np.minimum(own + unsure, _DISPERSIONS[-1]))
            score += weights[1] * float(missing[nearest, np.arange(len(others))].sum())
            if score > best:
                best, found = score, float(own)
        self.dispersion = found
        self.missing = self.tables[int(np.searchsorted(_DISPERSIONS, found))]

    def _missing_scores(self, apart: Floats, /) -> Floats:
        """How likely each cell is to be missing at its log-intensity, for each dispersion that is tried."""
        return np.stack([table.at(apart, table.logs)[0] for table in self.tables])
