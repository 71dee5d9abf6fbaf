"""How likely everything shown is by the multiplier of each level of an effect, and posterior laws of levels that show little.

Whether a place is quiet or without service, and whether an hour is slow or closed, the cells of that level alone cannot
say; what levels are like in general says more. So the law of levels is learnt from all of them: on the log scale, a normal law
of levels in use, and with some chance another, lower one for the rest, down to next to nothing. The parameters of
that law are not known for certain either. They are averaged over by their likelihood (and, how low the lower law lies, by
Jeffreys' prior of an intensity, u^(-1/2): where nothing is seen, nothing else says how much nothing is), and as they move the estimates of all
little-seen levels together, that part of the uncertainty is kept apart, as *common*.

What several levels add up to says little of each of them and much of their law: under each choice of its parameters the sum
has a mean and a variance, and is taken to be normal.

Cells of different levels are independent of each other, and so are the rows of margins that hold one unsure level each. Rows
that hold several say only what these add up to: one may have nothing if the others have more. They are added up to totals, which
speak of the law of levels (`levels`), not of single ones.

Effects of levels on intensities, and how far single cells stray from them.

The evidence on a level is near that of a Poisson count: on the log scale its slope is k - A u and its bend A u, with u the
multiplier. So a gamma law with mean 1 and shape a becomes one with mean (a + k) / (a + A) and shape a + k: the fixed
point is the posterior *mean* of the intensity, not its mode, which lies too high where next to nothing is shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.profile.observed import (
    AT_MOST,
    DISPERSIONS,
    EQUAL,
    LEAST_LOG,
    MOST_LOG,
    NoisySums,
    Observed,
    by_level,
    log_mass,
    shifted,
)
from noisegate.laws import compiled
from noisegate.tables import compact, paired

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_SHAPES = np.exp(np.linspace(0.0, math.log(300.0), 30))
_COARSE = 3
_LONGEST_STEP = 1.5
#: What other cells leave of a level without one cell is at least this share of its prior.
_LEAST_LEFT = 0.5


@dataclass(slots=True, kw_only=True, eq=False)
class ProfileEffect:
    """Log-multipliers by level; `own` and `common` are the relative variances of the multipliers.

    Errors of `common` move all levels together, those of `own` each by itself.
    """

    codes: Ints
    value: Floats
    own: Floats
    common: Floats
    shape: float = 1.0

    @classmethod
    def of(cls, codes: Ints, /) -> ProfileEffect:
        """An effect of which nothing is known yet."""
        size = int(codes.max(initial=0)) + 1
        return cls(codes=codes, value=np.zeros(size), own=np.full(size, 0.05), common=np.zeros(size))

    def follow(self, observed: Observed, /, *, slopes: tuple[Floats, Floats] | None = None) -> float:
        """Move every level to what its cells and sums say; how far levels moved.

        `slopes` are what these said before other levels moved, carried on along their bend; they are carried on further.
        """
        slope, bend = slopes or observed.slopes()
        pull, curvature = by_level(self.codes, slope, bend, len(self.value))
        exposure = np.maximum(curvature, 1e-9) / np.exp(self.value)
        count = np.maximum(pull + curvature, 0.0)
        step = np.log((self.shape + count) / (self.shape + exposure)) - self.value
        step = np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        if slopes is None:
            return self.shift(observed, step)
        self.value = self.value + step
        shifted(self.codes, step, observed.eta, slope, bend, LEAST_LOG, MOST_LOG)
        return math.sqrt(float(np.mean(step**2)))

    def evidence(self, observed: Observed, /) -> tuple[Floats, Floats]:
        """What single cells say of each level, as a count and an exposure; a missing cell has no count."""
        slope, bend = observed.slopes(sums=False)
        bend[observed.hidden] = -slope[observed.hidden]
        pull, curvature = by_level(self.codes, slope, bend, len(self.value))
        return np.maximum(pull + curvature, 0.0), np.maximum(curvature, 1e-9) / np.exp(self.value)

    def learn(self, observed: Observed, /) -> None:
        """Renew the shape of the law of the levels, and how uncertain each level is, from single cells alone."""
        count, exposure = self.evidence(observed)
        self.shape = _likeliest_shape(count, exposure)
        self.own = 1 / (self.shape + count)

    def shift(self, observed: Observed, step: Floats, /) -> float:
        """Move levels; how far, in the root mean square."""
        self.value = self.value + step
        observed.move(step[self.codes])
        return math.sqrt(float(np.mean(step**2)))


def _likeliest_shape(count: Floats, exposure: Floats, /) -> float:
    """The shape under which counts are likeliest; with their multipliers left out they are negative binomial.

    Every third one is looked at first, and then those beside the best: likelihoods rise to one top.
    """
    scores = np.full(len(_SHAPES), -np.inf)

    def look(places: Iterable[int]) -> int:
        for place in places:
            a = float(_SHAPES[place])
            logs = special.gammaln(a + count) - special.gammaln(a) + a * math.log(a)
            scores[place] = float(np.sum(logs - (a + count) * np.log(a + exposure)))
        return int(np.argmax(scores))

    top = look(range(0, len(_SHAPES), _COARSE))
    near = range(max(top - _COARSE + 1, 0), min(top + _COARSE, len(_SHAPES)))
    return float(_SHAPES[look(place for place in near if place != top)])


def without_own(
    observed: Observed, effects: Sequence[ProfileEffect], cells: Ints | slice = slice(None), /
) -> tuple[Floats, Floats]:
    """The log-intensity of each cell with its own value taken out, and the variance of that on the log scale."""
    slope, bend = (one[cells] for one in observed.shown_slopes())
    count = np.maximum(slope + bend, 0.0)
    eta, spread = observed.eta[cells].copy(), np.zeros(len(count))
    for effect in effects:
        levels = effect.codes[cells]
        weight = 1 / np.maximum(effect.own[levels] + effect.common[levels], 1e-9)
        least = _LEAST_LEFT * np.minimum(effect.shape, weight)
        left = np.maximum(weight - count, least)
        eta += np.log(left / np.maximum(weight - bend, least))
        spread += np.log1p(1 / left)
    return eta, spread


#: So many cells with a value, and without, are enough to judge by.
_SAMPLE = 6_000
MOST_SPREAD = 1.5


def likeliest_dispersion(observed: Observed, effects: Sequence[ProfileEffect], /) -> tuple[int, float]:
    """The place in `DISPERSIONS` of the one under which cells are likeliest at the intensities that the others give them, and how likely they are then, as a logarithm."""
    steps = [max(1, len(group) // _SAMPLE) for group in (observed.shown, observed.hidden)]
    some, others = observed.shown[:: steps[0]], observed.hidden[:: steps[1]]
    weights = (len(observed.shown) / max(1, len(some)), len(observed.hidden) / max(1, len(others)))
    apart, spread = without_own(observed, effects, np.concatenate([some, others]))
    unsure = np.expm1(np.minimum(spread, MOST_SPREAD))
    seen, mean = np.rint(observed.seen[:: steps[0]]), np.exp(apart[: len(some)])
    extra = unsure[: len(some)] + observed.noise / np.maximum(mean, 1e-3) ** 2
    missing = _missing_scores(
        apart[len(some) :],
        unsure[len(some) :],
        DISPERSIONS,
        *observed.missing.scale,
        np.stack([table.logs for table in observed.tables]),
    )
    best, found, factorials = -math.inf, observed.place, special.gammaln(seen + 1.0)
    for place, own in enumerate(DISPERSIONS):
        score = weights[0] * float(log_mass(seen, mean, 1 / (own + extra), factorials=factorials).sum())
        score += weights[1] * float(missing[place])
        if score > best:
            best, found = score, place
    return found, best


@compiled
def _missing_scores(
    eta: Floats, unsure: Floats, dispersions: Floats, first: float, step: float, logs: Floats
) -> Floats:
    """The log-likelihood of all missing cells under each dispersion, with what is unsure of each: from the table of the next larger one."""
    places, rows = logs.shape
    found = np.zeros(places)
    for k in range(len(eta)):
        where = min(max((eta[k] - first) / step, 0.0), rows - 1.001)
        left = int(where)
        part, table = where - left, 0
        for place in range(places):
            while table + 1 < places and dispersions[table] < dispersions[place] + unsure[k]:
                table += 1
            found[place] += logs[table, left] * (1 - part) + logs[table, left + 1] * part
    return found


#: Log-multipliers at which levels are judged.
GRID = np.arange(-7.0, 4.01, 0.5)
_CENTRES = np.arange(-3.0, 2.01, 0.5)
_WIDTHS = np.array([0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
_LOW_CENTRES = np.arange(-6.0, 0.01, 0.75)
_LOW_WIDTH = 0.5
_SHARES = special.expit(np.linspace(-3.0, 5.0, 9))
_LEAST_WEIGHT = 1e-5
#: So many levels stand for all of them in what they add up to.
_MANY_LEVELS = 64
#: Likelihoods are no smaller than this, and products of them are no smaller either before their logarithm is taken.
_TINY = 1e-300
#: Levels are this unlikely at most: what is less likely still has no part in sums, and numbers with fewer digits take long.
_NOTHING = -345.0
#: Products of matrices that take so many multiplications are left to one core.
_ONE_CORE = 1 << 17


def _normals(centres: Floats, widths: Floats, /) -> Floats:
    laws = np.stack([np.exp(-0.5 * ((GRID - m) / s) ** 2) for m in centres for s in widths])
    return np.ascontiguousarray((laws / laws.sum(axis=1, keepdims=True)).T)


_USED = _normals(_CENTRES, _WIDTHS)
_LOW = _normals(_LOW_CENTRES, np.array([_LOW_WIDTH]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelPosterior:
    """Means of the multipliers of levels, and their relative variances (see `Effect`)."""

    mean: Floats
    own: Floats
    common: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelTotal:
    """A noisy sum of multipliers with weights; `side` is that of `NoisySums`."""

    seen: float
    variance: float
    weight: Floats
    side: int

    def among(self, levels: NDArray[np.bool_], /) -> LevelTotal:
        """The same total with a weight for every level: those that it is about are marked."""
        weight = np.zeros(len(levels))
        weight[levels] = self.weight
        return replace(self, weight=weight)

    def logs(self, mean: Floats, variance: Floats, /) -> Floats:
        """Log-likelihoods under means and variances of the sum, its noise not counted."""
        width = variance + self.variance
        gap = (self.seen - mean) / np.sqrt(width)
        return np.asarray(
            -0.5 * gap**2 - 0.5 * np.log(width) if self.side == EQUAL else special.log_ndtr(gap)
        )


def multiplied(left: Floats, right: Floats, /) -> Floats:
    """The product of a long matrix and a small one, some rows at a time.

    Of large products linear algebra lets other cores have a part, which then wait for the next one, and are busy waiting, for longer than all of it takes.
    """
    step = max(1, _ONE_CORE // max(right.size, 1))
    found = np.empty((len(left), right.shape[1]))
    for first in range(0, len(left), step):
        np.matmul(left[first : first + step], right, out=found[first : first + step])
    return found


def level_posterior(logs: Floats, totals: Sequence[LevelTotal] = (), /) -> LevelPosterior:
    """The posterior of levels from the log-likelihood of each (rows) at the points of `GRID`, and of what they add up to.

    Examples
    --------
    >>> seen = -0.5 * 40 * (GRID - 1.0) ** 2
    >>> unseen = -20 * np.exp(GRID)
    >>> found = level_posterior(np.stack([seen] * 9 + [unseen] * 9))
    >>> bool(abs(found.mean[0] - math.e) < 0.1), bool(found.mean[-1] < 0.1), bool(found.common[-1] > 0.1)
    (True, True, True)
    """
    away = logs - logs.max(axis=1, keepdims=True)
    like = np.where(away > _NOTHING, np.exp(np.maximum(away, _NOTHING)), 0.0)
    powers = [like, like * np.exp(GRID), like * np.exp(2 * GRID)]
    used, low = ([multiplied(power, laws) for power in powers] for laws in (_USED, _LOW))
    scores = _log_products(_SHARES, used[0], low[0], used[0].min(axis=1), low[0].min(axis=1))
    for p, found in zip(_SHARES.tolist(), scores, strict=True):
        _add_totals(found, p, used, low, totals)
    scores += 0.5 * _LOW_CENTRES
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    mean, square, between = np.zeros((3, len(logs)))
    for s, u, d in np.argwhere(weights > _LEAST_WEIGHT).tolist():
        p, weight = float(_SHARES[s]), float(weights[s, u, d])
        whole, first, second = (p * a[:, u] + (1 - p) * b[:, d] for a, b in zip(used, low, strict=True))
        whole = np.maximum(whole, _TINY)
        mean += weight * first / whole
        square += weight * second / whole
        between += weight * (first / whole) ** 2
    common = np.maximum(between - mean**2, 0.0)
    scale = np.maximum(mean, math.exp(GRID[0])) ** 2
    return LevelPosterior(mean=mean, own=np.maximum(square - between, 0.0) / scale, common=common / scale)


def _add_totals(
    found: Floats, p: float, used: list[Floats], low: list[Floats], totals: Sequence[LevelTotal], /
) -> None:
    """Add the log-likelihoods of totals under each pair of laws, with this share of levels in use."""
    for total in totals:
        some = np.flatnonzero(total.weight)[:: max(1, np.count_nonzero(total.weight) // _MANY_LEVELS)]
        weight = total.weight[some] * (total.weight.sum() / total.weight[some].sum())
        whole, first, second = (
            p * a[some, :, None] + (1 - p) * b[some, None, :] for a, b in zip(used, low, strict=True)
        )
        whole = np.maximum(whole, _TINY)
        first, second = first / whole, second / whole
        mean = np.tensordot(weight, first, axes=1)
        spread = np.tensordot(total.weight[some] * weight, np.maximum(second - first**2, 0.0), axes=1)
        found += total.logs(mean, spread)


@compiled
def _log_products(shares: Floats, used: Floats, low: Floats, least_used: Floats, least_low: Floats) -> Floats:
    """The log of the product over all rows of p `used[row, u]` + (1 - p) `low[row, d]`, for each of the shares p, each u and d: one logarithm for many factors.

    The least of each row are given.
    """
    many, few = used.shape[1], low.shape[1]
    found, product = np.zeros((len(shares), many, few)), np.ones((len(shares), few, many))
    floor = np.ones(len(shares))
    for i in range(len(used)):
        for s in range(len(shares)):
            p = shares[s]
            least = max(p * least_used[i] + (1 - p) * least_low[i], _TINY)
            if floor[s] * least < _TINY:
                for d in range(few):
                    for u in range(many):
                        found[s, u, d] += np.log(product[s, d, u])
                        product[s, d, u] = 1.0
                floor[s] = 1.0
            floor[s] *= least
            for d in range(few):
                other = (1 - p) * low[i, d]
                for u in range(many):
                    product[s, d, u] *= max(p * used[i, u] + other, _TINY)
    for s in range(len(shares)):
        found[s] += np.log(product[s].T)
    return found


Bools = NDArray[np.bool_]

#: How far the levels of a row are moved together.
_SHIFTS = np.arange(-12.0, 9.01, 0.5)
_UNMOVED = 24
#: A level that has more than this share of a row's unsure cells has it to itself.
_ALONE = 0.99


def level_logs(
    observed: Observed, effect: ProfileEffect, unsure: Bools, /
) -> tuple[Floats, list[LevelTotal]]:
    """Log-likelihoods at the points of `GRID` for the `unsure` levels (rows in their order), and what these add up to."""
    of, codes = observed.missing, effect.codes
    rank = np.where(unsure, np.cumsum(unsure) - 1, -1)
    out = np.zeros((int(unsure.sum()), len(GRID)))
    rest = observed.eta - effect.value[codes]
    shown = unsure[codes[observed.shown]]
    cells = observed.shown[shown]
    _shown_logs(
        rest[cells], observed.seen[shown], rank[codes[cells]], GRID, *of.scale, of.near, of.least,
        observed.dispersion, observed.noise, out,
    )  # fmt: skip
    hidden = observed.hidden[unsure[codes[observed.hidden]]]
    _hidden_logs(rest[hidden], rank[codes[hidden]], GRID, *of.scale, of.logs, out)
    level = rank[codes[observed.hidden]]
    totals: list[LevelTotal] = []
    (mean,) = of.at(observed.eta[observed.hidden], of.mean)
    for sums in observed.remainders:
        totals += _row_logs(observed, sums.settled(mean), level, effect.value[unsure], out)
    return out, totals


def row_counts(observed: Observed, effect: ProfileEffect, /) -> Floats:
    """How well each level is known, as a count, from shown rows of margins that are mostly its own."""
    size, of = len(effect.value), observed.missing
    found = np.zeros(size)
    level = effect.codes[observed.hidden]
    mean, variance = of.at(observed.eta[observed.hidden], of.mean, of.variance)
    for one in observed.remainders:
        sums = one.settled(mean)
        rows, inside = len(sums.seen), np.flatnonzero(sums.codes >= 0)
        row = sums.codes[inside]
        told_of, at, place = paired(level[inside], row, rows)
        part = np.bincount(place, weights=mean[inside], minlength=len(at))
        whole, width = (np.bincount(row, weights=w[inside], minlength=rows) for w in (mean, variance))
        speaks = sums.equal[at] & (part > 0.5 * whole[at])
        told = np.where(speaks, part**2 / (width + sums.variance)[at], 0.0)
        found += np.bincount(told_of, weights=told, minlength=size)
    return found


def _row_logs(
    observed: Observed, sums: NoisySums, level: Ints, value: Floats, out: Floats, /
) -> list[LevelTotal]:
    """Add what rows say of single levels, and give what the others say of their sums.

    `level` numbers the unsure level of each missing cell, -1 if it is sure.
    """
    rows, of = len(sums.seen), observed.missing
    table = np.stack([of.mean, of.variance], axis=1)
    eta = observed.eta[observed.hidden]
    sure = np.flatnonzero((sums.codes >= 0) & (level < 0))
    moved = np.flatnonzero((sums.codes >= 0) & (level >= 0))
    if not moved.size:
        return []
    # Rows that hold unsure levels are looked at closely: of thousands of small tables a few.
    some, inside = compact(sums.codes[moved])
    held, parts = np.zeros((rows, 1, 2)), np.zeros((len(some), len(_SHIFTS), 2))
    _add_sums(eta[sure], sums.codes[sure], np.zeros(1), *of.scale, table, held)
    _add_sums(eta[moved], inside, _SHIFTS, *of.scale, table, parts)
    found = held[:, 0].copy()
    found[some] += parts[:, _UNMOVED]
    misfit = _misfit(sums, found)
    held = held[some]
    sums = replace(
        sums, codes=inside, seen=sums.seen[some], variance=sums.variance[some], side=sums.side[some]
    )
    pairs, place = compact(level[moved] * len(some) + inside)
    (mean,) = of.at(eta[moved], of.mean)
    part = np.bincount(place, weights=mean)
    row, which = pairs % len(some), pairs // len(some)
    whole = np.bincount(row, weights=part, minlength=len(some))
    alone = part > _ALONE * whole[row]
    found = held + parts
    found[:, :, 1] += misfit * np.count_nonzero(parts[:, 0, 0]) * held[:, :, 0] ** 2
    logs = sums.logs(found[:, :, 0], found[:, :, 1])
    _add_rows(which[alone], row[alone], value, GRID, _SHIFTS, logs, out)
    mixed = whole > 0
    mixed[row[alone]] = False
    totals = []
    for side in (EQUAL, AT_MOST):
        here = mixed & (sums.side == side)
        if here.any():
            inside = here[row]
            other = float(held[here, 0, 0].sum())
            width = float((held[here, 0, 1] + parts[here, _UNMOVED, 1] + sums.variance[here]).sum())
            weight = np.bincount(which[inside], weights=part[inside], minlength=len(value)) / np.exp(value)
            left = float(sums.seen[here].sum()) - other
            totals.append(LevelTotal(seen=left, variance=width + misfit * other**2, weight=weight, side=side))
    return totals


def _misfit(sums: NoisySums, found: Floats, /) -> float:
    """The relative variance of rows about what is expected of them, beyond that of counts and noise.

    One standard error is added: less than that the rows cannot rule out.
    What is wrong with the expected counts of some cells is mostly wrong in the same way in many rows, so that
    it does not average out: of what is known of the other cells of a row, no more is left than this allows.
    """
    gap, width = sums.seen - found[:, 0], found[:, 1] + sums.variance
    rows = sums.equal & (found[:, 0] > 0)
    weight = max(float(np.sum(np.where(rows, found[:, 0] ** 2 / width, 0.0))), 1e-9)
    excess = float(np.sum(np.where(rows, gap**2 / width - 1.0, 0.0)))
    return (max(excess, 0.0) + math.sqrt(2.0 * np.count_nonzero(rows))) / weight


@compiled
def _hidden_logs(
    rest: Floats, level: Ints, grid: Floats, first: float, step: float, logs: Floats, out: Floats
) -> None:
    last = len(logs) - 1.001
    for k in range(len(rest)):
        for j in range(len(grid)):
            where = min(max((rest[k] + grid[j] - first) / step, 0.0), last)
            left = int(where)
            part = where - left
            out[level[k], j] += logs[left] * (1 - part) + logs[left + 1] * part


@compiled
def _shown_logs(
    rest: Floats, seen: Floats, level: Ints, grid: Floats, first: float, step: float, near: Floats, least: int,
    dispersion: float, noise: float, out: Floats,
) -> None:  # fmt: skip
    """From the table for values just above the threshold, as if all were normal for others."""
    rows, values, _ = near.shape
    for k in range(len(rest)):
        value = int(seen[k]) - least
        for j in range(len(grid)):
            eta = rest[k] + grid[j]
            if 0 <= value < values:
                where = min(max((eta - first) / step, 0.0), rows - 1.001)
                left = int(where)
                part = where - left
                out[level[k], j] += near[left, value, 2] * (1 - part) + near[left + 1, value, 2] * part
            else:
                mean = np.exp(min(eta, 20.0))
                width = mean + dispersion * mean * mean + noise
                out[level[k], j] += max(-0.5 * (seen[k] - mean) ** 2 / width, -300.0) - 0.5 * np.log(width)


@compiled
def _add_sums(
    eta: Floats, row: Ints, shifts: Floats, first: float, step: float, table: Floats, out: Floats
) -> None:
    """Add mean and variance of each cell to its row, at log-intensities moved by each of the shifts."""
    last = len(table) - 1.001
    for k in range(len(eta)):
        for j in range(len(shifts)):
            where = min(max((eta[k] + shifts[j] - first) / step, 0.0), last)
            left = int(where)
            part = where - left
            out[row[k], j, 0] += table[left, 0] * (1 - part) + table[left + 1, 0] * part
            out[row[k], j, 1] += table[left, 1] * (1 - part) + table[left + 1, 1] * part


@compiled
def _add_rows(
    level: Ints, row: Ints, value: Floats, grid: Floats, shifts: Floats, logs: Floats, out: Floats
) -> None:
    """Add to each level what its row says of the shift that would bring the level to a point."""
    step, last = shifts[1] - shifts[0], len(shifts) - 1.001
    for k in range(len(level)):
        for j in range(len(grid)):
            where = min(max((grid[j] - value[level[k]] - shifts[0]) / step, 0.0), last)
            left = int(where)
            part = where - left
            out[level[k], j] += logs[row[k], left] * (1 - part) + logs[row[k], left + 1] * part
