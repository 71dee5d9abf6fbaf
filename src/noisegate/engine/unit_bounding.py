"""Holding units to their bounds, part by part: few events with NumPy (`bounding`), many with compiled loops in threads.

Threads sort parts and find the units with too many cells; lots are drawn for some parts after the others, so that one noise source is asked
in one order. Guarantee: that of `bounding`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from noisegate import limits
from noisegate.engine.bounding import Bounded, bound_events
from noisegate.engine.unit_events import UnitEvents
from noisegate.engine.unit_loops import bound_parts, choose_cells
from noisegate.laws import Entropy, as_entropy
from noisegate.spec import ContributionBound
from noisegate.tables import Ints

_THREADS, _AHEAD = 2, 6
#: Words that are bounded by a thread before it hands over: many enough that handing over costs nothing.
_WORDS = 1 << 17
#: Half words beyond those that are needed if none is refused.
_SPARE = 64


def bounded_parts(
    events: UnitEvents, /, *, bound: ContributionBound, entropy: Entropy, clipping: bool = False
) -> Iterator[Bounded]:
    """What every unit keeps, part by part; `clipping` also tells what bounding did."""
    as_entropy(entropy)
    stretches = [] if clipping else events.stretches(min(_WORDS, limits.current().events_at_once))
    if stretches:
        yield from _in_threads(events, stretches, bound, entropy)
        return
    for unit_keys in events.unit_keys():
        found = bound_events(
            unit_keys.keys,
            cell_bits=unit_keys.cell_bits,
            bound=bound,
            entropy=entropy,
            clipping=clipping,
        )
        yield Bounded(
            cells=unit_keys.named(found.cells),
            repeated=found.repeated,
            beyond=found.beyond,
            clipping=found.clipping,
        )


def _in_threads(
    events: UnitEvents, stretches: list[tuple[int, int]], bound: ContributionBound, entropy: Entropy, /
) -> Iterator[Bounded]:
    waiting: deque[Future[_Divided]] = deque()
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for stretch in stretches:
                waiting.append(pool.submit(_divided, events, stretch, bound))
                if len(waiting) > _AHEAD:
                    yield _with_lots(waiting.popleft().result(), bound, entropy)
            while waiting:
                yield _with_lots(waiting.popleft().result(), bound, entropy)
        finally:
            pool.shutdown(cancel_futures=True)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Divided:
    """Some parts, units within their bound and others apart.

    `kept` has the cells of the former, one entry for each event that counts; `over` the cells of the latter, `times` how often each counts,
    `sizes` how many cells each of these units has; `repeated` is how many events are.
    """

    kept: Ints
    over: Ints
    times: Ints
    sizes: Ints
    repeated: int


def _divided(events: UnitEvents, stretch: tuple[int, int], bound: ContributionBound, /) -> _Divided:
    words, part_ends = events.stretch(*stretch)
    spare, kept, over, times = (np.empty_like(words) for _ in range(4))
    sizes = np.empty(words.size // (bound.cells + 1), dtype=np.int64)
    most = (bound.cells, bound.per_cell)
    ends = bound_parts(words, part_ends, events.cell_bits, most, spare, kept, over, times, sizes)
    return _Divided(
        kept=kept[: ends[0]],
        over=over[: ends[1]],
        times=times[: ends[1]],
        sizes=sizes[: ends[2]],
        repeated=ends[3],
    )


def _with_lots(found: _Divided, bound: ContributionBound, entropy: Entropy, /) -> Bounded:
    """Some parts with the cells that lots leave to units with too many; uses it up."""
    if not found.sizes.size:
        return Bounded(cells=found.kept, repeated=found.repeated, beyond=0, compiled=True)
    before = int(found.times.sum())
    chosen = np.empty(before, dtype=np.int64)
    done = np.zeros(3, dtype=np.int64)
    enough = False
    while not enough:
        left = found.sizes[done[0] :]
        needed = int(np.minimum(left - bound.cells, bound.cells).sum()) + _SPARE
        halves = entropy.words64(-(-needed // 2)).view(np.uint32)
        enough = choose_cells(found.over, found.times, found.sizes, bound.cells, halves, done, chosen)
    lots = chosen[: int(done[2])]
    return Bounded(
        cells=np.concatenate([found.kept, lots]),
        repeated=found.repeated,
        beyond=before - lots.size,
        compiled=True,
    )
