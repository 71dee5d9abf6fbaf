"""Counts in slices, and noise slice by slice: the second seam, the same for every engine.

Counting ends in a `SlicedCounts`: a tally, and raw counts of cells cut into stretches that follow each other. Where they lie is
the engine's business: in memory, in private files, or with the workers of a cluster. `publish` draws the noise there and
gives back slices that are already noisy; each has been drawn once and will not change however often it is read.

Perturbing a domain slice by slice, empty slices included, gives the same distribution as perturbing it whole
(docs/proofs/sliced-noise.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Protocol

import numpy as np

from noisegate import limits
from noisegate.engine.counts import Clipping, Counts, Tally
from noisegate.engine.session import writing_temporary
from noisegate.engine.spill import CellRuns, RawSlice, SpillPlace
from noisegate.errors import InternalError
from noisegate.laws import Entropy
from noisegate.mechanisms import Perturbation, PublishedCells, perturb, perturb_whole
from noisegate.tables import Ints, Margin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseWork:
    """One table to be measured: the margin of the base, or None for the base itself, and its noise and threshold."""

    name: str
    margin: Margin | None
    perturbation: Perturbation
    cells: int

    @property
    def cuts_nothing(self) -> bool:
        """Whether the noisy value of every cell is published."""
        return self.perturbation.zeros == "perturb" and self.perturbation.threshold is None

    @property
    def visits_all(self) -> bool:
        """Whether every cell gets a value, so that a slice must be short enough for an array."""
        return self.perturbation.zeros == "perturb" and (self.perturbation.threshold or 0) < 1


class SlicedCounts(Protocol):
    """Raw counts after bounding, wherever they are. Only the tally is for the custodian's console."""

    @property
    def tally(self) -> Tally:
        """What became of the events."""

    @property
    def clipping(self) -> Clipping | None:
        """What bounding did, if that was asked for. Raw numbers."""

    def histogram(self) -> tuple[Ints, Ints]:
        """Which raw counts there are, ascending, and how many cells have each; zeros are not counted."""

    def whole(self) -> Counts:
        """All of them in memory: for the custodian's own measurements, never for a release."""

    def publish(self, works: Sequence[NoiseWork], /, *, entropy: Entropy) -> dict[str, PublishedSlices]:
        """Noisy tables. The loss must have been charged."""


class Summing(Protocol):
    """Makes sums of what is published where it lies."""

    def __call__(self, margin: Margin, /, *, whole: bool) -> PublishedSlices:
        """The sums by cells of a margin; those that are 0 only if `whole`."""


