"""Margins: tables over some of the dimensions of a base, whose cells are sums of cells of the base."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from noisegate.errors import InternalError, SpecError
from noisegate.tables.axis import Axis, Block, Ints, Mask
from noisegate.tables.dimension import Dimension
from noisegate.tables.domain import Domain

#: For each dimension shown in coarser labels: the dimension it becomes, and the new label code of each old one (-1: none).
Wider = Mapping[str, tuple[Dimension, Ints]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margin:
    """The table over some dimensions of a base: its domain, and where each base cell adds up.

    Assumes nothing about data. Guarantee: every base cell adds to at most one cell of the margin (to exactly one unless the
    margin leaves labels out), so whoever changes k base cells by one each changes the margin by at most k in total.

    Attributes
    ----------
    base, domain
        The two domains.
    dimensions
        The position in the base of each dimension of the margin.
    maps
        For each block of the base and each axis of the margin: for every entry of the axis that it comes from, the
        label codes in the margin, as rows; -1 where the margin leaves the entry out.
    sources
        For each axis of the margin, the axis of the base that it comes from.
    unlisted
        Dimensions with values that the margin counts and the base does not list.

    Examples
    --------
    >>> base = Domain.product([Dimension(name="tap", values=("on", "off")),
    ...                        Dimension(name="hour", values=("06", "07", "08"))])
    >>> margin = Margin.over(base, ["hour"])
    >>> margin.of([0, 4, 5])
    array([0, 1, 2])
    >>> margin.terms([0])
    array([2])
    >>> halves = Dimension(name="hour", values=("early", "late"))
    >>> Margin.over(base, ["hour"], wider={"hour": (halves, np.array([0, 1, 1]))}).of([0, 4, 5])
    array([0, 1, 1])
    """

    base: Domain
    domain: Domain
    dimensions: tuple[int, ...] = field(repr=False)
    sources: tuple[int, ...] = field(repr=False)
    maps: tuple[tuple[Ints, ...], ...] = field(repr=False)
    unlisted: tuple[str, ...] = ()

    @classmethod
    def over(cls, base: Domain, names: Sequence[str], /, *, wider: Wider | None = None) -> Self:
        """The margin that keeps the dimensions `names`, in that order, some of them perhaps in coarser labels."""
        if not names or len(set(names)) != len(names):
            raise SpecError(f"a table names each of its dimensions once, got [{', '.join(names)}].")
        wide = wider or {}
        places = {base.axis(name): new for new, name in enumerate(names)}
        dims = tuple(
            wide[name][0] if name in wide else base.dimensions[old]
            for name, old in zip(names, places, strict=True)
        )
        recodes = {places[base.axis(name)]: recode for name, (_, recode) in wide.items() if name in names}
        blocks: list[Block] = []
        for block in base.blocks:
            shadow = _shadow(block, places, recodes)
            blocks += [] if shadow is None else _new_parts(shadow, blocks, names=names)
        if not blocks:
            raise SpecError(f"a table over [{', '.join(names)}] would have no cell.")
        domain = Domain(dimensions=dims, blocks=tuple(blocks))
        return cls.between(base, domain, dimensions=tuple(places), recodes=recodes)

    @classmethod
    def between(
        cls,
        base: Domain,
        domain: Domain,
        /,
        *,
        dimensions: tuple[int, ...],
        recodes: Mapping[int, Ints] | None = None,
        unlisted: tuple[str, ...] = (),
    ) -> Self:
        """The margin with a domain of its own: what a base cell would be shown as and it does not list, it leaves out.

        `dimensions` are the positions in the base; `recodes` has the label code in the margin of each label code of the base,
        for the dimensions of the margin in which they differ.
        """
        home = {d: place for place, axis in enumerate(base.axes) for d in axis}
        sources = tuple(home[dimensions[axis[0]]] for axis in domain.axes)
        maps = []
        for block in base.blocks:
            rows = []
            for axis, source in zip(domain.axes, sources, strict=True):
                codes = [
                    _recoded(block.axes[source], dimensions[new], (recodes or {}).get(new)) for new in axis
                ]
                rows.append(np.stack(codes))
            maps.append(tuple(rows))
        return cls(
            base=base,
            domain=domain,
            dimensions=dimensions,
            sources=sources,
            maps=tuple(maps),
            unlisted=unlisted,
        )

    def of(self, cells: ArrayLike, /) -> Ints:
        """The cell of the margin that each base cell adds to; -1 for none."""
        flat = np.asarray(cells, dtype=np.int64)
        if len(self.base.blocks) == len(self.domain.blocks) == 1:
            return self._of_product(flat)
        home = self.base.block_of(flat)
        out = np.full(flat.shape, -1, dtype=np.int64)
        for index, block in enumerate(self.base.blocks):
            here = home == index
            if here.any():
                rest = flat[here] - self.base.offsets[index]
                codes: dict[int, Ints] = {}
                for axis, source, rows in zip(self.domain.axes, self.sources, self.maps[index], strict=True):
                    entry = rest // block.strides[source] % block.axes[source].size
                    codes.update(zip(axis, rows[:, entry], strict=True))
                out[here] = self.domain.encode(*(codes[d] for d in range(len(self.dimensions))))
        return out

    def every(self) -> Ints:
        """The cell of the margin that each cell of the base adds to, in order; -1 for none."""
        if len(self.base.blocks) > 1 or len(self.domain.blocks) > 1:
            return self.of(np.arange(self.base.size, dtype=np.int64))
        shape = self.base.blocks[0].shape
        out, outside = np.zeros(shape, dtype=np.int64), np.zeros((), dtype=bool)
        for source, terms in self._terms():
            along = terms.reshape([-1 if place == source else 1 for place in range(len(shape))])
            out += np.maximum(along, 0)
            if (along < 0).any():
                outside = outside | (along < 0)
        if outside.any():
            out[np.broadcast_to(outside, shape)] = -1
        return out.ravel()

    def _terms(self) -> list[tuple[int, Ints]]:
        """For each axis, where both are products: the axis of the base, and what each of its entries adds to the number of a cell; -1 if it is left out."""
        own, found = self.domain.blocks[0], []
        for place, (source, rows) in enumerate(zip(self.sources, self.maps[0], strict=True)):
            onto = own.axes[place].find(list(rows))
            found.append((source, np.where(onto < 0, -1, onto * own.strides[place])))
        return found

    def _of_product(self, flat: Ints, /) -> Ints:
        entries = self.base.blocks[0].entries(flat)
        out, outside = np.zeros(flat.shape, dtype=np.int64), np.zeros((), dtype=bool)
        for source, terms in self._terms():
            out += np.maximum(terms, 0)[entries[source]]
            if (terms < 0).any():
                outside = outside | (terms < 0)[entries[source]]
        return np.where(outside, -1, out) if outside.any() else out

    def entry_maps(self) -> tuple[tuple[int, Ints], ...]:
        """For each axis of the margin the axis of the base that it comes from, and the entry here of each entry there.

        An entry that the margin leaves out has -1. Only where both are products of axes, with nothing merged in places.
        """
        if len(self.base.blocks) > 1 or len(self.domain.blocks) > 1:
            raise InternalError("a margin of several blocks has no map of entries")
        pairs = zip(self.domain.blocks[0].axes, self.sources, self.maps[0], strict=True)
        return tuple((source, axis.find(list(rows))) for axis, source, rows in pairs)

    def meet(self, one: int, other: int, /) -> bool:
        """Whether two blocks of the base add to a common cell."""
        return all(
            bool((mine.find(list(theirs.entries)) >= 0).any())
            for mine, theirs in zip(self._covered(one), self._covered(other), strict=True)
        )

    @property
    def most_terms(self) -> int:
        """The most base cells that add up to one cell of the margin; never too few."""
        most = [self._most_terms(index) for index in range(len(self.base.blocks))]
        return max(
            sum(terms for other, terms in enumerate(most) if other == index or self.meet(index, other))
            for index in range(len(most))
        )

    def _most_terms(self, index: int, /) -> int:
        along = [np.bincount(axis.onto).max(initial=0) for axis in self._covered(index)]
        return self._summed(index) * math.prod(map(int, along))

    def terms(self, cells: ArrayLike, /) -> Ints:
        """How many base cells add up to each of these cells of the margin."""
        codes = self.domain.decode(cells)
        total = np.zeros(np.shape(cells), dtype=np.int64)
        for index in range(len(self.base.blocks)):
            terms = np.full(np.shape(cells), self._summed(index), dtype=np.int64)
            for axis in self._covered(index):
                entry = axis.find([codes[d] for d in axis.dimensions])
                along = np.append(np.bincount(axis.onto, minlength=axis.size), 0)
                terms *= along[entry]
            total += terms
        return total

    def _summed(self, index: int, /) -> int:
        """How many entries a block of the base has along all axes that the margin leaves out."""
        shape = self.base.blocks[index].shape
        return math.prod(size for place, size in enumerate(shape) if place not in self.sources)

    def _covered(self, index: int, /) -> list[Axis]:
        """For each axis of the margin the labels of a block's entries that it does not leave out; keys are the entries."""
        found = []
        for axis, labels in zip(self.domain.axes, self.maps[index], strict=True):
            inside = np.flatnonzero((labels >= 0).all(axis=0))
            keys = np.broadcast_to(inside, (len(axis), inside.size))
            found.append(Axis.shown(axis, keys=keys, labels=labels[:, inside]))
        return found


