"""How the visits of a timetable meet the cells of a table.

A table of counts has up to five dimensions that a timetable speaks about, its *roles*: mode, date, tap, time
and location. A grid knows what the codes of each role mean, and asks the table for the number of
the cell. It does not care whether the table comes from a release spec or from published files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal, Self, cast

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.tables import Dimension, Domain
from noisegate.timetable.calendar import EPOCH
from noisegate.timetable.feed import Feed
from noisegate.timetable.matching import StopMatching, is_unknown
from noisegate.timetable.places import mode_of_word
from noisegate.timetable.punctuality import OFF, ON
from noisegate.timetable.visits import DAY_S, Flags, Ints

Role = Literal["mode", "date", "tap", "time", "location"]
ROLES: tuple[Role, ...] = ("mode", "date", "tap", "time", "location")

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_ON = frozenset({"on", "tap on", "tapon", "in", "entry", "board", "boarding"})
_OFF = frozenset({"off", "tap off", "tapoff", "out", "exit", "alight", "alighting"})

#: The day, or the start, of a code that means "not known".
NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableGrid:
    """The meaning of a table's codes, and the way from codes to cells.

    Attributes
    ----------
    roles
        The dimensions of the table, in its order. A role that is missing is summed over.
    sizes
        How many value codes each of them has.
    locate
        The cells of value codes, one array for each role; -1 for no cell.
    decode
        The label codes of cells, one array for each role.
    days
        For each date code, days since 1970; `NO_TIME` for unknown.
    starts_s
        For each time code, the start of the bin in seconds after midnight; `NO_TIME` for unknown.
    bin_s
        The width of all bins; they start at midnight and divide the day.
    taps
        The codes of "on" and of "off"; -1 if the table does not have it.
    modes
        For each mode of the timetable, its code in the table; -1 if the table does not have it.
    places
        Shape (modes, stops) of the timetable: the location code of each stop; -1 if no location matches.
    members
        For roles with merged values: arrays of label codes and of the value codes that they stand for.
    """

    roles: tuple[Role, ...]
    sizes: tuple[int, ...]
    locate: Callable[..., Ints]
    decode: Callable[[Ints], Sequence[Ints]]
    days: Ints
    starts_s: Ints
    bin_s: int
    taps: tuple[int, int]
    modes: Ints
    places: NDArray[np.int32]
    members: Mapping[Role, tuple[Ints, Ints]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(set(self.roles)) != len(self.roles) or not set(self.roles) <= set(ROLES):
            raise SpecError(f"a table is linked by {', '.join(ROLES)}, got {', '.join(self.roles)}.")
        if len(self.sizes) != len(self.roles):
            raise SpecError(
                f"a table of {len(self.roles)} dimensions has as many sizes, got {len(self.sizes)}."
            )
        if not 0 < self.bin_s <= DAY_S or DAY_S % self.bin_s:
            raise SpecError.for_value(
                "bin_s", found=self.bin_s, allowed="a number of seconds that divides the day"
            )
        known = self.starts_s[self.starts_s != NO_TIME]
        if (known % self.bin_s).any() or ((known < 0) | (known >= DAY_S)).any():
            raise SpecError(
                f"time bins of {self.bin_s} s must start at multiples of their width after midnight."
            )
        if self.places.shape[0] != self.modes.size:
            raise SpecError(
                f"places must have one row for each of {self.modes.size} modes, got {len(self.places)}."
            )

    @classmethod
    def of_domain(
        cls,
        domain: Domain,
        /,
        *,
        roles: Sequence[Role],
        days: Ints,
        starts_s: Ints,
        bin_s: int,
        taps: tuple[int, int],
        modes: Ints,
        places: NDArray[np.int32],
    ) -> Self:
        """The grid of a public domain; `roles` says what each of its dimensions is."""
        if len(roles) != len(domain.dimensions):
            raise SpecError(f"the domain has {len(domain.dimensions)} dimensions, got {len(roles)} roles.")
        return cls(
            roles=tuple(roles),
            sizes=tuple(len(dimension.values) for dimension in domain.dimensions),
            locate=domain.locate,
            decode=domain.decode,
            days=days,
            starts_s=starts_s,
            bin_s=bin_s,
            taps=taps,
            modes=modes,
            places=places,
            members={role: _members(domain, axis) for axis, role in enumerate(roles)},
        )

    def size(self, role: Role, /) -> int:
        """How many values a role has; 1 for one that is summed over."""
        return self.sizes[self.roles.index(role)] if role in self.roles else 1

    @property
    def wanted_days(self) -> Ints:
        """The dates of the table, in days since 1970, ascending."""
        return np.unique(self.days[self.days != NO_TIME])

    @property
    def bins(self) -> int:
        """How many bins a day has."""
        return DAY_S // self.bin_s

    def time_codes(self) -> Ints:
        """The time code of each bin of a day; -1 where the table has none."""
        codes = np.full(self.bins, -1, dtype=np.int64)
        known = np.flatnonzero(self.starts_s != NO_TIME)
        codes[self.starts_s[known] // self.bin_s] = known
        return codes

    def date_codes(self, days: Ints, /) -> Ints:
        """The date code of each day; -1 where the table has none."""
        known = np.flatnonzero(self.days != NO_TIME)
        order = known[np.argsort(self.days[known])]
        if not order.size:
            return np.full(days.shape, -1, dtype=np.int64)
        place = np.minimum(np.searchsorted(self.days[order], days), order.size - 1)
        return np.where(self.days[order][place] == days, order[place], -1)

    def cells(self, codes: Mapping[Role, Ints], /) -> Ints:
        """The cells with these value codes; -1 for none."""
        return self.locate(*(codes[role] for role in self.roles))

    def codes(self, cells: Ints, /) -> dict[Role, Ints]:
        """The label codes of cells, by role."""
        return dict(zip(self.roles, self.decode(cells), strict=True))

    def values_of(self, role: Role, label: int, /) -> Ints:
        """The value codes that one label stands for."""
        if role not in self.members:
            return np.array([label], dtype=np.int64)
        labels, values = self.members[role]
        return np.asarray(values[labels == label])

    def first_values(self, role: Role, labels: Ints, /) -> Ints:
        """The first value code that each label stands for."""
        if role not in self.members:
            return labels
        known, at = np.unique(self.members[role][0], return_index=True)
        first = np.zeros(int(known[-1]) + 1, dtype=np.int64)
        first[known] = self.members[role][1][at]
        return first[labels]

    def bins_of(self, cells: Ints, /, *, first_day: int) -> Ints:
        """The time bin of each cell, counted from the midnight of `first_day`; the first one of a merged cell."""
        codes = self.codes(cells)
        out = np.zeros(cells.shape, dtype=np.int64)
        if "date" in codes:
            out += (self.days[self.first_values("date", codes["date"])] - first_day) * self.bins
        if "time" in codes:
            out += self.starts_s[self.first_values("time", codes["time"])] // self.bin_s
        return out

    def taps_of(self, cells: Ints, /) -> Ints:
        """ON or OFF for each cell; ON for a cell that counts both."""
        codes = self.codes(cells)
        if "tap" not in codes:
            return np.full(cells.shape, ON, dtype=np.int64)
        return np.where(self.first_values("tap", codes["tap"]) == self.taps[OFF], OFF, ON)

    def windows(self, cell: int, /, *, first_day: int) -> Ints:
        """The starts of all time bins of one cell, in seconds after the midnight of `first_day`."""
        codes = {role: int(code[0]) for role, code in self.codes(np.array([cell])).items()}
        days = self.days[self.values_of("date", codes["date"])] if "date" in codes else self.wanted_days
        starts = self.starts_s[self.values_of("time", codes["time"])] if "time" in codes else self.starts_s
        midnights: Ints = (days - first_day) * DAY_S
        return np.repeat(midnights, starts.size) + np.tile(starts, days.size)

    def known_labels(self, role: Role, known: Flags, /, *, axis: int = 0) -> Flags:
        """From which values are known to which labels are: those all of whose values are.

        `axis` says along which axis of `known` the values of the role run.
        """
        if role not in self.members:
            return known
        labels, values = self.members[role]
        flags = np.moveaxis(known, axis, 0)
        out = np.ones((int(labels.max()) + 1, *flags.shape[1:]), dtype=bool)
        np.logical_and.at(out, labels, flags[values])
        return cast("Flags", np.moveaxis(out, 0, axis))


def _members(domain: Domain, axis: int, /) -> tuple[Ints, Ints]:
    """Labels and the values that they stand for, each pair once."""
    pairs = []
    for block in domain.blocks:
        values, labels = block.members(axis)
        pairs.append(np.column_stack([labels, values]))
    distinct = np.unique(np.concatenate(pairs), axis=0)
    return distinct[:, 0], distinct[:, 1]


def domain_grid(
    feed: Feed,
    domain: Domain,
    /,
    *,
    matching: StopMatching,
    roles: Mapping[str, Role] | None = None,
    dates: Sequence[date] = (),
) -> TableGrid:
    """What the values of a public domain mean to the timetable.

    Parameters
    ----------
    matching
        The stops of the domain's locations, in the order of its values.
    roles
        From the name of each dimension to what it is; the dimensions are called as their roles if left out.
    dates
        The dates that a table without dates covers.
    """
    role_of = roles or {name: name for name in ROLES}
    chosen: list[Role] = []
    for dimension in domain.dimensions:
        if dimension.name not in role_of:
            raise SpecError.for_choice("dimension", found=dimension.name, allowed=role_of)
        chosen.append(role_of[dimension.name])
    by_role: dict[Role, Dimension] = dict(zip(chosen, domain.dimensions, strict=True))
    starts_s, bin_s = (
        _times(by_role["time"].values) if "time" in by_role else (np.zeros(1, dtype=np.int64), DAY_S)
    )
    days = (
        _days(by_role["date"].values)
        if "date" in by_role
        else np.array([(day - EPOCH).days for day in sorted(dates)])
    )
    places = matching.places if "location" in by_role else np.zeros_like(matching.places)
    return TableGrid.of_domain(
        domain,
        roles=chosen,
        days=days.astype(np.int64),
        starts_s=starts_s,
        bin_s=bin_s,
        taps=tap_codes(by_role["tap"].values) if "tap" in by_role else (0, 0),
        modes=mode_codes(feed, by_role["mode"].values)
        if "mode" in by_role
        else np.zeros(len(feed.modes), dtype=np.int64),
        places=places,
    )


def mode_codes(feed: Feed, labels: Sequence[str], /) -> Ints:
    """For each mode of the feed, the code of the table's word for it; -1 if it has none."""
    codes = np.full(len(feed.modes), -1, dtype=np.int64)
    for code, label in enumerate(labels):
        mode = mode_of_word(label)
        if mode is not None and codes[mode] >= 0:
            raise SpecError(
                f"The table has two words for {feed.modes[mode]}: {labels[codes[mode]]!r} and {label!r}."
            )
        if mode is not None:
            codes[mode] = code
    return codes


