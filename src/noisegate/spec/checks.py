"""What the blocks of a spec must agree on; each check returns nothing or refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from noisegate.spec.dimensions import DateDimension
from noisegate.spec.fields import refusal
from noisegate.spec.public_domain import known

if TYPE_CHECKING:
    from noisegate.spec.model import ReleaseSpec

_RESERVED = frozenset({"count"})


def check_tables(spec: ReleaseSpec, /) -> None:
    """Tables use dimensions that exist, one of them holds all, and no two hold the same."""
    for name in spec.dimensions:
        if name in _RESERVED:
            raise refusal(
                "is the name of the column that holds the counts; choose another", at=("dimensions", name)
            )
    seen: dict[frozenset[str], str] = {}
    for table, names in spec.tables.items():
        for name in names:
            known(spec.dimensions, name, at=("tables", table))
        if len(set(names)) != len(names):
            raise refusal("names a dimension twice; name each once", at=("tables", table))
        if frozenset(names) in seen:
            raise refusal(
                f"has the same dimensions as {seen[frozenset(names)]}; keep one of them", at=("tables", table)
            )
        seen[frozenset(names)] = table
    union = frozenset[str]().union(*spec.tables.values())
    if union not in seen:
        wanted = [name for name in spec.dimensions if name in union]
        raise refusal(
            f"need one base table that has all their dimensions; add one with [{', '.join(wanted)}]",
            at=["tables"],
        )


def check_unit(spec: ReleaseSpec, /) -> None:
    """A unit of persons knows who the person is and what a day is."""
    unit, person = spec.privacy.unit, spec.events.person
    if unit != "event" and person is None:
        raise refusal(
            f"is missing; unit {unit} needs the column that says whose event it is", at=("events", "person")
        )
    if person is None and not spec.privacy.unsafe:
        phrase = "is 'event' without a person column, which protects single events and no person; name events.person, or admit it with unsafe: true"
        raise refusal(phrase, at=("privacy", "unit"))
    days = [name for name, dim in spec.dimensions.items() if isinstance(dim, DateDimension)]
    if unit == "person-day" and len(days) != 1:
        found = ", ".join(days) or "none"
        raise refusal(
            f"is person-day, which needs exactly one dimension of dates, found {found}",
            at=("privacy", "unit"),
        )


def check_split(spec: ReleaseSpec, /) -> None:
    """The split names every table and nothing else, and leaves the base something."""
    split = spec.privacy.split
    if split is None:
        return
    at = ("privacy", "split")
    for name in split:
        if name not in spec.tables:
            raise refusal(
                f"names a table {name!r} that does not exist; there are {', '.join(spec.tables)}", at=at
            )
    for name in spec.tables:
        if name not in split:
            raise refusal(
                "is missing; give every table its share, 0 for one that is only derived", at=(*at, name)
            )
    if split[spec.base] == 0:
        raise refusal("is 0, but the base table must be measured; give it a share", at=(*at, spec.base))


def check_workload(spec: ReleaseSpec, /) -> None:
    """Questions use dimensions that the spec has; whether its tables can answer them is worked out later."""
    for name, question in spec.workload.items():
        for key, used in (("where", question.where), ("by", question.by)):
            for dimension in used:
                known(spec.dimensions, dimension, at=("workload", name, key))
        if question.top is not None and not question.by:
            raise refusal(
                "needs 'by': the dimension whose largest groups are asked for", at=("workload", name, "top")
            )
