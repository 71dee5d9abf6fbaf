"""What would happen if trips were published with a person behind them: how few known points single somebody out.

Only the custodian can ask: it takes the raw events. Nothing about any single person leaves this module.

Why trips with a person behind them must not be published by such means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.finding import Finding, Result
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.uniqueness import Histories, Points, Uniqueness, by_person, uniqueness
from noisegate.assessment.words import ends, share
from noisegate.columns import kinds_of, own_duckdb, quoted, registered, text_sql
from noisegate.engine import own_connection
from noisegate.errors import DataError
from noisegate.tables import Kind, Table
from noisegate.workload import TruthFile

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Ints = NDArray[np.int64]

KNOWN = (1, 2, 3, 4)
SAMPLE = 2_000
#: How points are made coarser: the width of a time bin in minutes, and whether the place is kept.
COARSENINGS = ((15, True), (60, True), (240, True), (1440, True))
_MINUTE_US = 60_000_000
#: Types of DuckDB's whose persons are told apart as 64-bit numbers.
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PersonEvents:
    """Raw events in the order of persons: person i has `start[i]` up to (not with) `start[i + 1]`.

    `place` are numbers of places, `minute` whole minutes after the first midnight. `labels` names the places, by their numbers.
    """

    start: Ints
    place: Points
    minute: Points
    labels: tuple[str, ...] = ()

    @property
    def events(self) -> Ints:
        """How many events each person has."""
        return np.diff(self.start)

    @property
    def days(self) -> int:
        """How many days the events span."""
        return int(self.minute.max(initial=0)) // 1440 + 1

    @classmethod
    def of(cls, table: Any, /, *, person: str, place: str, time: str) -> PersonEvents:
        """The events of a frame with a person, a place and a moment in each row.

        Rows that lack one of them are left out.

        Raises
        ------
        DataError
            If the moments are not timestamps, or there is no event.
        """
        with own_duckdb() as connection, registered(connection, "events", table):
            return cls.asked(connection.sql("FROM events"), person=person, place=place, time=time)

    @classmethod
    def asked(cls, rows: duckdb.DuckDBPyRelation, /, *, person: str, place: str, time: str) -> PersonEvents:
        """The same of rows that DuckDB has, in their order."""
        from noisegate.columns import CodedTexts, batches, concatenated, numbers

        kinds = kinds_of(rows)
        if not kinds[time].startswith("TIMESTAMP"):
            raise DataError(f"The column {time!r} of the raw events must hold timestamps.")
        whole = kinds[person] in _WHOLE
        who = f"{quoted(person)}::BIGINT" if whole else text_sql(person, kinds[person])
        full = " AND ".join(f"{quoted(name)} IS NOT NULL" for name in (person, place, time))
        select = (
            f"{text_sql(place, kinds[place])} AS place, {who} AS person, epoch_us({quoted(time)}) AS moment"
        )
        texts, ids, moments = CodedTexts(1 if whole else 2), [], []
        for batch in batches(rows.filter(full).project(select)):
            texts.add(batch)
            ids += [numbers(batch.column("person"))] if whole else []
            moments.append(numbers(batch.column("moment")) // _MINUTE_US)
        minute = concatenated(moments, np.int64)
        if not minute.size:
            raise DataError("The raw events hold no row with a person, a place and a time.")
        minute -= int(minute.min()) // 1440 * 1440
        where, labels = texts.column(0)
        numbered = _numbered(concatenated(ids, np.int64)) if whole else texts.column(1)[0]
        start, places, minutes = by_person(numbered, where, minute.astype(np.int32))
        return cls(start=start, place=places, minute=minutes, labels=tuple(labels))

    def histories(self, *, minutes: int, places: bool) -> Histories:
        """The points of all persons with times in bins of so many minutes, with or without places."""
        bins = self.minute // minutes
        if not places:
            return Histories(start=self.start, points=bins)
        span = int(bins.max(initial=0)) + 1
        if span * (int(self.place.max(initial=0)) + 1) >= 2**31:
            raise DataError("The raw events have too many places and times to tell points apart.")
        return Histories(start=self.start, points=(self.place * np.int32(span) + bins).astype(np.int32))


def _numbered(ids: Ints, /) -> Points:
    """Numbers from 0 in the order in which persons appear."""
    _, first, which = np.unique(ids, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int32)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[which]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """How many persons are unique if points are told so coarsely."""

    minutes: int
    places: bool
    found: tuple[Uniqueness, ...]

    @property
    def title(self) -> str:
        """In words."""
        width = {60: "hour", 240: "four hours", 1440: "day"}.get(self.minutes, f"{self.minutes} minutes")
        return f"place and {width}" if self.places else f"{width} without the place"

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "coarsening": self.title,
            "minutes": self.minutes,
            "places": self.places,
            "unique": [
                {
                    "points": one.points,
                    "share": one.share,
                    "interval": [one.low, one.high],
                    "sampled": one.sampled,
                    "persons_with_so_many": one.able,
                }
                for one in self.found
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Microdata:
    """Uniqueness at several coarsenings."""

    persons: int
    level: float
    coarsenings: tuple[Coarsening, ...]

    @classmethod
    def of(
        cls,
        events: PersonEvents,
        /,
        *,
        rng: np.random.Generator,
        level: float = 0.95,
        sample: int = SAMPLE,
        coarsenings: Sequence[tuple[int, bool]] = COARSENINGS,
    ) -> Microdata:
        """How many persons are unique from 1, 2, 3, 4 known points, by sampling."""
        found = [
            Coarsening(
                minutes=minutes,
                places=places,
                found=tuple(
                    uniqueness(
                        events.histories(minutes=minutes, places=places),
                        rng=rng,
                        known=KNOWN,
                        sample=sample,
                        level=level,
                    )
                ),
            )
            for minutes, places in coarsenings
        ]
        return cls(persons=int((events.events > 0).sum()), level=level, coarsenings=tuple(found))

    def to_json(self) -> dict[str, Any]:
        """The section `microdata` of `assessment.json`."""
        return {
            "persons": self.persons,
            "level": self.level,
            "known": list(KNOWN),
            "coarsenings": [one.to_json() for one in self.coarsenings],
        }


def read_person_events(file: TruthFile, base: Table, /) -> PersonEvents | None:
    """The events of a file of raw data; None if it does not say whose, where and when.

    The place is the dimension of the base with the most values that is neither a date nor a time.
    """
    moments = [
        file.columns[d.name]
        for d in base.dimensions
        if d.kind in (Kind.TIME, Kind.DATE) and file.kinds[file.columns[d.name]].startswith("TIMESTAMP")
    ]
    places = sorted(
        (d for d in base.dimensions if d.kind not in (Kind.TIME, Kind.DATE)), key=lambda d: -d.size
    )
    if file.person is None or file.count is not None or not moments or not places:
        return None
    names = (file.person, file.columns[places[0].name], moments[0])
    chosen = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in dict.fromkeys(names))
    with own_connection() as connection:
        try:
            # Persons and places are numbered as they appear: the same file gives the same draws.
            connection.execute("SET preserve_insertion_order = true")
            rows = connection.sql(f"SELECT {chosen} FROM {file.source}")  # noqa: S608 - quoted parts
            return PersonEvents.asked(rows, person=names[0], place=names[1], time=names[2])
        except (duckdb.Error, OSError, RuntimeError):
            raise DataError(f"{file.path} cannot be read as Parquet or CSV with a header.") from None


_MANY = 0.5


WORDS: Mapping[str, Words] = {
    "microdata": Words(
        says="How few known places and times single a person out in the raw events.",
        meaning="Trips that are linked to persons could not be protected by these means.",
        method=(
            "With the raw events at hand: how many persons are the only ones with one, two, three or four known "
            "places and times. This is why linked trips are not fit for release."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How few known points single a person out, if the raw data say whose events they are."""
    return about_microdata(facts.microdata)