class PublishedSlices:
    """What is published of a table, as stretches of ascending cells; each can be read any number of times.

    `summing` makes sums where the slices lie, if that is not here.
    """

    def __init__(
        self,
        *,
        rows: int,
        parts: Sequence[Callable[[], PublishedCells]],
        place: SpillPlace | None = None,
        summing: Summing | None = None,
    ) -> None:
        self.rows = rows
        self.place = place
        self.summing = summing
        self._parts = tuple(parts)

    @classmethod
    def held(cls, published: PublishedCells, /) -> PublishedSlices:
        """One stretch, in memory."""
        return cls(rows=len(published.cells), parts=[lambda: published])

    @classmethod
    def of_all(cls, values: Ints, /) -> PublishedSlices:
        """One stretch, in memory, with the value of every cell."""
        found = cls(
            rows=values.size, parts=[lambda: PublishedCells(cells=np.arange(values.size), values=values)]
        )
        found.__dict__["values"] = values
        return found

    def __iter__(self) -> Iterator[PublishedCells]:
        for part in self._parts:
            yield part()

    @cached_property
    def _whole(self) -> PublishedCells:
        parts = list(self)
        if len(parts) == 1:
            return parts[0]
        nothing = np.zeros(0, dtype=np.int64)
        return PublishedCells(
            cells=np.concatenate([nothing, *(one.cells for one in parts)]),
            values=np.concatenate([nothing, *(one.values for one in parts)]),
        )

    @property
    def cells(self) -> Ints:
        """All cells, in memory."""
        return self._whole.cells

    @cached_property
    def values(self) -> Ints:
        """All values, in memory."""
        return self._whole.values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LocalCounts:
    """Counts of this machine: slices in memory, or in private files of `place`."""

    tally: Tally
    slices: Sequence[RawSlice] = field(repr=False)
    place: SpillPlace | None = field(default=None, repr=False)
    clipping: Clipping | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        borders = [0, *(one.stop for one in self.slices)]
        if [one.start for one in self.slices] != borders[:-1]:
            raise InternalError("slices of counts do not follow each other")

    @classmethod
    def held(cls, counts: Counts, /, *, cells: int) -> LocalCounts:
        """Counts in memory as one slice of a domain of so many cells."""
        return cls(tally=counts.tally, slices=[RawSlice.held(cells, counts.cells, counts.raw_counts)])

    def histogram(self) -> tuple[Ints, Ints]:
        """Which raw counts there are, ascending, and how many cells have each."""
        found: tuple[Ints, Ints] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        for one in self.slices:
            found = add_histograms(found, one.read()[1])
        return found

    def whole(self) -> Counts:
        """All counts in memory."""
        parts = [one.read() for one in self.slices]
        cells, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Counts(cells=cells, raw_counts=counts, tally=self.tally, clipping=self.clipping)

    def publish(self, works: Sequence[NoiseWork], /, *, entropy: Entropy) -> dict[str, PublishedSlices]:
        """Noisy tables, in the order of `works`."""
        return {work.name: self._published(work, entropy) for work in works}

    def _published(self, work: NoiseWork, entropy: Entropy, /) -> PublishedSlices:
        raw = self.slices if work.margin is None else self._summed(work.margin)
        if len(raw) == 1 and raw[0].dense is not None and work.cuts_nothing:
            noise = work.perturbation.noise
            return PublishedSlices.of_all(perturb_whole(raw[0].dense, noise=noise, entropy=entropy))
        store = SliceStore(place=self.place)
        for one in raw:
            for part in noisy_slices(one, work, entropy=entropy):
                store.add(part)
        return store.finish()

    def _summed(self, margin: Margin, /) -> Sequence[RawSlice]:
        """The raw sums of a margin."""
        if len(self.slices) == 1 and self.slices[0].dense is not None:
            sums = dense_sums(margin, self.slices[0].dense)
            if sums is not None:
                return [RawSlice.whole(sums)]
        return sum_slices(margin, (one.read() for one in self.slices), place=self.place)


def add_histograms(found: tuple[Ints, Ints], raw_counts: Ints, /) -> tuple[Ints, Ints]:
    """A histogram with the counts of some more cells."""
    values, times = np.unique(raw_counts, return_counts=True)
    every = np.concatenate([found[0], values])
    merged, place = np.unique(every, return_inverse=True)
    sums = np.zeros(merged.size, np.int64)
    np.add.at(sums, place, np.concatenate([found[1], times]))
    return merged, sums


def noisy_slices(raw: RawSlice, work: NoiseWork, /, *, entropy: Entropy) -> Iterator[PublishedCells]:
    """The published cells of a slice, in stretches; those without any raw count are drawn like all others."""
    at_once = _cells_at_once(work)
    cells, counts = raw.read()
    for start in range(raw.start, raw.stop, at_once):
        stop = min(start + at_once, raw.stop)
        first, last = np.searchsorted(cells, [start, stop]).tolist()
        found = perturb(
            cells[first:last] - start if start else cells[first:last],
            counts[first:last],
            size=stop - start,
            perturbation=work.perturbation,
            entropy=entropy,
        )
        yield PublishedCells(cells=found.cells + start if start else found.cells, values=found.values)


