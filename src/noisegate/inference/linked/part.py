"""Parts of a model that can be solved by themselves: a component, a run of totals, or of unlinked unknowns.

Several threads work on them, one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from noisegate.inference.linked.model import Factors, Model, Own
from noisegate.inference.linked.pmfs import (
    Pmfs,
    multiply_humps,
    multiply_negative_binomial,
    multiply_tables,
    normalise,
)
from noisegate.inference.linked.problem import (
    Bools,
    Flat,
    Floats,
    Ints,
    NegativeBinomial,
    Prior,
    contradiction,
    tally,
    unheard,
)
from noisegate.mechanisms import Mechanism

_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Part:
    """Unknowns 0 .. size-1 with their own evidence and factors; `cells` are their first cells.

    `sets`, if it is many small sets of linked sums, is where the unknowns and the factors of each of these begin.
    """

    size: int
    cells: Ints
    own: tuple[Own, ...]
    factors: Factors
    mechanisms: tuple[Mechanism, ...]
    sets: tuple[Ints, Ints] | None = None

    @classmethod
    def of(
        cls,
        model: Model,
        low: int,
        high: int,
        /,
        *,
        factors: tuple[int, int],
        sets: tuple[Ints, Ints] | None = None,
    ) -> Part:
        """The unknowns low .. high-1 of `model` with the factors that link them."""
        own = (evidence.between(low, high) for evidence in model.own)
        linked = model.factors.take(np.arange(*factors))
        return cls(
            size=high - low,
            cells=model.first_cell[low:high],
            own=tuple(evidence for evidence in own if evidence.values.size),
            factors=replace(linked, members=linked.members - low),
            mechanisms=model.mechanisms,
            sets=sets,
        )

    @property
    def stars(self) -> bool:
        """Whether every unknown is in exactly one sum of several."""
        return self.factors.count > 0 and len(self.factors.members) == self.size

    @property
    def exact(self) -> bool:
        """Whether all its sums are exact."""
        return all(self.mechanisms[k].exact for k in np.unique(self.factors.mechanism).tolist())

    def only(self, factors: Bools, /) -> tuple[Ints, Part]:
        """The part with some of the factors and their members, and which unknowns those were."""
        chosen = self.factors.take(np.flatnonzero(factors))
        unknowns = np.unique(chosen.members)
        rank = np.full(self.size, -1, dtype=np.int64)
        rank[unknowns] = np.arange(len(unknowns))
        own = (
            Own(
                unknowns=rank[evidence.unknowns[kept]],
                values=evidence.values[kept],
                mechanism=evidence.mechanism,
            )
            for evidence in self.own
            for kept in [rank[evidence.unknowns] >= 0]
            if kept.any()
        )
        return unknowns, Part(
            size=len(unknowns),
            cells=self.cells[unknowns],
            own=tuple(own),
            factors=replace(chosen, members=rank[chosen.members]),
            mechanisms=self.mechanisms,
        )

    def pmfs(self, prior: Prior, /, *, nats: float) -> Pmfs:
        """Prior times own evidence of every unknown, on a window that holds all but e^{-nats}."""
        pmfs = self.evidence(prior, nats=nats)
        return pmfs if isinstance(prior, Flat) else weighed(pmfs, prior.at(self.cells))

    def evidence(self, prior: Prior, /, *, nats: float) -> Pmfs:
        """Own evidence alone; the prior only bounds unknowns that nothing else bounds."""
        pmfs = Pmfs.ones(*self.supports(prior, nats=nats))
        for evidence in self.own:
            multiply_tables(pmfs, evidence)
        if not normalise(pmfs.start, pmfs.p):
            raise contradiction()
        return pmfs

    def likelihoods(self, f: Factors, low: Ints, high: Ints, /) -> Pmfs:
        """How likely what was seen of each of some factors is for sums low .. high, the largest being 1."""
        tables = Pmfs.ones(low, high)
        sizes = tables.sizes
        sums = np.repeat(low - tables.start[:-1], sizes) + np.arange(len(tables.p))
        values, which = np.repeat(f.values, sizes), np.repeat(f.mechanism, sizes)
        for k in np.unique(f.mechanism):
            here = which == k
            tables.p[here] = self.mechanisms[k].log_likelihood(values[here], sums[here])
        top = np.maximum.reduceat(tables.p, tables.start[:-1]) if f.count else np.zeros(0)
        if np.isneginf(top).any():
            raise contradiction()
        return replace(tables, p=np.exp(tables.p - np.repeat(top, sizes)))

    def supports(self, prior: Prior, /, *, nats: float) -> tuple[Ints, Ints]:
        """The least and the largest count of each unknown that need looking at."""
        low, high = self._from_own(nats)
        f = self.factors
        least, most = np.full(f.count, -np.inf), np.full(f.count, np.inf)
        hard = np.zeros(f.count, dtype=bool)
        for k in np.unique(f.mechanism):
            here = f.mechanism == k
            least[here], most[here] = self.mechanisms[k].window(f.values[here], nats=nats)
            hard[here] = self.mechanisms[k].bounded
        low, high = _tighten(f, low, high, least, most, rows=hard)
        if np.isinf(high).any():
            opened = high.copy()
            _, tight = _tighten(f, low, high, np.full(f.count, -np.inf), most, rows=np.ones_like(hard))
            high = np.where(np.isinf(opened), np.maximum(tight, low), opened)
        if np.isinf(high).any():
            high = np.where(np.isinf(high), _prior_top(prior, self.cells, nats), high)
        if (high < low).any():
            raise contradiction()
        return low.astype(np.int64), high.astype(np.int64)

    def _from_own(self, nats: float, /) -> tuple[Floats, Floats]:
        """Windows from each unknown's own evidence; where two disagree, the span of both."""
        low, high = np.zeros(self.size), np.full(self.size, np.inf)
        span_low, span_high = np.full(self.size, np.inf), np.zeros(self.size)
        hard = np.zeros(self.size, dtype=bool)
        for evidence in self.own:
            least, most = evidence.mechanism.window(evidence.values, nats=nats)
            np.maximum.at(low, evidence.unknowns, least)
            np.minimum.at(high, evidence.unknowns, most)
            np.minimum.at(span_low, evidence.unknowns, least)
            np.maximum.at(span_high, evidence.unknowns, most)
            hard[evidence.unknowns] |= evidence.mechanism.bounded
        apart = (high < low) & ~hard
        return np.where(apart, span_low, low), np.where(apart, span_high, high)


