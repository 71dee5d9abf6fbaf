"""What a map of cells shows: what is known of every cell, by a law of noise or by what sums prove."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment import Inference, KnownCounts
from noisegate.inference import ENDLESS
from noisegate.tables import Table

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class InferredFacts:
    """What a law of noise says of every cell."""

    inference: Inference

    @property
    def base(self) -> Table:
        """The table whose cells these are."""
        return self.inference.cells

    @property
    def low(self) -> Ints:
        """The lower end of each interval."""
        return self.inference.posterior.low

    @property
    def high(self) -> Ints:
        """The upper end."""
        return self.inference.posterior.high

    @property
    def weight(self) -> NDArray[np.float64]:
        """The mean of each cell."""
        return self.inference.posterior.mean

    @property
    def shown(self) -> NDArray[np.float64]:
        """What is published, NaN where nothing is."""
        return self.inference.evidence.base.values

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return self.inference.posterior.level

    @property
    def threshold(self) -> float | None:
        """What counts must reach to be shown."""
        threshold = self.inference.evidence.base.mechanism.threshold
        return None if threshold is None else float(threshold)

    @property
    def tables(self) -> tuple[str, ...]:
        """The margins that speak."""
        return tuple(seen.cells.name for _, seen in self.inference.evidence.margins)

    @property
    def left_out(self) -> tuple[tuple[str, str], ...]:
        """Those that do not, each with its reason."""
        return tuple(self.inference.evidence.left_out)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What must hold for all this."""
        return tuple(self.inference.evidence.assumes)


@dataclass(frozen=True, kw_only=True, eq=False)
class ProvedFacts:
    """What sums prove of every cell."""

    known: KnownCounts
    tables: tuple[str, ...]
    level: float = 1.0
    threshold: float | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def base(self) -> Table:
        """The table whose cells these are."""
        return self.known.linked.tables[0]

    @property
    def low(self) -> Ints:
        """The least that sums leave for each cell."""
        return self.known.bounds.low[: self.base.size]

    @property
    def high(self) -> Ints:
        """The most."""
        return self.known.bounds.high[: self.base.size]

    @cached_property
    def weight(self) -> NDArray[np.float64]:
        """The middle of what is left, or the least if there is no end to it."""
        low, high = self.low, self.high
        return np.where(high < ENDLESS, (low + high) / 2, low).astype(np.float64)

    @cached_property
    def shown(self) -> NDArray[np.float64]:
        """What is published, NaN where nothing is."""
        return self.base.at(np.arange(self.base.size))

    @property
    def assumes(self) -> tuple[str, ...]:
        """What must hold for all this."""
        return (self.known.condition.removesuffix(", "),) if self.known.condition else ()


#: What is known of every cell of a base, in one of two ways.
MapFacts = InferredFacts | ProvedFacts
