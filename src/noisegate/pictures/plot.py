"""One plot: marks between two axes, under a title and a key to its colours.

Sizes are in units of the picture. A plot is as wide as it is told to be, axes included, and as high as its frame and what stands
around it need; letters are measured, so that nothing is cut off and labels that would touch are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from noisegate.pictures.colours import GREY, GRID, INK, QUIET
from noisegate.pictures.frame import Mark, PlotFrame, fmt, line
from noisegate.pictures.letters import escaped, shortened, width_of, wrapped
from noisegate.pictures.scales import Rooms, Scale, number

#: Letters, and from one line of them to the next.
SIZE, LEADING = 12.0, 15.0
_TICK, _PAD = 4.0, 4.0
#: Between two labels of an axis.
_APART = 8.0
#: From one label of y to the next, at least.
_TALL = 20.0
_SWATCH, _BETWEEN = 16.0, 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotAxis:
    """A scale, what is marked on it (`ticks`, or about `count` round values) and how it is said."""

    scale: Scale
    title: str = ""
    ticks: Sequence[Any] | None = None
    count: int = 6
    label: Callable[[Any], str] = number
    grid: bool = True
    line: bool = True
    labels: bool = True
    limit: float = 150

    def marked(self, room: float = 1e9, /) -> list[tuple[float, str]]:
        """Places between 0 and 1 with their labels; fewer where there is little room."""
        count = max(2, min(self.count, int(room / _TALL)))
        values = self.scale.ticks(count) if self.ticks is None else self.ticks
        places = ((self.scale.at(value), value) for value in values)
        return [(at, self.label(value)) for at, value in places if at is not None and -1e-9 <= at <= 1 + 1e-9]


@dataclass(frozen=True, slots=True)
class Key:
    """A name and the colour that stands for it, as a mark of this kind."""

    name: str
    colour: str
    kind: Literal["symbol", "line", "rect"] = "symbol"
    opacity: float = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Marks between two axes; `width` holds everything, `height` is that of the frame alone."""

    x: PlotAxis
    y: PlotAxis
    marks: Sequence[Mark]
    width: float = 420
    height: float = 180
    title: str = ""
    subtitle: str = ""
    keys: Sequence[Key] = ()
    keys_below: bool = False

    def margin(self) -> float:
        """What the labels and the title of y need on the left."""
        labels = max((width_of(label) for label in _y_labels(self)), default=0.0)
        title = LEADING * len(_y_title(self)) + _PAD
        return labels + (_TICK if self.y.line else 0) + _PAD + (title if self.y.title else 0)

    def overhang(self) -> float:
        """What the last label of x needs on the right."""
        marked = self.x.marked() if self.x.labels and not isinstance(self.x.scale, Rooms) else []
        inner = self.width - self.margin()
        return max((width_of(label) / 2 - (1 - at) * inner for at, label in marked), default=0.0)


def drawn(plot: Plot, left: float, top: float, /, *, margin: float | None = None) -> tuple[list[str], float]:
    """The elements of a plot whose corner is there, and where it ends below; plots in one column share their margin."""
    inset = plot.margin() if margin is None else margin
    right = left + plot.width - max(2.0, plot.overhang())
    elements = list(_heading(plot, left, top))
    down = top + LEADING * len(elements) + (4 if elements else 0)
    keys, rows = _keyed(plot, left, down + LEADING / 2)
    if plot.keys and not plot.keys_below:
        elements += keys
        down += rows * (LEADING + 2) + 6
    frame = PlotFrame(
        left=left + inset,
        top=down + 4,
        width=right - left - inset,
        height=plot.height,
        x=plot.x.scale,
        y=plot.y.scale,
    )
    below, down = _x_axis(plot, frame)
    elements += [*_grid(plot, frame), *(one for mark in plot.marks for one in mark.draw(frame))]
    elements += [*below, *_y_axis(plot, frame, left)]
    if plot.keys and plot.keys_below:
        keys, rows = _keyed(plot, left, down + 6 + LEADING / 2)
        elements += keys
        down += rows * (LEADING + 2) + 6
    return elements, down


def text(
    words: str,
    x: float,
    y: float,
    /,
    *,
    anchor: str = "start",
    colour: str = INK,
    size: float = SIZE,
    more: str = "",
) -> str:
    """A line of letters whose middle is at `y`."""
    held = "" if anchor == "start" else f' text-anchor="{anchor}"'
    big = "" if size == SIZE else f' font-size="{fmt(size)}"'
    return f'<text x="{fmt(x)}" y="{fmt(y + size * 0.35)}" fill="{colour}"{held}{big}{more}>{escaped(words)}</text>'


def _heading(plot: Plot, left: float, top: float, /) -> Iterator[str]:
    lines = [(one, INK, ' font-weight="600"') for one in wrapped(plot.title, plot.width, bold=True)]
    lines += [(one, QUIET, "") for one in wrapped(plot.subtitle, plot.width)]
    for place, (words, colour, more) in enumerate(lines):
        yield text(words, left, top + LEADING * (place + 0.5), colour=colour, more=more)


