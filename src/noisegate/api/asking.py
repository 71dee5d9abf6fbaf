"""The analyst's job where there is no card: questions to tables of any maker, through what can be recovered of how they were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.api.assessing import AnyDecisions, find_decided
from noisegate.assessment import Facts, Inference, KnownCounts
from noisegate.errors import DataError, InternalError
from noisegate.inference import ENDLESS, Engine, FitCheck, SumEstimates
from noisegate.query import Askable, DrawnTables, JointSums
from noisegate.reading import TableSources
from noisegate.recovery import MarginRows
from noisegate.tables import Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OpenTables(Askable):
    """Tables of any maker that answer questions. What had to be assumed about their making is in `assumes`.

    Attributes
    ----------
    facts
        What was found out about the tables.
    inference
        What is known about every cell of the base; None where only bounds are.
    """

    facts: Facts
    inference: Inference | None

    @property
    def name(self) -> str:
        """What the base is called."""
        return self.tables[0].name

    @property
    def tables(self) -> tuple[Table, ...]:
        """The base, on the domain that the tables reveal."""
        return (self.facts.structure.base,)

    @property
    def posterior(self) -> Engine:
        """What is known of every cell of the base."""
        if self.inference is None:
            raise DataError(
                "of these tables only bounds are known, so nothing can be drawn; state the noise if there is any, such as "
                "noise='laplace:1.4'."
            )
        return self.inference.engine

    @property
    def checks(self) -> tuple[FitCheck, ...]:
        """What the engine found when it tried itself on the tables."""
        return () if self.inference is None else self.inference.engine.checks

    @property
    def assumes(self) -> tuple[str, ...]:
        """What had to be assumed about the making of the tables."""
        if self.inference is not None:
            return self.inference.evidence.assumes
        made = self.facts.recognised[self.tables[0].name]
        if made.rounded:
            return (
                f"counts lie within the ranges that rounding leaves them ({made.kind.replace('-', ' ')})",
            )
        return ("counts are published as they are, and what is hidden lies within the ranges of its markers",)

    def draws(self, n: int, /, *, rng: np.random.Generator | None = None) -> Iterator[DrawnTables]:
        """`n` whole tables that could lie behind the published ones; refused where only bounds are known."""
        _ = self.posterior
        return super().draws(n, rng=rng)

    def _estimates(self, cells: Ints, groups: Ints, size: int, level: float, /) -> SumEstimates:
        bounds = self._bounds(cells, groups, size)
        if self.inference is not None:
            found = super()._estimates(cells, groups, size, level)
            return found if bounds is None else found.within(*bounds)
        if bounds is None:
            raise InternalError("there are no bounds to answer from")
        low, high = bounds
        return SumEstimates(
            level=level,
            mean=(low + np.minimum(high, ENDLESS)) / 2,
            sd=(high - low) / np.sqrt(12),
            low=low,
            high=high,
            withdrawn=low < high,
        )

    def _bounds(self, cells: Ints, groups: Ints, size: int, /) -> tuple[Ints, Ints] | None:
        """The least and the largest sum of each group, on the condition that estimates rest on; None where noise leaves no bounds."""
        facts, base = self.facts, self.tables[0].name
        made, known = facts.recognised.get(base), facts.known_counts
        within = facts.shows_counts or (made is not None and made.reach is not None)
        if known is not None and (self.inference is None or within or base in known.assumed):
            return _bounds_of(known, facts.rows, cells, groups, size)
        ends = facts.base_range if within else None
        if ends is None:
            return None
        low, high = (np.bincount(groups, weights=side[cells], minlength=size) for side in ends)
        return low.astype(np.int64), high.astype(np.int64)

    def _drawn_sums(
        self, cells: Ints, groups: Ints, size: int, level: float, draws: int, seed: int, /
    ) -> JointSums:
        if self.inference is not None:
            return super()._drawn_sums(cells, groups, size, level, draws, seed)
        known = self._estimates(cells, groups, size, level)
        middle = np.repeat(known.mean[None, :], draws, axis=0)
        return JointSums.of(middle, low=known.low, high=known.high, withdrawn=known.low < known.high)

    def __repr__(self) -> str:
        said = f"{self.name}: bounds of every cell" if self.inference is None else repr(self.inference)
        return f"{said}\n  ask with .answer(where=..., by=...)"


def _bounds_of(
    known: KnownCounts, rows: Sequence[MarginRows], cells: Ints, groups: Ints, size: int, /
) -> tuple[Ints, Ints]:
    """The least and the largest sum of each group, from bounds of cells and of totals that it holds wholly."""
    every = known.bounds.low.astype(np.float64), np.minimum(known.bounds.high, ENDLESS).astype(np.float64)
    low, high = (np.bincount(groups, weights=side[cells], minlength=size) for side in every)
    for one in rows:
        if not one.link.unlisted:
            ends = _by_totals(known, one.link, every, cells, groups, size)
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
    return low.astype(np.int64), np.minimum(high, ENDLESS).astype(np.int64)


def _by_totals(
    known: KnownCounts,
    link: Any,
    every: tuple[Floats, Floats],
    cells: Ints,
    groups: Ints,
    size: int,
    /,
) -> tuple[Floats, Floats]:
    """The ends of sums if whole rows of a margin are taken from its totals."""
    names = [table.name for table in known.linked.tables]
    first = int(known.linked.offsets[names.index(link.margin.name)])
    row, rows = link.group_of(cells), link.margin.size
    pairs, place = np.unique(groups * (rows + 1) + np.where(row < 0, rows, row), return_inverse=True)
    group, at = np.divmod(pairs, rows + 1)
    inside = at < rows
    have = np.bincount(place, minlength=len(pairs))
    whole = inside & (have == np.append(link.members, -1)[at])
    found: list[Floats] = []
    for side in every:
        parts = np.bincount(place, weights=side[cells], minlength=len(pairs)).astype(np.float64)
        parts[whole] = side[first + at[whole]]
        found.append(np.bincount(group, weights=parts, minlength=size).astype(np.float64))
    return found[0], found[1]


def open_tables(
    tables: TableSources,
    /,
    *,
    decisions: AnyDecisions | None = None,
    noise: str | None = None,
    progress: Callable[[str], None] | None = None,
    **said: Any,
) -> OpenTables:
    """Published tables without a card, ready for questions: how they were made is recovered from the tables.

    Where counts are published as they are and some are hidden, answers are the bounds that totals and markers leave.

    Parameters
    ----------
    tables
        Files or frames, as `assess` takes them; `said` is what else it takes (pairs, identities, timetables).
    decisions
        What is decided about the tables already: a YAML file, or what it would hold as a dictionary.
    noise
        The noise of the tables, as LAW:SCALE ("laplace:1.4") or "none", used whatever the tables tell; else it is recovered.
    progress
        Called with what is being done.

    Raises
    ------
    DataError
        If nothing is known about the noise, or the tables contradict each other.

    Examples
    --------
    >>> import pyarrow
    >>> import noisegate
    >>> towns = pyarrow.table({"town": ["A", "B", "C"], "count": [40, 70, 90]})
    >>> found = noisegate.open_tables({"towns": towns}, noise="laplace:1.4").answer(where="town=A|B")
    >>> bool(found.low[0] <= 110 <= found.high[0])
    True
    """
    facts = find_decided(tables, {"decisions": decisions, "noise": noise, "progress": progress, **said})
    found = facts.asked_of
    if found is None and facts.known_counts is None and not facts.shows_counts:
        raise DataError(
            f"nothing can be said about sums of these tables: {facts.why_not_inferred.removeprefix('not inferred, because ')}."
        )
    if found is not None and found.evidence.released:
        raise DataError(
            "these tables lie beside the card that describes them; ask their directory (open_release)."
        )
    return OpenTables(facts=facts, inference=found)
