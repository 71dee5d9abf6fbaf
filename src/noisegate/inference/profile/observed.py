"""What every cell shows, a value or nothing, and how likely that is at its intensity.

The count is negative binomial around the intensity; its row is missing because the noisy count was below the threshold.
A value just above it is often noise on next to nothing, and says so only if the law of the noise is taken as it is:
a normal one would find it too far out, and make something of it.
All of it depends on the log-intensity and the dispersion alone, so it is tabulated once and interpolated.

`SeenCells` has what the cells of a part show by classes of their intensity, whatever their law.
A cell's count is negative binomial around an intensity and is published as count + noise if that reaches a threshold.
Margins add noisy sums over missing cells. Log-intensities are kept here; whoever fits them moves them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate import limits
from noisegate.errors import DataError
from noisegate.inference.linked.problem import Floats, Ints, NegativeBinomial
from noisegate.laws import compiled
from noisegate.mechanisms import Mechanism

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from noisegate.inference.hidden import LeftInRows

#: Log-intensities are kept between these.
LEAST_LOG, MOST_LOG = math.log(1e-4), math.log(1e6)
_STEP = 0.1
_MOST_NEAR = 400

#: Of fewer hidden or shown cells nothing is learnt.
FEW = 30
#: Intensities are looked at in so many classes, and counts up to this one.
_CLASSES, MOST_COUNT = 24, 500
#: Of more cells than this share that show larger counts no humps are looked for.
_MOST_LARGE = 0.02
_NATS = 14.0
#: Chances of a value that are so many nats below the largest are left out.
_NATS_BESIDE = 40.0
#: Of cells around an intensity this share strays from it, before it is known better (see `profile`).
STRAYS = 0.015


#: So many cells tell laws apart as well as it is worth, and however many there are they count as so many: no law is right, and of many cells that one of two wrong laws fits better above the threshold says little of which is nearer below it (a coarsened posterior).
#: Tried on 45 worlds of 23 laws, 960 and 10,000 cells, base alone: the learnt law is off by more than twice what rivals say it may be in 5 at 50 and at 200, in 17 at 1,000 and in 20 if every cell counts; that is 29, 20, 14 and 14 % of what is hidden (median).
WORTH = 200.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Missing:
    """What is known of a missing cell, by its log-intensity: log-likelihood, expected count, variance.

    `near` holds slope, bend and value of the log-likelihood of each of the values from `least` on, by log-intensity.
    """

    grid: Floats
    logs: Floats
    slope: Floats
    bend: Floats
    mean: Floats
    variance: Floats
    gain: Floats
    least: int
    near: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, dispersion: float, /) -> Missing:
        """The tables for one mechanism and one dispersion of single cells."""
        grid = np.arange(LEAST_LOG, MOST_LOG + _STEP, _STEP)
        least = mechanism.whole_threshold or 0
        deviation = math.sqrt(mechanism.published_law.variance)
        reach = least + 14 * deviation + 8
        if reach > limits.current().weighed_counts:
            raise DataError(
                f"Noise of standard deviation {deviation:.3g} with a threshold of {least:.3g} leaves more than "
                f"{limits.current().weighed_counts:,} counts for a missing cell, more than are weighed; check what the card says."
            )
        counts = np.arange(math.ceil(reach))
        seen = mechanism.log_likelihood(np.full(len(counts), np.nan), counts)
        prior = log_mass(counts, np.exp(grid)[:, None], 1 / dispersion)
        joint = prior + np.maximum(seen, -700.0)
        logs = np.asarray(special.logsumexp(joint, axis=1))
        share = np.exp(joint - logs[:, None])
        mean = share @ counts
        slope = np.gradient(logs, _STEP)
        return cls(
            grid=grid,
            logs=logs,
            slope=slope,
            bend=np.maximum(-np.gradient(slope, _STEP), 0.0),
            mean=mean,
            variance=share @ counts.astype(float) ** 2 - mean**2,
            gain=np.maximum(np.gradient(mean, _STEP), 1e-12),
            least=least,
            near=_near(mechanism, prior, np.arange(least, least + min(math.ceil(6 * deviation), _MOST_NEAR))),
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Where the grid starts, and its step."""
        return float(self.grid[0]), _STEP

    @property
    def table(self) -> Floats:
        """Slope, bend, mean, variance and gain, one row for each point of the grid."""
        return np.stack([self.slope, self.bend, self.mean, self.variance, self.gain], axis=1)

    def at(self, eta: Floats, *tables: Floats) -> list[Floats]:
        """Tables interpolated at log-intensities."""
        where = np.clip((eta - self.grid[0]) / _STEP, 0, len(self.grid) - 1.001)
        left = where.astype(np.int64)
        rest = where - left
        return [table[left] * (1 - rest) + table[left + 1] * rest for table in tables]


