"""Pictures: drawn with Altair from plain data, and written offline as SVG, PNG or HTML.

What draws takes half a second to load, so it is loaded when somebody first asks for it; the plain data costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noisegate.pictures.data import (
    Band,
    CellCalendar,
    Curve,
    Differences,
    Exposed,
    ExposedCells,
    GroupChances,
    HourShares,
    Panel,
    PictureData,
    QueryErrors,
    Responses,
    WeekPanels,
)

if TYPE_CHECKING:
    from noisegate.pictures.canvas import BLUE, GREY, INK, ORANGE, Picture, rows, save
    from noisegate.pictures.cells import exposed_picture, posterior_picture
    from noisegate.pictures.drawing import draw, drawn_inline
    from noisegate.pictures.inline import DARK, ODDS, PAPER, QUIET, dark_rules, inline_svg
    from noisegate.pictures.mechanism import groups_of, groups_picture, mechanism_picture, response_picture
    from noisegate.pictures.noise import differences_of, differences_picture
    from noisegate.pictures.queries import outlook_picture

__all__ = [
    "BLUE",
    "DARK",
    "GREY",
    "INK",
    "ODDS",
    "ORANGE",
    "PAPER",
    "QUIET",
    "Band",
    "CellCalendar",
    "Curve",
    "Differences",
    "Exposed",
    "ExposedCells",
    "GroupChances",
    "HourShares",
    "Panel",
    "Picture",
    "PictureData",
    "QueryErrors",
    "Responses",
    "WeekPanels",
    "dark_rules",
    "differences_of",
    "differences_picture",
    "draw",
    "drawn_inline",
    "exposed_picture",
    "groups_of",
    "groups_picture",
    "inline_svg",
    "mechanism_picture",
    "outlook_picture",
    "posterior_picture",
    "response_picture",
    "rows",
    "save",
]

_HOMES = {
    "BLUE": "canvas",
    "DARK": "inline",
    "GREY": "canvas",
    "INK": "canvas",
    "ODDS": "inline",
    "ORANGE": "canvas",
    "PAPER": "inline",
    "Picture": "canvas",
    "QUIET": "inline",
    "dark_rules": "inline",
    "differences_of": "noise",
    "differences_picture": "noise",
    "draw": "drawing",
    "drawn_inline": "drawing",
    "exposed_picture": "cells",
    "groups_of": "mechanism",
    "groups_picture": "mechanism",
    "inline_svg": "inline",
    "mechanism_picture": "mechanism",
    "outlook_picture": "queries",
    "posterior_picture": "cells",
    "response_picture": "mechanism",
    "rows": "canvas",
    "save": "canvas",
}


def __getattr__(name: str, /) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
