"""What somebody who knows the law of single counts says of what is hidden under one total, by the row itself: the exact posterior, for the page of calibration."""  # noqa: INP001 - a script

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from noisegate.inference.profile.sum_law import SumLaw
from noisegate.testing import BASE, LEVELS, LinkedWorld, Replies, Tallied, publish_case

Floats = NDArray[np.float64]

_MOST, _MOST_RURAL = 120, 16
#: Kinds of rural rows that are alike likely: how busy they are.
_BUSY = 0.1 * np.exp(0.7 * stats.norm.ppf((np.arange(15) + 0.5) / 15))
#: Laws that are the same in all cells of a row, as `noisegate.testing` draws them: one, or one for each of some kinds of rows that are alike likely.
KNOWN: dict[str, Callable[[NDArray[np.int64]], Floats]] = {
    "two-humped": lambda x: 0.5 * stats.poisson.pmf(x, 2) + 0.5 * stats.poisson.pmf(x, 30),
    "uniform": lambda x: np.where(x <= 40, 1 / 41, 0.0),
    "full or empty": lambda x: 0.5 * (x == 0) + 0.5 * stats.poisson.pmf(x, 20),
    "rural": lambda x: stats.poisson.pmf(x, _BUSY[:, None]),
}
#: Ways with noise of their own in every table.
KNOWN_WAYS = ("as in 2016", "independent", "gaussian", "exact margins")


def _added(laws: list[Floats], /) -> tuple[Floats, float]:
    """The law of a sum, and the log of how likely it is that all of it is as it is seen."""
    found, chance = np.ones(1), 0.0
    for law in laws:
        found = np.convolve(found, law / law.sum())
        chance += float(np.log(law.sum()))
    return found, chance


def _of_row(law: Floats, world: LinkedWorld, shown: Floats, total: float, /) -> Floats:
    """How likely each sum of what is hidden in a row is, by the law of its cells, with what is shown and its total."""
    counts = np.arange(len(law))
    base, name = world.mechanisms[BASE], next(iter(world.margins))
    there = ~np.isnan(shown)
    before, unseen = _added([law * np.exp(base.log_likelihood(np.nan, counts))] * int((~there).sum()))
    beside, seen = _added(
        [law * np.exp(base.log_likelihood(value, counts)) for value in shown[there].tolist()]
    )
    sums = np.arange(len(before) + len(beside) - 1)
    told = np.exp(world.mechanisms[name].log_likelihood(total, sums))
    return np.asarray(before * np.correlate(told, beside, mode="valid") * np.exp(unseen + seen))


def rows_by_law(world: LinkedWorld, laws: Floats, /) -> Replies:
    """The exact law of what is hidden in each shown row: law of its hidden cells, of its shown ones, and noise of its total."""
    name = next(iter(world.margins))
    row = world.margins[name].of(np.arange(world.domain.size))
    truth, low, high = [], [], []
    for place, total in enumerate(world.published[name].tolist()):
        mine = np.flatnonzero(row == place)
        shown = world.published[BASE][mine]
        if np.isnan(total) or not np.isnan(shown).any():
            continue
        mass = sum(_of_row(law, world, shown, total) for law in np.atleast_2d(laws))
        found = SumLaw(first=0, mass=np.asarray(mass / np.sum(mass)))
        ends = [found.interval(level) for level in LEVELS]
        truth.append(float(world.counts[mine][np.isnan(shown)].sum()))
        low.append([float(a) for a, _ in ends])
        high.append([float(b) for _, b in ends])
    return Replies(
        kind="hidden, one total",
        truth=np.array(truth),
        low=np.array(low).reshape(-1, len(LEVELS)).T,
        high=np.array(high).reshape(-1, len(LEVELS)).T,
        withdrawn=np.zeros(len(truth), bool),
    )


def known_table(*, worlds: int = 20, seed: int = 9001) -> str:
    """How often these hold what is hidden, by the scoring of the page."""
    lines = ["| counts | " + " | ".join(KNOWN_WAYS) + " |", "| --- |" + " --- |" * len(KNOWN_WAYS)]
    for case, law in KNOWN.items():
        figures = []
        for place, way in enumerate(KNOWN_WAYS):
            rngs = (np.random.default_rng([seed, place, number]) for number in range(worlds))
            most = _MOST_RURAL if case == "rural" else _MOST
            some = [rows_by_law(publish_case(case, way, rng=rng), law(np.arange(most))) for rng in rngs]
            found = Tallied.of(some)
            # Nothing is said of totals that are all hidden.
            figures.append("–" if found is None else f"{100 * found.wide:.0f} / {100 * found.half:.0f}")
        lines.append(f"| {case} | " + " | ".join(figures) + " |")
    return "\n".join(lines)
