"""Intensities of counts of which only the large ones were published, and how uncertain these are.

A cell's count is negative binomial around an intensity, a product of multipliers: one for each level of some effects (place,
time, day, pairs of them). They are fitted from coarse to fine by the likelihood of what every cell *shows*, a value or its
absence, and of the sums over missing cells that margins leave:

1. Effects of single dimensions, with all that is finer left to the dispersion of cells. Fitting many fine effects at
   the same time would find each at its likeliest value, and such values explain what is missing by too much.
2. Levels of these of which little is shown, by their whole posterior law (`levels`).
3. Pairs of dimensions one after the other, as departures from what is there. Their spread is learnt from single cells.

After each step the dispersion is judged anew. Assumes that intensities are near such a product.

Posterior laws of many cells that share wide sums take one exponential tilt for each sum. A cell's law is its prior times the likelihood of what it shows. A noisy sum over many cells moves all of them a
little: in the limit of wide sums the posterior of a cell is its own law tilted by exp(t z), where the tilts of
the sums solve t = (observed - expected) / noise variance (the saddle point of the joint law; exact if all is
normal). A tilted negative binomial is one again, so laws, means and moments of single cells cost one short loop each.
Sums of a few cells only are better left to `inference.linked`.

That sums also tie cells to each other is left out: intervals of what they add up to are wider for it, not narrower.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.pmfs import Pmfs, normalise, stray_weight
from noisegate.inference.linked.problem import Humps, NegativeBinomial
from noisegate.inference.profile.levels import (
    GRID,
    MOST_SPREAD,
    ProfileEffect,
    level_logs,
    level_posterior,
    likeliest_dispersion,
    row_counts,
    without_own,
)
from noisegate.inference.profile.observed import LEAST_LOG, MOST_LOG, NoisySums, Observed
from noisegate.laws import LatticeLaw, compiled
from noisegate.mechanisms import Mechanism
from noisegate.tables import compact

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDS, _SWEEPS, _PASSES = 6, 4, 3
#: Kinds of rows are looked for where two dimensions are crossed, and split so often at most. They are there if cells are likelier by so many nats, each predicted from the others, beside log 2 for each row: rows alone have totals, 40 x 24 cells, three ways: a busy corner, two shifts, three kinds of places, a band, stadium days: 60 to 680 nats in 40 of 46 worlds; counts of eight laws around a product at most 30 in 48, where 32 and 43 are asked.
_CROSSED, _SPLITS, _GAIN = 2, 3, 15.0
#: What cells stray by counts up to so many standard deviations, those that hardly tell anything as if they told so much.
_MOST_AWAY, _LEAST_BEND, _TURNS = 4.0, 0.05, 40
_LONGEST_STEP = 1.5
#: A fit whose levels move less than this, in the root mean square, has settled.
_SETTLED = 0.02
#: The same for levels of which little is shown.
_NEARLY_SETTLED = 0.2
#: Of more cells slopes are worked out once for all effects of a sweep, and carried along their bend from one to the next.
_MANY_CELLS = 500_000
#: Levels whose cells and rows count for more than this are known well enough by their likeliest value.
_SURE = 10.0
#: Fewer levels than this say nothing about the law of levels.
_FEW_LEVELS = 5
#: A sure level counts in the law of levels as if it were known so well only: the grid is not finer.
_MOST_PRECISE = 8.0
#: How much of what single little-seen levels are off by is taken to be the same for all of them: hours of the night are alike.
_TOGETHER = 0.3


#: A cell is empty for a reason of its own (no service) with this probability, which no table can tell from a small count: without
#: it, cells of busy rows would be called occupied too surely. In five simulated cities of 5,000 to 25,000 people, 750 of 751 cells that
#: "surely hold somebody" (99 %) did as in 2016, and 406 of 406 if person-days were reconciled. At 0.01 it was down to 97.1 % of a
#: reconciled week; 0.02 named half as many, 0.05 none.
EMPTY_SHARE = 0.015
#: A cell strays from its intensity for a reason of its own (half a service, a strike) as often as it is empty for one, and may then hold anything of about that size. Without it hidden
#: counts of 7 and 11 where 45 are expected were said to be 0 for sure in one of eight cases, since a cell could be empty for a reason of its own but not nearly so. Of 72 such cells intervals held
#: 68 %; with it 79, with half of it 76, with twice as much 81.
_STRAY_SHARE = EMPTY_SHARE
#: That parties make empty cells likelier than a negative binomial law has it adds this at most. Of cells in parties of three that "surely hold somebody", independent totals, 94 of 97 and 136 of 141 did without (8 worlds each, seed 777), 51 of 52 and 75 of 76 with it, and with the size of parties by shown cells 197 of 198 (48 worlds, seeds 777 and 4242; 396 of 406 before); uniform and negative binomial counts keep their
#: log score of "empty?" to 0.006 nats.
_MOST_LUMPS = 0.02
#: Where counts are of another shape than the law that was learnt this share of cells may be empty: more than is left to cells that surely hold somebody. Counts of 0, 10, 11, 17, 18 and 40 under noise of scale 3 and a threshold of 20 (9 worlds): of cells that surely hold somebody 389 of 449 in three of them did before, 139 of 155 in nine with twice the usual share,
#: 63 of 66 with this, 35 of 36 with 0.05; of uniform counts, as in 2016 (6 worlds), 70 of 72 before, 12 of 12 now.
_ODD_EMPTY = 0.04
#: A hump that is below this share of the intensities is hardly told from empty cells.
_FAR_BELOW = 0.3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProfileFit:
    """What the other cells say of each cell (the mean and the shape of its count), and how uncertain each level of each effect is.

    `own` and `common` are relative variances of the multipliers (see `ProfileEffect`), `seen` is the mean intensity of cells that are shown; `humps` are other laws that counts may have around their intensities, and `loose` the relative variances of these where totals alone tell them. `logs` are log-intensities by all cells, where these are not very many: what other cells say of a hidden one is higher, as its own absence is left out. `by_kind` are the codes of its effects, if they are others than those it was given. `odd` says that counts which were held out are spread over their laws as those of another shape are.
    """

    mean: Floats
    shape: Floats
    dispersion: float
    own: tuple[Floats, ...]
    common: tuple[Floats, ...]
    seen: float = 0.0
    humps: Humps | None = None
    loose: Floats | None = None
    logs: Floats | None = None
    odd: bool = False
    by_kind: tuple[Ints, ...] = ()

    @property
    def prior(self) -> NegativeBinomial:
        """The law of each cell around its intensity."""
        return NegativeBinomial(mean=self.mean, shape=self.shape, zero_share=np.zeros(1))

    def _near_zero(self, humps: Humps, /) -> bool:
        """Whether one of the humps is far below the intensities."""
        level = np.where(humps.power > 0, 1.0, float(np.mean(self.mean)))
        return bool((humps.factor < _FAR_BELOW * level).any())

    def _lumps(self, cells: NDArray[np.integer] | slice, /) -> Floats:
        """By how much it is likelier that nobody is there because people may come in parties.

        Counts of one mean m and variance v are negative binomial if parties are of many sizes, and Poisson if all are of the size v / m: then nobody is there with e^(-m^2 / v). Nothing below a threshold tells which it is, so it is half of what the two differ by, as far as the plain law has a word.
        """
        plain = 1.0 if self.humps is None else self.humps.plain
        mean, shape = self.mean[cells], self.shape[cells]
        # How large parties are is told where counts are shown.
        party = 1 + np.maximum(mean, self.seen) / shape
        more = np.exp(-mean / party) - np.exp(-shape * np.log1p(mean / shape))
        return np.asarray(plain * np.clip(0.5 * more, 0.0, _MOST_LUMPS))

    @property
    def law(self) -> NegativeBinomial:
        """What is believed of each cell beforehand: near its intensity, or empty for a reason of its own; means stay what they are."""
        return self.law_at(slice(None))

    def law_at(self, cells: NDArray[np.integer] | slice, /) -> NegativeBinomial:
        """The same of some cells."""
        share = max(EMPTY_SHARE, _ODD_EMPTY * self.odd)
        if self.humps is not None:
            # Totals do not tell humps near zero from empty cells; but a law that hardly varies, and cannot give way, would have cells empty instead.
            if self.humps.narrow:
                share = min(self.humps.stray, EMPTY_SHARE)
            elif self._near_zero(self.humps):
                share = max(share, 2 * EMPTY_SHARE)
        stray = _STRAY_SHARE if self.humps is None else self.humps.stray
        empty = share + self._lumps(cells)
        return NegativeBinomial(
            mean=self.mean[cells] / (1 - empty),
            shape=self.shape[cells],
            zero_share=empty,
            stray_share=np.full(1, stray),
            humps=() if self.humps is None else (self.humps,),
            hump_of=np.full(1, -1 if self.humps is None else 0),
        )


def fit_profile(
    values: Floats,
    effects: Sequence[Ints],
    /,
    *,
    mechanism: Mechanism,
    mains: int,
    remainders: Sequence[NoisySums] = (),
    kinds: int | None = None,
) -> ProfileFit:
    """Intensities of all cells from what they show; NaN in `values` says that nothing was published.

    The first `mains` of the effects are those of single dimensions. Of two of them, labels of the one that `kinds` says may be of several kinds, each with an effect of the other of its own, if cells are then clearly better predicted by others.
    """
    observed = Observed.of(values, mechanism, remainders)
    every = [ProfileEffect.of(codes) for codes in effects]
    _fit_levels(observed, every[:mains])
    found = None
    if kinds is not None and mains == len(every) == _CROSSED and observed.hidden.size:
        found = _fit_kinds(observed, every[kinds], every[1 - kinds])
        observed, every = found or (observed, every)
    fitted = every[:mains]
    for effect in sorted(every[mains:], key=lambda one: len(one.value)):
        fitted.append(effect)
        _fit_pairs(observed, fitted)
    apart, spread = without_own(observed, fitted)
    bounded = np.minimum(spread, MOST_SPREAD)
    mean = np.exp(np.clip(apart, LEAST_LOG, MOST_LOG))
    return ProfileFit(
        mean=mean,
        seen=float(mean[observed.shown].mean()) if observed.shown.size else 0.0,
        shape=1 / (observed.dispersion + np.expm1(bounded)),
        dispersion=observed.dispersion,
        own=tuple(effect.own for effect in every),
        common=tuple(effect.common for effect in every),
        logs=observed.eta,
        by_kind=() if found is None else tuple(effect.codes for effect in every),
    )


def _fit_levels(observed: Observed, mains: Sequence[ProfileEffect], /) -> None:
    """The effects of single dimensions, levels of which little is shown by their whole posterior."""
    _fit_mains(observed, mains)
    for _ in range(_PASSES if observed.hidden.size else 0):
        moved = max(_judge_levels(observed, effect) for effect in mains) if mains else 0.0
        if _renew_dispersion(observed, mains) and moved < _NEARLY_SETTLED:
            break


def _fit_kinds(
    observed: Observed, rows: ProfileEffect, columns: ProfileEffect, /
) -> tuple[Observed, list[ProfileEffect]] | None:
    """The fit in which rows are of several kinds, each with columns of its own, if cells are then clearly better predicted by others; None if they are not.

    Kinds are told by what a product of rows and columns leaves (`_apart`), and split again as long as that is worth what it takes to say of which each row is.
    """
    kind = np.zeros(len(rows.value), np.int64)
    found, now = None, observed
    score = likeliest_dispersion(observed, [rows, columns])[1]
    for _ in range(_SPLITS):
        kind = 2 * kind + _apart(now, rows.codes, columns.codes)
        codes = compact(kind[rows.codes] * len(columns.value) + columns.codes)[1]
        now, effects = observed.anew(), [ProfileEffect.of(rows.codes), ProfileEffect.of(codes)]
        _fit_levels(now, effects)
        better = likeliest_dispersion(now, effects)[1]
        if better < score + _GAIN + math.log(2) * len(kind):
            break
        found, score = (now, effects), better
    return found


def _apart(observed: Observed, rows: Ints, columns: Ints, /) -> NDArray[np.bool_]:
    """Rows on one side of the direction in which what cells show strays most from their intensities, by rows and columns: the first singular vector."""
    slope, bend = observed.slopes(sums=False)
    away = np.clip(slope / np.sqrt(bend + _LEAST_BEND), -_MOST_AWAY, _MOST_AWAY)
    found = np.random.default_rng(1).standard_normal(int(rows.max(initial=0)) + 1)
    for _ in range(_TURNS):
        beside = np.bincount(columns, weights=away * found[rows])
        found = np.bincount(rows, weights=away * beside[columns]).astype(np.float64)
        found /= max(float(np.linalg.norm(found)), 1e-12)
    return np.asarray(found > 0)


def _renew_dispersion(observed: Observed, effects: Sequence[ProfileEffect], /) -> bool:
    """Judge the dispersion anew; whether it is the same as before."""
    before = observed.place
    observed.place, _ = likeliest_dispersion(observed, effects)
    return observed.place == before


def _fit_mains(observed: Observed, mains: Sequence[ProfileEffect], /) -> None:
    """The overall level and the effects of single dimensions."""
    many = len(observed.eta) > _MANY_CELLS
    for _ in range(_ROUNDS):
        for _ in range(_SWEEPS):
            slope, bend = observed.slopes()
            step = float(np.clip(slope.sum() / max(bend.sum(), 1e-9), -_LONGEST_STEP, _LONGEST_STEP))
            observed.move(step)
            carried = (slope - bend * step, bend) if many else None
            if max([abs(step), *(effect.follow(observed, slopes=carried) for effect in mains)]) < _SETTLED:
                break
        if _renew_dispersion(observed, mains):
            break
    for effect in mains:
        count, _ = effect.evidence(observed)
        effect.own = 1 / (effect.shape + count)


def _judge_levels(observed: Observed, effect: ProfileEffect, /) -> float:
    """Levels of which little is shown by their whole posterior, the others by their likeliest value; how far they moved."""
    moved = effect.follow(observed)
    count = effect.evidence(observed)[0] + row_counts(observed, effect)
    unsure = count <= _SURE
    effect.own = 1 / (effect.shape + count)
    if len(count) < _FEW_LEVELS or not unsure.any():
        return moved
    logs = np.empty((len(count), len(GRID)))
    sure = ~unsure
    logs[sure] = (
        -0.5 * np.minimum(count[sure], _MOST_PRECISE)[:, None] * (GRID - effect.value[sure][:, None]) ** 2
    )
    logs[unsure], totals = level_logs(observed, effect, unsure)
    found = level_posterior(logs, [total.among(unsure) for total in totals])
    step = np.where(unsure, np.log(np.maximum(found.mean, np.exp(GRID[0]))) - effect.value, 0.0)
    moved = effect.shift(observed, step)
    # What levels are like in general is all that is known of these: where it is wrong, many are off together.
    effect.own = np.where(unsure, (1 - _TOGETHER) * found.own, effect.own)
    effect.common = np.where(unsure, found.common + _TOGETHER * found.own, 0.0)
    return moved


def _fit_pairs(observed: Observed, fitted: Sequence[ProfileEffect], /) -> None:
    """The last of the effects, all others as they are."""
    for _ in range(_ROUNDS):
        fitted[-1].learn(observed)
        for _ in range(_SWEEPS):
            if fitted[-1].follow(observed) < _SETTLED:
                break
        if _renew_dispersion(observed, fitted):
            break


#: Counts behind a cell that are less likely than e^-nats are left out.
_NATS = 16.0
_TILT_ROUNDS = 4
_MOST_TILT, _LONGEST_TILT = 6.0, 0.7
_LARGE = 1e150
#: Ends of laws that hold less than this are not listed.
_TRIM = 1e-9
#: Values below this are kept in 32 bits.
_NARROW = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellLaws:
    """The laws of cells, by their parameters; `mean`, `variance` and `third` are central moments."""

    shown: NDArray[np.integer]
    shape: Floats
    odds: Floats
    empty: Floats
    stray: Floats
    stray_odds: Floats
    weights: _Weights
    mean: Floats
    variance: Floats
    third: Floats

    def copied(self) -> CellLaws:
        """The same, free to be moved."""
        return replace(
            self,
            odds=self.odds.copy(),
            stray_odds=self.stray_odds.copy(),
            mean=self.mean.copy(),
            variance=self.variance.copy(),
            third=self.third.copy(),
        )

    def without_moments(self) -> CellLaws:
        """The same, once somebody else has the moments."""
        none = np.zeros(0)
        return replace(self, mean=none, variance=none, third=none)

    def tilt(self, cells: Ints, tilts: Floats, /) -> None:
        """Take the laws of some cells times exp(tilt * count), each with its own tilt, in place."""
        more = np.exp(tilts)
        self.odds[cells] *= more
        self.stray_odds[cells] *= more
        self.renew(cells)

    def weigh(self, cells: Ints, weights: Floats, /) -> CellLaws:
        """The laws of hidden cells, which `cells` are, times a weight of each count, the last one for all larger ones."""
        counts = np.minimum(np.arange(len(self.weights.hidden)), len(weights) - 1)
        found = replace(self, weights=replace(self.weights, hidden=self.weights.hidden * weights[counts]))
        found.renew(cells)
        return found

    def renew(self, cells: Ints, /) -> None:
        """Work out the moments of some cells anew, in place."""
        w = self.weights
        self.mean[cells], self.variance[cells], self.third[cells] = _moments(
            self.shown[cells].astype(np.int64),
            self.odds[cells],
            self.shape[cells],
            self.empty[cells],
            self.stray[cells],
            self.stray_odds[cells],
            w.hidden,
            w.noise,
            w.reach,
            w.least,
        )

    def pmfs(self, cells: Ints, /) -> Pmfs:
        """The laws of some cells, number by number."""
        shown = self.shown[cells].astype(np.int64)
        low = np.where(shown < 0, 0, np.maximum(shown - self.weights.reach, self.weights.least))
        high = np.where(shown < 0, len(self.weights.hidden) - 1, np.maximum(shown + self.weights.reach, low))
        found = Pmfs.ones(low, high)
        _fill(
            found.start,
            found.p,
            low,
            shown,
            self.odds[cells],
            self.shape[cells],
            self.empty[cells],
            self.stray[cells],
            self.stray_odds[cells],
            self.weights.hidden,
            self.weights.noise,
            self.weights.reach,
        )
        normalise(found.start, found.p)
        return found.trimmed(_TRIM)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Weights:
    """The likelihood of what a cell shows by its count: of nothing, and of a value by its distance."""

    hidden: Floats
    noise: Floats
    reach: int
    least: int

    @classmethod
    def of(cls, mechanism: Mechanism, /) -> _Weights:
        far = mechanism.reach(_NATS)
        law = mechanism.published_law
        assert isinstance(law, LatticeLaw)
        hidden = np.zeros(1)
        if mechanism.threshold is not None:
            counts = np.arange((mechanism.whole_threshold or 0) + far + 1)
            logs = mechanism.log_likelihood(np.full(len(counts), np.nan), counts)
            hidden = np.exp(logs - logs.max())
        logs = law.logpmf(np.arange(-far, far + 1))
        noise = np.exp(logs - logs.max())
        return cls(hidden=hidden, noise=noise, reach=far, least=1 if mechanism.zeros == "keep" else 0)


def suits(mechanism: Mechanism, /) -> bool:
    """Whether `cell_laws` knows what to do with cells that were published so."""
    return (
        isinstance(mechanism.published_law, LatticeLaw)
        and not mechanism.cuts_before_rounding
        and mechanism.threshold is not None
        and math.isfinite(mechanism.published_law.variance)
    )


def cell_laws(
    values: Floats, /, *, mechanism: Mechanism, prior: NegativeBinomial, sums: Sequence[NoisySums] = ()
) -> CellLaws:
    """The posterior law of every cell; NaN in `values` says that nothing was published.

    Assumes a mechanism that `suits`, and sums over so many cells that no single one of them matters.
    """
    shown = np.where(np.isnan(values), -1, np.maximum(values, 0)).astype(np.int64)
    weights = _Weights.of(mechanism)
    plain, falling = prior.mean / (prior.mean + prior.shape), prior.mean / (prior.mean + 1)
    first = np.where(shown < 0, 0, np.maximum(shown - weights.reach, weights.least))
    stray = _stray_weights(first, prior.mean, prior.shape, prior.zero_share, prior.stray_share)
    share = prior.zero_share / (1 - prior.zero_share - prior.stray_share)
    empty = share * np.exp(np.minimum(prior.shape * np.log1p(prior.mean / prior.shape), 300.0))
    tilt = np.zeros(len(shown))
    tilts = [np.zeros(len(one.seen)) for one in sums]

    def moments() -> tuple[Floats, Floats, Floats]:
        tilted = np.exp(np.clip(tilt, -_MOST_TILT, _MOST_TILT))
        return _moments(
            shown,
            plain * tilted,
            prior.shape,
            empty,
            stray,
            falling * tilted,
            weights.hidden,
            weights.noise,
            weights.reach,
            weights.least,
        )

    mean, variance, third = moments()
    for _ in range(_TILT_ROUNDS if sums else 0):
        for place, given in enumerate(sums):
            one, found = given.settled(mean), tilts[place]
            expected, width = _added(one.codes, mean, variance, len(one.seen))
            wanted = (one.seen - expected) / one.variance
            wanted = np.where(one.speaks(expected - found * width), wanted, 0.0)
            step = (wanted - found) / (1 + width / one.variance)
            step = np.clip(step, -_LONGEST_TILT, _LONGEST_TILT)
            tilts[place] = found + step
            _tilted(one.codes, step, variance, mean, tilt)
        mean, variance, third = moments()
    tilted = np.exp(np.clip(tilt, -_MOST_TILT, _MOST_TILT))
    return CellLaws(
        shown=shown.astype(np.int32 if shown.max(initial=0) < _NARROW else np.int64),
        shape=prior.shape,
        odds=plain * tilted,
        empty=empty,
        stray=stray,
        stray_odds=falling * tilted,
        weights=weights,
        mean=mean,
        variance=variance,
        third=third,
    )


@compiled
def _stray_weights(
    first: Ints, mean: Floats, shape: Floats, zero_share: Floats, stray_share: Floats
) -> Floats:
    """`stray_weight` of every cell, at the first count that is looked at."""
    found = np.empty(len(first))
    for i in range(len(first)):
        found[i] = stray_weight(first[i], mean[i], shape[i], zero_share[i], stray_share[i])
    return found


@compiled
def _moments(
    shown: Ints,
    odds: Floats,
    shape: Floats,
    empty: Floats,
    stray: Floats,
    stray_odds: Floats,
    hidden: Floats,
    noise: Floats,
    far: int,
    least: int,
) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third central moment of every cell, by adding up its law."""
    size = len(shown)
    mean, variance, third = np.empty(size), np.empty(size), np.empty(size)
    for i in range(size):
        value, r, q, away, falling = shown[i], shape[i], odds[i], stray[i], stray_odds[i]
        first = 0 if value < 0 else max(value - far, least)
        last = len(hidden) if value < 0 else max(value + far + 1, first + 1)
        p, s0, s1, s2, s3 = 1.0, 0.0, 0.0, 0.0, 0.0
        for z in range(first, last):
            w = p + away + (empty[i] if z == 0 else 0.0)
            w *= hidden[z] if value < 0 else noise[min(abs(value - z), far) + far]
            d = float(z - first)
            s0 += w
            s1 += w * d
            s2 += w * d * d
            s3 += w * d * d * d
            ratio = (z + r) / (z + 1.0) * q
            most = max(ratio, falling) if away > 0 else ratio
            if value < 0 and most < 1.0 and w * (d + 1) ** 3 < 1e-9 * s0 * (1.0 - most):
                break
            p *= ratio
            away *= falling
            if p > _LARGE:
                away /= p
                p, s0, s1, s2, s3 = 1.0, s0 / p, s1 / p, s2 / p, s3 / p
        m = s1 / s0
        mean[i] = first + m
        variance[i] = max(s2 / s0 - m * m, 1e-12)
        third[i] = s3 / s0 - 3 * m * s2 / s0 + 2 * m * m * m
    return mean, variance, third


