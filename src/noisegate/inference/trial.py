"""What an engine finds when it tries itself on the tables it was given, and what it makes of it.

*Margin against margin* (MATH 10 f). Two margins add up the same listed cells. If one shows more than the other by more than noise and what the other hides can explain, it counts people in places or hours that no table lists. Its
totals then say nothing of listed cells by themselves: hidden cells would have to hold those people. It is left out, and what it counts beyond the other is said.
With a single margin nothing tells hidden cells and a remainder apart; that the base lists all is then an assumption, and is named.

*Re-censoring* (MATH 10 g). A learnt law on trial: cells that are shown are hidden, and it must say what they were. Where no total speaks of hidden cells only the learnt law does, and nothing in the tables contradicts it. So all tables are cut again, at twice their threshold; the
law is learnt anew from what is left, and says how many cells were cut away, and how many people in them. Both are known. If it is off by more than chance, or if there are too few cells to
try it on, its word is withdrawn: the sum lies between bounds, and that is all. If it holds, sums that hang on it may be off by what it was off by.
Passing is no proof: laws may agree above the threshold and differ below. So the learnt law is set beside rivals that explain what is published alike well (`profile.humps`): what they differ by
is added to what it may be off by, and if that is more than an untried law is taken to be off by, its word is withdrawn.

*Held-out cells.* The intensity of every cell is known with its own value taken out (`profile`), so each published cell is a prediction that was never fitted to it: the law of its value, given that a value near the threshold
is shown. Where the law is right the values fall anywhere in their laws alike often (their probability integral transform is uniform), in the middle as at the ends.

If they lie further out than that, cells stray from the profile by more than the law has it: its dispersion is taken larger until they do not, in every cell, sum and draw (*widened*). If they still do not
fall alike often, the law has another shape than the counts. Its word then counts for nothing where no total speaks (*withdrawn*).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference.evidence import Evidence, Observation
from noisegate.inference.excess import ThresholdExcess
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Bools, Floats, Humps, Ints, NegativeBinomial
from noisegate.inference.profile.humps import RivalWord
from noisegate.inference.profile.levels import multiplied
from noisegate.mechanisms import Mechanism
from noisegate.tables import numbers_in

#: What a check led to: nothing, other estimates, wider intervals, no estimate at all; or it could not be made.
Outcome = Literal["holds", "moved", "widened", "withdrawn", "cannot tell"]


#: So many standard deviations of noise are no chance, and a smaller share than this is no matter.
_CLEAR, _SLIGHTLY = 3.5, 0.02
#: So many humps are said, those with the largest shares.
_HUMPS_SAID = 2
#: Humps of several laws whose logs differ by less than this are one.
_TOGETHER = 0.15
#: A law that is off by more standard deviations than this is not believed.
_MOST_OFF = 2.0
#: Fewer cells than this are no trial.
_FEW_CUT = 60
#: Of cells between a threshold and twice that, those below this many times the threshold are near it.
_MIDDLE = 1.5
#: What cannot be tried may be off by this share of itself, where bounds do not replace it.
_UNTRIED = 0.25
#: At most so many cells are tried: enough to find a law out that is off by a twentieth or so. With 40,000 the trial takes half of the time that 4,000 small tables take in all, and of 21 laws withdraws one more, which was right.
MOST_TRIED = 12_000
#: Values up to so many times the threshold are looked at, and at least up to this many counts.
_WINDOW, _LEAST_TOP = 4, 48
#: A window of more counts than this is not looked at: the tables are of towns.
_MOST_COUNTS = 4_000
#: So many cells of a part tell enough, and fewer than this in all tell nothing.
_MOST_HELD, _FEW_HELD = 2_000, 60
#: How much larger the dispersion is taken, step by step.
_WIDER = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
#: Squares of scores that are off by so many standard errors, and by a quarter (intervals an eighth too short), are no chance. Dispersions are fitted part by part to about that: with a
#: tenth two of three parts of simulated weeks would be widened, whose intervals hold what they should.
_FAR, _FAR_ENOUGH = 3.5, 0.25
#: Shares of values are compared in so many parts of their laws. A law is of another shape if they are as unlikely as this and somewhere off by this share.
_PARTS, _UNLIKELY, _OFF = 10, 1e-4, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class FitCheck:
    """One check of a fit: what was looked at, what came of it, and how far off it was in standard deviations, if that is known."""

    name: str
    outcome: Outcome
    says: str
    z: float | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "name": self.name,
            "outcome": self.outcome,
            "says": self.says,
            "z": None if self.z is None else round(self.z, 3),
            "numbers": dict(self.numbers),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LawBeside:
    """What a learnt law says by itself, beside what tables say with no prior.

    `left` is what totals leave for hidden cells, known up to `variance`, and `said` what the law gives them. `excess` is what shown values
    have more than raw counts, by their histogram, and `drawn` what the law takes off them.
    """

    left: float
    variance: float
    said: float
    excess: float
    excess_variance: float
    drawn: float


def law_off(found: Sequence[LawBeside], /) -> float:
    """By which share a learnt law is off about all hidden cells of a part together, beyond what the noise of totals lets it be."""
    squares = sum(one.said**2 for one in found)
    off = sum((one.left - one.said) ** 2 - one.variance for one in found)
    return math.sqrt(max(off, 0.0) / squares) if squares > 0 else 0.0


def against_totals(found: Sequence[LawBeside], /) -> tuple[FitCheck, ...]:
    """Whether the learnt law by itself gives what tables tell with no prior: of hidden sums (MATH 10 e), and of values above the threshold.

    Where it does not, cells are moved to what the tables tell.
    """
    if not found:
        return ()
    hidden = _beside(
        "hidden sums",
        (sum(one.left for one in found), sum(one.said for one in found)),
        sum(one.variance for one in found),
        "totals leave {told:,.0f} for hidden cells, the learnt law by itself gives {said:,.0f}",
    )
    above = _beside(
        "values above the threshold",
        (sum(one.excess for one in found), sum(one.drawn for one in found)),
        sum(one.excess_variance for one in found),
        "shown values are {told:,.0f} above raw counts by their histogram, {said:,.0f} by the learnt law",
    )
    return hidden, above


def _beside(name: str, numbers: tuple[float, float], variance: float, words: str, /) -> FitCheck:
    told, said = numbers
    off = told - said
    z = off / math.sqrt(variance) if variance > 0 else 0.0
    holds = abs(z) <= _CLEAR or abs(off) <= _SLIGHTLY * abs(told)
    says = words.format(told=told, said=said)
    return FitCheck(
        name=name,
        outcome="holds" if holds else "moved",
        says=says if holds else f"{says}: cells are moved to what the tables tell",
        z=z,
        numbers={"told": told, "sd": math.sqrt(max(variance, 0.0)), "said": said},
    )


def settled(*, unsettled: int, cells: int) -> FitCheck:
    """Whether messages between tables settled."""
    if not unsettled:
        return FitCheck(name="convergence", outcome="holds", says="messages between tables settled")
    return FitCheck(
        name="convergence",
        outcome="widened",
        says=(
            f"messages between tables had not settled for {unsettled:,} of {cells:,} cells when the limit on sweeps was reached: these are as "
            "likely what they would be without totals"
        ),
        numbers={"unsettled": unsettled, "cells": cells},
    )


def shapes(found: Sequence[tuple[Humps, float]], /) -> tuple[FitCheck, ...]:
    """What humps the counts of parts have, each with its mean intensity; nothing without any."""
    if not found:
        return ()
    humps, mean = max(found, key=lambda one: 1 - one[0].plain)
    at = _positions(humps, mean)
    where = ", ".join(f"{one:,.3g}" for one in at)
    says = (
        f"counts of {len(found):,} {'part' if len(found) == 1 else 'parts'} are no one hump around their intensities "
        f"but lie about {where}: how hidden ones spread is assumed from that, as far as totals tell it"
    )
    if humps.narrow:
        says = f"counts of {len(found):,} {'part' if len(found) == 1 else 'parts'} vary less than by chance around their intensities"
    numbers = {"parts": len(found), "plain": humps.plain, "at": at}
    return (FitCheck(name="shape of counts", outcome="moved", says=says, numbers=numbers),)


def _positions(humps: Humps, mean: float, /) -> list[float]:
    """Where the humps with the largest shares lie around an intensity; those of several laws that lie together are one."""
    order = np.argsort(humps.factor * mean**humps.power)
    at, share = (humps.factor * mean**humps.power)[order], humps.share[order]
    apart = np.cumsum(np.diff(np.log(at), prepend=np.log(at[0])) > _TOGETHER)
    whole = np.bincount(apart, weights=share)
    middle = np.bincount(apart, weights=share * at) / np.maximum(whole, 1e-12)
    return sorted(float(middle[k]) for k in np.argsort(-whole)[:_HUMPS_SAID])


def without_remainders(evidence: Evidence, /) -> tuple[Evidence, tuple[FitCheck, ...]]:
    """The evidence without margins that count more than tables list, and what was found."""
    measured = [margin for margin in evidence.margins if margin.measured and margin.usable_rows.all()]
    if evidence.consistent or len(measured) < 2:
        return evidence, ()
    beyond: dict[str, FitCheck] = {}
    worst = 0.0
    # Where the scale of noise was recovered it may be larger.
    unsure = math.exp(_MOST_OFF * evidence.scale_doubt)
    for more, less in permutations(measured, 2):
        least, z = _beyond(evidence, more, less)
        z /= unsure
        worst = max(worst, z)
        if z > _CLEAR and more.name not in beyond:
            beyond[more.name] = FitCheck(
                name="margin against margin",
                outcome="widened",
                says=(
                    f"{more.name} counts at least {least:,.0f} more than {less.name}: people that no table lists; "
                    f"{more.name} is not used for single cells"
                ),
                z=z,
                numbers={"table": more.name, "beside": less.name, "at_least": least},
            )
    if not beyond:
        says = "margins add up to each other, as far as noise and hidden rows let them"
        return evidence, (FitCheck(name="margin against margin", outcome="holds", says=says, z=worst),)
    kept = tuple(margin for margin in evidence.margins if margin.name not in beyond)
    return replace(evidence, margins=kept), tuple(beyond.values())


def _beyond(evidence: Evidence, more: Observation, less: Observation, /) -> tuple[float, float]:
    """By how much one margin exceeds another at least, and in standard deviations of their noise."""
    live = [evidence.cells_in(margin) > 0 for margin in (more, less)]
    if any((margin.where.of(evidence.live) < 0).any() for margin in (more, less)):
        return 0.0, 0.0
    shown = [~np.isnan(margin.values) & there for margin, there in zip((more, less), live, strict=True)]
    cut = less.mechanism.whole_threshold
    hidden = int((live[1] & ~shown[1]).sum())
    if hidden and cut is None:
        return 0.0, 0.0
    least = float(more.values[shown[0]].sum() - less.values[shown[1]].sum())
    least -= hidden * float((cut or 1) - 1)
    noise = more.noise * int(shown[0].sum()) + less.noise * (int(shown[1].sum()) + hidden)
    if noise <= 0:
        return least, math.inf if least > 0 else 0.0
    return least, least / math.sqrt(noise)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whether a learnt law may speak where no total does, and by which share of itself it may be off."""

    holds: bool
    off: float
    check: FitCheck
    beside: FitCheck | None = None

    def among(self, rivals: RivalWord | None, /) -> Trust:
        """The same, once rivals of the law have said what they make of hidden cells."""
        if rivals is None or rivals.learnt <= 0:
            says = "too few cells are published, or too large ones, to set rivals beside the learnt law"
            return replace(self, beside=FitCheck(name="rival laws", outcome="cannot tell", says=says))
        off = rivals.off
        holds = off <= _UNTRIED
        says = (
            f"laws that explain published cells alike well give hidden ones that no total tells {rivals.mean:,.0f} people, give or take "
            f"{rivals.sd:,.0f}, the learnt one {rivals.learnt:,.0f}"
        )
        says += ": such sums are widened by it" if holds else ": where no total speaks, only bounds are given"
        check = FitCheck(
            name="rival laws",
            outcome="widened" if holds else "withdrawn",
            says=says,
            z=(rivals.learnt - rivals.mean) / max(rivals.sd, 1e-9),
            numbers={"people": rivals.mean, "sd": rivals.sd, "people_said": rivals.learnt},
        )
        # Where it is withdrawn bounds say what it may be off by.
        off = math.hypot(self.off, off) if holds else self.off
        return replace(self, holds=self.holds and holds, off=off, beside=check)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Retold:
    """What an engine that sees only the tables cut again says of hidden cells: their laws, and by which share their sum may be off."""

    laws: Pmfs
    off: float