def _near(mechanism: Mechanism, prior: Floats, values: Ints, /) -> Floats:
    """Slope, bend and value of the log-likelihood of values: an array of log-intensities x values x 3."""
    counts = np.arange(prior.shape[1])
    logs = mechanism.log_likelihood(values[None, :].astype(float), counts[:, None])
    top = prior.max(axis=1, keepdims=True)
    likely = np.exp(prior - top) @ np.exp(np.maximum(logs, -700.0))
    logs = np.log(np.maximum(likely, 1e-300)) + top
    slope = np.gradient(logs, _STEP, axis=0)
    bend = np.maximum(-np.gradient(slope, _STEP, axis=0), 0.0)
    return np.ascontiguousarray(np.stack([slope, bend, logs], axis=-1))


@functools.lru_cache(maxsize=8)
def missing_tables(mechanism: Mechanism, dispersions: tuple[float, ...], /) -> tuple[Missing, ...]:
    """What a missing row says under each of several dispersions."""
    return tuple(Missing.of(mechanism, one) for one in dispersions)


def log_mass(
    counts: Floats | Ints, mean: Floats, shape: float | Floats, /, *, factorials: Floats | None = None
) -> Floats:
    """The negative binomial log-probability of counts; the logs of their factorials are given if they are known."""
    return np.asarray(
        special.gammaln(counts + shape)
        - special.gammaln(shape)
        - (special.gammaln(counts + 1.0) if factorials is None else factorials)
        + special.xlogy(counts, mean / (mean + shape))
        - shape * np.log1p(mean / shape)
    )


#: Nothing is as unlikely as this where laws are worked out count by count.
_MOST_NATS = 600.0


@compiled
def negative_binomials(mean: Floats, shape: Floats, size: int) -> Floats:
    """The chances of 0 .. size - 1 in each of many laws (rows)."""
    found = np.empty((len(mean), size))
    for i in range(len(mean)):
        m, r = mean[i], shape[i]
        none, odds = r * math.log1p(m / r), m / (m + r)
        found[i, 0] = math.exp(-none)
        if none < _MOST_NATS:
            # Each count from the one before it, which takes no exponential.
            for x in range(1, size):
                found[i, x] = found[i, x - 1] * ((x - 1 + r) / x * odds)
        else:
            for x in range(1, size):
                logs = math.lgamma(x + r) - math.lgamma(r) - math.lgamma(x + 1.0)
                found[i, x] = math.exp(logs + x * math.log(odds) - none)
    return found


Bools = NDArray[np.bool_]

#: What is known of a sum, but for the noise: its value, or that it is not above it.
EQUAL, AT_MOST = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisySums:
    """Sums over cells: `seen[code]` with noise of `variance[code]`; a code of -1 is in none.

    `side` says of each sum whether it is `EQUAL` to what was seen or `AT_MOST` that. Cells with a code in `less`
    count against the sum: what was seen is the sum less these.
    """

    codes: Ints
    seen: Floats
    variance: Floats
    side: NDArray[np.int8]
    less: Ints | None = None

    @property
    def equal(self) -> Bools:
        """Which sums are known but for the noise."""
        return np.asarray(self.side == EQUAL)

    @property
    def members(self) -> tuple[Ints, Ints]:
        """The cells that have part in a sum, and those that count against one."""
        less = np.zeros(0) if self.less is None else np.flatnonzero(self.less >= 0)
        return np.flatnonzero(self.codes >= 0), less.astype(np.int64)

    def of_cells(self, cells: Bools, /) -> NoisySums:
        """The same sums, with codes for some of the cells only."""
        return replace(self, codes=self.codes[cells], less=None if self.less is None else self.less[cells])

    def settled(self, mean: Floats, /) -> NoisySums:
        """The same with expected counts for cells that count against sums, each total of them uncertain by as much again."""
        if self.less is None:
            return self
        extra = _summed(self.less, mean, len(self.seen))
        return replace(self, seen=self.seen + extra, variance=self.variance + extra**2, less=None)

    def speaks(self, expected: Floats, /) -> Bools:
        """Which sums say something against these expected ones: a bound only where it is crossed."""
        return np.asarray(self.equal | (expected > self.seen))

    def logs(self, expected: Floats, variance: Floats, /) -> Floats:
        """Log-likelihoods of sums (rows) with these expected values and variances, noise not counted: normal laws."""
        width = variance + self.variance[:, None]
        found = self.seen[:, None] - expected
        bounds = np.flatnonzero(~self.equal)
        crossed = special.log_ndtr(found[bounds] / np.sqrt(width[bounds]))
        found *= found
        found /= width
        found += np.log(width, out=width)
        found *= -0.5
        found[bounds] = crossed
        return np.asarray(found)


