"""Which stops of a feed a published location stands for.

For every stop that a mode serves, the first of these that fits: what the user says; the stop's own name;
its id or code; the name, id or code of its station; its name, then its station's, in one spelling; its
group, such as a postcode. Several stops may share a location; a stop has at most one for each mode.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.places import read_octets
from noisegate.timetable.feed import Feed
from noisegate.timetable.places import Stops

#: Words that say what kind of place it is, or nothing.
_IDLE = frozenset(
    {
        *("station", "stations", "stn", "railway", "train", "trains", "bus", "ferry"),
        *("wharf", "pier", "jetty", "terminal", "no", "number", "the", "at", "stop"),
    }
)
#: A part of a place at the end of its name: "platform 14", "stand D".
_PART = re.compile(r" (platforms?|stand|track|berth) (\d+[a-z]?|[a-z]\d*)$")
_SHORT = {
    "st": "street",
    "rd": "road",
    "av": "avenue",
    "ave": "avenue",
    "pde": "parade",
    "hwy": "highway",
    "tce": "terrace",
    "pl": "place",
    "dr": "drive",
    "sq": "square",
    "mt": "mount",
    "jn": "junction",
    "jct": "junction",
    "int": "interchange",
    "intg": "interchange",
    "nth": "north",
    "sth": "south",
    "opp": "opposite",
    "nr": "near",
}
_MARKS = re.compile(r"[^\w]+")

_UNKNOWN = frozenset({"", "-", "-1", "?", "unknown", "n/a", "na", "null", "none", "missing", "not known"})

#: Nearest names are offered only where they are found in no time.
_MOST_COMPARISONS = 1 << 17


def folded(name: str, /) -> str:
    """The name without case, accents, punctuation, platforms, and words that only say what kind of place it is.

    Examples
    --------
    >>> folded("Circular Quay No. 3 Wharf") == folded("Circular Quay, Wharf 3")
    True
    >>> folded("Central Station, Platform 14")
    'central'
    """
    plain = unicodedata.normalize("NFKD", name).casefold().replace("&", " and ").replace("'", "")
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    words = _PART.sub("", " ".join(_MARKS.sub(" ", plain.replace("_", " ")).split())).split()
    kept = [_SHORT.get(word, word) for word in words if word not in _IDLE]
    return " ".join(kept or words)


def is_unknown(label: str, /) -> bool:
    """Whether a published location means that the place is not known."""
    return label.strip().casefold() in _UNKNOWN


def read_groups(path: Path | str, /, *, column: str = "postcode", stop: str | None = None) -> dict[str, str]:
    """The group of every stop in a CSV file with a header.

    Parameters
    ----------
    column
        The column with the group.
    stop
        The column with the stop's name, id or code; the first one if left out.
    """
    place = Path(path)
    try:
        octets = read_octets(place, most=limits.current().values_bytes, what="The list of places")
        with io.StringIO(octets.decode("utf-8-sig"), newline="") as file:
            reader = csv.DictReader(file)
            header = list(reader.fieldnames or [])
            key = stop or (header[0] if header else "")
            for name in (key, column):
                if name not in header:
                    raise DataError(
                        f"{str(place)!r} has no column {name!r}; it has {', '.join(header) or 'none'}."
                    )
            return {row[key].strip(): row[column].strip() for row in reader if row[key] and row[column]}
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"The list of places {str(place)!r} is not UTF-8 text with commas.") from error


class How(StrEnum):
    """How a location was matched."""

    GIVEN = "given by the user"
    NAME = "name"
    CODE = "code"
    PARENT = "station"
    SIMILAR = "similar name"
    SIMILAR_PARENT = "similar name of the station"
    GROUP = "group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """A published location that no stop matches, and why."""

    location: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StopMatching:
    """The location of every stop, and what stayed unmatched.

    Attributes
    ----------
    locations
        The published locations; their positions are their codes.
    places
        Shape (modes, stops): the code of the location of each stop; -1 for none.
    how
        For each location that has a stop, the best way in which one was matched.
    unmatched
        Locations without a stop.
    left_over
        Stops (mode, stop) that vehicles serve and that no location matches. Taps there are published under a
        location that we do not know, or not at all; what is called impossible may then be possible.
    """

    locations: tuple[str, ...]
    places: NDArray[np.int32]
    how: dict[str, How]
    unmatched: tuple[Unmatched, ...]
    left_over: tuple[tuple[int, int], ...]

    def summary(self) -> str:
        """What was matched, in one sentence."""
        ways = {way: sum(found is way for found in self.how.values()) for way in How}
        parts = ", ".join(f"{count} by {way}" for way, count in ways.items() if count)
        return (
            f"{len(self.how)} of {len(self.locations)} locations match stops ({parts or 'none'}); without a stop: "
            f"{len(self.unmatched)}; served stops without a location: {len(self.left_over)}"
        )


def match_locations(
    feed: Feed,
    locations: Sequence[str],
    /,
    *,
    of_mode: Mapping[str, Collection[str]] | None = None,
    given: Mapping[str, str] | None = None,
    groups: Mapping[str, str] | None = None,
) -> StopMatching:
    """The stops of `feed` that each of `locations` stands for.

    Parameters
    ----------
    locations
        What a table shows, in the order of its codes.
    of_mode
        For modes of which it is known, the locations that occur with them. A postcode of the buses is then not
        mistaken for a station of the trains.
    given
        From the id, code or name of a stop to its location; wins over everything else.
    groups
        From the id, code or name of a stop to its group, such as a postcode.
    """
    labels = tuple(locations)
    if len(set(labels)) != len(labels):
        raise SpecError("The locations of a table must be different from each other.")
    _check_given(feed.stops, labels, given or {})
    served = feed.served()
    places = np.full(served.shape, -1, dtype=np.int32)
    how: dict[str, How] = {}
    ambiguous: set[str] = set()
    for mode, name in enumerate(feed.modes):
        meant = of_mode.get(name) if of_mode is not None and name in of_mode else None
        finder = _Finder.of(labels, meant, given=given or {}, groups=groups or {})
        ambiguous |= finder.ambiguous
        for stop in np.flatnonzero(served[mode]).tolist():
            code, way = finder.find(feed.stops, stop)
            if way is not None:
                places[mode, stop] = code
                how[labels[code]] = min(way, how.get(labels[code], way), key=list(How).index)
    return StopMatching(
        locations=labels,
        places=places,
        how=how,
        unmatched=tuple(_unmatched(feed.stops, labels, how, ambiguous)),
        left_over=tuple((int(m), int(s)) for m, s in np.argwhere(served & (places < 0))),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Finder:
    """Look-ups for the locations of one mode."""

    every: dict[str, int]
    exact: dict[str, int]
    similar: dict[str, int]
    ambiguous: set[str]
    given: Mapping[str, str]
    groups: Mapping[str, str]

    @classmethod
    def of(
        cls,
        labels: Sequence[str],
        meant: Collection[str] | None,
        /,
        *,
        given: Mapping[str, str],
        groups: Mapping[str, str],
    ) -> _Finder:
        wanted = None if meant is None else frozenset(meant)
        exact = {
            label.strip(): code
            for code, label in enumerate(labels)
            if not is_unknown(label) and (wanted is None or label in wanted)
        }
        by_spelling: dict[str, list[str]] = {}
        for label in exact:
            by_spelling.setdefault(folded(label), []).append(label)
        similar = {key: exact[names[0]] for key, names in by_spelling.items() if len(names) == 1}
        twice = {name for names in by_spelling.values() if len(names) > 1 for name in names}
        every = {label.strip(): code for code, label in enumerate(labels)}
        return cls(every=every, exact=exact, similar=similar, ambiguous=twice, given=given, groups=groups)

    def find(self, stops: Stops, stop: int, /) -> tuple[int, How | None]:
        """The location of a stop and how it was found; None for none."""
        for way, code in self._tries(stops, stop):
            if code is not None:
                return code, way
        return -1, None

    def _tries(self, stops: Stops, stop: int, /) -> Iterator[tuple[How, int | None]]:
        own = (stops.names[stop], stops.ids[stop], stops.codes[stop])
        parent = int(stops.parent[stop])
        above = (stops.names[parent], stops.ids[parent], stops.codes[parent]) if parent >= 0 else ()
        yield (
            How.GIVEN,
            _first((*own[1:], own[0], *above), lambda key: self.every.get(self.given.get(key, "").strip())),
        )
        yield How.NAME, self.exact.get(own[0])
        yield How.CODE, _first(own[1:], self.exact.get)
        yield How.PARENT, _first(above, self.exact.get)
        yield How.SIMILAR, self.similar.get(folded(own[0]))
        yield How.SIMILAR_PARENT, _first(above[:1], lambda name: self.similar.get(folded(name)))
        yield (
            How.GROUP,
            _first((*own[1:], own[0], *above), lambda key: self.exact.get(self.groups.get(key, "").strip())),
        )


def _first(keys: Sequence[str], find: Callable[[str], int | None], /) -> int | None:
    """The first hit for a key that is not empty."""
    return next((code for key in keys if key and (code := find(key)) is not None), None)


def _check_given(stops: Stops, labels: Sequence[str], given: Mapping[str, str], /) -> None:
    known = {*stops.ids, *stops.codes, *stops.names}
    for key, label in given.items():
        if key not in known:
            raise DataError(
                f"The map of stops names {key!r}, which is no id, code or name of a stop of the feed."
            )
        if label not in labels:
            raise DataError(f"The map of stops sends {key!r} to {label!r}, which the table does not have.")


def _unmatched(
    stops: Stops, labels: Sequence[str], how: Mapping[str, How], ambiguous: Collection[str], /
) -> Iterator[Unmatched]:
    """Why each location without a stop has none."""
    names = sorted(set(stops.names))
    missing = [label for label in labels if label not in how]
    for label in missing:
        if is_unknown(label):
            reason = "it means that the place is not known"
        elif label in ambiguous:
            reason = "its name differs from another location only in spelling; map the stops by hand"
        else:
            near = (
                difflib.get_close_matches(label, names, n=1)
                if len(names) * len(missing) < _MOST_COMPARISONS
                else []
            )
            hint = f"; the nearest name is {near[0]!r}" if near else ""
            reason = f"no served stop has this name, code or group{hint}"
        yield Unmatched(location=label, reason=reason)
