"""From plain data to a picture, whatever it is about; and to SVG that stands inside a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from noisegate.pictures.canvas import WIDTH, Picture
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
#: The height of the frame inside a page, where it is another than by itself.
_HEIGHTS: Mapping[type, float] = {Differences: 165, GroupChances: 200}


def draw(data: PictureData, /) -> Picture:
    """The picture of `data`."""
    return _DRAWERS[type(data)](data)


def drawn_inline(data: PictureData, /) -> str:
    """The picture of `data` as SVG for a page, whose captions replace its title."""
    picture, height = draw(data), _HEIGHTS.get(type(data))
    if height is not None:
        rows = [[replace(plot, width=WIDTH, height=height) for plot in row] for row in picture.rows]
        picture = replace(picture, rows=rows)
    return picture.inline()