def about_microdata(microdata: Microdata | None, /) -> list[Result]:
    """How few known points single a person out, if the raw data is given."""
    if microdata is None:
        return []
    finest = microdata.coarsenings[0]
    known = [one for one in finest.found if one.share is not None]
    if not known:
        return []
    most = known[-1]
    said = [
        f"{one.title}: "
        + ", ".join(
            f"{u.points} point{'s' if u.points > 1 else ''} {u.share:.1%} ({u.low:.1%} to {u.high:.1%})"
            for u in one.found
            if u.share is not None
        )
        + "."
        for one in microdata.coarsenings
    ]
    first = next((one for one in known if (one.share or 0) > _MANY), most)
    return [
        Finding(
            id="microdata",
            severity="low",
            title=(
                f"If trips were published, {first.share:.0%} of persons would be unique from {first.points} known "
                f"point{'s' if first.points > 1 else ''}"
            ),
            numbers=microdata.to_json(),
            baseline={"from": "nothing known of a person", "share": 0.0},
            evidence=said,
            advice="Do not publish trips or journeys with a person behind them, however coded; publish counts.",
        )
    ]


def show(assessment: Assessment, /) -> Exhibit | None:
    """How many persons a few known points single out."""
    if assessment.microdata is None:
        return None
    rows = [
        (one.title, point.points, share(point.share), ends([point.low, point.high]))
        for one in assessment.microdata.coarsenings
        for point in one.found
    ]
    columns = ("places and times", "known points", "persons who are unique", "interval")
    grid = Grid.of("Persons told apart by a few known points, in the raw events", columns, rows)
    return Exhibit(section="microdata", grids=(grid,))
