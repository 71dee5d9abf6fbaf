"""Which cells of very many are worked out together: blocks of whole slabs, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.evidence import Observation
from noisegate.inference.linked.problem import Ints
from noisegate.inference.posterior import FEW_CELLS, Posterior
from noisegate.tables import compact

#: Blocks that are drawn are at least so many: they tell how much blocks differ.
FEWEST_BLOCKS = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockMap:
    """Which cells make up each block, ascending, and of which part it is a slice; -1 for a block that is whole units."""

    block_of: NDArray[np.int32]
    cells: tuple[NDArray[np.int32], ...]
    part: tuple[int, ...]

    @classmethod
    def of(cls, whole: Posterior, /, *, most: int) -> BlockMap | None:
        """Blocks of at least `most` cells, but for the last of a part; None if there is no more than one."""
        unit_of = whole.unit_of[whole.part_of]
        slab = _slabs(whole)
        made: list[tuple[NDArray[np.int32], int]] = []
        rng = np.random.default_rng(1)
        for unit in np.unique(whole.unit_of).tolist():
            cells = np.flatnonzero(unit_of == unit).astype(np.int32)
            parts = np.flatnonzero(whole.unit_of == unit)
            if slab is None or len(parts) > 1 or len(cells) <= FEW_CELLS:
                made.append((cells, -1))
            else:
                made += [(some, int(parts[0])) for some in _sliced(cells, slab[cells], most, rng)]
        if len(made) < FEWEST_BLOCKS:
            return None
        block_of = np.zeros(whole.size, np.int32)
        for number, (cells, _) in enumerate(made):
            block_of[cells] = number
        return cls(
            block_of=block_of, cells=tuple(one for one, _ in made), part=tuple(part for _, part in made)
        )

    def drawn(self, most: int, /) -> list[int]:
        """Some blocks, drawn at random, one of each part first, with so many cells together."""
        rng = np.random.default_rng(2)
        turns: dict[int, int] = {}
        ranked = []
        for block in rng.permutation(len(self.cells)).tolist():
            part = self.part[block]
            turns[part] = turns.get(part, 0) + (part >= 0)
            ranked.append((turns[part], block))
        found: list[int] = []
        cells = 0
        for _, block in sorted(ranked, key=lambda one: one[0]):
            if cells >= most and len(found) >= FEWEST_BLOCKS:
                break
            found.append(block)
            cells += len(self.cells[block])
        return sorted(found)


def _slabs(whole: Posterior, /) -> Ints | None:
    """One number for cells that agree in all dimensions that every margin has; None if slabs are tied to each other, or are no smaller than parts."""
    evidence = whole.evidence
    named = [set(margin.where.labels) for margin in evidence.margins]
    common = reduce(set.intersection, named) & set(evidence.layout.names)
    if not set(evidence.roles.apart) < common:
        return None
    every = np.arange(whole.size)
    slab = evidence.layout.joined(every, common)
    if evidence.equal is not None and (slab[evidence.equal[0]] != slab[evidence.equal[1]]).any():
        return None
    if any(_crosses(margin, every, slab) for margin in evidence.margins):
        return None
    return slab


def _crosses(margin: Observation, every: Ints, slab: Ints, /) -> bool:
    """Whether a row of a margin has cells of several slabs."""
    row = margin.where.of(every)
    first = np.full(len(margin.values) + 1, -1, np.int64)
    first[row] = slab
    return bool((first[row] != slab)[row >= 0].any())


def _sliced(
    cells: NDArray[np.int32], slab: Ints, most: int, rng: np.random.Generator, /
) -> list[NDArray[np.int32]]:
    """The cells of one part in blocks of whole slabs, drawn at random."""
    _, place = compact(slab)
    sizes = np.bincount(place)
    order = rng.permutation(len(sizes))
    before = np.concatenate([[0], np.cumsum(sizes[order])[:-1]])
    number = np.empty(len(sizes), np.int64)
    number[order] = before // max(most, 1)
    of_cell = compact(number[place])[1]
    return [cells[of_cell == block] for block in range(int(of_cell.max(initial=0)) + 1)]
