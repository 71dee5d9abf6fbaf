"""What somebody who knows the law of single counts says of what is hidden under one total, by the row itself: the exact posterior, for the page of calibration."""  # noqa: INP001 - a script

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from noisegate.inference.profile.sum_law import SumLaw
from noisegate.testing import BASE, LEVELS, LinkedWorld, Replies, Tallied, publish_case

Floats = NDArray[np.float64]

_MOST = 120
#: Laws that are the same in all cells, as `noisegate.testing` draws them.
KNOWN: dict[str, Callable[[NDArray[np.int64]], Floats]] = {
    "two-humped": lambda x: 0.5 * stats.poisson.pmf(x, 2) + 0.5 * stats.poisson.pmf(x, 30),
    "uniform": lambda x: np.where(x <= 40, 1 / 41, 0.0),
    "full or empty": lambda x: 0.5 * (x == 0) + 0.5 * stats.poisson.pmf(x, 20),
}
#: Ways with noise of their own in every table.
KNOWN_WAYS = ("as in 2016", "independent", "gaussian", "exact margins")


def _added(laws: list[Floats], /) -> Floats:
    found = np.ones(1)
    for law in laws:
        found = np.convolve(found, law / law.sum())
    return found


def rows_by_law(world: LinkedWorld, law: Floats, /) -> Replies:
    """The exact law of what is hidden in each shown row: law of its hidden cells, of its shown ones, and noise of its total."""
    counts = np.arange(len(law))
    base, name = world.mechanisms[BASE], next(iter(world.margins))
    row = world.margins[name].of(np.arange(world.domain.size))
    truth, low, high = [], [], []
    for place, total in enumerate(world.published[name].tolist()):
        mine = np.flatnonzero(row == place)
        shown = world.published[BASE][mine]
        there = ~np.isnan(shown)
        if np.isnan(total) or there.all():
            continue
        hidden = law * np.exp(base.log_likelihood(np.nan, counts))
        before = _added([hidden] * int((~there).sum()))
        beside = _added([law * np.exp(base.log_likelihood(value, counts)) for value in shown[there].tolist()])
        sums = np.arange(len(before) + len(beside) - 1)
        told = np.exp(world.mechanisms[name].log_likelihood(total, sums))
        mass = before * np.correlate(told, beside, mode="valid")
        found = SumLaw(first=0, mass=mass / mass.sum())
        ends = [found.interval(level) for level in LEVELS]
        truth.append(float(world.counts[mine][~there].sum()))
        low.append([float(a) for a, _ in ends])
        high.append([float(b) for _, b in ends])
    return Replies(
        kind="hidden, one total",
        truth=np.array(truth),
        low=np.array(low).T,
        high=np.array(high).T,
        withdrawn=np.zeros(len(truth), bool),
    )


def known_table(*, worlds: int = 20, seed: int = 9001) -> str:
    """How often these hold what is hidden, by the scoring of the page."""
    lines = ["| counts | " + " | ".join(KNOWN_WAYS) + " |", "| --- |" + " --- |" * len(KNOWN_WAYS)]
    for case, law in KNOWN.items():
        figures = []
        for place, way in enumerate(KNOWN_WAYS):
            rngs = (np.random.default_rng([seed, place, number]) for number in range(worlds))
            some = [rows_by_law(publish_case(case, way, rng=rng), law(np.arange(_MOST))) for rng in rngs]
            found = Tallied.of(some)
            assert found is not None
            figures.append(f"{100 * found.wide:.0f} / {100 * found.half:.0f}")
        lines.append(f"| {case} | " + " | ".join(figures) + " |")
    return "\n".join(lines)