def tap_codes(labels: Sequence[str], /) -> tuple[int, int]:
    """The codes of the table's words for tapping on and tapping off; -1 where it has none."""
    words = [" ".join(re.sub(r"[^a-z]+", " ", label.casefold()).split()) for label in labels]
    on = next((code for code, word in enumerate(words) if word in _ON), -1)
    off = next((code for code, word in enumerate(words) if word in _OFF), -1)
    if on < 0 and off < 0:
        raise SpecError(
            f"The taps of the table must be called on and off, got {', '.join(map(repr, labels))}."
        )
    return on, off


def _days(labels: Sequence[str], /) -> Ints:
    """Dates such as 2016-07-25 or 20160725 as days since 1970."""
    out = np.full(len(labels), NO_TIME, dtype=np.int64)
    for code, label in enumerate(labels):
        if is_unknown(label):
            continue
        try:
            out[code] = (date.fromisoformat(label) - EPOCH).days
        except ValueError as error:
            raise SpecError(f"A date of the table must be like 2016-07-25, got {label!r}.") from error
    return out


def _times(labels: Sequence[str], /) -> tuple[Ints, int]:
    """Times such as 06:15 as seconds after midnight, and the width of the bins that they start."""
    out = np.full(len(labels), NO_TIME, dtype=np.int64)
    for code, label in enumerate(labels):
        match = _CLOCK.fullmatch(label)
        if match:
            hour, minute, second = (int(part or 0) for part in match.groups())
            out[code] = 3600 * hour + 60 * minute + second
        elif not is_unknown(label):
            raise SpecError(f"A time of the table must be like 06:15, got {label!r}.")
    known = out[out != NO_TIME]
    return out, int(np.gcd.reduce(np.append(known, DAY_S)))