@compiled
def _fill(
    start: Ints,
    p: Floats,
    low: Ints,
    shown: Ints,
    odds: Floats,
    shape: Floats,
    empty: Floats,
    stray: Floats,
    stray_odds: Floats,
    hidden: Floats,
    noise: Floats,
    far: int,
    /,
) -> None:
    """Write the law of every cell but for its scale."""
    for i in range(len(low)):
        weight, away = 1.0, stray[i]
        for k in range(start[i + 1] - start[i]):
            z = low[i] + k
            w = hidden[z] if shown[i] < 0 else noise[min(abs(shown[i] - z), far) + far]
            p[start[i] + k] = (weight + away + (empty[i] if z == 0 else 0.0)) * w
            weight *= (z + shape[i]) / (z + 1.0) * odds[i]
            away *= stray_odds[i]
            if weight > _LARGE:
                for j in range(start[i], start[i] + k + 1):
                    p[j] /= weight
                away /= weight
                weight = 1.0


@compiled
def _added(codes: Ints, mean: Floats, variance: Floats, size: int) -> tuple[Floats, Floats]:
    total, width = np.zeros(size), np.zeros(size)
    for i in range(len(codes)):
        c = codes[i]
        if c >= 0:
            total[c] += mean[i]
            width[c] += variance[i]
    return total, width


@compiled
def _tilted(codes: Ints, step: Floats, variance: Floats, mean: Floats, tilt: Floats) -> None:
    """Move tilts, and means as far as their variances say."""
    for i in range(len(codes)):
        c = codes[i]
        if c >= 0:
            tilt[i] += step[c]
            mean[i] = max(mean[i] + variance[i] * step[c], 0.0)