def _keyed(plot: Plot, left: float, middle: float, /) -> tuple[list[str], int]:
    """Swatches with their names, in one row if they fit, else in columns; and how many rows there are."""
    names = [shortened(key.name, plot.width - _SWATCH) for key in plot.keys]
    wide = [_SWATCH + width_of(name) + _BETWEEN for name in names]
    if sum(wide) - _BETWEEN <= plot.width:
        across = [sum(wide[:place]) for place in range(len(wide))]
        columns = max(len(wide), 1)
    else:
        columns = max(1, int((plot.width + _BETWEEN) // max(wide)))
        across = [place % columns * max(wide) for place in range(len(wide))]
    elements = []
    for place, (key, name, x) in enumerate(zip(plot.keys, names, across, strict=True)):
        at = middle + place // columns * (LEADING + 2)
        elements += [_swatch(key, left + x, at), text(name, left + x + _SWATCH, at)]
    return elements, -(-len(names) // columns)


def _swatch(key: Key, left: float, at: float, /) -> str:
    if key.kind == "line":
        shape = f'<path fill="none" stroke="{key.colour}" stroke-width="2" d="M{fmt(left)},{fmt(at)}h12"/>'
    elif key.kind == "rect":
        shape = f'<path fill="{key.colour}" fill-opacity="{fmt(key.opacity)}" d="M{fmt(left)},{fmt(at - 5)}h11v10h-11Z"/>'
    else:
        shape = f'<path fill="{key.colour}" d="M{fmt(left + 1)},{fmt(at)}a4.5,4.5 0 1,1 9,0a4.5,4.5 0 1,1 -9,0Z"/>'
    return f'<g class="mark-{key.kind}">{shape}</g>'


def _grid(plot: Plot, frame: PlotFrame, /) -> Iterator[str]:
    lines = []
    if plot.x.grid:
        for at, _ in plot.x.marked():
            x = frame.left + at * frame.width
            lines.append(line(x, frame.top, x, frame.top + frame.height))
    if plot.y.grid:
        for at, _ in plot.y.marked(plot.height):
            y = _down(plot.y, frame, at)
            lines.append(line(frame.left, y, frame.left + frame.width, y))
    if lines:
        yield f'<g class="grid" stroke="{GRID}">{"".join(lines)}</g>'


def _down(axis: PlotAxis, frame: PlotFrame, at: float, /) -> float:
    return frame.top + (at if isinstance(axis.scale, Rooms) else 1 - at) * frame.height


def _x_axis(plot: Plot, frame: PlotFrame, /) -> tuple[list[str], float]:
    """Line, ticks, labels and title below the frame, and where they end."""
    axis, bottom = plot.x, frame.top + frame.height
    elements, down = [], bottom
    marked = [(frame.left + at * frame.width, label) for at, label in axis.marked()]
    if axis.line:
        ticks = [line(x, bottom, x, bottom + _TICK) for x, _ in marked] if axis.labels else []
        across = line(frame.left, bottom, frame.left + frame.width, bottom)
        elements.append(f'<g class="axis" stroke="{GREY}">{across}{"".join(ticks)}</g>')
        down += _TICK
    if axis.labels:
        room = (
            axis.scale.step * frame.width - 4 if isinstance(axis.scale, Rooms) and axis.ticks is None else 0.0
        )
        lines = [(x, wrapped(label, room) if room > 24 else [label]) for x, label in marked]
        for x, label in _thinned(lines):
            elements += [
                text(words, x, down + _PAD + LEADING * (row + 0.4), anchor="middle", colour=QUIET)
                for row, words in enumerate(label)
            ]
        down += _PAD + LEADING * max((len(label) for _, label in lines), default=0)
    for words in wrapped(axis.title, plot.width):
        elements.append(text(words, frame.left + frame.width / 2, down + LEADING * 0.6, anchor="middle"))
        down += LEADING
    return elements, down + _PAD


def _thinned(lines: list[tuple[float, list[str]]], /) -> list[tuple[float, list[str]]]:
    """All labels, or every second, fourth, … until no two of them touch."""
    every = 1
    while every < len(lines):
        kept = [(x, max(map(width_of, label), default=0.0) / 2) for x, label in lines[::every]]
        if all(a + wide + _APART <= b - other for (a, wide), (b, other) in pairwise(kept)):
            break
        every *= 2
    return lines[::every]


def _y_labels(plot: Plot, /) -> list[str]:
    axis = plot.y
    return [shortened(label, axis.limit) for _, label in axis.marked(plot.height)] if axis.labels else []


def _y_title(plot: Plot, /) -> list[str]:
    return wrapped(plot.y.title, plot.height + 30, most=2)


def _y_axis(plot: Plot, frame: PlotFrame, left: float, /) -> Iterator[str]:
    """Line, ticks, labels and title on the left of the frame."""
    axis = plot.y
    marked = [(_down(axis, frame, at), label) for at, label in axis.marked(plot.height)]
    if axis.line:
        ticks = [line(frame.left - _TICK, y, frame.left, y) for y, _ in marked]
        upright = line(frame.left, frame.top, frame.left, frame.top + frame.height)
        yield f'<g class="axis" stroke="{GREY}">{upright}{"".join(ticks)}</g>'
    if axis.labels:
        high = min((abs(a - b) for (a, _), (b, _) in pairwise(marked)), default=LEADING)
        every = max(1, round(LEADING / max(high, 0.5) + 0.3)) if high < LEADING - 2 else 1
        for y, label in marked[::every]:
            shown = shortened(label, axis.limit)
            tip = f"<title>{escaped(label)}</title>" if shown != label else ""
            x = frame.left - (_TICK if axis.line else 0) - _PAD
            yield text(shown, x, y, anchor="end", colour=QUIET).replace("</text>", f"{tip}</text>")
    for place, words in enumerate(_y_title(plot)):
        x, y = left + LEADING * (place + 0.5), frame.top + frame.height / 2
        turned = f' transform="rotate(-90 {fmt(x)} {fmt(y)})"'
        yield text(words, x, y, anchor="middle", more=turned)
