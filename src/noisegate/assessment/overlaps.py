"""What tables beside these tell about sums of their cells: time by mode and origin by destination by mode both sum to modes.

That both count the same is an assumption. It is made only where sums that are known exactly on both sides agree, all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference import ENDLESS, LinkedCells
from noisegate.tables import Margin, SharedMargin, Table

Ints = NDArray[np.int64]

#: Sums that must be known exactly on both sides, and agree: where both are known to show counts as they are, and where that
#: is not known. Noisy sums agree by chance in one of ten at most, so four of them in less than one of ten thousand.
_AGREE, _AGREE_UNTOLD = 2, 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedSums:
    """Sums that two tables share, as one side knows them.

    Attributes
    ----------
    link
        What they share.
    onto
        Where the cells of this side add up.
    low, high
        The least and the largest count of each sum as the other side tells it.
    beside
        The other table.
    raw
        Whether both tables are known to show counts as they are.
    """

    link: SharedMargin
    onto: Margin
    low: Ints
    high: Ints
    beside: Table
    raw: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Whether a table beside these was used: over what they share, in how many sums both agree, and why not if it was not."""

    beside: str
    dimensions: tuple[str, ...]
    compared: int
    agreed: int
    used: bool
    raw: bool = True

    @property
    def assumes(self) -> tuple[str, ...]:
        """What is taken for granted where it is used."""
        same = f"{self.beside} counts the same people or events, as {self.agreed:,} equal sums say"
        plain = "counts are shown as they are, as sums of two tables that agree exactly say"
        return (same,) if self.raw else (same, plain)

    def describe(self) -> str:
        """In words."""
        over = " by ".join(self.dimensions)
        if self.used:
            return f"{self.beside} counts the same {over}: {self.agreed:,} sums that both tell exactly agree, so its sums bound these cells"
        if self.compared > self.agreed:
            return (
                f"{self.beside} shares {over}, but {self.compared - self.agreed:,} of {self.compared:,} sums that both tell exactly "
                "differ: it does not count the same, and nothing was concluded from it"
            )
        return (
            f"{self.beside} shares {over}, but only {self.compared:,} sums are told exactly by both: "
            "whether it counts the same cannot be seen, and nothing was concluded from it"
        )


def sums_of(onto: Margin, low: Ints, high: Ints, /) -> tuple[Ints, Ints]:
    """The least and the largest sum of cells, group by group; `ENDLESS` where one of them has no end."""
    groups = np.asarray(onto.of(np.arange(low.size, dtype=np.int64)))
    inside = groups >= 0
    size = onto.domain.size
    least = np.bincount(groups[inside], weights=low[inside].astype(np.float64), minlength=size)
    open_ended = (
        np.bincount(groups[inside], weights=(high[inside] >= ENDLESS).astype(float), minlength=size) > 0
    )
    bounded = np.where(high[inside] >= ENDLESS, 0, high[inside]).astype(np.float64)
    most = np.bincount(groups[inside], weights=bounded, minlength=size)
    return least.astype(np.int64), np.where(open_ended, ENDLESS, most).astype(np.int64)


def with_overlaps(
    linked: LinkedCells, shared: Sequence[SharedSums], /
) -> tuple[LinkedCells, tuple[Overlap, ...]]:
    """The cells with what tables beside these tell about their sums, and what was made of each."""
    base = linked.tables[0]
    told: list[Overlap] = []
    for one in shared:
        low, high = sums_of(one.onto, linked.low[: base.size], linked.high[: base.size])
        exact = (low == high) & (one.low == one.high)
        apart = (low > one.high) | (high < one.low)
        compared, agreed = int((exact | apart).sum()), int((exact & (low == one.low)).sum())
        used = agreed >= (_AGREE if one.raw else _AGREE_UNTOLD) and compared == agreed
        names = one.link.dimensions
        told.append(
            Overlap(
                beside=one.beside.name,
                dimensions=names,
                compared=compared,
                agreed=agreed,
                used=used,
                raw=one.raw,
            )
        )
        if not used:
            continue
        groups = np.asarray(one.onto.of(np.arange(base.size, dtype=np.int64)))
        linked = linked.with_sums(
            groups,
            one.low,
            one.high,
            summed=tuple(name for name in base.domain.names if name not in names),
            words=_words(one),
        )
    return linked, tuple(told)


def _words(shared: SharedSums, /) -> list[str]:
    domain = shared.link.domain
    codes = domain.decode(np.arange(domain.size, dtype=np.int64))
    labels = [
        [f"{dimension.name} {dimension.labels[code]}" for code in np.asarray(own).tolist()]
        for dimension, own in zip(domain.dimensions, codes, strict=True)
    ]
    counts = [
        f"{low:,}" if low == high else f"{low:,} or more" if high >= ENDLESS else f"{low:,} to {high:,}"
        for low, high in zip(shared.low.tolist(), shared.high.tolist(), strict=True)
    ]
    places = [", ".join(one) for one in zip(*labels, strict=True)]
    return [f"{place} ({count} by {shared.beside.name})" for place, count in zip(places, counts, strict=True)]
