"""From plain data to a picture, whatever it is about; and to SVG that stands inside a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noisegate.pictures.canvas import Picture
from noisegate.pictures.cells import calendar_picture, exposed_picture, hours_picture
from noisegate.pictures.data import (
    CellCalendar,
    Differences,
    ExposedCells,
    GroupChances,
    HourShares,
    PictureData,
    QueryErrors,
    Responses,
    WeekPanels,
)
from noisegate.pictures.inline import fitted, inline_svg, untitled
from noisegate.pictures.mechanism import groups_picture, response_picture
from noisegate.pictures.noise import differences_picture
from noisegate.pictures.queries import errors_picture
from noisegate.pictures.weeks import weeks_picture

_DRAWERS: Mapping[type, Callable[[Any], Picture]] = {
    CellCalendar: calendar_picture,
    Differences: differences_picture,
    ExposedCells: exposed_picture,
    GroupChances: groups_picture,
    HourShares: hours_picture,
    QueryErrors: errors_picture,
    Responses: response_picture,
    WeekPanels: weeks_picture,
}
#: Single views that a page fits into its own width, and their heights.
_HEIGHTS: Mapping[type, int] = {Differences: 250, GroupChances: 260}


def draw(data: PictureData, /) -> Picture:
    """The picture of `data`, as an Altair chart."""
    return _DRAWERS[type(data)](data)


def drawn_inline(data: PictureData, /, *, key: str) -> str:
    """The picture of `data` as SVG for a page, whose captions replace its title; `key` keeps its names apart."""
    picture, height = untitled(draw(data)), _HEIGHTS.get(type(data))
    return inline_svg(picture if height is None else fitted(picture, height=height), key=key)
