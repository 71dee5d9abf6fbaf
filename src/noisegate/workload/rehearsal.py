"""A release rehearsed on counts that stand in for the truth: what clamping, rounding and missing rows do to its answers.

The noise is drawn again and again, tables are made of it by the code that makes the release, and every question is put to
them. What the plan predicts without knowing any counts (the error of the estimate before it is made whole and non-negative) is
worked out for the same draws; its expectation is known exactly. So chance that hits both is taken out (a control variate),
and few draws do for most questions. What is left of chance is stated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate.laws.entropy import Entropy, as_entropy
from noisegate.margins.prediction import Prediction
from noisegate.releases.plan import Plan
from noisegate.tables.question import Asked
from noisegate.workload.draws import (
    BaseCounts,
    Floats,
    Reader,
    made_tables,
    noisy_tables,
    raw_table,
    unrestricted_tables,
)

#: Draws at least and at most, and the cells that are drawn in all if that allows for fewer.
DRAWS, MOST_DRAWS, MOST_DRAWN = 20, 400, 40_000_000
#: No more draws once the relative standard error of every question is below this.
PRECISION = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """Expected absolute errors of a question's groups, means over groups, if the truth were the stand-in.

    `noise` is that of noise and of making counts whole and non-negative; `published` that of missing rows as well, each
    counted as nothing; `bias` is the mean signed error of what is published. `standard_error` is that of `noise`, by chance of
    the draws.
    """

    noise: float
    published: float
    bias: float
    standard_error: float

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "noise": self.noise,
            "published": self.published,
            "bias": self.bias,
            "standard_error": self.standard_error,
        }


def rehearse(
    plan: Plan,
    counts: BaseCounts,
    predictions: Mapping[str, tuple[Asked, Prediction]],
    /,
    *,
    entropy: Entropy,
    draws: int | None = None,
    report: Callable[[], None] = lambda: None,
) -> dict[str, Rehearsed]:
    """What each question's error would be if the truth were `counts`.

    Noise is drawn `draws` times; by default until chance matters little or the work gets too much. `report` is called
    after each draw.
    """
    as_entropy(entropy)
    most = draws or max(DRAWS, min(MOST_DRAWS, MOST_DRAWN // plan.base.cells))
    stage = _Stage.of(plan, counts, predictions)
    errors: dict[str, list[Floats]] = {name: [] for name in predictions}
    found: dict[str, Rehearsed] = {}
    for draw in range(1, most + 1):
        for name, row in stage.errors(entropy).items():
            errors[name].append(row)
        report()
        if draw == most or (draw % DRAWS == 0 and draws is None):
            found = {n: _rehearsed(np.array(rows), predictions[n][1]) for n, rows in errors.items()}
            if draws is None and all(one.standard_error <= PRECISION * one.noise for one in found.values()):
                break
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stage:
    """Questions that are put to the tables of one plan, and their answers in truth."""

    plan: Plan
    counts: BaseCounts
    readers: Mapping[str, Reader]
    truth: Mapping[str, Floats]

    @classmethod
    def of(
        cls, plan: Plan, counts: BaseCounts, predictions: Mapping[str, tuple[Asked, Prediction]], /
    ) -> _Stage:
        readers = {name: Reader.of(asked, plan, known.table) for name, (asked, known) in predictions.items()}
        truth = {name: one.answer(raw_table(plan, one.table, counts)) for name, one in readers.items()}
        return cls(plan=plan, counts=counts, readers=readers, truth=truth)

    def errors(self, entropy: Entropy, /) -> dict[str, Floats]:
        """For one draw: absolute errors of the estimate, of whole counts, of what is published; its signed error."""
        noisy = noisy_tables(self.plan, self.counts, entropy)
        plain = unrestricted_tables(self.plan, noisy)
        noised, published = made_tables(self.plan, self.counts, noisy)
        found = {}
        for name, reader in self.readers.items():
            tables = (plain[reader.table], noised[reader.table], published[reader.table].values)
            off = np.stack([reader.answer(values) - self.truth[name] for values in tables])
            found[name] = np.append(np.abs(off).mean(axis=1), off[-1].mean())
        return found


def _rehearsed(errors: Floats, prediction: Prediction, /) -> Rehearsed:
    plain, noised, published, signed = errors.T
    noise, chance = _steadied(noised, plain, prediction.expected_absolute)
    return Rehearsed(
        noise=noise,
        published=_steadied(published, plain, prediction.expected_absolute)[0],
        bias=float(signed.mean()),
        standard_error=chance,
    )


def _steadied(values: Floats, control: Floats, expected: float, /) -> tuple[float, float]:
    """The mean of `values`, less what it owes to chance in `control`, whose expectation is known; its standard error."""
    spread = float(control.var())
    slope = float(np.cov(values, control, bias=True)[0, 1]) / spread if spread > 0 else 0.0
    steady = values - slope * (control - expected)
    return max(0.0, float(steady.mean())), float(steady.std()) / math.sqrt(len(steady))