def _cells_at_once(work: NoiseWork, /) -> int:
    """Cells of a stretch whose values are in memory together; those of raw counts are there already."""
    if work.visits_all:
        return limits.current().dense_cells
    if work.perturbation.zeros == "keep" or work.perturbation.threshold is None:
        return limits.current().domain_cells
    passing = work.perturbation.noise.passing(work.perturbation.threshold)
    return max(1, int(limits.current().pairs_at_once / max(passing, Decimal("1e-18"))))


def dense_sums(margin: Margin, counts: Ints, /) -> Ints | None:
    """The sums of a margin over all cells of the base; None if it does more than leave axes of a product out."""
    if len(margin.base.blocks) > 1 or len(margin.domain.blocks) > 1:
        return None
    shape, maps = margin.base.blocks[0].shape, margin.entry_maps()
    sources = [source for source, _ in maps]
    plain = all(np.array_equal(onto, np.arange(shape[source])) for source, onto in maps)
    if not plain or len(set(sources)) < len(sources):
        return None
    gone = tuple(place for place in range(len(shape)) if place not in sources)
    sums = counts.reshape(shape).sum(axis=gone)
    return np.ascontiguousarray(sums.transpose(np.argsort(np.argsort(sources)))).reshape(-1)


def sum_slices(
    margin: Margin, parts: Iterable[tuple[Ints, Ints]], /, *, place: SpillPlace | None, whole: bool = False
) -> list[RawSlice]:
    """The non-zero cells of a margin, given slices of the base; or all of them if `whole`."""
    size = margin.domain.size
    if place is not None and size > limits.current().summed_cells:
        runs = CellRuns(cells=size, place=place)
        for cells, values in parts:
            runs.add_counts(*_sorted_sums(margin.of(cells), values))
        return runs.slices()
    if size <= limits.current().summed_cells:
        sums = np.zeros(size, dtype=np.int64)
        for cells, values in parts:
            # Sums in floating point are exact below 2**53; more events than that there are not.
            sums += np.bincount(margin.of(cells), weights=values, minlength=size).astype(np.int64)
        where = np.arange(size) if whole else np.flatnonzero(sums)
        return [RawSlice.held(size, where, sums[where])]
    every = list(parts)
    cells = np.concatenate([one for one, _ in every])
    values = np.concatenate([one for _, one in every])
    return [RawSlice.held(size, *_sorted_sums(margin.of(cells), values))]


def sum_published(margin: Margin, base: PublishedSlices, /, *, whole: bool = False) -> PublishedSlices:
    """The sums of published base cells; those that are 0 only if `whole` says that the base shows every cell."""
    if base.summing is not None:
        return base.summing(margin, whole=whole)
    sums = sum_slices(margin, ((one.cells, one.values) for one in base), place=base.place, whole=whole)
    store = SliceStore(place=base.place)
    for one in sums:
        cells, values = one.read()
        store.add(PublishedCells(cells=cells, values=values))
    return store.finish()


def _sorted_sums(groups: Ints, values: Ints, /) -> tuple[Ints, Ints]:
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    return found, np.add.reduceat(values[order], starts) if starts.size else values[:0]


class SliceStore:
    """Keeps published slices in memory, or in private files once there are many rows and there is a place for them."""

    def __init__(self, *, place: SpillPlace | None) -> None:
        self._place = place
        self._parts: list[Callable[[], PublishedCells]] = []
        self._rows = self._held = 0

    def add(self, part: PublishedCells, /) -> None:
        """Append a slice."""
        self._rows += len(part.cells)
        if self._place is None or self._held + len(part.cells) <= limits.current().pairs_at_once:
            self._held += len(part.cells)
            self._parts.append(lambda: part)
            return
        paths = self._place.file(), self._place.file()
        with writing_temporary():
            part.cells.tofile(paths[0])
            part.values.tofile(paths[1])
        self._parts.append(
            lambda: PublishedCells(
                cells=np.fromfile(paths[0], dtype=np.int64), values=np.fromfile(paths[1], dtype=np.int64)
            )
        )

    def finish(self) -> PublishedSlices:
        """All slices."""
        return PublishedSlices(rows=self._rows, parts=self._parts, place=self._place)
