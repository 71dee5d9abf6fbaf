"""What the cells of the base say in sum: by day and time, and the few that are told most sharply."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.inference import Inference
from noisegate.assessment.inquiry import Figure, Grid
from noisegate.assessment.words import percent
from noisegate.pictures import Band, CellCalendar, Exposed
from noisegate.tables import Kind

Ints = NDArray[np.int64]

#: A cell less likely to be empty than this is shown to hold somebody.
SURE = 0.01
#: More days or times than this are no picture.
_MOST_DAYS, _MOST_TIMES = 21, 48
#: Cells are gone through so many at a time.
_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The cells of one day and time: how many there are, are published, and are shown to hold somebody."""

    day: str
    time: str
    cells: int
    published: int
    told: int


def moments(inference: Inference, /) -> list[Moment]:
    """The cells by day and time; many days are added up by day of the week, many times by neighbours.

    Nothing for a base without times; one row for a base without dates.
    """
    cells = inference.cells
    kinds = [dimension.kind for dimension in cells.dimensions]
    if Kind.TIME not in kinds:
        return []
    at = kinds.index(Kind.TIME)
    on = kinds.index(Kind.DATE) if Kind.DATE in kinds else None
    time_of, times = _grouped(cells.dimensions[at].labels, _neighbours)
    day_of, days = ([], ["all days"]) if on is None else _grouped(cells.dimensions[on].labels, _weekdays)
    tally = np.zeros((3, len(days) * len(times)), dtype=np.int64)
    for flat in _slices(cells.size):
        codes = cells.codes(flat)
        day = np.zeros(flat.size, dtype=np.int64) if on is None else np.asarray(day_of)[codes[on]]
        place = np.where(day < 0, -1, day * len(times) + np.asarray(time_of)[codes[at]])
        if inference.looked is not None:
            place = np.where(inference.looked.block_of[flat] >= 0, place, -1)
        shown, told = _shown_and_told(inference, flat)
        for row, which in enumerate((place >= 0, (place >= 0) & shown, (place >= 0) & told)):
            tally[row] += np.bincount(place[which], minlength=tally.shape[1])
    found = [
        Moment(day=day, time=time, cells=n, published=shown, told=told)
        for (day, time), (n, shown, told) in zip(
            ((day, time) for day in days for time in times), tally.T.tolist(), strict=True
        )
        if n
    ]
    return sorted(found, key=lambda one: (one.day, one.time))


def calendar_figure(base: str, found: Sequence[Moment], /) -> Figure:
    """The cells by day and time: published, suppressed, and suppressed yet shown to hold somebody."""
    days, times = [_day(one.day) for one in found], [one.time for one in found]
    bands = [
        Band(
            title="published",
            days=days,
            times=times,
            shares=[one.published / one.cells for one in found],
            colour="blue",
        ),
        Band(
            title="suppressed",
            days=days,
            times=times,
            shares=[(one.cells - one.published - one.told) / one.cells for one in found],
            colour="grey",
        ),
        Band(
            title="suppressed, yet shown to hold somebody",
            days=days,
            times=times,
            shares=[one.told / one.cells for one in found],
            colour="orange",
        ),
    ]
    by_time: dict[str, list[int]] = {}
    for one in found:
        row = by_time.setdefault(one.time, [0, 0, 0])
        for place, value in enumerate((one.cells, one.published, one.told)):
            row[place] += value
    total, shown, told = (sum(row[place] for row in by_time.values()) for place in range(3))
    most = max(by_time, key=lambda name: by_time[name][2])
    where = f", most of them at {most}" if told else ""
    return Figure(
        key="calendar",
        caption=(
            f"The cells of {base} by day and time: the share that is published, that is suppressed, and that is suppressed "
            "although the linked tables show, with more than 99%, that it is not empty. Darker is more, in steps at 5, 20, "
            "50 and 80%."
        ),
        alt=(
            f"Three heat maps over days and times. Of {total:,} cells, {percent(shown / total)} are published; {told:,} "
            f"suppressed ones are shown to hold somebody{where}."
        ),
        picture=CellCalendar(bands=bands),
        data=Grid.of(
            "Cells by time of day",
            ("time", "cells", "published", "suppressed", "of these shown to hold somebody"),
            ((name, n, p, n - p, t) for name, (n, p, t) in sorted(by_time.items())),
            most=96,
        ),
        about=("presence", "pinned-cells"),
    )


