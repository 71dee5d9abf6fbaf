"""What more weeks of the same release give away about something that recurs (MATH 5).

Two questions. A group that comes again and again to cells that are otherwise empty: by when has a published
count proved that it was there? And a suppressed cell whose raw count is the same every week: how well is it known
after w weeks of differences between a total and its published parts?
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import ContinuousLaw, LatticeLaw, Law, Tabulated, convolve
from noisegate.mechanisms.mechanism import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Outcomes less likely than this do not count in an average.
_TAIL_NATS = 40.0
#: Counts this unlikely are not looked at.
_MARGIN_SDS = 12.0


def seen_by(chance: float, occasions: Floats | Ints | float, /) -> Floats:
    """The chance that something with this chance on each of so many independent occasions happens at least once."""
    _check_chance(chance)
    if chance == 1:
        return np.where(np.asarray(occasions) > 0, 1.0, 0.0)
    return np.asarray(-np.expm1(np.asarray(occasions, dtype=np.float64) * math.log1p(-chance)))


def occasions_until(chance: float, certainty: float, /) -> int | None:
    """After how many occasions it has happened with at least this certainty; None for never.

    Examples
    --------
    >>> occasions_until(0.5, 0.75)
    2
    """
    _check_chance(chance)
    if not 0 < certainty < 1:
        raise SpecError.for_value("certainty", found=certainty, allowed="between 0 and 1")
    if chance == 0:
        return None
    if chance == 1:
        return 1
    least = max(1, math.ceil(math.log1p(-certainty) / math.log1p(-chance) * (1 - 1e-12)))
    return least if seen_by(chance, least) >= certainty else least + 1


def _check_chance(chance: float, /) -> None:
    if not 0 <= chance <= 1:
        raise SpecError.for_value("chance", found=chance, allowed="from 0 to 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """How a suppressed cell is seen in one week: a total less its published parts.

    Attributes
    ----------
    total
        The law of the noise of the total.
    part, parts
        The law of the noise of the published parts, and how many there are.
    cell
        How the cell itself was published: that it was suppressed is evidence.

    *Assumes* that all other members of the total are published or empty, and noise that is independent from
    cell to cell and week to week.
    """

    total: Law
    part: Law
    parts: int
    cell: Mechanism

    def __post_init__(self) -> None:
        if isinstance(self.parts, bool) or not isinstance(self.parts, int) or self.parts < 0:
            raise SpecError.for_value("parts", found=self.parts, allowed="a whole number of at least 0")
        if self.cell.threshold is None:
            raise SpecError("a table without a cut suppresses nothing, so no suppressed cell recurs.")

    def noise(self) -> Tabulated:
        """The law of the residual's noise in one week, on whole numbers."""
        return convolve([whole_law(self.total), *([whole_law(self.part)] * self.parts)])


def whole_law(law: Law, /) -> LatticeLaw:
    """The law as it shows in whole published numbers."""
    if isinstance(law, LatticeLaw):
        return law
    assert isinstance(law, ContinuousLaw)
    return law.rounded()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalWidths:
    """How well a recurring suppressed count is known after 1, 2, ... weeks.

    Attributes
    ----------
    count, level
        The raw count, and the level of the intervals.
    expected
        The expected width of its interval: highest less lowest count inside; 0 means that one count is left.
    pinned
        The chance that one count is left.
    covered
        The chance that the interval holds the raw count.
    """

    count: int
    level: float
    expected: Floats
    pinned: Floats
    covered: Floats

    def weeks_until(self, width: float, /) -> int | None:
        """The first week from which on the expected width is at most `width`; None if not within these weeks."""
        good = self.expected <= width
        if not good[-1]:
            return None
        wide = np.flatnonzero(~good)
        return int(wide[-1]) + 2 if wide.size else 1


def widths(residual: Residual, /, *, count: int, weeks: int, level: float = 0.95) -> IntervalWidths:
    """The expected width of the posterior of a recurring count, exactly, for every number of weeks up to `weeks`.

    The attacker adds up the residuals of all weeks, knows that the cell was suppressed each time, and holds
    every count equally likely beforehand. The average is over all outcomes of the noise, weighed by their
    probabilities: nothing is simulated.

    Raises
    ------
    SpecError
        If a cell with this count is always published.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise SpecError.for_value("count", found=count, allowed="a whole number of at least 0")
    if isinstance(weeks, bool) or not isinstance(weeks, int) or weeks < 1:
        raise SpecError.for_value("weeks", found=weeks, allowed="a whole number of at least 1")
    if not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
    if residual.cell.response(count).log_suppressed == -math.inf:
        raise SpecError(f"a count of {count} is always published, so it is not suppressed every week.")
    one = residual.noise()
    counts = counts_looked_at(residual, one, count)
    hidden = np.array([residual.cell.response(int(c)).log_suppressed for c in counts])
    found: list[tuple[float, float, float]] = []
    total = one
    for week in range(1, weeks + 1):
        if week > 1:
            total = _pruned(convolve([total, one]))
        found.append(_expected(total, week, count, counts, week * hidden, level))
    expected, pinned, covered = np.array(found).T
    return IntervalWidths(count=count, level=level, expected=expected, pinned=pinned, covered=covered)


def counts_looked_at(residual: Residual, noise: Tabulated, count: int, /) -> Ints:
    """The counts that are looked at: all that one week leaves possible."""
    far = _MARGIN_SDS * math.sqrt(noise.variance + residual.cell.law.variance)
    return np.arange(0, math.ceil(max(count, residual.cell.threshold or 0.0) + far) + 1)


def _pruned(law: Tabulated, /) -> Tabulated:
    """The law without outcomes that change no average: sums of many weeks stay short."""
    kept = np.flatnonzero(law.logp > -_TAIL_NATS * 2)
    return Tabulated(law.first + int(kept[0]), law.logp[kept[0] : kept[-1] + 1])


def _expected(
    law: Tabulated, week: int, count: int, counts: Ints, hidden: Floats, level: float, /
) -> tuple[float, float, float]:
    """Expected width, chance of one count, and coverage, over all sums of the residuals."""
    likely = np.flatnonzero(law.logp > -_TAIL_NATS)
    weight = np.exp(law.logp[likely])
    outcome = law.first + likely + week * count
    log_mass = law.logpmf(outcome[:, None] - week * counts) + hidden
    # A count that is never suppressed leaves outcomes that contradict the suppression: they do not happen.
    able = np.isfinite(log_mass).any(axis=1)
    weight, log_mass = weight[able], log_mass[able]
    low, high = intervals(log_mass, level)
    low, high = counts[low], counts[high]
    whole = weight.sum()
    return (
        float(weight @ (high - low) / whole),
        float(weight @ (high == low) / whole),
        float(weight @ ((low <= count) & (count <= high)) / whole),
    )


def intervals(log_mass: Floats, level: float, /) -> tuple[Ints, Ints]:
    """The places of the ends of equal-tailed intervals, one for each row of log-probabilities."""
    mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
    cumulative = np.cumsum(mass, axis=1)
    cumulative /= cumulative[:, -1:]
    tail = (1 - level) / 2
    low = (cumulative < tail).sum(axis=1)
    high = np.minimum((cumulative < 1 - tail).sum(axis=1), mass.shape[1] - 1)
    return low, high