@compiled
def _summed(codes: Ints, values: Floats, size: int) -> Floats:
    """Values added up by their codes; -1 is in no sum."""
    found = np.zeros(size)
    for k in range(len(codes)):
        if codes[k] >= 0:
            found[codes[k]] += values[k]
    return found


@compiled
def seen_slopes(
    eta: Floats,
    shown: Ints,
    seen: Floats,
    dispersion: float,
    noise: float,
    least: int,
    first: float,
    step: float,
    near: Floats,
    slope: Floats,
    bend: Floats,
) -> None:
    """Write both derivatives of the log-likelihood of cells with a value: from the table for those just above a threshold, if the cell expects less; else as if all were normal."""
    rows, values, _ = near.shape
    for k in range(len(shown)):
        i = shown[k]
        mean, value = np.exp(eta[i]), int(seen[k]) - least
        if 0 <= value < values and mean < seen[k]:
            where = min(max((eta[i] - first) / step, 0.0), rows - 1.001)
            left = int(where)
            rest = where - left
            slope[i] = near[left, value, 0] * (1 - rest) + near[left + 1, value, 0] * rest
            bend[i] = near[left, value, 1] * (1 - rest) + near[left + 1, value, 1] * rest
        else:
            width = mean + dispersion * mean * mean + noise
            slope[i] = mean * (seen[k] - mean) / width
            bend[i] = mean * mean / width


@compiled
def interpolate(eta: Floats, cells: Ints, first: float, step: float, table: Floats) -> Floats:
    """The columns of a table, at the log-intensities of some cells; one row for each column."""
    rows, columns = table.shape
    found = np.empty((columns, len(cells)))
    for k in range(len(cells)):
        where = min(max((eta[cells[k]] - first) / step, 0.0), rows - 1.001)
        left = int(where)
        rest = where - left
        for c in range(columns):
            found[c, k] = table[left, c] * (1 - rest) + table[left + 1, c] * rest
    return found


@compiled
def pulled(
    inside: Ints,
    codes: Ints,
    against: Ints,
    less: Ints,
    seen: Floats,
    variance: Floats,
    equal: Bools,
    found: Floats,
) -> None:
    """Add to slope and bend (rows 0 and 1) of cells what sums over them say, by the mean, the variance and the gain of each (rows 2 to 4).

    Cells that are `inside` have a code; those that are `against` a sum have one in `less`, and count against it, each total of them uncertain by as much again.
    """
    size = len(seen)
    mean, width, gain, extra = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for k in inside:
        c = codes[k]
        mean[c] += found[2, k]
        width[c] += found[3, k]
        gain[c] += found[4, k]
    for k in against:
        extra[less[k]] += found[2, k]
    for c in range(size):
        left = seen[c] + extra[c]
        weight = 1 / (width[c] + (variance[c] + extra[c] ** 2)) if equal[c] or mean[c] > left else 0.0
        mean[c], gain[c] = weight * (left - mean[c]), weight * gain[c]
    for k in inside:
        c = codes[k]
        found[0, k] += found[4, k] * mean[c]
        found[1, k] += found[4, k] * gain[c]


@compiled
def put(places: Ints, found: Floats, slope: Floats, bend: Floats) -> None:
    """Write slope and bend (rows 0 and 1) of some cells."""
    for k in range(len(places)):
        slope[places[k]], bend[places[k]] = found[0, k], found[1, k]


@compiled
def by_level(codes: Ints, slope: Floats, bend: Floats, size: int) -> tuple[Floats, Floats]:
    """Slope and bend added up over the cells of each level."""
    pull, curvature = np.zeros(size), np.zeros(size)
    for i in range(len(codes)):
        pull[codes[i]] += slope[i]
        curvature[codes[i]] += bend[i]
    return pull, curvature


@compiled
def shifted(
    codes: Ints, move: Floats, eta: Floats, slope: Floats, bend: Floats, least: float, most: float
) -> None:
    """Move log-intensities with their levels, and slopes along their bend."""
    for i in range(len(codes)):
        step = move[codes[i]]
        eta[i] = min(max(eta[i] + step, least), most)
        slope[i] -= bend[i] * step