def _recoded(axis: Axis, dimension: int, recode: Ints | None, /) -> Ints:
    """The label codes of one dimension for each entry of an axis, perhaps coarser."""
    codes: Ints = axis.entries[axis.place(dimension)]
    return codes if recode is None else np.asarray(recode, dtype=np.int64)[codes]


def _shadow(block: Block, places: dict[int, int], recodes: Mapping[int, Ints], /) -> Block | None:
    """The block with only the dimensions that have a new place; None if nothing is left of it."""
    axes = []
    for axis in block.axes:
        if not any(d in places for d in axis.dimensions):
            continue
        kept = axis.moved(places)
        if any(d in recodes for d in kept.dimensions):
            labels = np.stack([_recoded(kept, d, recodes.get(d)) for d in kept.dimensions])[:, kept.onto]
            inside = (labels >= 0).all(axis=0)
            if not inside.any():
                return None
            kept = Axis.of(kept.dimensions, labels[:, inside])
        axes.append(kept)
    return Block(axes=tuple(sorted(axes, key=lambda axis: axis.dimensions[0])))


def _new_parts(shadow: Block, known: list[Block], /, *, names: Sequence[str]) -> list[Block]:
    """The parts of `shadow` that no known block holds; refuse it where the two merge differently."""
    parts = [shadow]
    for other in known:
        _check_agree(shadow, other, names=names)
        parts = [rest for part in parts for rest in part.cut(_held(part, other))[1]]
    return parts


def _held(block: Block, other: Block, /) -> list[Mask]:
    """For each axis, which keys of a block another block has."""
    return [theirs.locate(list(mine.keys)) >= 0 for mine, theirs in zip(block.axes, other.axes, strict=True)]


def _check_agree(one: Block, other: Block, /, *, names: Sequence[str]) -> None:
    """Refuse two blocks that share values but show them under different labels."""
    shared = _held(one, other)
    if not all(mask.any() for mask in shared):
        return
    for mine, theirs, mask in zip(one.axes, other.axes, shared, strict=True):
        keys = mine.keys[:, mask]
        a, b = mine.entries[:, mine.locate(list(keys))], theirs.entries[:, theirs.locate(list(keys))]
        for dimension, differ in zip(mine.dimensions, (a != b).any(axis=1).tolist(), strict=True):
            if differ:
                raise SpecError(
                    f"a table over [{', '.join(names)}] would mix cells of different widths, because {names[dimension]} is "
                    "merged under a condition on a dimension that the table leaves out; list that dimension in the "
                    "table too."
                )
