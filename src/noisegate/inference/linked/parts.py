"""The parts of a model, one after the other, worked on by several threads at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from noisegate.inference.linked.model import Model
from noisegate.inference.linked.part import Part

T = TypeVar("T")
R = TypeVar("R")

#: Unknowns that nothing links are taken this many at a time.
CHUNK = 50_000
#: Totals that share no cell are taken this many at a time, with at most so many cells.
_TOTALS, _THEIR_CELLS = 256, 8_000


def parts_of(model: Model, /) -> Iterator[tuple[slice, Part]]:
    """Every part with its range of unknowns: components, single totals several at a time, unlinked unknowns."""
    for first, last in _runs(model):
        low, high = int(model.bounds[first]), int(model.bounds[last])
        factors = int(model.factor_bounds[first]), int(model.factor_bounds[last])
        step = CHUNK if factors[0] == factors[1] else high - low
        for a in range(low, high, step):
            b = min(a + step, high)
            yield slice(a, b), Part.of(model, a, b, factors=factors)


def _runs(model: Model, /) -> Iterator[tuple[int, int]]:
    """Ranges of components: each by itself, but for neighbours of one total each."""
    count = len(model.bounds) - 1
    single = np.diff(model.factor_bounds) == 1
    first = 0
    while first < count:
        last = first + 1
        room = min(first + _TOTALS, count)
        while (
            single[first]
            and last < room
            and single[last]
            and model.bounds[last + 1] - model.bounds[first] <= _THEIR_CELLS
        ):
            last += 1
        yield first, last
        first = last


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
