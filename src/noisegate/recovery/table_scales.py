"""How large the noise of each table is, from all families of identities together.

A family from base to margin holds noises of the base and one of the margin, a family from margin to grand total holds noises of
the margin. Where the numbers differ, scales are told apart; where they do not, one scale for all tables is the simplest account.
These accounts compete: one scale for all, totals without noise of their own, one scale for the finest table and one for all totals, and a
scale for each table. A richer one is taken only if it explains the residuals better by more than its freedom is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import LatticeLaw, make_law
from noisegate.recovery.noise_sums import NEVER, NoiseSums, at, half_of, usual_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AccountName = Literal["same", "exact", "own"]

_LAWS = ("discrete-laplace", "discrete-gaussian")
#: What the noise of the others may be where a table is asked whether it has none: noise that is rounded after it was drawn looks like a little more.
_LAWS_OF_OTHERS = (*_LAWS, "rounded-laplace")
#: Residuals with more noises than this tell little about a single one.
_MOST = 25
#: Noise of a smaller standard deviation than this changes hardly a count.
_NOTHING = 0.06
#: How much less likely beforehand than one scale for all: that a table has no noise beside others that have, or a scale of its own.
_UNUSUAL = 5.0
#: Accounts that are behind by so much are not looked at further.
_HOPELESS = 25.0
#: What totals that add up to a grand total without fail are worth, as evidence that they carry no noise; and if other totals, which are no sums of
#: these, add up to the same: noise on both would not.
ADD_UP, BOTH_ADD_UP = 4.0, 10.0
_SWEEPS, _SECTIONS = 3, 10
#: With fewer residuals for each table than this no more than one scale is looked for.
_TELLING = 30
_MOST_GROUPS = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableResiduals:
    """Residuals of identities among several tables.

    Attributes
    ----------
    tables
        Their names.
    residual, numbers
        Each residual, and how many noises of each table it holds, shape (n, tables).
    off
        Whether a few may be off for other reasons.
    """

    tables: tuple[str, ...]
    residual: Ints
    numbers: Ints
    off: bool = False

    @classmethod
    def joined(
        cls, parts: Sequence[tuple[tuple[str, str], Ints, Ints, Ints]], /, *, off: bool = False
    ) -> TableResiduals:
        """From families: names of parts and totals, residuals, and the numbers of noises of parts and of totals in each."""
        names = tuple(dict.fromkeys(name for tables, *_ in parts for name in tables))
        rows = []
        for tables, residual, first, second in parts:
            numbers = np.zeros((residual.size, len(names)), np.int64)
            numbers[:, names.index(tables[0])] += first
            numbers[:, names.index(tables[1])] += second
            rows.append(numbers)
        residual, numbers = np.concatenate([one for _, one, _, _ in parts]), np.concatenate(rows)
        noises = numbers.sum(axis=1)
        few = noises <= max(_MOST, 2 * int(noises.min())) if noises.size else noises > 0
        return cls(tables=names, residual=residual[few], numbers=numbers[few], off=off)

    def one_law(self, silent: Iterable[str] = (), /) -> NoiseSums:
        """As sums of noises of one law, where the tables in `silent` carry none."""
        heard = [place for place, name in enumerate(self.tables) if name not in set(silent)]
        noises = self.numbers[:, heard].sum(axis=1)
        some = noises > 0
        return NoiseSums.of(self.residual[some], noises[some], off=self.off)

    def elsewhere(self, table: str, halves: Mapping[str, Floats], /) -> float:
        """The log-likelihood of the residuals that hold no noise of a table, those of the others having these laws."""
        other = self.numbers[:, self.tables.index(table)] == 0
        if not other.any():
            return 0.0
        rest = replace(self, residual=self.residual[other], numbers=self.numbers[other])
        return _Work(rest).likelihood_of([halves[name] for name in self.tables])

    def beside(self, table: str, halves: Mapping[str, Floats], /) -> NoiseSums:
        """As sums of noises of one table, those of the others having these laws."""
        place = self.tables.index(table)
        mine = self.numbers[:, place] > 0
        others = self.numbers[mine].copy()
        others[:, place] = 0
        kinds, which = np.unique(others, axis=0, return_inverse=True)
        ground = [_law_of([halves[name] for name in self.tables], kind) for kind in kinds]
        return NoiseSums.of(
            self.residual[mine],
            self.numbers[mine, place],
            off=self.off,
            background=ground,
            which=which.ravel().astype(np.int64),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleAccount:
    """One account of how large the noise of each table is.

    Attributes
    ----------
    name
        `same` for all tables, `exact` where one carries none, `own` where each has its own.
    sd
        The standard deviation of one noise, by table, 0 for none.
    law
        Of the two laws that were tried the one that fits better.
    log_likelihood
        At these values.
    log_prior
        How likely the account is beforehand, against one scale for all; for `own` less what its freedom costs.
    """

    name: AccountName
    sd: Mapping[str, float]
    law: str
    log_likelihood: float
    log_prior: float

    @property
    def halves(self) -> dict[str, Floats]:
        """P(0), P(1), ... of one noise of each table."""
        return {name: _half(self.law, sd) for name, sd in self.sd.items()}

    @property
    def silent(self) -> frozenset[str]:
        """Tables without noise of their own."""
        return (
            frozenset(name for name, sd in self.sd.items() if sd == 0)
            if self.name == "exact"
            else frozenset()
        )


def without_noise(found: TableResiduals, account: ScaleAccount, /, *, step: int) -> float:
    """By how many units of log-likelihood tables without noise explain the residuals better than such with a noise of about one person."""
    work = _Work(found)
    groups = np.array([-1 if name in account.silent else 0 for name in found.tables])
    none, one = (
        max(work.best(law, groups, silent=sd)[1] for law in _LAWS_OF_OTHERS) for sd in (0.0, 1.0 / step)
    )
    return none - one


def scale_accounts(
    found: TableResiduals, /, *, add_up: Mapping[str, float] = MappingProxyType({})
) -> list[ScaleAccount]:
    """The accounts that are not hopeless, the likeliest first; `add_up` are tables that add up to others without fail, with what that is worth."""
    work, tables = _Work(found), found.tables
    places = range(len(tables))
    tried: list[tuple[AccountName, Ints, float]] = [("same", np.zeros(len(tables), np.int64), 0.0)]
    telling = found.residual.size >= _TELLING * len(tables)
    worth = {place: add_up[tables[place]] for place in places if tables[place] in add_up}
    for silent in _silent_sets(found, set(worth)) if telling else ():
        heard = [k for k in places if k not in silent]
        if heard and (found.numbers[:, heard].sum(axis=1) > 0).all():
            groups = np.array([-1 if k in silent else 0 for k in places])
            tried.append(("exact", groups, _worth(silent, worth) - _UNUSUAL))
    cost = 0.5 * math.log(max(found.residual.size, 2))
    if len(tables) > 1 and telling:
        tried.append(("own", np.arange(len(tables)), -_UNUSUAL - cost * (len(tables) - 1)))
    if len(tables) > 2 and telling:  # the finest table, and all totals alike
        tried.append(("own", np.minimum(np.arange(len(tables)), 1), -_UNUSUAL - cost))
    accounts = []
    for name, groups, log_prior in tried:
        law, (sd, log) = max(((law, work.best(law, groups)) for law in _LAWS), key=lambda one: one[1][1])
        accounts.append(
            ScaleAccount(
                name=name,
                sd=dict(zip(tables, sd.tolist(), strict=True)),
                law=law,
                log_likelihood=log,
                log_prior=log_prior,
            )
        )
    accounts.sort(key=lambda one: -one.log_likelihood - one.log_prior)
    best = accounts[0].log_likelihood + accounts[0].log_prior
    return [one for one in accounts if one.log_likelihood + one.log_prior > best - _HOPELESS]


def _worth(silent: frozenset[int], worth: Mapping[int, float], /) -> float:
    """What it is worth as evidence for an account that these tables add up; more only if none is left out that adds up to the same totals."""
    least = min(worth.get(k, 0.0) for k in silent)
    together = {k for k, one in worth.items() if one > ADD_UP}
    return least if together <= silent else min(least, ADD_UP)


def _silent_sets(found: TableResiduals, add_up: set[int], /) -> list[frozenset[int]]:
    """Which tables may carry no noise together: each by itself, those that add up without fail, and all that are totals in every sum."""
    places = range(len(found.tables))
    totals = {k for k in places if (found.numbers[:, k] <= 1).all()}
    sets = [*({k} for k in places), add_up, totals]
    return list(dict.fromkeys(frozenset(one) for one in sets if one))


class _Work:
    """The likelihood of scales, with residuals that look alike counted once."""

    def __init__(self, found: TableResiduals, /) -> None:
        self.off = found.off
        residual = np.abs(found.residual)
        kinds, which, often = np.unique(found.numbers, axis=0, return_inverse=True, return_counts=True)
        usual = np.argsort(-often, kind="stable")[:_MOST_GROUPS]
        self.groups = [
            (kinds[place], *np.unique(residual[which.ravel() == place], return_counts=True))
            for place in usual
        ]
        total = found.numbers.sum(axis=1)
        self.noises = found.numbers.mean(axis=0)
        squares = residual.astype(float) ** 2 / total
        self.guess = math.sqrt(max(usual_mean(squares, np.ones(squares.size)), 0.04))

    def log_likelihood(self, law: str, sd: Floats, /) -> float:
        """Of one standard deviation for each table; 0 is no noise."""
        return self.likelihood_of([_half(law, float(one)) for one in sd])

    def likelihood_of(self, halves: Sequence[Floats], /) -> float:
        """Of a law for each table, as P(0), P(1), ..."""
        wide = 1.0 / (4 * max(int(values.max(initial=0)) for _, values, _ in self.groups) + 81)
        share = 0.01 if self.off else 0.0
        return float(
            sum(
                counts
                @ np.log(np.maximum((1 - share) * at(_law_of(halves, kind), values) + share * wide, NEVER))
                for kind, values, counts in self.groups
            )
        )

    def best(self, law: str, groups: Ints, /, *, silent: float = 0.0) -> tuple[Floats, float]:
        """The likeliest standard deviations where tables of one group share theirs and those of group -1 have `silent`."""
        free = [one for one in np.unique(groups).tolist() if one >= 0]
        logs = np.full(len(free), math.log(self.guess))

        def spreads(where: Floats) -> Floats:
            return np.array(
                [silent if one < 0 else math.exp(where[free.index(one)]) for one in groups.tolist()]
            )

        def value(where: Floats) -> float:
            return self.log_likelihood(law, spreads(where))

        def along(place: int, to: float) -> float:
            return value(_put(logs, place, to))

        def across(place: int, to: float) -> float:
            return value(_traded(logs, weights, place, to))

        weights = np.array([self.noises[groups == one].sum() for one in free])
        width = 2.0
        for _ in range(_SWEEPS if len(free) > 1 else 1):
            for place in range(len(free)):
                logs[place] = _highest(partial(along, place), float(logs[place]), width)
            # From one family residuals tell the sum of variances at once; which of two tables has how much of it shows only along that sum.
            for place in range(2 if len(free) == len(groups) == 2 else 0):
                logs = _traded(
                    logs,
                    weights,
                    place,
                    _highest(partial(across, place), float(logs[place]), width),
                )
            width /= 2
        return spreads(logs), value(logs)


def _traded(where: Floats, weights: Floats, place: int, to: float, /) -> Floats:
    """Scales with that at `place` set, and the others changed so that the variance of a residual stays as it is."""
    moved = _put(where, place, to)
    variance = weights * np.exp(2 * where)
    others = variance.sum() - variance[place]
    left = max(variance.sum() - weights[place] * math.exp(2 * to), 1e-4 * variance.sum())
    rest = np.arange(where.size) != place
    moved[rest] += 0.5 * math.log(left / others)
    return moved


def _put(where: Floats, place: int, value: float, /) -> Floats:
    moved = where.copy()
    moved[place] = value
    return moved


def _highest(value: Callable[[float], float], start: float, width: float, /) -> float:
    """Where a function is highest within `width` of a start: a coarse grid, then golden sections."""
    grid = start + width * np.linspace(-1, 1, 9)
    seen = [value(float(one)) for one in grid]
    top = int(np.argmax(seen))
    low, high = float(grid[max(top - 1, 0)]), float(grid[min(top + 1, 8)])
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(_SECTIONS):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = value(right)
    return (low + high) / 2


def _half(law: str, sd: float, /) -> Floats:
    """P(0), P(1), ... of a law with about this standard deviation."""
    if sd < _NOTHING:
        return np.ones(1)
    found = make_law(law, scale=sd / math.sqrt(2) if "laplace" in law else sd)
    assert isinstance(found, LatticeLaw)
    return half_of(found)


def _law_of(halves: Sequence[Floats], numbers: Ints, /) -> Floats:
    """P(0), P(1), ... of a sum of so many noises of each law."""
    used = [(half, int(number)) for half, number in zip(halves, numbers.tolist(), strict=True) if number]
    size = sum(number * 2 * (half.size - 1) for half, number in used) + 1
    if size == 1:
        return np.ones(1)
    length = 1 << (size - 1).bit_length()
    spectrum = np.ones(length // 2 + 1, complex)
    for half, number in used:
        whole = np.concatenate([half[:0:-1], half])
        spectrum *= np.fft.rfft(whole, length) ** number
    full = np.fft.irfft(spectrum, length)[:size]
    return np.asarray(np.maximum(full[size // 2 :], 0.0))
