"""The parts of a model, one after the other, worked on by several threads at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from noisegate.core.linked.model import Model
from noisegate.core.linked.part import Part

T = TypeVar("T")
R = TypeVar("R")

#: Unknowns that nothing links are taken this many at a time.
CHUNK = 50_000


def parts_of(model: Model, /) -> Iterator[tuple[slice, Part]]:
    """Every part with its range of unknowns: the components, then unlinked unknowns in chunks."""
    for c in range(len(model.bounds) - 1):
        low, high = int(model.bounds[c]), int(model.bounds[c + 1])
        factors = int(model.factor_bounds[c]), int(model.factor_bounds[c + 1])
        step = CHUNK if factors[0] == factors[1] else high - low
        for a in range(low, high, step):
            b = min(a + step, high)
            yield slice(a, b), Part.of(model, a, b, factors=factors)


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