#: Learns from evidence and says what some cells are.
Learner = Callable[[Evidence, Ints], Retold]


def tried(evidence: Evidence, cells: Ints, learn: Learner, /) -> Trust:
    """Try the law that `learn` finds in the tables on cells (all of whole parts), cut at twice the threshold."""
    made = evidence.base.mechanism
    if made.whole_threshold is None or not 0 < made.law.variance < math.inf:
        return _no_trial("the base has no threshold to try it at")
    again = _recut(evidence.among(cells))
    before, after = evidence.base.values[cells], again.base.values
    cut = ~np.isnan(before) & np.isnan(after)
    left = ~np.isnan(after)
    if cut.sum() < _FEW_CUT or left.sum() < _FEW_CUT:
        return _no_trial(
            f"{int(cut.sum()):,} cells between the threshold and twice that and {int(left.sum()):,} above are too few to try it on"
        )
    hidden = np.flatnonzero(np.isnan(after) & ~_told(again))
    if cut[hidden].sum() < _FEW_CUT:
        # Totals tell nearly all cells, even of tables that are cut higher: then it is learnt without them.
        again = replace(again, margins=())
        hidden = np.flatnonzero(np.isnan(after))
    mine = hidden[cut[hidden]]
    told = learn(again, hidden)
    chance = _chance(made, again.base.mechanism, int((told.laws.low + told.laws.sizes).max()))
    number, people, spread = _expected(told.laws, chance)
    seen = before[mine]
    over = _excess(before, made) - _excess(after, again.base.mechanism)
    share = seen.sum() / max(before[cut].sum(), 1.0)
    middle = replace(made, threshold=_MIDDLE * (made.threshold or 0.0))
    below = _chance(made, again.base.mechanism, len(chance), middle)
    return _judged(
        cells=(len(mine), number),
        near=(int((seen < (middle.whole_threshold or 0)).sum()), _expected(told.laws, below)[0]),
        people=(float(seen.sum() - share * over), people),
        variance=spread + made.published_law.variance * len(mine),
        off=told.off,
    )


