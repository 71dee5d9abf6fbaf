"""What pictures are drawn from: plain data, made without anything that draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from noisegate.mechanisms import Mechanism
from noisegate.recovery import DifferenceCurve

Curve = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Differences:
    """Differences of counts that are equal in the raw data: seen, expected under a law that is called `law`, simulated."""

    curve: DifferenceCurve
    law: str = "law"
    title: str = ""
    subtitle: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChances:
    """The chance that a group in an otherwise empty cell is published, by its size."""

    sizes: Sequence[int]
    chances: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Responses:
    """What a mechanism that publishes integers answers to some raw counts."""

    mechanism: Mechanism
    counts: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """One part of a calendar: its title, its colour, and the share of cells for each day and time.

    Days and times are shown in the order in which they first occur.
    """

    title: str
    days: Sequence[str]
    times: Sequence[str]
    shares: Sequence[float]
    colour: Literal["blue", "grey", "orange"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCalendar:
    """For each day and time, how many cells there are of several kinds."""

    bands: Sequence[Band]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """What can be said about one suppressed cell."""

    name: str
    low: float
    high: float
    mode: float
    chance_empty: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExposedCells:
    """Suppressed cells with their intervals at `level`, and the least count that is published."""

    cells: Sequence[Exposed]
    threshold: float | None = None
    level: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class HourShares:
    """For each mode and hour, the share of cells that one vehicle alone can have filled; None where nothing runs."""

    shares: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryErrors:
    """The error of each query by cause, and the title of the axis."""

    queries: Mapping[str, Mapping[str, float]]
    title: str = "mean error of an answer, in events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Curves over the weeks, each with its name: on a scale of factors if `factors`; as odds if they are `chances`."""

    title: str
    curves: Mapping[str, Curve]
    factors: bool = False
    chances: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekPanels:
    """How risks rise with every week that is released: panels over the same weeks."""

    panels: Sequence[Panel]
    title: str = ""


PictureData = (
    Differences
    | GroupChances
    | Responses
    | CellCalendar
    | ExposedCells
    | HourShares
    | QueryErrors
    | WeekPanels
)
