"""The frame of two axes, and the elements of SVG that are drawn inside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from noisegate.pictures.letters import escaped
from noisegate.pictures.scales import Rooms, Scale

Point = tuple[Any, Any]
#: More marks than this say nothing where a pointer rests on them.
MANY = 400


def fmt(value: float, /) -> str:
    """A coordinate with what can be seen of it."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotFrame:
    """Where two axes put their values."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    def place(self, point: Point, /) -> tuple[float, float] | None:
        """The place of a pair of values; None if it has none."""
        across, down = self.across(point[0]), self.down(point[1])
        return None if across is None or down is None else (across, down)

    def across(self, value: Any, /) -> float | None:
        """From left to right."""
        at = self.x.at(value)
        return None if at is None else self.left + at * self.width

    def down(self, value: Any, /) -> float | None:
        """From below for numbers, from above for names."""
        at = self.y.at(value)
        if at is None:
            return None
        return self.top + (at if isinstance(self.y, Rooms) else 1 - at) * self.height


class Mark(Protocol):
    """Something that is drawn inside a frame."""

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """Its elements."""
        ...


def group(kind: str, inside: Iterable[str], /, **look: Any) -> Iterator[str]:
    """Elements in one group, of the class by which pages and tests find them."""
    said = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in look.items())
    yield f'<g class="mark-{kind}"{said}>'
    yield from inside
    yield "</g>"


def with_tip(element: str, tip: str, /) -> str:
    """An element that says `tip` where a pointer rests on it."""
    name = element[1:].split(" ", 1)[0]
    return f"{element}><title>{escaped(tip)}</title></{name}>" if tip else f"{element}/>"


def spoken(tips: Sequence[str], count: int, /) -> Sequence[str]:
    """What each of so many marks says, if there are not too many."""
    return tips if len(tips) == count <= MANY else ("",) * count


def line(left: float, top: float, right: float, bottom: float, /) -> str:
    """A straight line, which takes its colour from its group."""
    return f'<line x1="{fmt(left)}" y1="{fmt(top)}" x2="{fmt(right)}" y2="{fmt(bottom)}"/>'
