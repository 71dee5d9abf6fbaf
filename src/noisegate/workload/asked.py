"""The questions that a release is measured by: those on its card, or those of a spec.

A question may ask for a part of a cell (07:15 to 08:30 of hourly bins). Then the cell counts by its even share, as for
any reader of the tables; what that costs is the error of aggregation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import DataError, SpecError
from noisegate.spec import ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock
from noisegate.spec.shares import label_shares, value_shares
from noisegate.tables.selection import Selection
from noisegate.workload.frame import Frame

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A question in words: a total under some conditions, by some dimensions; `top` asks for the largest."""

    name: str
    where: Mapping[str, tuple[str, ...]]
    by: tuple[str, ...]
    top: int | None
    reason: str | None = None

    @classmethod
    def of_card(cls, entry: Mapping[str, Any], /) -> Self:
        """One entry of a card's workload."""
        try:
            return cls(
                name=str(entry["name"]),
                where={str(name): tuple(map(str, parts)) for name, parts in entry["where"].items()},
                by=tuple(map(str, entry["by"])),
                top=None if entry["top"] is None else int(entry["top"]),
                reason=None if entry["answered"] else str(entry["reason"]),
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            raise DataError(
                "The card lists a workload in another form than this program writes; give the questions with --workload."
            ) from None


def wanted_by_spec(spec: ReleaseSpec, /) -> tuple[Wanted, ...]:
    """The questions of a spec.

    Raises
    ------
    SpecError
        If it has none.
    """
    if not spec.workload:
        raise SpecError(
            "the spec given with --workload has no workload; add one, such as workload: {by-mode: {by: [mode]}}."
        )
    return tuple(
        Wanted(name=name, where=one.where, by=one.by, top=one.top) for name, one in spec.workload.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """A question in terms of a release: for each dimension of the base how much of each label is asked for."""

    wanted: Wanted
    shares: tuple[Floats, ...]
    selection: Selection

    @property
    def whole(self) -> bool:
        """Whether the published cells are at least as fine as the question."""
        return all(bool(np.isin(shares, (0.0, 1.0)).all()) for shares in self.shares)

    @classmethod
    def of(cls, wanted: Wanted, frame: Frame, /) -> Self:
        """The question put to a release.

        Raises
        ------
        SpecError
            If no table can answer it; the message is the reason.
        """
        domain = frame.domain
        lacking = [name for name in (*wanted.by, *wanted.where) if name not in domain.names]
        if lacking:
            raise SpecError(f"no table has {' or '.join(dict.fromkeys(lacking))}")
        own = {
            name: value_shares(frame.dimensions[name], parts, domain=domain, name=name, at=name)
            for name, parts in wanted.where.items()
        }
        shares = tuple(label_shares(domain, axis, own.get(name)) for axis, name in enumerate(domain.names))
        selection = Selection(domain=domain, masks=tuple(one > 0 for one in shares), by=wanted.by)
        if selection.empty:
            raise SpecError("no cell of the domain meets its conditions")
        return cls(wanted=wanted, shares=shares, selection=selection)


def finest_step(dimension: TimeDimension, conditions: Sequence[tuple[str, ...]], /) -> int:
    """Bins, in seconds, that are as fine as the dimension's and as the borders of all these conditions."""
    borders = [at_s for parts in conditions for at_s in _borders(parts)]
    return math.gcd(dimension.every, DAY_S, *borders)


def _borders(parts: tuple[str, ...], /) -> Iterator[int]:
    """The borders of ranges of times; what is no range is refused where the question is put."""
    for part in parts:
        first, dots, last = part.partition("..")
        if dots:
            with suppress(ValueError):
                yield from (clock(first.strip()), clock(last.strip()))