def weighed(pmfs: Pmfs, prior: NegativeBinomial, /) -> Pmfs:
    """`pmfs` times the prior of the same unknowns."""
    p = pmfs.p.astype(np.float64)
    multiply_negative_binomial(
        pmfs.low, pmfs.start, p, prior.mean, prior.shape, prior.zero_share, prior.stray_share
    )
    for number, humps in enumerate(prior.humps):
        cells = np.flatnonzero(prior.hump_of == number)
        places = np.repeat(prior.hump_of == number, pmfs.sizes)
        p[places] = pmfs.p[places]
        multiply_humps(
            cells,
            pmfs.low,
            pmfs.start,
            p,
            prior.mean,
            prior.shape,
            prior.zero_share,
            prior.stray_share,
            humps.plain,
            humps.share,
            humps.factor,
            humps.power,
            humps.dispersion,
            humps.temper,
            humps.relative,
        )
    if not normalise(pmfs.start, p):
        raise contradiction()
    return Pmfs(low=pmfs.low, start=pmfs.start, p=p)


def _tighten(
    f: Factors, low: Floats, high: Floats, least: Floats, most: Floats, /, *, rows: Bools
) -> tuple[Floats, Floats]:
    """Bounds on members from bounds on their sums, until nothing changes."""
    entries = np.repeat(rows, f.sizes)
    if not entries.any():
        return low, high
    row, member, weight = f.rows[entries], f.members[entries], f.weights[entries].astype(float)
    for _ in range(_ROUNDS):
        small = np.where(weight > 0, weight * low[member], weight * high[member])
        large = np.where(weight > 0, weight * high[member], weight * low[member])
        others_small = _all_but_own(row, small, f.count, -np.inf)
        others_large = _all_but_own(row, large, f.count, np.inf)
        top, bottom = most[row] - others_small, least[row] - others_large
        upper = np.floor(np.where(weight > 0, top, bottom) / weight)
        lower = np.ceil(np.where(weight > 0, bottom, top) / weight)
        new_low, new_high = low.copy(), high.copy()
        np.maximum.at(new_low, member, lower)
        np.minimum.at(new_high, member, upper)
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def _all_but_own(row: Ints, term: Floats, rows: int, endless: float, /) -> Floats:
    """For each entry the sum of the other entries of its row, `endless` if one of them is."""
    infinite = np.isinf(term)
    finite = np.where(infinite, 0.0, term)
    others = tally(row, infinite, size=rows)[row] - infinite
    return np.where(others > 0, endless, tally(row, finite, size=rows)[row] - finite)


