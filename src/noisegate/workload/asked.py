"""The questions that a release is measured by: those on its card, or those of a spec.

A question may ask for a part of a cell (07:15 to 08:30 of hourly bins). Then the cell counts by its even share, as for
any reader of the tables; what that costs is the error of aggregation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress

from noisegate.errors import SpecError
from noisegate.spec import ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock
from noisegate.tables.question import Question


def wanted_by_spec(spec: ReleaseSpec, /) -> tuple[Question, ...]:
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
    return spec.questions


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
