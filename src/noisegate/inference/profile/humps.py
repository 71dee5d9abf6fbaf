"""Laws of counts around an intensity that are no negative binomial: two or three humps, spikes, full or empty vehicles; and, where no total speaks, rivals.

A count is of one of a few *humps*. Hump k has a share, and a mean that is a factor times the intensity of the cell, or the same in all cells; around it counts are Poisson, wider
(negative binomial) or narrower (a Poisson law to a power: counts that hardly vary). Shares and factors are found by EM from what every cell shows, a value or its absence, with hidden
cells tilted to what totals leave for them. How wide humps are, how many there are and whether they follow the intensity is weighed by evidence: the likelihood of all cells and of what each row of each
margin leaves for its hidden ones (so that totals tell how hidden counts spread, which no cell can), less half the log of the number of cells for each parameter. The learnt negative binomial is
one of the laws that are weighed. Where it has nearly all the weight nothing changes.

*Rivals* (MATH 10 d). Where no total speaks, nothing but a law of the counts tells hidden cells, and cells above a threshold tell one law from another only there. So what is learnt is set beside rivals: counts around an intensity are negative binomial or Poisson around
a lognormal one, of any dispersion, the same at all intensities or larger, by share, at small ones (parties); a share of all cells may be empty or quieter than the others; intensities may all be off by one factor, and differ less or more from each other than was learnt. Each is as likely as what some two hundred of the cells show is
likely under it, however many there are: none of them is right. What they differ by about hidden cells is what nobody can know from these tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.linked.problem import Humps, NegativeBinomial
from noisegate.inference.profile.hump_em import settle
from noisegate.inference.profile.observed import FEW, MOST_COUNT, STRAYS, SeenCells
from noisegate.inference.profile.rivals import weigh_apart
from noisegate.mechanisms import Mechanism

if TYPE_CHECKING:
    from noisegate.inference.hidden import LeftInRows, Raked

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_ROUNDS, _FEW_ROUNDS, _ROUNDS_OF_ONE = 60, 30, 10
#: What an empty hump has for a factor.
_NOTHING = 1e-4
#: Widths of humps that are tried: relative variances beyond Poisson, and powers of a Poisson law that make it narrower.
_WIDTHS = ((0.0, 1.0), (0.03, 1.0), (0.1, 1.0), (0.3, 1.0), (0.0, 8.0))
_NARROW = ((0.0, 4.0), (0.0, 16.0))
#: Powers that are narrower still are weighed for what sums vary by, beside the last of these, which cells have for them: up to counts that do not vary at all. With the first three of these groups of fixed counts, as in 2016 and with exact margins (24 worlds, seed 4242), hold
#: 97 / 55 and 99 / 88, interval scores 16 and 12; with all six 95 / 52 and 96 / 57, 16 and 11.
_NARROWER = (64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0)
#: Log-odds beforehand that counts which vary little where they are shown do so because they are near a capacity.
_CAPACITY = math.log(3.0)
#: Totals tell intensities of at least so many cells each: of fewer every one has a large share in its own intensity, and lies near it whatever its law. Poisson counts of 6 x 8 x 10 cells under 188 totals were taken for counts that hardly vary.
_CELLS_A_TOTAL = 5
#: Totals tell little of how wide the lowest hump is, and cells nothing: these widths are weighed as well.
_LOWEST = (0.1, 0.3, 1.0)
#: Two humps that are less likely than the negative binomial by more nats a cell than this are not looked at further; before they are seen humps are so many nats less likely.
_PROMISING, _UNLIKELY = 0.02, 3.0
_MOST_HUMPS = 6
#: Widths of hidden counts are worked out at so many intensities.
_WIDTHS_AT = 40
#: A smooth function of the count is worth so many parameters.
_SMOOTH = 8
#: Laws with less weight than this are left out.
_LEAST_WEIGHT = 0.02

#: At most so many cells are looked at.
MOST_SEEN = 3_000
#: Variances of the log of the intensity (or of its relative size) of single cells at the threshold, and whether they grow as the intensity falls: people who come in parties vary more, by share, where few are expected.
_DISPERSIONS, _GROWTHS = (0.01, 0.05, 0.15, 0.35, 0.7, 1.4, 2.5), (0.0, 1.0)
_MOST_DISPERSION = 50.0
#: Logs of one factor for all intensities.
_FACTORS = np.linspace(-1.5, 1.5, 16)
#: Powers of intensities: what is learnt of single places and hours may be chance, or not half of it.
_POWERS = (0.4, 0.7, 1.0, 1.25)
#: Shares of cells that are apart from the others, and what they have of the intensity of these.
_APART_SHARES = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8])
_APART_SIZES = (1e-3, 0.2)
#: That no cells are apart is as likely beforehand as that some are.
_NONE_APART = 0.5
#: Logs of means at which laws are worked out; between these they are interpolated.
_STEP, _LEAST_MEAN = 0.1, 1e-3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(16)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Law:
    """One law of humps: whether they follow the intensity, how wide they are, their shares and factors, and whether the first one is empty cells."""

    power: float
    dispersion: float
    temper: float
    share: Floats
    factor: Floats
    empty: bool = False
    #: The dispersion of the lowest hump, if it is another one.
    lowest: float | None = None
    #: What counts vary by, as a share of what the law says (see `linked.problem.Humps`).
    tighter: float = 1.0
    #: The mean square of that share.
    tighter_square: float = 1.0

    @property
    def dispersions(self) -> Floats:
        """How wide each hump is beyond Poisson."""
        found = np.full(len(self.share), self.dispersion)
        if self.lowest is not None:
            found[np.argmin(self.factor)] = self.lowest
        return found

    @property
    def parameters(self) -> int:
        """How many numbers were fitted or chosen: shares, factors, how wide humps are."""
        return 2 * len(self.share) - self.empty

    def means(self, level: Floats, middle: float, /) -> Floats:
        """The mean of each hump in each class."""
        return np.asarray((level**self.power * middle ** (1 - self.power))[:, None] * self.factor)

    def masses(self, seen: SeenCells, middle: float, /) -> Floats:
        """The law of each hump (middle axis) in each class (first axis)."""
        means = np.maximum(self.means(seen.level, middle), 1e-6)
        dispersions = self.dispersions
        if (dispersions == dispersions[0]).all():
            return _around(means[:, :, None], seen.counts, float(dispersions[0]), self.temper)
        found = np.empty((*means.shape, len(seen.hidden)))
        for k, dispersion in enumerate(dispersions.tolist()):
            found[:, k] = _around(means[:, [k]], seen.counts, dispersion, self.temper)
        return found


def _around(means: Floats, x: Floats, dispersion: float, temper: float, /) -> Floats:
    """The law of counts around each of some means; with a capacity if the dispersion is negative."""
    if dispersion < 0:
        return _to_a_power(means, x, 1 / np.maximum(1 + dispersion * means, 1 / temper))
    if dispersion > 0:
        r = 1 / dispersion
        logs = special.gammaln(x + r) - special.gammaln(r) - special.gammaln(x + 1)
        return np.asarray(np.exp(logs + x * np.log(means / (means + r)) - r * np.log1p(means / r)))
    return _to_a_power(means, x, np.float64(temper))


def _to_a_power(means: Floats, x: Floats, power: Floats | np.float64, /) -> Floats:
    """Poisson laws to a power."""
    logs = power * (x * np.log(means + shifted(power)) - special.gammaln(x + 1))
    found = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def shifted(temper: Any, /) -> Any:
    """What is added to the mean of a Poisson law to a power, as the power takes it off."""
    return 0.5 * (1 - 1 / temper)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HumpFit:
    """Humps that counts of a part have around their intensities, and these: others than those that cells tell where totals tell them better (`told`)."""

    humps: Humps
    mean: Floats
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HiddenWidth:
    """How hidden counts vary around their intensities by humps that are narrower than Poisson: the chance of one with a capacity, and the variance by these (`wide`) and by all others."""

    capped: Floats
    wide: Floats
    narrow: Floats

    @classmethod
    def of(cls, humps: Humps, mean: Floats, mechanism: Mechanism, /) -> HiddenWidth:
        """Of hidden cells of these intensities."""
        logs = np.log(np.clip(mean, 1e-3, MOST_COUNT))
        grid = np.linspace(logs.min(), logs.max() + 1e-6, _WIDTHS_AT)
        around = humps.factor * np.exp(grid[:, None] * humps.power)
        most = float(around.max())
        x = np.arange(math.ceil(most + 8 * math.sqrt(most)) + 8, dtype=np.float64)
        hidden = np.exp(mechanism.log_likelihood(np.full(len(x), np.nan), x))
        mass, variance = np.zeros((2, *around.shape))
        for k in range(len(humps.share)):
            law = hidden * _around(around[:, [k]], x, float(humps.dispersion[k]), float(humps.temper[k]))
            whole = np.maximum(law.sum(axis=1), 1e-300)
            mass[:, k] = humps.share[k] * whole
            variance[:, k] = np.maximum(law @ x**2 / whole - (law @ x / whole) ** 2, 0.0)
        capped = humps.dispersion < 0
        kinds = capped, (humps.temper > 1) & ~capped
        wide, narrow = (
            (mass * variance)[:, which].sum(axis=1) / np.maximum(mass[:, which].sum(axis=1), 1e-300)
            for which in kinds
        )
        share = mass[:, capped].sum(axis=1) / np.maximum(mass.sum(axis=1), 1e-300)
        return cls(
            **{
                name: np.interp(logs, grid, one)
                for name, one in (("capped", share), ("wide", wide), ("narrow", narrow))
            }
        )


def fit_humps(
    values: Floats,
    prior: NegativeBinomial,
    /,
    *,
    mechanism: Mechanism,
    rows: Sequence[LeftInRows],
    departs: Callable[[Floats], Floats] | None = None,
    told: Raked | None = None,
) -> HumpFit | None:
    """The humps that counts of a part have beside the negative binomial that was learnt of them; None if it is likelier, or too little is seen.

    `departs` says by which log-ratio the tables tell more cells of 0, 1, 2, ... than a histogram has; humps must be likelier than that, too. With `told`, intensities that add up to shown totals, laws narrower than Poisson are tried:
    counts that hardly vary add up to what their intensities do, so totals tell these far better than cells with their noise. Where totals are nearly as many as cells, counts of any law lie near such intensities: none is tried then.
    """
    seen = SeenCells.of(values, prior, mechanism, rows)
    if seen is None or seen.told.sum() < FEW:
        return None
    middle = _middle(seen)
    plain = _plain_evidence(seen, departs)
    narrow = told is not None and told.totals * _CELLS_A_TOTAL <= seen.cells
    found = [one for one in _weighed(seen, middle, plain) if narrow or one[1].temper == 1]
    evidence = np.array([plain, *(value - _UNLIKELY for value, _ in found)])
    if told is not None and narrow:
        other = SeenCells.of(values, replace(prior, mean=told.mean), mechanism, rows)
        laws = [] if other is None else list(_narrow_laws(other, _middle(other)))
        likely = np.array([value - _UNLIKELY for value, _ in laws])
        # Narrow laws around what cells tell are no rivals: they have what cells tell of their own noise, and totals against them.
        rivals = evidence[[True, *(law.temper == 1 for _, law in found)]]
        if other is not None and special.logsumexp(likely) > special.logsumexp(rivals):
            # Totals have told these intensities, so how narrow laws are cells alone say.
            by_cells = special.softmax(_by_cells(other, [law for _, law in laws])).tolist()
            weighed = zip(by_cells, (law for _, law in laws), strict=True)
            humps = _mixed(other, 0.0, _with_capacity(seen, weighed))
            return None if humps is None else HumpFit(humps=humps, mean=told.mean, told=True)
    weights = special.softmax(evidence).tolist()
    weighed = zip(weights[1:], (law for _, law in found), strict=True)
    humps = _mixed(seen, weights[0], _with_capacity(seen, weighed))
    if humps is None:
        return None
    return HumpFit(
        humps=replace(humps, relative=float(np.mean(1 / prior.shape))), mean=prior.mean, told=False
    )


def _middle(seen: SeenCells, /) -> float:
    return float(np.exp(np.average(np.log(seen.level))))


def _with_capacity(seen: SeenCells, found: Iterable[tuple[float, _Law]], /) -> Iterator[tuple[float, _Law]]:
    """Laws with their weights; beside each that is narrower than Poisson one with a capacity, which is as narrow where cells are shown, and wider below.

    Shown cells hardly tell the two apart, and hidden ones hang on it: a count that varies little near a full vehicle varies more in one that is half full. So cells tell no more than so many are worth (`SeenCells.worth`).
    """
    number = np.bincount(seen.classes, weights=seen.number, minlength=len(seen.level))
    shown = float(number @ seen.level / number.sum())
    for weight, law in found:
        if law.temper == 1 or len(law.share) > 1 or weight < _LEAST_WEIGHT:
            yield weight, law
            continue
        other = replace(law, dispersion=-(1 - 1 / law.temper) / shown)
        own, its = _by_cells(seen, [law, other])
        share = float(special.expit(_CAPACITY + seen.worth * (its - own)))
        yield (1 - share) * weight, law
        yield share * weight, other


def _by_cells(seen: SeenCells, laws: Sequence[_Law], /) -> list[float]:
    """The evidence of laws by cells alone."""
    alone, middle = replace(seen, rows=()), _middle(seen)
    return [_evidence(alone, law.masses(seen, middle), law.share) for law in laws]


def _mixed(seen: SeenCells, plain: float, found: Iterable[tuple[float, _Law]], /) -> Humps | None:
    """Laws with their weights as one, beside the plain law with its own; None if that has nearly all."""
    kept = [(weight, law) for weight, law in found if weight >= _LEAST_WEIGHT]
    if not kept or plain > 1 - _LEAST_WEIGHT:
        return None
    middle, whole = _middle(seen), plain + sum(weight for weight, _ in kept)
    tighter = (plain + sum(weight * law.tighter for weight, law in kept)) / whole
    square = (plain + sum(weight * law.tighter_square for weight, law in kept)) / whole
    return Humps(
        stray=_strays(seen, kept, middle),
        plain=plain / whole,
        share=np.concatenate([weight / whole * law.share for weight, law in kept]),
        factor=np.concatenate([law.factor * middle ** (1 - law.power) for _, law in kept]),
        power=np.concatenate([np.full(len(law.share), law.power) for _, law in kept]),
        dispersion=np.concatenate([law.dispersions for _, law in kept]),
        temper=np.concatenate([np.full(len(law.share), law.temper) for _, law in kept]),
        tighter=tighter,
        tighter_sd=math.sqrt(max(square - tighter**2, 0.0)),
    )


def _strays(seen: SeenCells, kept: Sequence[tuple[float, _Law]], middle: float, /) -> float:
    """The share of cells that stray from all humps, as shown ones tell; beforehand it is about that of cells that stray from a negative binomial."""
    x, m = seen.counts, seen.level[:, None]
    falling = np.exp(x * np.log(m / (m + 1)) - np.log1p(m))
    whole = sum(weight for weight, _ in kept)
    law = sum(
        weight / whole * np.einsum("ckx,k->cx", one.masses(seen, middle), one.share) for weight, one in kept
    )
    own, away = ((seen.shown @ np.asarray(one).T)[seen.values, seen.classes] for one in (law, falling))
    share, cells = STRAYS, seen.cells
    for _ in range(_FEW_ROUNDS):
        chance = share * away / np.maximum(share * away + (1 - share) * own, 1e-300)
        # Of cells that stray about as many are hidden as of all others.
        found = float(seen.number @ chance) * cells / seen.number.sum()
        share = (found + 0.5) / (cells + 0.5 / STRAYS)
    return min(share, STRAYS)


def _plain_evidence(seen: SeenCells, departs: Callable[[Floats], Floats] | None, /) -> float:
    """How likely the learnt negative binomial is, or what the engine makes of it by one smooth function of the count, whichever is more."""
    law = seen.plain()
    found = _evidence(seen, law, np.ones(1)) - 0.5 * math.log(seen.cells)
    if departs is None:
        return found
    held = seen.told + seen.untold + np.bincount(seen.classes, weights=seen.number, minlength=len(seen.told))
    more = departs(held @ law[:, 0, :])
    law = law * np.exp(more[np.minimum(np.arange(law.shape[2]), len(more) - 1)])
    law /= law.sum(axis=2, keepdims=True)
    return max(found, _evidence(seen, law, np.ones(1)) - 0.5 * _SMOOTH * math.log(seen.cells))


def _tried(seen: SeenCells, law: _Law, middle: float, rounds: int = _ROUNDS, /) -> tuple[float, _Law]:
    """A law that was fitted, and its evidence."""
    fitted = _fitted(seen, law, middle, rounds)
    evidence = _evidence(seen, fitted.masses(seen, middle), fitted.share)
    return evidence - 0.5 * fitted.parameters * math.log(seen.cells), fitted


def _narrow_laws(seen: SeenCells, middle: float, /) -> Iterator[tuple[float, _Law]]:
    """Laws of one hump that are narrower than Poisson, with their evidence.

    How much narrower they are still cells alone say: totals told the intensities, and are as near to laws whose means follow these as it gets.
    """
    for dispersion, temper in _NARROW:
        one = _Law(power=1.0, dispersion=dispersion, temper=temper, share=np.ones(1), factor=np.ones(1))
        value, law = _tried(seen, one, middle, _ROUNDS_OF_ONE)
        if temper == _NARROW[-1][1]:
            finer = (replace(one, temper=power) for power in _NARROWER)
            every = [(value, law), *(_tried(seen, each, middle, _ROUNDS_OF_ONE) for each in finer)]
            value = float(special.logsumexp([each for each, _ in every])) - math.log(len(every))
            chances = special.softmax(_by_cells(seen, [each for _, each in every]))
            less = temper / np.array([temper, *_NARROWER])
            law = replace(law, tighter=float(chances @ less), tighter_square=float(chances @ less**2))
        yield value, law


def _weighed(seen: SeenCells, middle: float, plain: float, /) -> Iterator[tuple[float, _Law]]:
    """Laws of humps that are not much less likely than the plain one, with their evidence."""

    def tried(law: _Law, rounds: int = _ROUNDS) -> tuple[float, _Law]:
        return _tried(seen, law, middle, rounds)

    yield from _narrow_laws(seen, middle)
    for power in (0.0, 1.0):
        starts = [
            _Law(
                power=power,
                dispersion=dispersion,
                temper=1.0,
                share=np.full(2, 0.5),
                factor=np.array([low, 2.0 - low]),
            )
            for low, dispersion in ((0.05, 0.0), (0.5, 0.0), (0.5, 0.1))
        ]
        best = max((tried(one) for one in starts), key=lambda one: one[0])
        if best[0] < plain - _PROMISING * seen.cells:
            continue
        every = [
            tried(replace(best[1], dispersion=dispersion, temper=temper)) for dispersion, temper in _WIDTHS
        ]
        top = max(every, key=lambda one: one[0])
        # An empty lowest hump is tried with every width as well: what has more variants is not likelier for it.
        empty = _emptied(top[1])
        none = [tried(replace(empty, dispersion=dispersion, temper=temper)) for dispersion, temper in _WIDTHS]
        yield from (*every, *none)
        if max(value for value, _ in none) >= top[0]:
            continue
        while len(top[1].share) < _MOST_HUMPS:
            more = max((tried(split, _FEW_ROUNDS) for split in _split(top[1])), key=lambda one: one[0])
            if more[0] < top[0]:
                break
            yield more
            top = more
        for wide in _LOWEST:
            value, law = tried(replace(top[1], lowest=wide), _FEW_ROUNDS)
            yield value - math.log(len(_LOWEST)), law


def _split(law: _Law, /) -> Iterator[_Law]:
    """The law with one of its humps in two: the lowest one into none and twice as many, or any into a smaller and a larger one."""
    lowest = int(np.argmin(law.factor))
    for place, factors in ((lowest, (0.02, 2.0)), *((k, (0.6, 1.4)) for k in range(len(law.share)))):
        share = np.append(law.share, law.share[place] / 2)
        factor = np.append(law.factor, law.factor[place] * factors[1])
        share[place] /= 2
        factor[place] *= factors[0]
        yield replace(law, share=share, factor=factor)


def _emptied(law: _Law, /) -> _Law:
    """The law with its lower hump empty: vehicles that did not run."""
    order = np.argsort(law.factor)
    factor = law.factor[order]
    factor[0] = _NOTHING
    return replace(law, share=law.share[order], factor=factor, empty=True)


def _fitted(seen: SeenCells, law: _Law, middle: float, rounds: int, /) -> _Law:
    """The likeliest shares and factors."""
    share, factor, least = law.share.copy(), law.factor.copy(), np.full(len(law.share), _NOTHING)
    if law.empty:
        factor[0], least[0] = _NOTHING, -1.0
    number = np.zeros((seen.shown.shape[0], len(seen.level)))
    number[seen.values, seen.classes] = seen.number
    settle(
        rounds,
        seen.level**law.power * middle ** (1 - law.power),
        share,
        factor,
        least,
        np.full(len(share), law.dispersion),
        -1.0 if law.lowest is None else law.lowest,
        law.temper,
        shifted(law.temper),
        seen.hidden,
        seen.shown.toarray(),
        number,
        seen.told,
        seen.untold,
        seen.sum,
        seen.noise,
    )
    return replace(law, share=share, factor=factor)


def _evidence(seen: SeenCells, masses: Floats, share: Floats, /) -> float:
    """How likely what cells show is, and what rows leave for hidden ones."""
    x = seen.counts
    law = (masses * share[:, None]).sum(axis=1)
    hidden = law * seen.hidden
    mass = np.maximum(hidden.sum(axis=1), 1e-300)
    found = float((seen.told + seen.untold) @ np.log(mass))
    picked = (seen.shown @ law.T)[seen.values, seen.classes]
    found += float(seen.number @ np.log(np.maximum(picked, 1e-300)))
    mean = hidden @ x / mass
    width = np.maximum(hidden @ x**2 / mass - mean**2, 0.0)
    for held, left, noise, common in seen.rows:
        variance = held @ width + noise
        off = left - held @ mean
        found -= 0.5 * float((np.log(variance) + off**2 / variance).sum())
        # All rows may be off alike, which takes nothing away from a law that is off by as much in all of them.
        alike = 1 + float((common**2 / variance).sum())
        found -= 0.5 * (math.log(alike) - float((off * common / variance).sum()) ** 2 / alike)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class RivalWord:
    """What rivals say of a sum of hidden cells, on average and with which standard deviation; and what the learnt law says."""

    mean: float
    sd: float
    learnt: float

    @property
    def off(self) -> float:
        """By which share of itself the learnt law may be off."""
        return math.hypot(self.sd, self.mean - self.learnt) / max(self.learnt, 1.0)


def rivals_say(
    values: Floats, asked: Bools, prior: NegativeBinomial, /, *, mechanism: Mechanism
) -> RivalWord | None:
    """What rivals of a learnt law say of those hidden cells that are asked for; None if too little is seen."""
    # Cells of far larger intensities are hardly ever hidden.
    small = np.flatnonzero(prior.mean <= MOST_COUNT / 3)
    values, asked = values[small], asked[small]
    seen = SeenCells.of(values, prior.at(small), mechanism, ())
    if seen is None:
        return None
    number, threshold = seen.count(asked & np.isnan(values)), max(float(mechanism.threshold or 1.0), 1.0)
    laws = product((False, True), _DISPERSIONS, _GROWTHS)
    words = [
        _words(seen, number, threshold, lognormal=lognormal, dispersion=dispersion, growth=growth)
        for lognormal, dispersion, growth in laws
    ]
    logs, sums = (np.concatenate(one) for one in zip(*words, strict=True))
    chance = special.softmax(logs)
    mean = float(chance @ sums)
    own = seen.plain()[:, 0, :] * seen.hidden
    learnt = float(number @ (own @ seen.counts / np.maximum(own.sum(axis=1), 1e-300)))
    return RivalWord(mean=mean, sd=math.sqrt(float(chance @ (sums - mean) ** 2)), learnt=learnt)


def _words(
    seen: SeenCells, asked: Floats, threshold: float, /, *, lognormal: bool, dispersion: float, growth: float
) -> tuple[Floats, Floats]:
    """The log-weights of one law with every power, factor, share and size of cells apart, and what each says of hidden cells."""
    shifts, level = np.concatenate([[0.0], np.log(_APART_SIZES)]), np.log(seen.level)
    levels = np.stack([power * level + (1 - power) * level.mean() for power in _POWERS], axis=1)
    low = max(float(levels.min()) + _FACTORS[0] + shifts.min(), math.log(_LEAST_MEAN))
    top = float(levels.max()) + _FACTORS[-1]
    grid = np.arange(low, top + 2 * _STEP, _STEP)
    spread = np.minimum(dispersion * np.exp(growth * (math.log(threshold) - grid)), _MOST_DISPERSION)
    masses = _masses(np.exp(grid), seen.counts, spread, lognormal=lognormal)
    # All powers and factors side by side: what is compiled takes them in one turn.
    every = (levels[:, :, None] + _FACTORS).reshape(len(level), -1)
    at = np.clip((every - low) / _STEP + shifts[:, None, None] / _STEP, 0, len(grid) - 1.001)
    order = np.argsort(seen.number, kind="stable")
    logs, sums = weigh_apart(
        at,
        _APART_SHARES,
        masses @ seen.hidden,
        masses @ (seen.hidden * seen.counts),
        np.ascontiguousarray(seen.shown @ masses.T),
        seen.told + seen.untold,
        asked,
        seen.values[order],
        seen.classes[order],
        seen.number[order],
    )
    before = np.full(len(logs), math.log((1 - _NONE_APART) / (len(logs) - 1)))
    before[0] = math.log(_NONE_APART)
    return (seen.worth * logs + before[:, None]).ravel(), sums.ravel()


def _masses(means: Floats, x: Floats, dispersion: Floats, /, *, lognormal: bool) -> Floats:
    """Laws of counts around each of some means."""
    m, d = means[:, None], dispersion[:, None]
    if not lognormal:
        r = 1 / d
        logs = special.gammaln(x + r) - special.gammaln(r) - special.gammaln(x + 1)
        return np.asarray(np.exp(logs + x * np.log(m / (m + r)) - r * np.log1p(m / r)))
    wide = np.log1p(d)
    found, base = np.zeros((len(means), len(x))), special.gammaln(x + 1)
    for node, weight in zip(_NODES.tolist(), (_WEIGHTS / _WEIGHTS.sum()).tolist(), strict=True):
        one = m * np.exp(np.sqrt(wide) * node - wide / 2)
        found += weight * np.exp(x * np.log(one) - one - base)
    return found