def _all_alike(seen: Floats, cells: int, /) -> Floats:
    """Log-intensities of cells that are all alike, and show so much."""
    return np.full(cells, math.log(max((seen.sum() + 0.5) / cells, 1e-3)))


DISPERSIONS = np.exp(np.linspace(math.log(0.005), math.log(4.0), 16))
#: Where the search for the dispersion starts: about 0.3.
_FIRST = 10


@dataclass(slots=True, kw_only=True, eq=False)
class Observed:
    """Cells with a value and cells without, and the log-intensity of each as far as it has been fitted.

    `inside` are the cells without one that each of the remainders adds up, and those that count against it.
    """

    shown: Ints
    hidden: Ints
    seen: Floats
    noise: float
    remainders: list[NoisySums]
    inside: list[tuple[Ints, Ints]] = field(repr=False)
    eta: Floats
    tables: tuple[Missing, ...] = field(repr=False)
    place: int = _FIRST

    @classmethod
    def of(cls, values: Floats, mechanism: Mechanism, remainders: Sequence[NoisySums], /) -> Observed:
        """The cells of a table; NaN in `values` says that nothing was published."""
        hidden = np.isnan(values)
        seen = np.maximum(values[~hidden], 0.0)
        every = [sums.of_cells(hidden) for sums in remainders]
        every = [sums for sums in every if (sums.codes >= 0).any()]
        return cls(
            shown=np.flatnonzero(~hidden),
            hidden=np.flatnonzero(hidden),
            seen=seen,
            noise=mechanism.published_law.variance,
            remainders=every,
            inside=[sums.members for sums in every],
            eta=_all_alike(seen, len(values)),
            tables=missing_tables(mechanism, tuple(DISPERSIONS.tolist())),
        )

    def anew(self) -> Observed:
        """The same cells, of which nothing has been fitted."""
        return replace(self, eta=_all_alike(self.seen, len(self.eta)), place=_FIRST)

    @property
    def dispersion(self) -> float:
        """How far single cells stray from their intensities: the negative binomial variance is m + dispersion m^2."""
        return float(DISPERSIONS[self.place])

    @property
    def missing(self) -> Missing:
        """What a missing row says, under the present dispersion."""
        return self.tables[self.place]

    def move(self, step: Floats | float, /) -> None:
        """Move log-intensities."""
        self.eta = np.clip(self.eta + step, LEAST_LOG, MOST_LOG)

    def shown_slopes(self) -> tuple[Floats, Floats]:
        """The same as `slopes` for cells with a value, and zero for all others."""
        slope, bend, of = np.zeros(len(self.eta)), np.zeros(len(self.eta)), self.missing
        near = of.near if self.hidden.size else np.zeros((0, 0, 3))
        known = self.dispersion, self.noise, of.least, *of.scale, near
        seen_slopes(self.eta, self.shown, self.seen, *known, slope, bend)
        return slope, bend

    def slopes(self, *, sums: bool = True) -> tuple[Floats, Floats]:
        """First and (negative) second derivative of the log-likelihood by each cell's log-intensity.

        With `sums`, of what margins say too; the second derivative is then an upper bound.
        """
        slope, bend = self.shown_slopes()
        if self.hidden.size:
            of = self.missing
            asked = self.remainders if sums else []
            # Only sums need more than slope and bend.
            table = of.table if asked else np.ascontiguousarray(of.table[:, :2])
            found = interpolate(self.eta, self.hidden, *of.scale, table)
            for one, (inside, against) in zip(asked, self.inside, strict=False):
                less = one.codes if one.less is None else one.less
                pulled(inside, one.codes, against, less, one.seen, one.variance, one.equal, found)
            put(self.hidden, found, slope, bend)
        return slope, bend


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenCells:
    """What cells show, by classes of their intensity.

    `hidden` is the chance of each count to be hidden, `shown` (a row for each value) to be shown so. `values`, `classes` and `number` are the distinct pairs of a value and a class, and how many cells have them; `told` and `untold` are how many
    cells of each class are hidden, in rows that are shown or not; `sum` and `noise` are what rows leave for the first together. `rows` has for each row of each margin how many hidden cells of each class it holds, what it leaves, its own noise, and what it is off by alike with all others.
    """

    level: Floats
    shape: Floats
    hidden: Floats
    shown: csr_array
    values: Ints
    classes: Ints
    number: Floats
    told: Floats
    untold: Floats
    sum: float
    noise: float
    rows: tuple[tuple[Floats, Floats, Floats, Floats], ...]
    class_of: Ints

    def count(self, cells: NDArray[np.bool_], /) -> Floats:
        """How many of some cells are of each class."""
        return np.bincount(self.class_of[cells], minlength=len(self.level)).astype(np.float64)

    @property
    def counts(self) -> Floats:
        """The counts that are looked at."""
        return np.arange(len(self.hidden), dtype=np.float64)

    def plain(self) -> Floats:
        """The learnt negative binomial in each class, with the cells that stray from it; as a law of one hump."""
        x, m, r = self.counts, self.level[:, None], self.shape[:, None]
        logs = special.gammaln(x + r) - special.gammaln(r) - special.gammaln(x + 1)
        found = np.exp(logs + x * np.log(m / (m + r)) - r * np.log1p(m / r))
        falling = np.exp(x * np.log(m / (m + 1)) - np.log1p(m))
        return np.asarray(((1 - STRAYS) * found + STRAYS * falling)[:, None, :])

    @property
    def cells(self) -> float:
        """How many cells there are."""
        return float(self.number.sum() + self.told.sum() + self.untold.sum())

    @property
    def worth(self) -> float:
        """What share of what they tell laws apart by counts."""
        return WORTH / (WORTH + self.cells)

    @classmethod
    def of(
        cls, values: Floats, prior: NegativeBinomial, mechanism: Mechanism, rows: Sequence[LeftInRows], /
    ) -> SeenCells | None:
        """What the cells of a part show; None if it is too little, or counts are too large."""
        there = ~np.isnan(values)
        if min(there.sum(), (~there).sum()) < FEW:
            return None
        told = max(rows, key=lambda one: len(one.places), default=None)
        large = there & (values > MOST_COUNT)
        if large.sum() > _MOST_LARGE * len(values):
            return None
        logs = np.log(np.maximum(prior.mean, 1e-3))
        edges = np.unique(np.quantile(logs, np.linspace(0, 1, _CLASSES + 1)[1:-1]))
        classes = np.unique(np.searchsorted(edges, logs, side="right"), return_inverse=True)[1]
        size = int(classes.max()) + 1
        number = np.bincount(classes, minlength=size)
        level = np.exp(np.bincount(classes, weights=logs, minlength=size) / number)
        shape = 1 / (np.bincount(classes, weights=1 / prior.shape, minlength=size) / number)
        use = there & ~large
        most = int(values[use].max()) + math.ceil(mechanism.reach(_NATS))
        counts = np.arange(most + 1)
        distinct, value = np.unique(values[use], return_inverse=True)
        pairs, copies = np.unique(value * size + classes[use], return_counts=True)
        shown = mechanism.log_likelihood(distinct[:, None], counts)
        hidden = np.exp(mechanism.log_likelihood(np.full(most + 1, np.nan), counts))
        mine = np.zeros(len(values), bool)
        if told is not None:
            mine[told.places] = True

        def by_class(which: NDArray[np.bool_]) -> Floats:
            return np.bincount(classes[which], minlength=size).astype(np.float64)

        return cls(
            level=level,
            shape=shape,
            hidden=hidden,
            shown=_banded(shown),
            values=pairs // size,
            classes=pairs % size,
            number=copies.astype(np.float64),
            told=by_class(mine),
            untold=by_class(~there & ~mine),
            sum=0.0 if told is None else float(told.left.sum()),
            noise=0.0
            if told is None
            else float((told.noise - told.common**2).sum() + told.common.sum() ** 2),
            rows=tuple(_by_rows(one, classes, size) for one in rows if one.left.size),
            class_of=classes,
        )


def _banded(logs: Floats, /) -> csr_array:
    """Chances of each value (a row) beside the largest; a value is seldom far from its count, and what is nothing beside that is left out.

    A value that no count leads to has no chances.
    """
    from scipy.sparse import csr_array

    top = logs.max(axis=1, keepdims=True)
    away = logs - np.where(np.isfinite(top), top, 0.0)
    return csr_array(np.where(away >= -_NATS_BESIDE, np.exp(away), 0.0))


def _by_rows(rows: LeftInRows, classes: Ints, size: int, /) -> tuple[Floats, Floats, Floats, Floats]:
    keys = rows.codes * size + classes[rows.places]
    held = np.bincount(keys, minlength=len(rows.left) * size).reshape(len(rows.left), size)
    return held.astype(np.float64), rows.left, np.maximum(rows.noise - rows.common**2, 1e-6), rows.common
