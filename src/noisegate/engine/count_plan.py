"""What to count: where the events are, the public cells that they fall into, and what one unit may add.

A release counts by its spec, a custodian who measures it counts the same events again: all of them, in finer bins, or with
every unit held to its bound on average. All hand the engine a plan like this one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

from noisegate.engine.source import Source
from noisegate.errors import InternalError
from noisegate.spec import ContributionBound, DateDimension, ListedDimension, ReleaseSpec, TimeDimension
from noisegate.tables import Domain

AnyDimension = ListedDimension | DateDimension | TimeDimension
Unit = Literal["event", "person-day", "person"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPlan:
    """What to count.

    Attributes
    ----------
    domain
        The cells.
    dimensions
        For each dimension its column and its values. Those that the domain does not have select events: an event counts
        only if it has one of their values.
    source
        A path, a glob, a table of the engine, or a source that is open already; `folder` is what paths are relative to.
    unit
        What the bound is about.
    bound
        The most that one unit adds; None if the unit is an event.
    person
        The column that says whose event it is.
    weight
        The column that says how many events a row stands for; None if each is one. Only for events, since rows of several
        do not say whose they are.
    timezone
        Whose clock times with an offset are read on.
    """

    domain: Domain
    dimensions: Mapping[str, AnyDimension] = field(repr=False)
    source: str | Source
    folder: Path = Path()
    unit: Unit = "event"
    bound: ContributionBound | None = None
    person: str | None = None
    weight: str | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        by_unit = self.unit != "event"
        if by_unit and (self.person is None or self.bound is None or self.weight is not None):
            raise InternalError(f"counting by {self.unit} needs a person, a bound and single events")
        if self.unit == "person-day" and self.day is None:
            raise InternalError("counting by days of a person needs a dimension of dates")

    @classmethod
    def of(cls, spec: ReleaseSpec, /) -> Self:
        """What the release of a spec counts."""
        by_unit = spec.privacy.unit != "event"
        return cls(
            domain=spec.domain,
            dimensions=spec.dimensions,
            source=spec.events.source,
            folder=spec.folder,
            unit=spec.privacy.unit,
            bound=spec.privacy.contribution if by_unit else None,
            person=spec.events.person if by_unit else None,
            timezone=spec.events.timezone,
        )

    @property
    def day(self) -> DateDimension | None:
        """The dates that days of a person are told by."""
        days = [one for one in self.dimensions.values() if isinstance(one, DateDimension)]
        return days[0] if days else None

    @property
    def source_name(self) -> str:
        """What messages call the source."""
        return self.source if isinstance(self.source, str) else self.source.name

    def every_event(self) -> CountPlan:
        """The same with every event counted, whoever has how many."""
        return replace(self, unit="event", bound=None, person=None)