def _prior_top(prior: Prior, cells: Ints, nats: float, /) -> Floats:
    """A count that an unknown without any evidence exceeds with negligible prior probability."""
    if isinstance(prior, Flat):
        raise unheard()
    local = prior.at(cells)
    spread = np.sqrt(local.mean + local.mean**2 / local.shape)
    tail = np.where(local.stray_share > 0, 1.0, 1 / local.shape)
    return np.ceil(
        local.mean + nats * np.maximum(spread, local.mean * np.maximum(tail, 1 / local.shape)) + nats
    )


T = TypeVar("T")
R = TypeVar("R")

#: Unknowns that nothing links are taken this many at a time.
CHUNK = 50_000
#: Totals that share no cell are taken this many at a time, with at most so many cells.
_TOTALS, _THEIR_CELLS = 256, 8_000


#: Linked sets of at most this many unknowns are solved together if there are more of them than so many: one by one, most of the time would go into setting them up.
_SMALL, _MANY = 40, 400


def parts_of(model: Model, /) -> Iterator[tuple[slice, Part]]:
    """Every part with its range of unknowns: components, single totals and very many small sets several at a time, unlinked unknowns."""
    for first, last in _runs(model):
        low, high = int(model.bounds[first]), int(model.bounds[last])
        factors = int(model.factor_bounds[first]), int(model.factor_bounds[last])
        step = CHUNK if factors[0] == factors[1] else high - low
        several = last > first + 1 and factors[1] - factors[0] > last - first
        bounds = model.bounds[first : last + 1] - low, model.factor_bounds[first : last + 1] - factors[0]
        for a in range(low, high, step):
            b = min(a + step, high)
            yield slice(a, b), Part.of(model, a, b, factors=factors, sets=bounds if several else None)


def _runs(model: Model, /) -> Iterator[tuple[int, int]]:
    """Ranges of components: each by itself, but for neighbours of one total each, and for small ones of which there are very many."""
    count = len(model.bounds) - 1
    sums, sizes = np.diff(model.factor_bounds), np.diff(model.bounds)
    kind = np.where(sums == 1, 1, 0)
    small = (sums > 1) & (sizes <= _SMALL) & ~_exact_alone(model)
    if int(small.sum()) > _MANY:
        kind[small] = 2
    first = 0
    while first < count:
        last = first + 1
        room = min(first + _TOTALS, count)
        while (
            kind[first] > 0
            and last < room
            and kind[last] == kind[first]
            and model.bounds[last + 1] - model.bounds[first] <= _THEIR_CELLS
        ):
            last += 1
        yield first, last
        first = last


def _exact_alone(model: Model, /) -> Bools:
    """Components of which all sums are exact: messages that go round in these are taken for new evidence until all but one number is gone, and each is better solved by itself."""
    f = model.factors
    exact = np.array([one.exact for one in model.mechanisms])[f.mechanism]
    noisy = np.concatenate([[0], np.cumsum(~exact)])
    return np.asarray(noisy[model.factor_bounds[1:]] == noisy[model.factor_bounds[:-1]])


def in_order(items: Iterable[T], work: Callable[[T], R], /, *, threads: int) -> Iterator[tuple[T, R]]:
    """Each item with the result of `work`, in the order of the items.

    Only a few items are under way at a time, so that memory stays bounded; the results do not
    depend on the number of threads.
    """
    waiting: deque[tuple[T, Future[R]]] = deque()
    with ThreadPoolExecutor(max_workers=threads) as pool:
        for item in items:
            waiting.append((item, pool.submit(work, item)))
            if len(waiting) > 2 * threads:
                first, result = waiting.popleft()
                yield first, result.result()
        while waiting:
            first, result = waiting.popleft()
            yield first, result.result()