def _day(text: str, /) -> str:
    """A date as people say it; any other text as it is."""
    try:
        return f"{datetime.strptime(text.replace('-', ''), '%Y%m%d'):%a %d %b}"  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return text


def exposed(inference: Inference, /, *, most: int) -> list[Exposed]:
    """Suppressed cells that are shown to hold somebody, those told most sharply first."""
    posterior = inference.posterior
    chosen = np.concatenate(
        [flat[_shown_and_told(inference, flat)[1]] for flat in _slices(inference.cells.size)]
        or [np.zeros(0, dtype=np.int64)]
    )
    if not chosen.size:
        return []
    width = (posterior.high - posterior.low)[chosen]
    chosen = chosen[width <= np.sort(width)[:most][-1]]
    labels = [dimension.labels for dimension in inference.cells.dimensions]
    ranks = [np.argsort(np.argsort(np.asarray(some, dtype=object), kind="stable")) for some in labels]
    codes = inference.cells.codes(chosen)
    keys = [rank[code] for rank, code in zip(ranks, codes, strict=True)]
    order = np.lexsort((*reversed(keys), posterior.sd[chosen], (posterior.high - posterior.low)[chosen]))[
        :most
    ]
    return [
        Exposed(
            name=" ".join(
                _short(some[code]) for some, code in zip(labels, codes[:, i].tolist(), strict=True)
            ),
            low=int(posterior.low[chosen[i]]),
            high=int(posterior.high[chosen[i]]),
            mode=int(posterior.mode[chosen[i]]),
            chance_empty=float(posterior.p_zero[chosen[i]]),
        )
        for i in order.tolist()
    ]


def _slices(size: int, /) -> Iterator[Ints]:
    """The numbers of all cells, some at a time."""
    for start in range(0, size, _AT_ONCE):
        yield np.arange(start, min(start + _AT_ONCE, size), dtype=np.int64)


def _shown_and_told(inference: Inference, flat: Ints, /) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether cells are published, and whether they are not and are shown to hold somebody all the same."""
    shown = ~np.isnan(inference.evidence.base.values[flat])
    told = ~shown & (inference.posterior.p_zero[flat] < SURE)
    return shown, told if inference.looked is None else told & (inference.looked.block_of[flat] >= 0)


def _grouped(
    labels: Sequence[str], name: Callable[[Sequence[str]], list[str | None]], /
) -> tuple[list[int], list[str]]:
    """The group of each label, -1 for none, and the names of the groups."""
    named = name(labels)
    groups = sorted({one for one in named if one is not None})
    place = {group: i for i, group in enumerate(groups)}
    return [-1 if one is None else place[one] for one in named], groups


def _weekdays(labels: Sequence[str], /) -> list[str | None]:
    """Each day by itself; many days by their day of the week, as far as they are dates."""
    if len(labels) <= _MOST_DAYS:
        return list(labels)
    named: list[str | None] = []
    for label in labels:
        try:
            named.append(f"{date.fromisoformat(label):%u %a}")
        except ValueError:
            named.append(None)
    return named


def _neighbours(labels: Sequence[str], /) -> list[str | None]:
    """Each time by itself; many times by the first of as many neighbours as needed."""
    every = -(-len(labels) // _MOST_TIMES)
    ordered = sorted(labels)
    first = {label: ordered[i // every * every][:5] for i, label in enumerate(ordered)}
    return [first[label] for label in labels]


def _short(value: str, /) -> str:
    """A value; a time of day without its seconds, which bins do not need."""
    clock = len(value) == 8 and value[2] == value[5] == ":"
    return value.removesuffix(":00") if clock else value