def some_parts(evidence: Evidence, part_of: NDArray[np.int32], /, *, most: int = MOST_TRIED) -> Ints:
    """Cells to try a law on: all of them, or of many some whole parts, or of one large part those of some labels of one dimension."""
    size = evidence.layout.size
    if size <= most:
        return np.arange(size)
    sizes = np.bincount(part_of)
    order = np.random.default_rng(1).permutation(len(sizes))
    chosen = order[np.cumsum(sizes[order]) <= most]
    if chosen.size:
        return np.flatnonzero(np.isin(part_of, chosen))
    cells = np.flatnonzero(part_of == int(np.argmax(sizes)))
    layout = evidence.layout
    codes = dict(zip(layout.names, layout.decode(cells), strict=True))
    every = {name: numbers_in(codes[name]) for name in layout.names}
    name = max(layout.names, key=lambda one: (one in layout.days, len(every[one])))
    labels = every[name]
    wanted = max(1, len(labels) * most // len(cells))
    return cells[np.isin(codes[name], labels[:: max(1, len(labels) // wanted)][:wanted])]


def _judged(
    *,
    cells: tuple[int, float],
    near: tuple[int, float],
    people: tuple[float, float],
    variance: float,
    off: float,
) -> Trust:
    """How far what was seen is from what was said: of cells, of people in them, and of the share of cells `near` the threshold.

    The law is learnt far from there, and goes on below as it comes near it: if that share is wrong, its shape is, whatever its level.
    """
    seen, said = people
    z = (seen - said) / math.sqrt(variance + (off * said) ** 2)
    z_cells = (cells[0] - cells[1]) / math.sqrt(max(cells[1], 1.0) + (off * cells[1]) ** 2)
    share = min(max(near[1] / max(cells[1], 1e-9), 1e-3), 1 - 1e-3)
    z_shape = (near[0] - share * cells[0]) / math.sqrt(share * (1 - share) * max(cells[0], 1))
    worst = max((z, z_cells, z_shape * _MOST_OFF / _CLEAR), key=abs)
    holds = abs(worst) <= _MOST_OFF
    missed = abs(seen / max(said, 1.0) - 1)
    says = (
        f"cut at twice the threshold, the learnt law gives {said:,.0f} people in {cells[1]:,.0f} cells where "
        f"{seen:,.0f} in {cells[0]:,} were"
    )
    check = FitCheck(
        name="re-censoring",
        outcome="holds" if holds else "withdrawn",
        says=says if holds else f"{says}: where no total speaks, only bounds are given",
        z=worst,
        numbers={
            "people": seen,
            "people_said": said,
            "cells": cells[0],
            "cells_said": cells[1],
            "near": near[0],
            "near_said": near[1],
        },
    )
    return Trust(holds=holds, off=missed, check=check)


def _no_trial(why: str, /) -> Trust:
    check = FitCheck(
        name="re-censoring",
        outcome="withdrawn",
        says=f"the learnt law cannot be tried: {why}; where no total speaks, only bounds are given",
    )
    return Trust(holds=False, off=_UNTRIED, check=check)


def _recut(evidence: Evidence, /) -> Evidence:
    """The same tables, cut at twice their thresholds."""
    return replace(
        evidence, base=_higher(evidence.base), margins=tuple(_higher(margin) for margin in evidence.margins)
    )


def _higher(table: Observation, /) -> Observation:
    made = table.mechanism
    if made.threshold is None or made.whole_threshold is None:
        return table
    higher = replace(made, threshold=2.0 * made.threshold)
    least = higher.whole_threshold or 0
    values = np.where(table.values < least, np.nan, table.values)
    return replace(table, values=values, mechanism=higher)


def _told(evidence: Evidence, /) -> Bools:
    """Which cells every margin shows a row of; none without margins."""
    size = evidence.layout.size
    every = np.arange(size)
    told = np.full(size, bool(evidence.margins))
    for margin in evidence.margins:
        row = margin.where.of(every)
        told &= (row >= 0) & margin.shown(np.maximum(row, 0))
    return told


def _chance(made: Mechanism, higher: Mechanism, size: int, middle: Mechanism | None = None, /) -> Floats:
    """The chance of each raw count to be shown, if it is not above the higher threshold: at all, or below one between."""
    counts = np.arange(size)
    nothing = np.full(size, np.nan)
    hidden, most, below = (
        np.exp(one.log_likelihood(nothing, counts)) for one in (made, middle or higher, higher)
    )
    return np.asarray(np.clip((most - hidden) / np.maximum(below, 1e-300), 0.0, 1.0))


def _expected(laws: Pmfs, chance: Floats, /) -> tuple[float, float, float]:
    """How many cells would be shown, how many people would be in them, and the variance of that."""
    counts = np.arange(len(laws.p)) - np.repeat(laws.start[:-1] - laws.low, laws.sizes)
    shown = laws.p * chance[counts]
    first = np.add.reduceat(shown * counts, laws.start[:-1])
    second = np.add.reduceat(shown * counts**2, laws.start[:-1])
    return float(shown.sum()), float(first.sum()), float((second - first**2).sum())


def _excess(values: Floats, mechanism: Mechanism, /) -> float:
    """By how much shown values exceed raw counts in all."""
    shown = values[~np.isnan(values)]
    found = ThresholdExcess.of(shown, mechanism)
    return float(found.added(shown, np.zeros(len(shown), np.int64), 1)[0][0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """Where held-out values of one part lie in their laws, from 0 to 1, and how much larger the dispersion was taken for it."""

    places: Floats
    wider: float

    @classmethod
    def of(cls, values: Floats, prior: NegativeBinomial, window: ValueWindow | None, /) -> HeldOut:
        """The published ones of some values, by what all other cells say of each."""
        none = cls(places=np.zeros(0), wider=1.0)
        if window is None:
            return none
        inside = np.flatnonzero((values >= window.first) & (values < window.top))
        if not inside.size:
            return none
        # Always the same ones, and the same places of whole numbers in their steps: a check that is asked twice says the same.
        rng = np.random.default_rng(1)
        if len(inside) > _MOST_HELD:
            inside = np.sort(rng.choice(inside, _MOST_HELD, replace=False))
        share = rng.random(len(inside))
        mean, shape = (np.broadcast_to(one, len(values))[inside] for one in (prior.mean, prior.shape))
        found = none
        for wider in _WIDER:
            found = cls(places=window.places(values[inside], mean, shape / wider, share), wider=wider)
            if not found.strays:
                break
        return found

    @property
    def spread(self) -> float:
        """The mean square of the normal scores of values: 1 if the law is as wide as they are."""
        return float(np.mean(special.ndtri(self.places) ** 2)) if self.places.size else 1.0

    @property
    def strays(self) -> bool:
        """Whether values lie further out than the law has it."""
        off = self.spread - 1
        return off > _FAR_ENOUGH and off > _FAR * math.sqrt(2 / max(len(self.places), 1))

    def widened(self, prior: NegativeBinomial, /) -> NegativeBinomial:
        """The law as wide as held-out values need it."""
        return prior if self.wider == 1 else replace(prior, shape=prior.shape / self.wider)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueWindow:
    """Values of held-out cells that are looked at, and how likely each raw count (column) shows each of them (row)."""

    first: int
    top: int
    chance: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, /) -> ValueWindow | None:
        """The values near the threshold of a mechanism; None without one, if these are too many, or noise has no end."""
        first = mechanism.whole_threshold
        if first is None or not math.isfinite(mechanism.published_law.variance):
            return None
        top = max(_WINDOW * first, _LEAST_TOP)
        counts = np.arange(min(top + math.ceil(mechanism.reach(12.0)), _MOST_COUNTS + 1) + 1)
        if len(counts) > _MOST_COUNTS:
            return None
        values = np.arange(first, top, dtype=np.float64)
        return cls(first=first, top=top, chance=np.exp(mechanism.log_likelihood(values[:, None], counts)))

    def places(self, values: Floats, mean: Floats, shape: Floats, share: Floats, /) -> Floats:
        """Where each value lies in its law, given that it is in the window."""
        counts, m, r = np.arange(self.chance.shape[1]), np.maximum(mean, 1e-9)[:, None], shape[:, None]
        logs = special.gammaln(counts + r) - special.gammaln(r) - special.gammaln(counts + 1)
        logs += r * np.log(r / (r + m)) + counts * np.log(m / (r + m))
        mass = multiplied(np.exp(logs), self.chance.T)
        below = np.cumsum(mass, axis=1)
        row, at = np.arange(len(values)), np.rint(values).astype(np.int64) - self.first
        whole = np.maximum(below[:, -1], 1e-300)
        return np.asarray(np.clip((below[row, at] - share * mass[row, at]) / whole, 1e-6, 1 - 1e-6))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutCheck:
    """What held-out cells of all parts say, and whether the law may speak where no total does."""

    holds: bool
    check: FitCheck


def judge_held_out(parts: Sequence[HeldOut], /) -> HeldOutCheck | None:
    """Whether published cells fall where the law has them, each predicted from the others; None if there are none."""
    places = np.concatenate([part.places for part in parts]) if parts else np.zeros(0)
    if not places.size:
        return None
    count, wider = len(places), max(part.wider for part in parts)
    inside = float(((places > 0.025) & (places < 0.975)).mean())
    numbers = {"cells": count, "inside": inside, "wider": wider}
    if count < _FEW_HELD:
        says = f"{count:,} published cells near the threshold are too few to hold out"
        return HeldOutCheck(holds=True, check=_held_check("cannot tell", says, None, numbers))
    worst, unlikely = _shares(places)
    wrong = unlikely < _UNLIKELY and worst > _OFF
    says = f"of {count:,} published cells, each predicted from all others, {inside:.1%} lie in their 95 % intervals"
    if wrong:
        says += "; they are spread over their laws as counts of another shape are: where no total speaks, only bounds are given"
    elif wider > 1:
        says += f" once the dispersion is taken {wider:g} times as large: cells and sums are widened"
    z = -float(special.ndtri(max(unlikely, 1e-300) / 2))
    return HeldOutCheck(
        holds=not wrong,
        check=_held_check("withdrawn" if wrong else "widened" if wider > 1 else "holds", says, z, numbers),
    )


def _held_check(outcome: Outcome, says: str, z: float | None, numbers: dict[str, float], /) -> FitCheck:
    return FitCheck(name="held-out cells", outcome=outcome, says=says, z=z, numbers=numbers)


def _shares(places: NDArray[np.float64], /) -> tuple[float, float]:
    """How far the shares of values up to each part of their laws are off at most, and how unlikely that is by chance."""
    found = np.histogram(places, bins=_PARTS, range=(0.0, 1.0))[0]
    mean = len(places) / _PARTS
    worst = float(np.abs(np.cumsum(found) / len(places) - np.arange(1, _PARTS + 1) / _PARTS).max())
    return worst, float(special.gammaincc((_PARTS - 1) / 2, ((found - mean) ** 2 / mean).sum() / 2))
