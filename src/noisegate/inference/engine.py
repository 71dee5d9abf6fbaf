"""The one seam of inference: evidence in, posteriors of cells and of sums out.

One engine, `Posterior`, serves all tables, whoever made them and whoever asks; of very many cells, block by block (`BlockPosterior`). What is believed beforehand is another matter: a profile of counts that is
learnt from the tables, or, for an attacker who knows next to nothing, the levels of totals.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from noisegate import limits
from noisegate.inference.blocks import BlockPosterior
from noisegate.inference.evidence import Evidence
from noisegate.inference.linked.posterior import CellEstimates, SumEstimates
from noisegate.inference.linked.problem import Ints, Prior
from noisegate.inference.mixture import MixedNoise
from noisegate.inference.posterior import Attacker, Posterior, Report
from noisegate.inference.trial import FitCheck


class Engine(Protocol):
    """What is known of every cell and of every sum of cells, from one body of evidence."""

    @property
    def evidence(self) -> Evidence:
        """All that speaks about the cells."""

    def prior(self, cells: Ints, /) -> Prior:
        """What is believed of some cells before single ones are looked at."""

    @property
    def knows_sums(self) -> bool:
        """Whether it knows how unsure the means of cells are, on which a sum of many depends."""

    @property
    def looked_at(self) -> list[Ints] | None:
        """Where there are too many cells to look at, those of each block that `cells` is about, drawn at random; None if it is about all."""

    @property
    def flat(self) -> bool:
        """Whether every count is as likely as any other beforehand."""

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell, with intervals of this level."""

    def alone(self, level: float, /) -> CellEstimates:
        """The same under the same beliefs, from the record of each cell alone."""

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to; cell k is in group `groups[k]`."""

    def draws(self, n: int, /, *, rng: np.random.Generator, cells: Ints | None = None) -> Iterator[Ints]:
        """`n` tables: the counts of all cells, or of these, drawn together from what is known.

        Whole numbers of at least zero; any margin of a draw is a sum of its cells. Means, spreads and what cells have in common are those
        of `cells` and `sums`.
        """

    def without(self, *tables: str) -> Engine:
        """What would be known without some tables, what is believed beforehand held as it is."""

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What it found when it tried itself on the tables, and what it made of it."""


def engine_for(
    evidence: Evidence, /, *, attacker: Attacker = "informed", report: Report | None = None
) -> Engine:
    """The engine, with what an attacker (or an analyst, who is an informed one) believes; over all scales and laws of noise that was recovered."""
    say = report or (lambda _what, _done, _all: None)
    whole = Posterior(evidence=evidence, attacker=attacker, report=say)
    laws = len(MixedNoise(middle=whole).weights) if evidence.unsure_noise else 1
    found: Posterior | BlockPosterior = whole
    if whole.size * laws > limits.current().whole_cells:
        found = BlockPosterior.of(whole, laws_of_noise=laws) or whole
    return MixedNoise(middle=found) if evidence.unsure_noise else found
