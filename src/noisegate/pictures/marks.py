"""Marks: what stands for data inside the frame of two axes, as elements of SVG.

A mark skips what has no place on its axes, such as a zero on a scale of factors. Points, bars and fields say their values where
a pointer rests on them, unless there are too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

from noisegate.pictures.frame import MANY, PlotFrame, Point, fmt, group, line, spoken, with_tip
from noisegate.pictures.scales import Rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Polyline:
    """A line through points, straight or in steps."""

    points: Sequence[Point]
    colour: str
    width: float = 2
    dashed: bool = False
    step: bool = False

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """One path; a single point is too short to be seen, and gets a dot."""
        places = [at for point in self.points if (at := frame.place(point)) is not None]
        if len(places) <= 1:
            yield from Dots(points=self.points, colour=self.colour, radius=self.width + 1).draw(frame)
            return
        look = {"stroke_dasharray": "4 3"} if self.dashed else {}
        path = f'<path d="{_steps(places) if self.step else _path(places)}"/>'
        yield from group(
            "line", [path], fill="none", stroke=self.colour, stroke_width=fmt(self.width), **look
        )


def _path(places: Sequence[tuple[float, float]], /) -> str:
    return "M" + "L".join(f"{fmt(x)},{fmt(y)}" for x, y in places)


def _steps(places: Sequence[tuple[float, float]], /) -> str:
    """Level around each point, and up or down half-way between two."""
    turns = [places[0]]
    for (x, y), (further, other) in pairwise(places):
        turns += [((x + further) / 2, y), ((x + further) / 2, other)]
    return _path([*turns, places[-1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """What lies below a line."""

    points: Sequence[Point]
    colour: str

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A pale area and its upper edge."""
        places = [at for point in self.points if (at := frame.place(point)) is not None]
        if places:
            floor = fmt(frame.top + frame.height)
            shape = f"{_path(places)}V{floor}H{fmt(places[0][0])}Z"
            yield from group("area", [f'<path d="{shape}"/>'], fill=self.colour, fill_opacity=0.35)
            yield from Polyline(points=self.points, colour=self.colour).draw(frame)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Filled circles; `lower` moves them down."""

    points: Sequence[Point]
    colour: str
    radius: float = 4
    opacity: float = 1
    lower: float = 0
    tips: Sequence[str] = ()

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A path for each, of two half circles."""
        yield from group("symbol", self._circles(frame), fill=self.colour, fill_opacity=fmt(self.opacity))

    def _circles(self, frame: PlotFrame, /) -> Iterator[str]:
        r, d = fmt(self.radius), fmt(2 * self.radius)
        for point, tip in zip(self.points, spoken(self.tips, len(self.points)), strict=True):
            if (at := frame.place(point)) is not None:
                start = f"M{fmt(at[0] - self.radius)},{fmt(at[1] + self.lower)}"
                yield with_tip(f'<path d="{start}a{r},{r} 0 1,1 {d},0a{r},{r} 0 1,1 -{d},0Z"', tip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Bars from `low` to `high`, standing at values of x or lying at values of y: `size` thick, or `span` steps of x."""

    at: Sequence[Any]
    high: Sequence[float]
    low: Sequence[float] = ()
    colour: str
    size: float = 1
    span: float = 0
    opacity: float = 1
    lying: bool = False
    lower: float = 0
    tips: Sequence[str] = ()

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A rectangle for each; bars without a lower end begin at 0."""
        yield from group("rect", self._boxes(frame), fill=self.colour, fill_opacity=fmt(self.opacity))

    def _boxes(self, frame: PlotFrame, /) -> Iterator[str]:
        low = self.low or [0.0] * len(self.at)
        for at, start, end, tip in zip(self.at, low, self.high, spoken(self.tips, len(self.at)), strict=True):
            first, last = (frame.place((value, at) if self.lying else (at, value)) for value in (start, end))
            if first is None or last is None:
                continue
            left, right = sorted((first[0], last[0]))
            top, bottom = sorted((first[1], last[1]))
            if self.lying:
                top, bottom = top - self.size / 2 + self.lower, top + self.size / 2 + self.lower
            else:
                half = self._thick(frame) / 2
                left, right = left - half, left + half
            yield with_tip(f"<path {_box(left, top, right - left, bottom - top)}", tip)

    def _thick(self, frame: PlotFrame, /) -> float:
        none, one = frame.x.at(0), frame.x.at(self.span)
        return self.size if not self.span or none is None or one is None else (one - none) * frame.width


def _box(left: float, top: float, width: float, height: float, /) -> str:
    return f'd="{_corners(left, top, width, height)}"'


def _corners(left: float, top: float, width: float, height: float, /) -> str:
    return f"M{fmt(left)},{fmt(top)}h{fmt(width)}v{fmt(height)}h{fmt(-width)}Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Upright:
    """A short upright bar at each point."""

    points: Sequence[Point]
    colour: str
    size: float = 20
    width: float = 3
    tips: Sequence[str] = ()

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A rectangle for each."""
        return group("rect", self._boxes(frame), fill=self.colour)

    def _boxes(self, frame: PlotFrame, /) -> Iterator[str]:
        for point, tip in zip(self.points, spoken(self.tips, len(self.points)), strict=True):
            if (at := frame.place(point)) is not None:
                left, top = at[0] - self.width / 2, at[1] - self.size / 2
                yield with_tip(f"<path {_box(left, top, self.width, self.size)}", tip)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A line through the whole frame at a value of x, or of y."""

    at: float
    colour: str
    along: Literal["x", "y"] = "x"
    dashed: bool = True

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """One line."""
        at = frame.across(self.at) if self.along == "x" else frame.down(self.at)
        if at is None:
            return
        right, bottom = frame.left + frame.width, frame.top + frame.height
        ends = (at, frame.top, at, bottom) if self.along == "x" else (frame.left, at, right, at)
        look = {"stroke_dasharray": "4 3"} if self.dashed else {}
        yield from group("rule", [line(*ends)], stroke=self.colour, **look)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shade:
    """A pale ground between two values of x."""

    low: float
    high: float
    colour: str

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """One rectangle as high as the frame."""
        low, high = frame.across(self.low), frame.across(self.high)
        if low is not None and high is not None:
            box = f"<path {_box(low, frame.top, high - low, frame.height)}/>"
            yield from group("rect", [box], fill=self.colour, fill_opacity=0.35)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """One field for each pair of names, in its colour."""

    points: Sequence[Point]
    colours: Sequence[str]
    tips: Sequence[str] = ()

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A path for each field, or for each colour if there are many."""
        return group("rect", self._fields(frame))

    def _fields(self, frame: PlotFrame, /) -> Iterator[str]:
        assert isinstance(frame.x, Rooms)
        assert isinstance(frame.y, Rooms)
        across, down = frame.x.width * frame.width, frame.y.width * frame.height
        shown = [
            (colour, tip, _corners(at[0] - across / 2, at[1] - down / 2, across, down))
            for point, colour, tip in zip(
                self.points, self.colours, spoken(self.tips, len(self.points)), strict=True
            )
            if (at := frame.place(point)) is not None
        ]
        if len(shown) <= MANY:
            for colour, tip, path in shown:
                yield with_tip(f'<path fill="{colour}" d="{path}"', tip)
            return
        for colour, some in groupby(sorted(shown), key=lambda one: one[0]):
            yield f'<path fill="{colour}" d="{"".join(path for _, _, path in some)}"/>'
