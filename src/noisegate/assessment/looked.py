"""What was looked at of cells that are too many to look at one by one: blocks of whole totals, drawn at random, and what follows for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.evidence import AttackEvidence
from noisegate.inference import CellEstimates

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookedAt:
    """The cells of the base that were looked at, and the block of each, -1 for all others; `suppressed` are those that are hidden, looked at or not."""

    block_of: NDArray[np.int32]
    suppressed: Bools

    @classmethod
    def of(cls, evidence: AttackEvidence, blocks: Sequence[Ints], /) -> LookedAt:
        """From the cells of each block, as the engine numbers them."""
        block_of = np.full(evidence.known.layout.size, -1, np.int32)
        for number, cells in enumerate(blocks):
            block_of[cells] = number
        if evidence.place is not None:
            block_of = np.where(evidence.place >= 0, block_of[evidence.place], -1).astype(np.int32)
        return cls(block_of=block_of, suppressed=evidence.suppressed)

    @property
    def cells(self) -> Ints:
        """The cells that were looked at."""
        return np.flatnonzero(self.block_of >= 0)

    @property
    def hidden(self) -> Bools:
        """Those of them that are suppressed."""
        return self.suppressed & (self.block_of >= 0)

    def in_all(self, counted: Ints, /) -> tuple[float, float]:
        """How many of all suppressed cells are like some that were counted among those looked at, and the standard deviation of that.

        Blocks are drawn, not cells: what tells the error is how blocks differ.
        """
        blocks = int(self.block_of.max(initial=-1)) + 1
        number = np.bincount(self.block_of[self.hidden], minlength=blocks)
        some = np.bincount(self.block_of[counted], minlength=blocks)
        seen, every = float(number.sum()), float(self.suppressed.sum())
        share = float(some.sum()) / max(seen, 1.0)
        away = float(((some - share * number) ** 2).sum()) * blocks / max(blocks - 1, 1)
        left = max(1 - seen / max(every, 1.0), 0.0)
        return share * every, float(np.sqrt(left * away)) * every / max(seen, 1.0)

    def said(self, counted: Ints, /) -> str:
        """The same in words, to be put behind a count."""
        found, sd = self.in_all(counted)
        most = f", give or take {1.96 * sd:,.0f}" if sd > 0 else ""
        return f"; of all {int(self.suppressed.sum()):,} about {found:,.0f}{most}"

    @property
    def words(self) -> str:
        """What was looked at, in one sentence."""
        return (
            f"looked at {int(self.hidden.sum()):,} of {int(self.suppressed.sum()):,} suppressed cells, in "
            f"{int(self.block_of.max(initial=-1)) + 1} blocks of whole totals chosen at random; counts of cells are of these, those of all are estimates"
        )

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`."""
        return {
            "cells": int((self.block_of >= 0).sum()),
            "suppressed": int(self.hidden.sum()),
            "blocks": int(self.block_of.max(initial=-1)) + 1,
            "of_suppressed": int(self.suppressed.sum()),
        }

    def numbers(self, counted: Ints, /) -> dict[str, Any]:
        """What a finding says of all suppressed cells, from those that were counted."""
        found, sd = self.in_all(counted)
        return {"looked_at": int(self.hidden.sum()), "in_all": {"estimate": found, "sd": sd}}

    def fill(self, posterior: CellEstimates, values: NDArray[np.float64], noise: float, /) -> None:
        """Let cells that were not looked at be what is known without looking: as hidden ones are on the whole, or what is published up to its noise."""
        rest = self.block_of < 0
        mine, others = self.hidden, rest & self.suppressed
        if mine.any():
            for one in (posterior.mean, posterior.sd, posterior.p_zero):
                one[others] = one[mine].mean()
            posterior.high[others] = posterior.high[mine].max()
        shown = rest & ~np.isnan(values)
        sd = float(np.sqrt(noise)) if np.isfinite(noise) else 0.0
        posterior.mean[shown], posterior.sd[shown] = values[shown], sd
        posterior.mode[shown] = np.rint(values[shown])
        posterior.low[shown] = np.maximum(np.floor(values[shown] - 1.96 * sd), 0)
        posterior.high[shown] = np.ceil(values[shown] + 1.96 * sd)
        posterior.p_zero[shown] = 0.0
