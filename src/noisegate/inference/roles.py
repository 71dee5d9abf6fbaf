"""Which dimensions carry the structure of a table: rows, columns and days, and what is fitted apart.

Counts of travel are near a product of a place, a time and a day. The two longest dimensions that are not dates are rows
and columns, the dates are the days. Whatever else there is (mode, direction) keeps its own multipliers: each
combination is a part that is fitted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.problem import Ints, crossed
from noisegate.tables import Domain, kind_of, numbered

_MOST_CROSSED = 3
#: Values of a dimension that set its groups apart (a mode, a direction); with more it is a row.
_FEW_VALUES = 12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """The dimensions of a table: how many labels each has, which are dates or times of day, and the label codes of cells."""

    size: int
    labels: dict[str, int]
    days: frozenset[str]
    times: frozenset[str]
    decode: Callable[[Ints], Sequence[Ints]]

    @classmethod
    def of(cls, domain: Domain, /) -> Layout:
        """The layout of a public domain."""
        kinds = {d.name: kind_of(d.labels) for d in domain.dimensions}
        return cls(
            size=domain.size,
            labels={d.name: len(d.labels) for d in domain.dimensions},
            days=frozenset(name for name, kind in kinds.items() if kind == "day"),
            times=frozenset(name for name, kind in kinds.items() if kind == "time"),
            decode=domain.decode,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions, in their order."""
        return tuple(self.labels)

    def joined(self, cells: Ints, names: Iterable[str], /) -> Ints:
        """One code for what these cells have in some dimensions."""
        wanted = [name for name in self.names if name in set(names)]
        code = np.zeros(len(cells), np.int64)
        if wanted:
            codes = dict(zip(self.names, self.decode(cells), strict=True))
            for name in wanted:
                code = code * self.labels[name] + codes[name]
        return code


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The dimensions that are crossed, the longest first, and those that tell parts apart."""

    crossed: tuple[str, ...]
    apart: tuple[str, ...]

    @classmethod
    def of(cls, layout: Layout, /) -> Roles:
        """The roles of a table's dimensions, from their labels alone."""
        days = [name for name in layout.names if name in layout.days][:1]
        others = sorted((name for name in layout.names if name not in days), key=lambda n: -layout.labels[n])
        chosen = others[: _MOST_CROSSED - len(days)] + days
        return cls(crossed=tuple(chosen), apart=tuple(n for n in layout.names if n not in chosen))

    def effects(self, layout: Layout, cells: Ints, /) -> list[Ints]:
        """Codes of each crossed dimension and of each pair, for these cells."""
        codes = dict(zip(layout.names, layout.decode(cells), strict=True))
        used = [place for name in self.crossed if (place := _numbered(codes[name])).max(initial=0) > 0]
        if len(used) < 2:
            # A multiplier for each single cell would explain everything.
            return [] if len(cells) == len(np.unique(used)) else list(used)
        row, column, *day = used
        made = crossed(row=row, column=column, day=day[0] if day else None)
        return [numbers for code in made if (numbers := _numbered(code)).max() + 1 < len(cells)]

    def mains(self, effects: list[Ints], /) -> int:
        """How many of these effects are those of single dimensions; they come first."""
        return min(len(effects), len(self.crossed))

    def serves(self, names: Iterable[str], /) -> bool:
        """Whether a margin over these dimensions lies within the parts."""
        return set(self.apart) <= set(names)


def group_and_day(layout: Layout, cells: Ints, /) -> Ints:
    """One code for the mode, the direction and the day of each cell: dimensions of few values, but for rows and columns, and dates."""
    sizes = layout.labels
    days = [name for name in layout.names if name in layout.days][:1]
    column = [name for name in layout.names if name in layout.times][:1]
    rest = sorted((name for name in layout.names if name not in (*days, *column)), key=lambda n: -sizes[n])
    if not column and len(rest) > 1:
        rest.pop(1)
    apart = [name for place, name in enumerate(rest) if place > 0 and sizes[name] <= _FEW_VALUES]
    return layout.joined(cells, [*apart, *days])


def _numbered(codes: Ints, /) -> Ints:
    """Codes from 0 without gaps."""
    return numbered(codes)[1] if codes.size else codes
