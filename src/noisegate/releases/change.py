"""How much the tables change when an event, a day or a person comes or goes.

Every loss that a card states is a loss between two neighbouring sets of events. Here is said what
"neighbouring" means in each case, in the only terms that matter to the noise: the most that a table
changes in total, and the most that one of its cells does. With c = max_cells, m = max_per_cell and
d days:

    comes or goes                          total   a base cell   a margin cell
    an event, events not bounded           1       1             1
    a unit                                 c m     m             c m
    an event of a bounded unit             1 + m   m             m
    a day of a bounded person              2 c m   m             c m
    all d days of a person, days bounded   d c m   m or d m      c m or d c m

*An event of a bounded unit.* A unit at its bound keeps a random choice of cells. One more event may
make a new cell, which is kept instead of another one that held m events: 1 comes and m go. Give
each cell a lot that does not depend on the others, and keep the lowest c: then with or without the
event the two choices differ in at most one cell each, whatever the lots are, so the loss of the
mixture is at most the loss of that change.

*A day of a bounded person.* By the same lots, what was kept of the day goes, at most c m, and as much
of other days may take its place. So it can cost more than the person's absence.

*All days.* In a table that tells days apart each day changes cells of its own; in one that does not, days
can add up in one cell: the second figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from noisegate.spec import DateDimension, ReleaseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The most that every table changes in total, and the most that one cell of each table does."""

    total: int
    most: Mapping[str, int]


def unit_change(spec: ReleaseSpec, /) -> Change:
    """One privacy unit comes or goes."""
    bound = spec.privacy.contribution
    return Change(total=bound.total, most=_most(spec, base=bound.per_cell, margin=bound.total))


def event_change(spec: ReleaseSpec, /) -> Change:
    """One event comes or goes."""
    if spec.privacy.unit == "event":
        return unit_change(spec)
    held = spec.privacy.contribution.per_cell
    return Change(total=1 + held, most=_most(spec, base=held, margin=held))


def day_of_person_change(spec: ReleaseSpec, /) -> Change:
    """One day of a person comes or goes, where the unit is the person."""
    bound = spec.privacy.contribution
    return Change(total=2 * bound.total, most=_most(spec, base=bound.per_cell, margin=bound.total))


def all_days_change(spec: ReleaseSpec, days: int, /) -> Change:
    """A person with all `days` comes or goes, where the unit is a person-day."""
    one = unit_change(spec)
    dated = {name for name, dim in spec.dimensions.items() if isinstance(dim, DateDimension)}
    return Change(
        total=days * one.total,
        most={
            name: most if dated.intersection(spec.tables[name]) else days * most
            for name, most in one.most.items()
        },
    )


def spread_change(spec: ReleaseSpec, events: int, /) -> Change:
    """So many unbounded events come or go, each in a cell of its own in every table."""
    return Change(total=events, most=_most(spec, base=1, margin=1))


def _most(spec: ReleaseSpec, /, *, base: int, margin: int) -> dict[str, int]:
    return {name: base if name == spec.base else margin for name in spec.tables}
