"""Words inside a frame: names of points, on the side where they fit and touch no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noisegate.pictures.colours import INK, PAPER
from noisegate.pictures.frame import PlotFrame, Point, fmt, group
from noisegate.pictures.letters import escaped, shortened, width_of

#: Left end, right end and middle line of a text.
_Box = tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Texts beside points, `lower` on the right and higher on the left, where they fit; or from the left edge on."""

    points: Sequence[Point]
    texts: Sequence[str]
    colour: str = INK
    size: float = 12
    beside: float = 8
    lower: float = 0
    from_left: bool = False
    centred: bool = False

    def draw(self, frame: PlotFrame, /) -> Iterator[str]:
        """A text for each, with a rim of paper, so that lines below do not cross it."""
        rim = {"stroke": PAPER, "stroke_width": 3, "stroke_linejoin": "round", "paint_order": "stroke"}
        return group("text", self._texts(frame), fill=self.colour, font_size=fmt(self.size), **rim)

    def _texts(self, frame: PlotFrame, /) -> Iterator[str]:
        taken: list[_Box] = []
        for point, text in zip(self.points, self.texts, strict=True):
            at = frame.place(point)
            if at is None:
                continue
            shown = shortened(text, frame.width, self.size)
            anchor, left, right, down = self._place(frame, at, width_of(shown, self.size), taken)
            taken.append((left, right, down))
            x = {"start": left, "middle": (left + right) / 2, "end": right}[anchor]
            tip = f"<title>{escaped(text)}</title>" if shown != text else ""
            yield (
                f'<text x="{fmt(x)}" y="{fmt(down + self.size * 0.35)}" text-anchor="{anchor}">{escaped(shown)}{tip}</text>'
            )

    def _place(
        self, frame: PlotFrame, at: tuple[float, float], wide: float, taken: Sequence[_Box], /
    ) -> tuple[str, float, float, float]:
        """By which end a text is held, its left and right end, and its middle line."""
        middle, down = at[0], at[1] + self.lower
        if self.from_left:
            return "start", frame.left, frame.left + wide, down
        if self.centred:
            return "middle", middle - wide / 2, middle + wide / 2, down
        right, bottom, high = frame.left + frame.width, frame.top + frame.height, self.size + 2
        sides = [(1, self.lower), (-1, -self.lower), (-1, self.lower), (1, -self.lower)]
        sides += [(side, moved) for moved in (-high, high) for side in (1, -1)]
        for side, moved in sides:
            left = middle + self.beside if side > 0 else middle - self.beside - wide
            line = at[1] + moved
            fits = frame.left <= left and left + wide <= right + 2 and frame.top + 4 <= line <= bottom - 6
            if fits and all(left > t or left + wide < f or abs(line - d) >= high for f, t, d in taken):
                return "start" if side > 0 else "end", left, left + wide, line
        left = max(frame.left, min(middle + self.beside, right - wide))
        return "start", left, left + wide, down
