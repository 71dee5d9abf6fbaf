"""The colours of all pictures, and each one's partner on a dark page.

A picture names its colours as they are on white; a page that can be dark has one rule for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

#: Colours that stay apart for colour-blind readers and in grey print (Okabe and Ito).
INK = "#222222"
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PURPLE = "#A8517F"
GREY = "#8A8A8A"
QUIET, GRID, PAPER = "#555555", "#E3E6E8", "#FFFFFF"
#: From nothing to everything, for three kinds of things; nothing looks the same in all.
NOTHING = "#F1F4F6"
BLUES = ("#CFE3F1", "#9AC6E3", "#5AA3CF", "#1B7AB3", "#064A73")
GREYS = ("#E3E7EA", "#D2D8DC", "#C0C7CD", "#AEB7BE", "#9CA6AE")
ORANGES = ("#F9DCC4", "#F3B68A", "#E88B4D", "#CF6212", "#8A3D00")

#: The partner of each colour on a dark page.
DARK: Mapping[str, str] = {
    INK: "#E8EAED",
    QUIET: "#B4B9BF",
    GREY: "#8E959C",
    GRID: "#33393F",
    PAPER: "#16191C",
    BLUE: "#62B1E5",
    ORANGE: "#F2925A",
    GREEN: "#4CC3A0",
    PURPLE: "#D98BB5",
    NOTHING: "#21262A",
    **dict(zip(BLUES, ("#173C54", "#1B567B", "#2A79A8", "#57A6D6", "#A9D6F5"), strict=True)),
    **dict(zip(GREYS, ("#2A3035", "#343B41", "#3F474E", "#4B545B", "#58626A"), strict=True)),
    **dict(zip(ORANGES, ("#4A2A12", "#77421A", "#B0632A", "#E58C4C", "#FFC79C"), strict=True)),
}


def dark_rules(prefix: str, /) -> Iterator[str]:
    """CSS that gives every colour of our pictures its partner, for a page that is dark."""
    for light, dark in DARK.items():
        for what in ("fill", "stroke"):
            yield f'{prefix} [{what}="{light}"]{{{what}:{dark}}}'
